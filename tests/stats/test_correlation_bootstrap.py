"""Intervals and comparisons of correlations by resampling."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stats.made_scores import made_scores

from nlgauge.errors import InputError
from nlgauge.stats import (
    bootstrap_correlations,
    correlate,
    correlation_interval,
    paired_bootstrap,
    pearson,
)


def test_bootstrap_of_pearson_equals_correlating_each_resample(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = made_scores(rows=40)
    found = bootstrap_correlations(scores, human, resamples=50, seed=5)
    rows = np.random.default_rng(5).integers(0, 40, size=(50, 40))
    expected = [[pearson(metric[row], human[row]).value for metric in scores] for row in rows]
    assert found.draws == pytest.approx(np.array(expected))
    monkeypatch.setattr("nlgauge.stats.correlation_bootstrap._CELLS", 130)
    assert bootstrap_correlations(scores, human, resamples=50, seed=5).draws == pytest.approx(found.draws)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_clear_difference_is_found_and_a_copy_is_not(kind: str) -> None:
    scores, human = made_scores(rows=150)
    found = paired_bootstrap(scores[0], scores[2], human, kind=kind, resamples=200)
    observed = [correlate(row, human, kind=kind).value for row in scores]
    assert found.delta == pytest.approx(observed[0] - observed[2])
    assert found.p_value < 0.05
    assert 0 < found.low < found.delta < found.high
    assert paired_bootstrap(scores[0], scores[0], human, kind=kind, resamples=50).p_value == 1


def test_the_interval_of_r_is_near_fishers() -> None:
    rng = np.random.default_rng(8)
    human = rng.normal(size=800)
    metric = human + rng.normal(size=800)
    found = correlation_interval(metric, human, resamples=2000)
    fisher = np.tanh(np.arctanh(found.value) + np.array([-1.96, 1.96]) / np.sqrt(797))
    assert (found.low, found.high) == pytest.approx(tuple(fisher), abs=0.01)
    assert found.undefined == 0


def test_resamples_without_a_value_are_counted() -> None:
    found = correlation_interval([1, 2, 4], [1, 2, 3], resamples=400)
    # A resample of three rows repeats one row three times with probability 3/27.
    assert found.undefined == pytest.approx(400 / 9, rel=0.4)
    assert np.isfinite([found.low, found.high]).all()


def test_bootstrap_refuses() -> None:
    with pytest.raises(InputError, match="metric is constant"):
        correlation_interval([1, 1, 1], [1, 2, 3])
    with pytest.raises(InputError, match="equal length"):
        paired_bootstrap([1, 2], [1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="level"):
        correlation_interval([1, 2, 3], [1, 2, 3], level=2)
