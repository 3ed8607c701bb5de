"""Correlations: against scipy, by hand, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import correlate, relative_ranking

SCIPY = {"pearson": scipy.stats.pearsonr, "spearman": scipy.stats.spearmanr, "kendall": scipy.stats.kendalltau}

#: Small integers, so that ties are common, of which at least two differ.
rows = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=25).filter(
    lambda pairs: len({a for a, _ in pairs}) > 1 and len({b for _, b in pairs}) > 1
)


@pytest.mark.parametrize("kind", SCIPY)
def test_coefficients_equal_scipys(kind: str) -> None:
    rng = np.random.default_rng(3)
    metric = rng.normal(size=200).round(1)
    human = (metric + rng.normal(size=200)).round(1)
    result = correlate(metric, human, kind=kind)
    assert result.value == pytest.approx(SCIPY[kind](metric, human).statistic, abs=1e-14)
    assert (result.n, result.reason) == (200, None)


def test_tau_b_by_hand() -> None:
    # Pairs 13 and 23 agree, 14 and 24 disagree, 12 is tied in the metric, 34 by people.
    assert correlate([1, 1, 2, 0], [1, 2, 3, 3], kind="kendall").value == 0
    # 12 and 13 agree, 23 is tied by people only: 2 / sqrt(3 * 2)
    assert correlate([1, 2, 3], [1, 2, 2], kind="kendall").value == pytest.approx(2 / math.sqrt(6))


@pytest.mark.parametrize("kind", SCIPY)
def test_two_values_have_a_sign(kind: str) -> None:
    assert correlate([1, 2], [3, 9], kind=kind).value == pytest.approx(1)
    assert correlate([1, 2], [9, 3], kind=kind).value == pytest.approx(-1)


@given(rows)
def test_ranks_survive_a_monotone_transform_and_flip_with_the_sign(pairs: list[tuple[int, int]]) -> None:
    metric, human = np.array(pairs, dtype=float).T
    for kind in ("spearman", "kendall"):
        value = correlate(metric, human, kind=kind).value
        assert correlate(np.exp(metric), human, kind=kind).value == pytest.approx(value, abs=1e-12)
        assert correlate(-metric, human, kind=kind).value == pytest.approx(-value, abs=1e-12)


@given(rows, st.floats(1e-150, 1e150), st.floats(-100, 100))
def test_pearson_ignores_scale_and_offset_and_is_symmetric(
    pairs: list[tuple[int, int]], scale: float, offset: float
) -> None:
    metric, human = np.array(pairs, dtype=float).T
    value = correlate(metric, human).value
    assert -1 <= value <= 1
    assert correlate(metric * scale, human).value == pytest.approx(value, abs=1e-9)
    assert correlate(metric + offset, human).value == pytest.approx(value, abs=1e-9)
    assert correlate(human, metric).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize(
    ("metric", "human", "reason"),
    [
        ([0.1, 0.1, 0.1], [1, 2, 3], "metric is constant"),
        ([1, 2, 3], [4, 4, 4], "human is constant"),
        ([1, math.nan, 3], [1, 2, 3], "metric has nan at index 1"),
        ([1, 2, 3], [1, 2, math.inf], "human has inf at index 2"),
    ],
)
def test_undefined_correlation_is_an_error_or_nan_with_reason(
    kind: str, metric: list[float], human: list[float], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        correlate(metric, human, kind=kind)
    result = correlate(metric, human, kind=kind, undefined="nan")
    assert math.isnan(result.value)
    assert reason in str(result.reason)


def test_rounding_is_no_variation_for_pearson() -> None:
    with pytest.raises(InputError, match="up to rounding"):
        correlate([0.3, 0.1 + 0.2, 0.3], [1, 2, 3])


@pytest.mark.parametrize("undefined", ["raise", "nan"])
def test_short_and_unequal_lists_are_errors_whatever_the_policy(undefined: str) -> None:
    with pytest.raises(InputError, match="at least 2"):
        correlate([1.0], [1.0], undefined=undefined)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"\(3,\) and \(2,\)"):
        correlate([1, 2, 3], [1, 2], undefined=undefined)  # type: ignore[arg-type]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(RecipeError, match="'taub'"):
        correlate([1, 2], [1, 2], kind="taub")
    with pytest.raises(RecipeError, match="'zero'"):
        correlate([1, 1], [1, 2], undefined="zero")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="'skip'"):
        relative_ranking([1], [2], ties="skip")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="metric: expected numbers"):
        correlate(["a", "b"], [1, 2])


@pytest.mark.parametrize(
    ("ties", "value"),
    # Of ten pairs 6 are right, 3 wrong, 1 tied; by hand.
    [("discordant", 0.2), ("concordant", 0.4), ("half", 0.3), ("drop", 3 / 9)],
)
def test_the_tie_rule_of_wmts_tau(ties: str, value: float) -> None:
    better = [2, 2, 2, 2, 2, 2, 1, 1, 1, 1]
    worse = [1, 1, 1, 1, 1, 1, 2, 2, 2, 1]
    result = relative_ranking(better, worse, ties=ties)  # type: ignore[arg-type]
    assert result.value == pytest.approx(value)
    assert (result.concordant, result.discordant, result.tied) == (6, 3, 1)


def test_a_tau_of_no_pairs_is_not_zero() -> None:
    with pytest.raises(InputError, match="all 2 pairs are metric ties"):
        relative_ranking([1, 1], [1, 1], ties="drop")
    assert math.isnan(relative_ranking([1, 1], [1, 1], ties="drop", undefined="nan").value)
    with pytest.raises(InputError, match="worse has nan at index 0"):
        relative_ranking([1], [math.nan])
    with pytest.raises(InputError, match="at least 1"):
        relative_ranking([], [])
