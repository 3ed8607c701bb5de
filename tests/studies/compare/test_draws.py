"""Resampled scores, swaps and strengths, beside the same made one draw at a time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.compare.made_scores import made, table

from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.paired_tests import (
    Sample,
    bootstrap_p,
    bootstrap_scores,
    randomisation_p,
    strength_draws,
)
from nlgauge.studies.compare.rankings import win_counts
from nlgauge.studies.compare.strengths import bradley_terry

SCORES = np.round(made(30, 4), 1)  # with ties
DOCUMENTS = tuple("aaabbcccccddeeeffgghhhhhiijjkk")


def counts() -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.stack([rng.integers(1, 5, size=(30, 4)), rng.integers(5, 9, size=(30, 4))], axis=-1).astype(float)


def test_metrics_see_the_same_draws() -> None:
    corpus = table(SCORES, counts=counts())
    samples = [Sample.of(table(SCORES)), Sample.of(corpus), Sample.of(table(SCORES, documents=DOCUMENTS))]
    means, ratios, by_document = bootstrap_scores(samples, resamples=20, seed=3)
    draw = np.random.default_rng(3).integers(0, 30, size=(20, 30))
    assert means == pytest.approx(SCORES[draw].mean(axis=1))
    totals = counts()[draw].sum(axis=1)
    assert ratios == pytest.approx(totals[..., 0] / totals[..., 1])
    places = [np.flatnonzero(np.array(DOCUMENTS) == name) for name in dict.fromkeys(DOCUMENTS)]
    drawn = np.random.default_rng(3).integers(0, len(places), size=(20, len(places)))
    expected = [SCORES[np.concatenate([places[index] for index in row])].mean(axis=0) for row in drawn]
    assert by_document == pytest.approx(np.array(expected))


@pytest.mark.parametrize("ties", ["half", "drop", "second"])
@pytest.mark.parametrize("documents", [None, DOCUMENTS])
def test_strengths_of_a_resample_are_those_of_its_rows(ties: str, documents: tuple[str, ...] | None) -> None:
    scores = table(SCORES, documents=documents)
    settings = CompareSettings(resamples=100, ties=ties, seed=3)  # type: ignore[arg-type]
    result = strength_draws(scores, settings)
    names = list(dict.fromkeys(DOCUMENTS)) if documents else list(range(30))
    of_row = np.array(DOCUMENTS) if documents else np.arange(30)
    draw = np.random.default_rng(3).integers(0, len(names), size=(100, len(names)))
    for index in (0, 57, 99):
        rows = np.concatenate([np.flatnonzero(of_row == names[unit]) for unit in draw[index]])
        alone = bradley_terry(win_counts(SCORES[rows], ties=settings.ties), tolerance=1e-16)
        assert result[index] == pytest.approx(alone.strengths, abs=1e-5)


def test_a_system_without_strength_may_win_in_no_resample() -> None:
    scores = table(np.column_stack([np.arange(20.0), np.arange(20.0) + 1]))
    assert strength_draws(scores, CompareSettings(resamples=100)).tolist() == [[0, 1]] * 100


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Sample.of(table(SCORES))
    settings = CompareSettings(resamples=100)

    def everything() -> list[np.ndarray]:
        (draws,) = bootstrap_scores([sample], resamples=100, seed=1)
        swapped = randomisation_p(sample, resamples=100, seed=1)
        return [draws, bootstrap_p(draws, sample.observed, units=30), swapped, strength_draws(sample.table, settings)]

    whole = everything()
    monkeypatch.setattr("nlgauge.studies.compare.paired_tests.BLOCK_CELLS", 70)
    monkeypatch.setattr("nlgauge.stats.numeric.BLOCK_CELLS", 70)
    monkeypatch.setattr("nlgauge.stats.resampling._CELLS", 70)
    for first, other in zip(whole, everything(), strict=True):
        assert first == pytest.approx(other)


@pytest.mark.parametrize("corpus", [False, True])
def test_a_swap_exchanges_the_two_outputs(corpus: bool) -> None:
    """All 2^8 swaps of eight instances, against draws."""
    values, numbers = SCORES[:8, :2], counts()[:8, :2]
    sample = Sample.of(table(values, counts=numbers if corpus else None))
    observed = abs(float(np.diff(sample.observed)[0]))
    reached = 0
    for bits in range(256):
        swap = np.array([bits >> index & 1 for index in range(8)], dtype=bool)
        if corpus:
            totals = np.where(swap[:, None, None], numbers[:, ::-1], numbers).sum(axis=0)
            difference = np.diff(totals[:, 0] / totals[:, 1])
        else:
            difference = np.diff(np.where(swap[:, None], values[:, ::-1], values).mean(axis=0))
        reached += bool(abs(difference[0]) >= observed - 1e-12)
    (p,) = randomisation_p(sample, resamples=20_000, seed=1)
    assert p == pytest.approx(reached / 256, abs=0.015)


def test_documents_are_swapped_whole() -> None:
    values = np.zeros((40, 2))
    values[:, 0] = np.repeat([1.0, -0.9], 20) + 1e-3 * np.arange(40)
    apart = Sample.of(table(values))
    together = Sample.of(table(values, documents=("x",) * 20 + ("y",) * 20))
    assert randomisation_p(together, resamples=999, seed=1)[0] > 0.9, "two documents, four ways to swap"
    assert randomisation_p(apart, resamples=999, seed=1)[0] < 0.9
