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
)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("step", [1e-9, 4.0])
def test_draws_equal_correlating_each_resample(kind: str, step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = made_scores(rows=40)
    scores, human = np.round(scores / step) * step, np.round(human / step * 4) * step  # many ties with the wide step
    told: list[int] = []
    found = bootstrap_correlations(scores, human, kind=kind, resamples=50, seed=5, advance=told.append)
    rows = np.random.default_rng(5).integers(0, 40, size=(50, 40))
    expected = [
        [correlate(metric[row], human[row], kind=kind, undefined="nan").value for metric in scores] for row in rows
    ]
    assert found.draws == pytest.approx(np.array(expected), abs=1e-12, nan_ok=True)
    assert sum(told) == 50
    monkeypatch.setattr("nlgauge.stats.correlation_bootstrap._CELLS", 130)
    monkeypatch.setattr("nlgauge.stats.rank_bootstrap._CELLS", 130)
    again = bootstrap_correlations(scores, human, kind=kind, resamples=50, seed=5).draws
    assert again == pytest.approx(found.draws, nan_ok=True)
    monkeypatch.setattr("nlgauge.stats.rank_bootstrap._MOST_KENDALL", 10)
    again = bootstrap_correlations(scores, human, kind=kind, resamples=50, seed=5).draws
    assert again == pytest.approx(found.draws, nan_ok=True)


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
