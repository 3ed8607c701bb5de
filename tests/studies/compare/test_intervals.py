"""Intervals hold what their level says: by simulation, each column a sample of its own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.compare.made_scores import made, table

from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.paired_tests import (
    Sample,
    bootstrap_scores,
    score_intervals,
    strength_draws,
    strength_intervals,
)
from nlgauge.studies.compare.rankings import win_counts
from nlgauge.studies.compare.strengths import bradley_terry
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.compare.systems import compare_systems

SETTINGS = CompareSettings(resamples=1000)
TRIALS = 1500
#: Four standard errors of a share of .95 over as many trials.
SLACK = 4 * np.sqrt(0.95 * 0.05 / TRIALS)


def coverage(scores: SystemScores, truth: float, settings: CompareSettings = SETTINGS) -> float:
    sample = Sample.of(scores)
    (draws,) = bootstrap_scores([sample], resamples=settings.resamples, seed=settings.seed)
    result = score_intervals(sample, draws, settings)
    return float(np.mean([item is not None and item.low <= truth <= item.high for item in result]))


def columns(values: np.ndarray, **fields: object) -> SystemScores:
    return table(values, [str(index) for index in range(values.shape[1])], **fields)


@pytest.mark.parametrize("n", [4, 12, 30, 100])
def test_of_a_mean(n: int) -> None:
    scores = columns(np.random.default_rng(n).normal(size=(n, TRIALS)))
    assert coverage(scores, 0.0) == pytest.approx(0.95, abs=SLACK)


def test_of_a_mean_at_another_level() -> None:
    scores = columns(np.random.default_rng(1).normal(size=(40, TRIALS)))
    assert coverage(scores, 0.0, CompareSettings(level=0.8)) == pytest.approx(0.8, abs=2 * SLACK)


@pytest.mark.parametrize("documents", [12, 60])
def test_of_a_mean_over_documents(documents: int) -> None:
    """Instances of a document share most of their score; intervals over instances would cover far too little."""
    rng = np.random.default_rng(documents)
    sizes = rng.integers(1, 12, size=documents)
    names = np.repeat([str(index) for index in range(documents)], sizes)
    shared = np.repeat(rng.normal(size=(documents, TRIALS)), sizes, axis=0)
    values = shared + 0.3 * rng.normal(size=shared.shape)
    # Few documents of unequal size are a little worse than the theory.
    assert coverage(columns(values, documents=tuple(names)), 0.0) == pytest.approx(0.95, abs=SLACK + 0.015)
    assert coverage(columns(values), 0.0) < 0.8


@pytest.mark.parametrize("n", [12, 60])
def test_of_a_corpus_score(n: int) -> None:
    rng = np.random.default_rng(3)
    length = rng.integers(5, 30, size=(n, TRIALS)).astype(float)
    right = rng.binomial(length.astype(int), 0.6).astype(float)
    scores = columns(right / length, counts=np.stack([right, length], axis=-1))
    assert coverage(scores, 0.6) == pytest.approx(0.95, abs=SLACK + 0.005)


def test_an_interval_says_how_it_was_made() -> None:
    few, many = (compare_systems([table(made(n, 2))]).metric().systems[0] for n in (12, 40))
    assert few.interval is not None
    assert many.interval is not None
    assert few.bt_interval is not None
    assert (few.interval.method, few.interval.n, few.interval.resamples) == ("t", 12, 0)
    assert (many.interval.method, many.interval.n, many.interval.clustered) == ("bootstrap", 40, False)
    assert few.bt_interval.method == "bootstrap"


@pytest.mark.heavy
def test_of_strengths() -> None:
    """Three systems that win by chance: strengths of 1/3 each."""
    settings = CompareSettings(resamples=300)
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(150):
        scores = table(rng.normal(size=(40, 3)))
        strengths = bradley_terry(win_counts(scores.values)).strengths
        result = strength_intervals(strengths, strength_draws(scores, settings), 40, settings)
        covered += [item is not None and item.low <= 1 / 3 <= item.high for item in result]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.04)


@pytest.mark.parametrize("n", [12, 40, 300])
@pytest.mark.parametrize("clustered", [False, True])
def test_it_is_the_interval_of_score_confidence(n: int, clustered: bool) -> None:
    values = made(n, 1)
    documents = tuple(str(index // 2) for index in range(n)) if clustered else None
    sample = Sample.of(table(values, documents=documents))
    (draws,) = bootstrap_scores([sample], resamples=1000, seed=12345)
    (result,) = score_intervals(sample, draws, SETTINGS)
    expected = bootstrap_mean(values[:, 0], clusters=documents)
    assert result is not None
    assert result[:3] == pytest.approx(expected[:3])
    assert result[3:] == expected[3:]


def test_a_distance_keeps_its_sign() -> None:
    values = made(50, 2) + 10
    sample = Sample.of(table(values, higher_is_better=False))
    (draws,) = bootstrap_scores([sample], resamples=1000, seed=12345)
    for index, score_interval in enumerate(score_intervals(sample, draws, SETTINGS)):
        assert score_interval is not None
        assert score_interval.mean == pytest.approx(values[:, index].mean())
        assert score_interval.low < score_interval.mean < score_interval.high


@pytest.mark.parametrize("n", [1, 2, 3])
def test_two_or_three_points_have_none(n: int) -> None:
    sample = Sample.of(table(made(n, 2)))
    (draws,) = bootstrap_scores([sample], resamples=100, seed=1)
    assert score_intervals(sample, draws, SETTINGS) == [None, None]
    assert strength_intervals(np.ones(2) / 2, np.ones((100, 2)), n, SETTINGS) == [None, None]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("n", "spread", "least", "most"), [(6, 2.0, 0.65, 0.88), (10, 0.0, 0.91, 0.99), (60, 0.0, 0.91, 0.99)]
)
def test_of_strengths_of_few_instances_can_be_narrow_and_it_is_said(
    n: int, spread: float, least: float, most: float
) -> None:
    settings = CompareSettings(test="t", tests_shown=(), resamples=300, permutations=100)
    rng = np.random.default_rng(n)
    ahead = np.array([0.0, spread / 2, spread])
    truth = dict(zip("abc", bradley_terry(win_counts(rng.normal(size=(200_000, 3)) + ahead)).strengths, strict=True))
    covered, notes = [], set()
    for _ in range(120):
        result = compare_systems([table(rng.normal(size=(n, 3)) + ahead)], settings=settings).metric()
        for row in result.systems:
            assert row.bt_interval is not None
            covered.append(row.bt_interval.low <= truth[row.system] <= row.bt_interval.high)
        notes.add(any("can be too narrow below 30" in note for note in result.notes))
    assert least < np.mean(covered) < most
    assert notes == {n < 30}
