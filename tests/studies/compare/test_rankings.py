"""Means, medians, wins and the distance between two rankings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.studies.compare.made_scores import FIGURE_1, made

from nlgauge.errors import InputError
from nlgauge.studies.compare.rankings import (
    condorcet_winner,
    count_wins,
    different_top3,
    different_winner,
    disagreement,
    mean_scores,
    median_scores,
    round_ties,
    win_counts,
)


def test_means_and_medians_of_figure_1() -> None:
    assert mean_scores(FIGURE_1) == pytest.approx([9.2, 9.2, 9.2])
    assert median_scores(FIGURE_1).tolist() == [11, 7, 11]
    assert median_scores(np.array([[1.0], [2.0], [4.0], [8.0]])).tolist() == [3]


def test_wins_are_counted_pair_by_pair() -> None:
    scores = np.round(made(40, 5), 0)
    result = count_wins(scores)
    for i, j in itertools.permutations(range(5), 2):
        assert result.strict[i, j] == sum(a > b for a, b in scores[:, [i, j]])
        assert result.ties[i, j] == sum(a == b for a, b in scores[:, [i, j]])
    assert not result.strict.diagonal().any()
    assert not result.ties.diagonal().any()


def test_blocks_of_pairs_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = count_wins(made(30, 6))
    monkeypatch.setattr("nlgauge.stats.numeric.BLOCK_CELLS", 50)
    assert np.array_equal(count_wins(made(30, 6)).strict, whole.strict)


def test_ties_by_policy() -> None:
    scores = [[1.0, 1.0], [1.0, 1.0], [2.0, 1.0]]
    assert win_counts(scores, ties="half").tolist() == [[0, 2], [1, 0]]
    assert win_counts(scores, ties="drop").tolist() == [[0, 1], [0, 0]]
    assert win_counts(scores, ties="second").tolist() == [[0, 1], [2, 0]]
    with pytest.raises(InputError, match="half, second or drop"):
        win_counts(scores, ties="first")  # type: ignore[arg-type]


def test_sums_that_are_equal_on_paper_tie() -> None:
    scores = [[0.1 + 0.2, 0.3], [1e9 * (0.1 + 0.2), 1e9 * 0.3], [-0.1 - 0.2, -0.3]]
    assert win_counts(scores, ties="drop").tolist() == [[0, 0], [0, 0]]
    assert win_counts(scores, ties="drop", tolerance=0).tolist() == [[0, 2], [1, 0]]
    # A difference that somebody may mean is none of these.
    assert win_counts([[0.3 + 1e-8, 0.3]], ties="drop").tolist() == [[0, 1], [0, 0]]


def test_disagreement_is_the_share_of_pairs() -> None:
    assert disagreement([1, 2, 3, 4], [1, 2, 3, 4]) == 0
    assert disagreement([1, 2, 3, 4], [4, 3, 2, 1]) == 1
    assert disagreement([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(1 / 6)
    assert np.isnan(disagreement([1, 1, 1], [1, 2, 3]))
    assert np.isnan(disagreement([1], [1]))


def test_winners_and_top_three() -> None:
    assert different_winner([3, 2, 1], [2, 3, 1])
    assert not different_winner([3, 2, 1], [3, 1, 2])
    # Of equal systems the earlier one comes first.
    assert not different_winner([3, 3, 1], [3, 2, 1])
    assert not different_top3([5, 4, 3, 2, 1], [3, 4, 5, 2, 1])
    assert different_top3([5, 4, 3, 2, 1], [5, 4, 2, 3, 1])


def test_a_condorcet_winner_beats_everybody() -> None:
    assert condorcet_winner([[0, 3, 3], [2, 0, 5], [2, 0, 0]]) == 0
    assert condorcet_winner([[0, 3, 2], [2, 0, 5], [3, 0, 0]]) is None, "a circle"
    assert condorcet_winner([[0, 2], [2, 0]]) is None, "a draw is no win"
    assert condorcet_winner([[0]]) is None


def test_last_bits_make_no_rank() -> None:
    values = np.array([0.3, 0.1 + 0.2, 1e-12, 2e-12, -1.0, -1.0 - 1e-12, 0.0])
    result = round_ties(values)
    assert result[0] == result[1]
    assert result[4] == result[5]
    assert len(set(result.tolist())) == 5
    assert result == pytest.approx(values, rel=1e-9)
