"""Bradley-Terry strengths: published examples, choix as an oracle, and what cannot be estimated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.extras import LazyModule
from tests.studies.compare.made_scores import DEMO, FIGURE_1, made

from nlgauge.errors import ConvergenceWarning, InputError
from nlgauge.studies.compare.rankings import win_counts
from nlgauge.studies.compare.strengths import bradley_terry, newman, strongly_connected

choix = LazyModule("choix")

SCORES = arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(2, 6)), elements=st.integers(0, 3))


def strengths(matrix: object, ties: str = "half", **options: float) -> np.ndarray:
    return bradley_terry(win_counts(matrix, ties=ties), **options).strengths  # type: ignore[arg-type]


def published_loop(wins: np.ndarray, epsilon: float = 1e-9) -> np.ndarray:
    """The iteration of the released bt.py, system by system, written from its description in appendix E."""
    k = len(wins)
    old = np.full(k, 0.5)
    while True:
        new = np.array(
            [
                wins[i].sum() / sum((wins[i, j] + wins[j, i]) / (old[i] + old[j]) for j in range(k) if j != i)
                for i in range(k)
            ]
        )
        new /= new.sum()
        if ((new - old) ** 2).sum() < epsilon:
            return new
        old = new


# Values of the released code, run on these tables.
@pytest.mark.parametrize(
    ("scores", "ties", "expected"),
    [
        (FIGURE_1, "half", [0.094191, 0.248790, 0.657019]),
        (DEMO, "second", [0.411764, 0.176471, 0.411764]),
        # Appendix F: two systems, then a third. The paper says that all three become equal; they do not (D6).
        (np.array([[1, 2, 3], [2, 3, 1]]).T, "second", [1 / 3, 2 / 3]),
        (np.array([[1, 2, 3], [2, 3, 1], [3, 2, 1]]).T, "second", [0.19426, 0.31026, 0.49549]),
        (np.array([[1, 2, 3], [2, 3, 1], [3, 1, 2]]).T, "second", [1 / 3] * 3),
        # From the tests of the released tool.
        (np.array([[1, 0, 1], [0, 1, 0.5], [2, 0.5, 0]]).T, "drop", [1 / 3] * 3),
    ],
)
def test_published_examples(scores: np.ndarray, ties: str, expected: list[float]) -> None:
    assert strengths(scores, ties, tolerance=1e-9) == pytest.approx(expected, abs=1e-5)


def test_the_order_of_the_released_tools_own_test() -> None:
    result = strengths(np.array([[1, 2, 1], [0, 1, 2], [0.5, 0, 0]]).T)
    assert np.argsort(-result).tolist() == [0, 1, 2]


@pytest.mark.parametrize(("first", "second", "share"), [(0, 1, 0.2), (0, 2, 0.2), (1, 2, 0.2)])
def test_two_systems_of_figure_1(first: int, second: int, share: float) -> None:
    assert strengths(FIGURE_1[:, [first, second]]) == pytest.approx([share, 1 - share])


def test_it_is_the_published_iteration() -> None:
    wins = win_counts(made(60, 6))
    assert bradley_terry(wins, tolerance=1e-9).strengths == pytest.approx(published_loop(wins), abs=1e-12)


def test_choix_finds_the_same_maximum() -> None:
    wins = win_counts(made(200, 8))
    log = choix.ilsr_pairwise_dense(wins)
    assert strengths(made(200, 8), tolerance=1e-24) == pytest.approx(np.exp(log) / np.exp(log).sum(), abs=1e-7)


def test_the_maximum_is_that_of_choix() -> None:
    log = choix.ilsr_pairwise_dense(win_counts(made(200, 8)))
    assert strengths(made(200, 8)) == pytest.approx(np.exp(log) / np.exp(log).sum(), abs=1e-7)


#: One system wins nearly always; Zermelo's steps become small long before the maximum.
STEEP = np.array([[0, 2999, 2999.5], [1, 0, 2000], [0.5, 1000, 0]])


def test_where_zermelo_stops_short_the_maximum_is_still_found() -> None:
    """At the maximum each system is expected to win as often as it did."""
    result = bradley_terry(STEEP)
    s = result.strengths
    expected = ((STEEP + STEEP.T) * (s[:, None] / (s[:, None] + s[None, :]))).sum(axis=1)
    assert expected == pytest.approx(STEEP.sum(axis=1), rel=1e-9)
    assert s[1] == pytest.approx(1 / 3000, rel=1e-3)
    assert result.converged
    stopped = bradley_terry(STEEP, tolerance=1e-9).strengths
    assert stopped[1] > 8 * s[1]


def test_resamples_go_where_the_estimate_is() -> None:
    (resampled,), _, _ = newman(STEEP[None])
    assert resampled == pytest.approx(bradley_terry(STEEP).strengths, rel=0.01)


@given(SCORES, st.sampled_from(["half", "drop", "second"]))
def test_expected_wins_are_the_wins_and_the_climb_ends(scores: np.ndarray, ties: str) -> None:
    wins = win_counts(scores, ties=ties)  # type: ignore[arg-type]
    result = bradley_terry(wins)
    assert result.converged
    if result.connected:
        s = result.strengths
        expected = ((wins + wins.T) * (s[:, None] / (s[:, None] + s[None, :]))).sum(axis=1)
        assert expected == pytest.approx(wins.sum(axis=1), abs=1e-6)


def test_a_chain_keeps_its_order_though_it_has_no_maximum() -> None:
    wins = np.triu(np.full((12, 12), 1000.0), 1)
    result = bradley_terry(wins)
    assert (np.diff(result.strengths) < 0).all()
    assert result.strengths[0] == pytest.approx(1, abs=1e-6)


def test_equal_systems_are_equal_to_the_last_bit() -> None:
    result = bradley_terry([[0, 7, 3], [7, 0, 3], [5, 5, 0]]).strengths
    assert result[0] == result[1]


@pytest.mark.parametrize("ties", ["half", "drop"])
def test_newmans_iteration_climbs_the_same_hill(ties: str) -> None:
    wins = np.stack([win_counts(np.round(made(40, 6, seed=seed)), ties=ties) for seed in range(20)])  # type: ignore[arg-type]
    assert all(map(strongly_connected, wins))
    fast, steps, converged = newman(wins, tolerance=1e-20)
    slow = bradley_terry(wins, tolerance=1e-20)
    assert converged
    assert steps < slow.iterations
    assert fast == pytest.approx(slow.strengths, abs=1e-8)


def test_newmans_iteration_of_two_systems_does_not_swing() -> None:
    result, steps, _ = newman(np.array([[[0.0, 1.0], [3.0, 0.0]]]))
    assert result[0] == pytest.approx([0.25, 0.75])
    assert steps < 5


def test_newmans_iteration_at_the_edge() -> None:
    wins = np.array(
        [[[0, 5, 5], [0, 0, 2], [0, 3, 0]], [[0, 1, 5], [1, 0, 5], [0, 0, 0]], np.zeros((3, 3))], dtype=float
    )
    result, _, converged = newman(wins)
    assert converged
    assert result == pytest.approx(np.array([[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3]), abs=1e-6)


def test_many_matrices_at_once_are_each_as_alone() -> None:
    batch = np.stack([win_counts(made(30, 5, seed=seed)) for seed in range(6)]).reshape(2, 3, 5, 5)
    result = bradley_terry(batch)
    assert result.strengths.shape == (2, 3, 5)
    alone = [bradley_terry(item) for item in batch.reshape(6, 5, 5)]
    assert np.array_equal(result.strengths.reshape(6, 5), [single.strengths for single in alone])
    assert result.iterations == max(single.iterations for single in alone)


@given(SCORES, st.randoms(use_true_random=False), st.sampled_from(["half", "drop"]))
def test_the_order_of_columns_does_not_matter(scores: np.ndarray, random: object, ties: str) -> None:
    order = list(range(scores.shape[1]))
    random.shuffle(order)  # type: ignore[attr-defined]
    # The same steps, up to rounding; which may bring the last step to one side or the other of the tolerance.
    assert strengths(scores[:, order], ties) == pytest.approx(strengths(scores, ties)[order], abs=1e-4)


@given(SCORES, st.sampled_from(["half", "drop", "second"]))
def test_strengths_are_shares_whatever_the_scores(scores: np.ndarray, ties: str) -> None:
    result = bradley_terry(win_counts(scores, ties=ties))
    assert np.isfinite(result.strengths).all()
    assert (result.strengths >= 0).all()
    assert result.strengths.sum() == pytest.approx(1)


def test_second_gives_ties_to_the_later_column() -> None:
    tied = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 2.0]])
    assert strengths(tied, "second") == pytest.approx([1 / 3, 2 / 3])
    assert strengths(tied[:, ::-1], "second") == pytest.approx([0, 1])


def test_a_system_that_never_won_has_no_strength_and_is_named() -> None:
    result = bradley_terry([[0, 2, 5], [3, 0, 5], [0, 0, 0]])
    assert result.strengths == pytest.approx([0.4, 0.6, 0], abs=1e-4)
    assert result.never_won.tolist() == [False, False, True]
    assert result.never_lost.tolist() == [False, False, False]
    assert not result.connected


def test_two_systems_that_never_won_are_no_division_by_zero() -> None:
    result = bradley_terry([[0, 5, 5], [0, 0, 0], [0, 0, 0]])
    assert result.strengths.tolist() == [1, 0, 0]
    assert result.never_lost.tolist() == [True, False, False]


@pytest.mark.parametrize("ties", ["half", "drop"])
def test_ties_alone_leave_all_systems_equal(ties: str) -> None:
    assert strengths(np.ones((4, 5)), ties).tolist() == [0.2] * 5


def test_one_system_has_all_the_strength() -> None:
    assert bradley_terry([[0.0]]).strengths.tolist() == [1.0]


def test_a_chain_of_wins_is_not_connected_and_a_circle_is() -> None:
    assert not strongly_connected(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    assert strongly_connected(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))


def test_an_iteration_that_does_not_come_to_rest_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="after 3 iterations"):
        result = bradley_terry(win_counts(FIGURE_1), max_iterations=3, tolerance=1e-20)
    assert not result.converged
    assert result.iterations == 3


@pytest.mark.parametrize(
    ("wins", "message"),
    [
        ([[0, 1, 2], [1, 0, 2]], "systems x systems"),
        ([[0, -1], [1, 0]], "0 or more"),
        ([[0, float("nan")], [1, 0]], "finite"),
        ([["a"]], "expected numbers"),
    ],
)
def test_what_are_no_wins(wins: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bradley_terry(wins)  # type: ignore[arg-type]
