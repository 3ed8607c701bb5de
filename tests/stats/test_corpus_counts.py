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
    drawn = resampled_scores(CorpusCounts(formula, stats), stats, resamples=200, seed=12345)
    assert drawn == pytest.approx(resampled_by_sacrebleu(engine, stats), abs=1e-4)


def test_the_interval_is_that_of_sacrebleu() -> None:
    engine = BLEU(force=True)
    result = engine.corpus_score(OUTPUT, [REFERENCE], n_bootstrap=1000)
    stats = counts_of(engine, OUTPUT, REFERENCE)
    ours = bootstrap_corpus_score(CorpusCounts("bleu:exp", stats))
    assert ours.mean == pytest.approx(result.score)
    # Its percentiles are the plain ones, 2.5 and 97.5; ours are those for 40 segments, 2.03 and 97.97.
    drawn = resampled_scores(CorpusCounts("bleu:exp", stats), stats, resamples=1000, seed=12345)
    plain = np.percentile(drawn, [2.5, 97.5])
    assert (plain[1] - plain[0]) / 2 == pytest.approx(result._ci, rel=0.01)
    assert ours.low < plain[0] < result.score < plain[1] < ours.high
    assert (ours.high - ours.low) / 2 == pytest.approx(result._ci, rel=0.1)
    assert str(ours) == "bootstrap: 95 % of 1000 resamples, seed 12345, expanded percentiles"


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
        ("ter:1", [[1, 2]], "must be one of bleu, chrf, nist, per, rate, got 'ter:1'"),
        ("per", [[1, 2]], "wrong number of counts of .*: got shape \\(1, 2\\)"),
        ("bleu:exp", [[1, 2, 3]], "wrong number of counts of .*: got shape \\(1, 3\\)"),
        ("chrf:2", [[1, 2]], "wrong number of counts of .*: got shape \\(1, 2\\)"),
        ("chrf:2", [[1, 2, -1]], "0 or more each"),
        ("chrf:2", [1, 2, 1], "segments x counts"),
    ],
)
def test_invalid_counts_are_refused(formula: str, counts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CorpusCounts(formula, counts)


def test_documents_are_drawn_whole() -> None:
    stats = counts_of(BLEU(force=True), OUTPUT, REFERENCE)
    counts = CorpusCounts("bleu:exp", np.tile(stats, (2, 1)))
    twice = bootstrap_corpus_score(counts, clusters=[*range(40), *range(40)])
    once = bootstrap_corpus_score(CorpusCounts("bleu:exp", stats))
    # A copy of every segment says nothing new: two copies in one document are drawn together.
    assert (twice.n, twice.clustered) == (40, True)
    assert twice[:3] == pytest.approx(once[:3], abs=1e-9)
    independent = bootstrap_corpus_score(counts)
    assert independent.high - independent.low < 0.85 * (once.high - once.low)
    with pytest.raises(InputError, match="the document of each of 80 segments, got 3"):
        bootstrap_corpus_score(counts, clusters=[1, 2, 3])
    with pytest.raises(InputError, match="at least 2 documents, got 1"):
        bootstrap_corpus_score(counts, clusters=[1] * 80)


def test_few_segments_have_a_t_interval() -> None:
    # By hand: leaving out a segment of two gives the score of the other.
    counts = CorpusCounts("chrf:2", [[4, 4, 2], [4, 4, 3]])
    result = bootstrap_corpus_score(counts)
    # (50 and 75): deviation sqrt(1/2 * 2 * 12.5^2) = 12.5, t with one degree of freedom 12.7062.
    assert result.mean == pytest.approx(62.5)
    assert result.high - result.mean == pytest.approx(12.5 * 12.7062047, rel=1e-6)
    assert (result.method, result.n, result.resamples) == ("t", 2, 0)


def test_the_interval_holds_the_score_as_often_as_it_says() -> None:
    """Of corpora of 12 and 40 segments from one source, about 95 of 100 intervals hold the score of the source."""
    engine = BLEU(force=True)
    reference = texts(11, 3000)
    stats = counts_of(engine, noisy(reference, 12, 0.3), reference)
    truth = CorpusCounts("bleu:exp", stats).whole
    rng = np.random.default_rng(5)
    for size, least in ((12, 0.92), (40, 0.92)):
        held = []
        for _ in range(400):
            drawn = CorpusCounts("bleu:exp", stats[rng.integers(0, len(stats), size)])
            interval = bootstrap_corpus_score(drawn, resamples=300)
            held.append(interval.low <= truth <= interval.high)
        assert least <= np.mean(held) <= 0.985
