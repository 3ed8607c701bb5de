"""Intervals and comparisons of correlations by resampling."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stats.made_scores import clustered_scores, made_scores

from nlgauge.errors import InputError
from nlgauge.stats.correlation import bootstrap_correlations, correlate


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("step", [1e-9, 4.0])
def test_draws_equal_correlating_each_resample(kind: str, step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = made_scores(rows=40)
    scores, human = np.round(scores / step) * step, np.round(human / step * 4) * step  # many ties with the wide step
    messages: list[int] = []
    result = bootstrap_correlations(scores, human, kind=kind, resamples=50, seed=5, advance=messages.append)
    rows = np.random.default_rng(5).integers(0, 40, size=(50, 40))
    expected = [
        [correlate(metric[row], human[row], kind=kind, undefined="nan").value for metric in scores] for row in rows
    ]
    assert result.draws == pytest.approx(np.array(expected), abs=1e-12, nan_ok=True)
    assert sum(messages) == 50
    monkeypatch.setattr("nlgauge.stats.correlation.BLOCK_CELLS", 130)
    monkeypatch.setattr("nlgauge.stats.numeric.BLOCK_CELLS", 130)
    again = bootstrap_correlations(scores, human, kind=kind, resamples=50, seed=5).draws
    assert again == pytest.approx(result.draws, nan_ok=True)
    monkeypatch.setattr("nlgauge.stats.correlation.MOST_KENDALL", 10)
    again = bootstrap_correlations(scores, human, kind=kind, resamples=50, seed=5).draws
    assert again == pytest.approx(result.draws, nan_ok=True)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_clear_difference_is_found_and_a_copy_is_not(kind: str) -> None:
    scores, human = made_scores(rows=150)
    result = bootstrap_correlations(scores, human, kind=kind, resamples=200).difference(0, 2)
    observed = [correlate(row, human, kind=kind).value for row in scores]
    assert result.value == pytest.approx(observed[0] - observed[2])
    assert result.p_value < 0.05
    assert 0 < result.low < result.value < result.high
    copies = bootstrap_correlations(scores[[0, 0]], human, kind=kind, resamples=50)
    assert copies.difference(0, 1).p_value == 1


def test_the_interval_of_r_is_near_fishers() -> None:
    rng = np.random.default_rng(8)
    human = rng.normal(size=800)
    metric = human + rng.normal(size=800)
    result = bootstrap_correlations([metric], human, resamples=2000).interval()
    fisher = np.tanh(np.arctanh(result.value) + np.array([-1.96, 1.96]) / np.sqrt(797))
    assert (result.low, result.high) == pytest.approx(tuple(fisher), abs=0.01)
    assert result.undefined == 0


def test_resamples_without_a_value_are_counted() -> None:
    result = bootstrap_correlations([[1, 2, 4]], [1, 2, 3], resamples=400).interval()
    # A resample of three rows repeats one row three times with probability 3/27.
    assert result.undefined == pytest.approx(400 / 9, rel=0.4)
    assert np.isfinite([result.low, result.high]).all()


def test_correlation_bootstrap_refuses_invalid_input() -> None:
    with pytest.raises(InputError, match="metric is constant"):
        bootstrap_correlations([[1, 1, 1]], [1, 2, 3])
    with pytest.raises(InputError, match="level"):
        bootstrap_correlations([[1, 2, 3], [1, 3, 2]], [1, 2, 3]).difference(0, 1, level=2)
    with pytest.raises(InputError, match="at least 2 documents, got 1"):
        bootstrap_correlations([[1, 2, 4]], [1, 2, 3], clusters="aaa")


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_whole_documents_are_drawn(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, human = made_scores(rows=24)
    scores = np.round(scores)  # with ties
    documents = np.array([*"abacadbbcaeebbccdddafffg"])
    result = bootstrap_correlations(scores, human, kind=kind, clusters=documents, resamples=40, seed=5)
    names = list(dict.fromkeys(documents.tolist()))
    drawn = np.random.default_rng(5).integers(0, 7, size=(40, 7))
    rows = [np.concatenate([np.flatnonzero(documents == names[item]) for item in draw]) for draw in drawn]
    expected = [[correlate(metric[row], human[row], kind=kind).value for metric in scores] for row in rows]
    assert result.draws == pytest.approx(np.array(expected), abs=1e-12)
    monkeypatch.setattr("nlgauge.stats.correlation.MOST_KENDALL", 10)  # sorted, resample by resample
    again = bootstrap_correlations(scores, human, kind=kind, clusters=documents, resamples=40, seed=5)
    assert again.draws == pytest.approx(result.draws)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_document_for_each_row_changes_no_bit(kind: str) -> None:
    scores, human = made_scores(rows=40)
    plain, single = (
        bootstrap_correlations(scores, human, kind=kind, clusters=clusters, resamples=60)
        for clusters in (None, [str(row) for row in range(40)])
    )
    assert plain.draws.tobytes() == single.draws.tobytes()


def test_intervals_of_documents_hold_the_correlation_and_those_of_rows_do_not() -> None:
    held = {"rows": 0, "documents": 0}
    for seed in range(100):
        scores, human, documents = clustered_scores(seed)
        for name, clusters in (("rows", None), ("documents", documents)):
            drawn = bootstrap_correlations(scores[:1], human, clusters=clusters, resamples=150, seed=seed)
            interval = drawn.interval(level=0.95)
            held[name] += interval.low <= 1.25 / np.sqrt(1.25 * 2.5) <= interval.high
    assert held["documents"] >= 85
    assert held["rows"] <= 65
