"""Corpus scores from counts (BLEU, chrF, NIST, error rates), for many corpora at once, and their resampling.

A corpus score is not a mean over segments: counts are summed first. So each resample of segments has other sums, and
a formula turns them into a score. The formulas of BLEU (without effective order), chrF (with it) and TER are those of
sacrebleu, vectorised for many sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.numeric import check_level, check_resampling, numbers
from nlgauge.stats.resampling import FEW, Interval, bootstrap_sums, percentile_bounds, sum_by_unit, t_reach

Matrix = NDArray[np.float64]

#: Constants of sacrebleu's smoothing methods `floor` and `add-k`.
_FLOOR, _ADDED = 0.1, 1.0

#: Weight of NIST's penalty, which halves the score of an output of 2/3 of the reference's words.
_NIST_BETA = math.log(2) / math.log(1.5) ** 2

#: In place of a divisor of 0.
_TINY = 1e-300


def bleu_from_counts(totals: ArrayLike, smooth: str = "exp") -> Matrix:
    """BLEU, 0 to 100, of summed counts: lengths of output and reference, then matches and n-grams for n = 1 to N.

    >>> float(bleu_from_counts([5, 5, 5, 4, 3, 2, 5, 4, 3, 2]).round(4))
    100.0
    """
    sums = _sums(totals, "BLEU")
    order = (sums.shape[-1] - 2) // 2
    length, reference = sums[..., 0], sums[..., 1]
    matched, total = sums[..., 2 : 2 + order].copy(), sums[..., 2 + order :].copy()
    any_match = matched.any(axis=-1)
    if smooth == "add-k":
        matched[..., 1:] += _ADDED
        total[..., 1:] += _ADDED
    unmatched = matched == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = matched / total
        if smooth == "exp":
            # The first order without a match counts as 1/2 of a match, the second as 1/4, ... (mteval-v13a).
            precision = np.where(unmatched, 0.5 ** unmatched.cumsum(axis=-1) / total, precision)
        elif smooth == "floor":
            precision = np.where(unmatched, _FLOOR / total, precision)
        brevity = np.where(length < reference, np.exp(1 - reference / length), 1.0)
        score = 100 * brevity * np.exp(np.log(precision).mean(axis=-1))
    # The score is 0 without n-grams of some order, without any match, or without output.
    return np.where(any_match & (total > 0).all(axis=-1) & (length > 0), score, 0.0)


def chrf_from_counts(totals: ArrayLike, beta: float = 2) -> Matrix:
    """chrF, 0 to 100, of summed counts: for each order the n-grams of the output, of the reference, and of both.

    >>> float(chrf_from_counts([4, 4, 2]))
    50.0
    """
    sums = _sums(totals, "chrF")
    output, reference, both = (sums[..., part::3] for part in range(3))
    # Orders without n-grams on one of the sides do not count.
    present = (output > 0) & (reference > 0)
    orders = np.maximum(present.sum(axis=-1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(present, both / output, 0.0).sum(axis=-1) / orders
        recall = np.where(present, both / reference, 0.0).sum(axis=-1) / orders
        score = 100 * (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    return np.where(precision + recall > 0, score, 0.0)


def rate_from_counts(totals: ArrayLike) -> Matrix:
    """Error rate in percent, of summed counts: edits, and words of the reference. Without words, any edit is 100 %.

    >>> rate_from_counts([[1, 4], [2, 0], [0, 0]]).tolist()
    [25.0, 100.0, 0.0]
    """
    sums = _sums(totals, "rate")
    edits, words = sums[..., 0], sums[..., 1]
    return 100 * np.where(words > 0, edits / np.maximum(words, _TINY), edits > 0)


def per_from_counts(totals: ArrayLike) -> Matrix:
    """Position-independent error rate in percent, of summed counts: matches, words of the output, of the reference.

    Errors are words of the reference without a match, and words that the output has more than the reference.

    >>> per_from_counts([[3, 5, 4], [4, 4, 4]]).tolist()
    [50.0, 0.0]
    """
    sums = _sums(totals, "per")
    matches, output, reference = sums[..., 0], sums[..., 1], sums[..., 2]
    errors = reference - matches + np.maximum(output - reference, 0)
    return rate_from_counts(np.stack([errors, reference], axis=-1))


def nist_from_counts(totals: ArrayLike) -> Matrix:
    """NIST of summed counts: lengths of output and reference, information of matches, and n-grams for n = 1 to N.

    >>> nist_from_counts([[4, 4, 8, 3, 4, 3], [0, 4, 0, 0, 0, 0]]).tolist()
    [3.0, 0.0]
    """
    sums = _sums(totals, "nist")
    order = (sums.shape[-1] - 2) // 2
    length, reference = sums[..., 0], sums[..., 1]
    information, ngrams = sums[..., 2 : 2 + order], sums[..., 2 + order :]
    ratio = np.minimum(length / np.maximum(reference, _TINY), 1.0)
    # The penalty is 1/2 for an output of 2/3 of the reference's words.
    penalty = np.exp(-_NIST_BETA * np.log(np.maximum(ratio, _TINY)) ** 2)
    score = penalty * (information / np.maximum(ngrams, 1)).sum(axis=-1)
    return np.where(length > 0, score, 0.0)


_FORMULAS: Mapping[str, Callable[[ArrayLike, str], Matrix]] = {
    "bleu": bleu_from_counts,
    "chrf": lambda totals, beta: chrf_from_counts(totals, float(beta)),
    "nist": lambda totals, _: nist_from_counts(totals),
    "per": lambda totals, _: per_from_counts(totals),
    "rate": lambda totals, _: rate_from_counts(totals),
}

#: For each formula, whether it can have this number of counts.
_SIZES: Mapping[str, Callable[[int], bool]] = {
    "bleu": lambda size: size >= 4 and size % 2 == 0,
    "chrf": lambda size: size >= 3 and size % 3 == 0,
    "nist": lambda size: size >= 4 and size % 2 == 0,
    "per": lambda size: size == 3,
    "rate": lambda size: size == 2,
}


@dataclass(frozen=True, eq=False, repr=False)
class CorpusCounts:
    """Counts of each segment, and the formula for the score of their sum."""

    formula: str
    """`bleu:SMOOTHING`, `chrf:BETA`, `nist`, `per` or `rate`."""
    counts: Matrix
    """Segments x counts; read-only."""

    def __post_init__(self) -> None:
        name, _, _ = self.formula.partition(":")
        if name not in _FORMULAS:
            msg = f"formula must be one of {', '.join(_FORMULAS)}, got {self.formula!r}"
            raise InputError(msg)
        counts = _sums(self.counts, self.formula).copy()
        if counts.ndim != 2 or counts.size == 0 or not np.isfinite(counts).all() or (counts < 0).any():
            msg = f"counts of {self.formula!r} must be segments x counts, 0 or more each, got shape {counts.shape}"
            raise InputError(msg)
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        return f"<CorpusCounts {self.formula}: {' x '.join(map(str, self.counts.shape))}>"

    def __len__(self) -> int:
        return len(self.counts)

    def score(self, totals: ArrayLike) -> Matrix:
        """Scores of summed counts; the last axis of `totals` has the counts."""
        name, _, option = self.formula.partition(":")
        return _FORMULAS[name](totals, option)

    @property
    def whole(self) -> float:
        """The score of all segments together."""
        return float(self.score(self.counts.sum(axis=0)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; counts that are whole numbers are written as such."""
        counts = [[int(count) if count.is_integer() else count for count in row] for row in self.counts.tolist()]
        return {"formula": self.formula, "counts": counts}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> CorpusCounts:
        """Read the output of `to_dict`."""
        return cls(record["formula"], record["counts"])


def bootstrap_corpus_score(
    counts: CorpusCounts,
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 12345,
) -> Interval:
    """An interval for a corpus score: bootstrap, or Student's t for fewer than 30 segments (documents).

    The draws are those of `bootstrap_mean`, and of sacrebleu with the same seed. With `clusters`, the document of
    each segment, whole documents are drawn. The t interval uses the jackknife's standard error.
    """
    check_level(level)
    check_resampling(resamples, seed)
    if clusters is not None and len(clusters) != len(counts):
        msg = f"clusters must name the document of each of {len(counts)} segments, got {len(clusters)}"
        raise InputError(msg)
    units = sum_by_unit(counts.counts, None if clusters is None else list(map(str, clusters)))
    n, score, clustered = len(units), counts.whole, clusters is not None
    if n < 2:
        msg = f"an interval needs at least 2 {'documents' if clustered else 'segments'}, got {n}"
        raise InputError(msg)
    if n < FEW:
        left_out = counts.score(units.sum(axis=0) - units)
        error = math.sqrt((n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum()))
        half = float(t_reach(error, level=level, units=n))
        return Interval(score, score - half, score + half, level, 0, seed, "t", n, clustered)
    draws = resampled_scores(counts, units, resamples=resamples, seed=seed)
    low, high = percentile_bounds(draws, level=level, units=n)
    return Interval(score, float(low), float(high), level, resamples, seed, "bootstrap", n, clustered)


def resampled_scores(counts: CorpusCounts, units: Matrix, *, resamples: int, seed: int) -> Matrix:
    """The corpus score of each resample of units (rows of counts)."""
    return np.concatenate([counts.score(sums) for sums in bootstrap_sums(units, resamples=resamples, seed=seed)])


def _sums(totals: ArrayLike, what: str) -> Matrix:
    sums = numbers(totals, f"counts of {what}")
    size = sums.shape[-1] if sums.ndim else 0
    if not _SIZES[what.partition(":")[0].lower()](size):
        msg = f"wrong number of counts of {what}: got shape {sums.shape}"
        raise InputError(msg)
    return sums
