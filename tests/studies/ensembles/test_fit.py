"""Norms from data sets and from saved scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.data.cards import load
from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.ensembles import fit_norms, norms_of_scores
from nlgauge.testing import HYPOTHESES, REFERENCES


@pytest.fixture
def table(tmp_path: Path) -> nlgauge.data.JudgementTable:
    rows = [f"{h}\t{r}\t{n}" for n, (h, r) in enumerate(zip(HYPOTHESES, REFERENCES, strict=True))]
    (tmp_path / "mine.tsv").write_text("\n".join(["hypothesis\treference\tscore", *rows]) + "\n", encoding="utf-8")
    return load("custom", tmp_path / "mine.tsv", human="score")


def test_norms_are_mean_and_population_deviation_of_the_main_component(table: nlgauge.data.JudgementTable) -> None:
    norms = fit_norms(table, ["chrf", "ensemble:rouge1+chrf"])
    assert [member.metric for member in norms.members] == ["chrf", "rouge1"]
    values = nlgauge.score(HYPOTHESES, REFERENCES, metric="chrf").segments["chrf"]
    assert norms.members[0].mean == pytest.approx(float(values.mean()), abs=1e-12)
    assert norms.members[0].deviation == pytest.approx(float(values.std()), abs=1e-12)
    assert norms.members[0].rows == len(HYPOTHESES)


def test_saved_scores_of_one_recipe_are_taken_together() -> None:
    systems = {"a": HYPOTHESES, "b": HYPOTHESES[::-1]}
    scores = nlgauge.score_systems(systems, REFERENCES, metric=["chrf"])
    norms = norms_of_scores(scores)
    every = np.concatenate([score.segments["chrf"] for score in scores])
    assert [member.rows for member in norms.members] == [2 * len(HYPOTHESES)]
    assert norms.members[0].mean == pytest.approx(float(every.mean()), abs=1e-12)


def test_an_ensemble_beside_people_has_the_scores_that_it_has_anywhere(table: nlgauge.data.JudgementTable) -> None:
    scored = nlgauge.studies.meta.score_judgements(table, ["ensemble:chrf+rouge1", "chrf"])
    expected = nlgauge.score(HYPOTHESES, REFERENCES, metric="ensemble:chrf+rouge1")
    assert np.array_equal(scored.metrics[0].values, expected.segments["score"])
    assert list(scored.metrics[0].signatures.values()) == [expected.signature.recipe_part]


def test_bad_input(table: nlgauge.data.JudgementTable) -> None:
    with pytest.raises(InputError, match="no scores to compute means of"):
        norms_of_scores([])
    with pytest.raises(RecipeError, match="chrf has no option 'layer'"):
        fit_norms(table, ["chrf"], layer=3)
