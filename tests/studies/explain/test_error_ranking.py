"""Explanation methods ranked as systems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.studies.explain.corpus import ERROR_MEASURES, evaluate_errors, measure_errors
from nlgauge.studies.explain.error_ranking import ErrorRankings, ErrorSystem, rank_error_scores

GOLD = [[0, 1, 0], [1, 0], [0, 0], [1, 1, 0, 0], [0, 1]]
RIGHT = [[0.1, 0.9, 0.2], [0.8, 0.1], [0.0, 0.0], [0.9, 0.8, 0.1, 0.2], [0.1, 0.2]]
# Wrong on the first text, half right on the fourth.
HALF = [[0.9, 0.1, 0.2], [0.8, 0.1], [0.0, 0.0], [0.9, 0.1, 0.2, 0.8], [0.1, 0.2]]


def rankings() -> ErrorRankings:
    ranking = rank_error_scores(GOLD, {"right": RIGHT, "half": HALF}, langpair="xx-en")
    return ErrorRankings((ranking,))


def test_measures_by_hand() -> None:
    values = measure_errors(GOLD, HALF)
    assert np.isnan(values[2]).all()
    # First text: the error has the lowest score, so AUC 0, precision 1/3, and it is not the first of one.
    assert values[0] == pytest.approx([0, 1 / 3, 0])
    # Fourth: errors are first and last of .9 .8 .2 .1: AUC 2/4, precision (1/1 + 2/4) / 2, one of two among two.
    assert values[3] == pytest.approx([0.5, 0.75, 0.5])
    agreement = evaluate_errors(GOLD, HALF)
    used = values[[0, 1, 3, 4]]
    assert (agreement.auc, agreement.ap, agreement.recall) == pytest.approx(tuple(used.mean(axis=0)))


def test_systems_by_mean_median_and_bradley_terry() -> None:
    (ranking,) = rankings().rankings
    assert (ranking.texts, ranking.skipped) == (4, 1)
    for measure in ERROR_MEASURES:
        assert ranking.comparison.winners[measure] == "right"
    pair = ranking.comparison.metric("AUC").pair("right", "half")
    assert (pair.wins, pair.ties, pair.losses) == (2, 2, 0)
    half = next(row for row in ranking.comparison.metric("AUC").systems if row.system == "half")
    # Two wins and two ties, which are half a win for each: 3 of 4 for the other.
    assert (half.mean, half.median, half.bradley_terry) == pytest.approx((0.625, 0.75, 0.25))
    assert ranking.disagreement("AUC") == 0


def test_mean_and_bradley_terry_may_disagree() -> None:
    # AUC 1/3, 1/3, 0 of a system that wins two of three texts, and 0, 0, 1 of the other.
    often = [[0.5, 0.6, 0.6, 0.1]] * 2 + [[0.0, 0.1, 0.2, 0.3]]
    seldom = [[0.5, 0.6, 0.6, 0.6]] * 2 + [[1.0, 0.1, 0.2, 0.3]]
    ranking = rank_error_scores([[1, 0, 0, 0]] * 3, {"often": often, "seldom": seldom})
    means = {row.system: row.mean for row in ranking.comparison.metric("AUC").systems}
    assert means == pytest.approx({"often": 2 / 9, "seldom": 1 / 3})
    assert ranking.comparison.metric("AUC").winner == "often"
    assert ranking.disagreement("AUC") == 1


def test_tables_json_and_figure(tmp_path: Path) -> None:
    result = rankings()
    lines = result.render("tsv").splitlines()
    assert lines[0].split("\t")[:5] == ["langpair", "system", "AUC mean", "AUC median", "AUC BT"]
    assert [line.split("\t")[1] for line in lines[1:]] == ["right", "half"]
    assert "disagree" not in result.render("text")
    assert result.render("disagreements").splitlines()[0] == "score\txx-en"
    assert result.render("pairs").splitlines()[1].startswith("xx-en\tAUC\tright\thalf")
    restored = ErrorRankings.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.render("tsv") == result.render("tsv")
    result.save_figure(tmp_path / "wins.png")
    assert (tmp_path / "wins.png").stat().st_size > 1000


def test_one_system_is_no_ranking() -> None:
    with pytest.raises(InputError, match="at least two systems"):
        rank_error_scores(GOLD, {"right": RIGHT})
    with pytest.raises(InputError, match="none of the 1 texts"):
        rank_error_scores([[0, 0]], {"a": [[0.1, 0.2]], "b": [[0.1, 0.2]]})


def test_names_are_short_unless_two_recipes_share_a_metric() -> None:
    systems = [ErrorSystem("bertscore:layer=1", "match"), ErrorSystem("bertscore:layer=2", "match")]
    assert systems[0].name(systems) == "bertscore:layer=1 match"
    assert systems[0].name(systems[:1]) == "bertscore match"
