"""Learning a metric from ratings: its gain, when it is refused, and what does not affect it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.learned_files import rated

import nlgauge
from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.parts.learned_weights import load_weights
from nlgauge.stats.correlation import bootstrap_correlations, correlate
from nlgauge.studies.learned import LearnStudy, learn_metric

MEMBERS = ("eed", "character")


@pytest.mark.filterwarnings("ignore::nlgauge.errors.ExtrapolationWarning")
def test_own_ratings_make_a_metric_that_beats_its_members_on_new_ratings(tmp_path: Path) -> None:
    study = learn_metric(rated(tmp_path), MEMBERS)
    validation, training = study.weights.validation, study.weights.training
    assert (training.rows, training.segments, training.criterion) == (300, 100, "rating")
    assert validation.folds == "10 parts of 100 segments"
    assert 0 < validation.low < validation.gain < validation.high
    assert validation.gain == pytest.approx(validation.learned - validation.best, abs=1e-12)
    study.save(tmp_path / "mine.json")
    new = rated(tmp_path, seed=2)
    scored = nlgauge.studies.meta.score_judgements(new, [str(tmp_path / "mine.json"), *MEMBERS])
    learned, *members = (correlate(metric.oriented, new.gold()).value for metric in scored.metrics)
    assert learned > max(members)
    assert learned == pytest.approx(validation.learned, abs=0.05)
    assert load_weights(str(tmp_path / "mine.json")) == study.weights


def test_a_combination_without_gain_is_not_written_unless_asked_for(tmp_path: Path) -> None:
    table = rated(tmp_path, rows=90, noise=30.0)
    study = learn_metric(table, MEMBERS)
    assert not study.weights.validation.proven
    with pytest.raises(InputError, match=r"not proven to be better than its best member '\w+': gain .* \[.*\]; use"):
        study.save(tmp_path / "mine.json")
    assert not (tmp_path / "mine.json").exists()
    study.save(tmp_path / "mine.json", unproven=True)
    assert not load_weights(str(tmp_path / "mine.json")).validation.proven


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    table = rated(tmp_path, rows=120)
    order = np.random.default_rng(7).permutation(len(table))
    first, second = (learn_metric(rows, MEMBERS).weights for rows in (table, table.take(order)))
    for one, other in zip(first.members, second.members, strict=True):
        assert other.weight == pytest.approx(one.weight, abs=1e-9)
    assert second.intercept == pytest.approx(first.intercept, abs=1e-9)
    assert second.validation.learned == pytest.approx(first.validation.learned, abs=1e-9)


@pytest.mark.parametrize("method", ["nnls", "average"])
def test_other_methods(tmp_path: Path, method: str) -> None:
    weights = learn_metric(rated(tmp_path, rows=120), MEMBERS, method=method).weights
    assert weights.method == method
    assert all(member.weight >= 0 for member in weights.members)
    if method == "average":
        assert [member.weight for member in weights.members] == [0.5, 0.5]
        assert weights.intercept == 0.0


def test_what_is_left_out_together(tmp_path: Path) -> None:
    table = rated(tmp_path, rows=120)
    pairs = ["de-en"] * 30 + ["cs-en"] * 30 + ["ru-en"] * 60
    several = table.take(range(120))
    object.__setattr__(several, "langpair", tuple(pairs))
    assert learn_metric(several, MEMBERS).weights.validation.folds == "each of 3 language pairs"
    documents = table.take(range(120))
    object.__setattr__(documents, "document", tuple(str(row // 3) for row in range(120)))
    assert learn_metric(documents, MEMBERS).weights.validation.folds == "10 parts of 40 documents"
    with pytest.raises(InputError, match="leave_out='langpair' needs at least 3 of them"):
        learn_metric(table, MEMBERS, leave_out="langpair")


def test_rows_without_a_rating_are_left_out(tmp_path: Path) -> None:
    table = rated(tmp_path, rows=120)
    gold = np.where(np.arange(120) < 90, table.gold(), np.nan)
    object.__setattr__(table, "human", {"rating": gold})
    assert learn_metric(table, MEMBERS).weights.training.rows == 90


def test_unusable_members_and_too_few_ratings_are_refused(tmp_path: Path) -> None:
    table = rated(tmp_path, rows=60)
    with pytest.raises(RecipeError, match="at least two different members, got 1"):
        learn_metric(table, ["eed", "eed"])
    with pytest.raises(RecipeError, match="learned is a combination itself"):
        learn_metric(table, ["learned", "eed"])
    with pytest.raises(RecipeError, match="sentsim scales scores by the range over each corpus"):
        learn_metric(table, ["sentsim:against=refs", "eed"])
    with pytest.raises(InputError, match="has 20 ratings, but a learned metric needs at least 30"):
        learn_metric(table.take(range(20)), MEMBERS)


def test_result_as_text_and_json(tmp_path: Path) -> None:
    study = learn_metric(rated(tmp_path, rows=60), MEMBERS)
    text = study.render()
    assert "combination (left out)" in text
    assert "gain over" in text
    assert LearnStudy.from_dict(study.to_dict()).to_dict() == study.to_dict()
    assert study.to_dict()["digest"] == study.weights.digest


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nlgauge.errors.NlgaugeWarning")
def test_shipped_metric_beats_its_best_member_on_wmt17(data_folder: Path) -> None:
    """Trained on WMT15; nothing was chosen on WMT17, whose seven language pairs are averaged."""
    table = load("wmt17", data_folder)
    members = [member.recipe for member in load_weights("mt-en-minilm").members]
    run = RunOptions(threads=1)
    scored = nlgauge.studies.meta.score_judgements(table, ["learned:mt-en-minilm", *members], run=run)
    assert lower_end_of_gain(table, np.stack([metric.oriented for metric in scored.metrics])) > 0


def lower_end_of_gain(table: JudgementTable, scores: np.ndarray) -> float:
    """Lower end of the interval of the gain of the first metric over the best other one."""
    gold = table.gold()
    draws = np.array(
        [
            bootstrap_correlations(scores[:, rows], gold[rows], seed=number).draws
            for number, rows in enumerate(map(table.rows_of, table.langpairs))
        ]
    ).mean(axis=0)
    observed = np.mean(
        [[correlate(row[rows], gold[rows]).value for row in scores] for rows in map(table.rows_of, table.langpairs)],
        axis=0,
    )
    best = 1 + int(np.argmax(observed[1:]))
    return float(np.percentile(draws[:, 0] - draws[:, best], 2.5))
