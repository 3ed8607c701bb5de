"""BLEU and chrF from counts: sacrebleu computes the same, one corpus at a time."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from nlgauge.errors import InputError
from nlgauge.stats.corpus_counts import (
    CorpusCounts,
    bleu_from_counts,
    bootstrap_corpus_score,
    chrf_from_counts,
    resampled_scores,
)

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "big", "old", ",", ".", "and"]


def texts(seed: int, count: int = 40) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, 12))) for _ in range(count)]


def noisy(lines: list[str], seed: int, rate: float) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choice(WORDS) if rng.random() < rate else word for word in line.split()) for line in lines]


REFERENCE = texts(1)
OUTPUT = noisy(REFERENCE, 2, 0.3)


def counts_of(engine: Any, output: list[str], reference: list[str]) -> np.ndarray:
    return np.array(engine._extract_corpus_statistics(output, [reference]), dtype=np.float64)


@pytest.mark.parametrize("smooth", ["exp", "floor", "add-k", "none"])
@pytest.mark.parametrize("part", [slice(None), slice(0, 1), slice(3, 5), slice(7, 8)])
def test_bleu_is_that_of_sacrebleu(smooth: str, part: slice) -> None:
    engine = BLEU(smooth_method=smooth, force=True)
    for rate in (0.0, 0.3, 0.8, 1.0):
        output = noisy(REFERENCE, 3, rate)[part]
        stats = counts_of(engine, output, REFERENCE[part])
        expected = engine.corpus_score(output, [REFERENCE[part]]).score
        assert float(bleu_from_counts(stats.sum(axis=0), smooth)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("words", "beta"), [(0, 2), (2, 2), (0, 1), (2, 3)])
def test_chrf_is_that_of_sacrebleu(words: int, beta: int) -> None:
    engine = CHRF(word_order=words, beta=beta)
    for rate in (0.0, 0.3, 1.0):
        output = noisy(REFERENCE, 4, rate)
        for part in (slice(None), slice(0, 1), slice(5, 7)):
            stats = counts_of(engine, output[part], REFERENCE[part])
            expected = engine.corpus_score(output[part], [REFERENCE[part]]).score
            assert float(chrf_from_counts(stats.sum(axis=0), beta)) == pytest.approx(expected, abs=1e-9)


def test_nothing_in_common_is_zero() -> None:
    assert float(bleu_from_counts([5, 5, 0, 0, 0, 0, 5, 4, 3, 2])) == 0
    assert float(bleu_from_counts([0, 5, 0, 0, 0, 0, 0, 0, 0, 0])) == 0
    assert float(chrf_from_counts([4, 4, 0, 3, 3, 0])) == 0
    assert float(chrf_from_counts([0, 0, 0])) == 0


def test_many_sums_at_once_are_the_same_as_one_by_one() -> None:
    stats = counts_of(BLEU(force=True), OUTPUT, REFERENCE)
    whole = bleu_from_counts(stats.reshape(5, 8, -1))
    assert whole.shape == (5, 8)
    assert whole[2, 3] == bleu_from_counts(stats[2 * 8 + 3])


def resampled_by_sacrebleu(engine: Any, stats: np.ndarray) -> np.ndarray:
    from sacrebleu.significance import _bootstrap_resample

    return np.array([score.score for score in _bootstrap_resample(stats.tolist(), engine, 200)[1]])


@pytest.mark.parametrize(("engine", "formula"), [(BLEU(force=True), "bleu:exp"), (CHRF(), "chrf:2")])
def test_resamples_are_those_of_sacrebleu_draw_by_draw(engine: Any, formula: str) -> None:
    # Its seed is 12345 unless SACREBLEU_SEED says otherwise.
    stats = counts_of(engine, OUTPUT, REFERENCE)
    drawn = resampled_scores(CorpusCounts(formula, stats), resamples=200, seed=12345)
    assert drawn == pytest.approx(resampled_by_sacrebleu(engine, stats), abs=1e-4)


def test_the_interval_is_that_of_sacrebleu() -> None:
    engine = BLEU(force=True)
    found = engine.corpus_score(OUTPUT, [REFERENCE], n_bootstrap=1000)
    ours = bootstrap_corpus_score(CorpusCounts("bleu:exp", counts_of(engine, OUTPUT, REFERENCE)))
    assert ours.mean == pytest.approx(found.score)
    # It takes the 26th and the 975th of 1000; a percentile lies just beside them.
    assert (ours.high - ours.low) / 2 == pytest.approx(found._ci, rel=0.01)
    assert ours.low < found.score < ours.high


def test_counts_go_through_plain_data() -> None:
    counts = CorpusCounts("chrf:2", [[4, 4, 2], [3, 5, 1]])
    again = CorpusCounts.from_dict(counts.to_dict())
    assert again.whole == counts.whole
    assert counts.to_dict() == {"formula": "chrf:2", "counts": [[4, 4, 2], [3, 5, 1]]}
    assert repr(again) == "<CorpusCounts chrf:2: 2 x 3>"
    with pytest.raises(ValueError, match="read-only"):
        again.counts[0, 0] = 9


@pytest.mark.parametrize(
    ("formula", "counts", "message"),
    [
        ("ter:1", [[1, 2]], "must be one of bleu, chrf, got 'ter:1'"),
        ("bleu:exp", [[1, 2, 3]], "wrong number: got shape \\(1, 3\\)"),
        ("chrf:2", [[1, 2]], "wrong number: got shape \\(1, 2\\)"),
        ("chrf:2", [[1, 2, -1]], "0 or more each"),
        ("chrf:2", [1, 2, 1], "segments x counts"),
    ],
)
def test_what_are_no_counts_is_refused(formula: str, counts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CorpusCounts(formula, counts)
