"""Correlation with human judgements at several levels, and hybrid systems (super-sampling).

Metric scores and human scores are arrays of systems x segments, higher for better outputs; nan marks outputs without
a human score. Levels are

- segment: all outputs that have a human score, in one list;
- system: one number per system on both sides;
- item: across systems for each segment (topic), then the unweighted mean over segments;
- by-system: across segments for each system, then the unweighted mean over systems.

A mean over groups leaves out groups whose coefficient is undefined, and counts them by reason.

Hybrid super-sampling (Zhang et al. 2020, BERTScore, section 4) makes many systems out of few. For every segment, a
hybrid system takes the output of one real system drawn at random; its score is the mean over these outputs, for the
metric and for human judgements. For metrics such as BLEU, whose system scores are computed from sums of counts, it is
computed from the sums over these outputs (`SummedCounts`). Correlations are then over thousands of systems instead of
a dozen. If all systems are drawn equally often, as in the text of the paper, hybrids hardly differ from each other.
If each hybrid mixes two systems in a random proportion (`mixed="two"`), they differ as much as real systems (D24).
Model selection draws subsets of hybrids and looks up the metric's best hybrid in the human ranking:

    Hits@1  share of draws in which it is also the best by human score
    MRR     mean of 1 / its rank by human score
    Diff    mean of (best human score - human score of the metric's best), x 100
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import KINDS, Undefined, correlate, why_undefined
from nlgauge.stats.numeric import Vector, blocks, check_resampling, numbers

Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

#: Turns a matrix of systems x segments (nan = ignore) into one number per system.
Aggregate: TypeAlias = Callable[[Matrix], ArrayLike]


def bradley_terry_strengths(table: Matrix) -> Vector:
    """Strengths of systems as in `nlgauge compare`: they sum to 1, and a tie is half a win for both.

    Two systems are compared on the segments that have scores of both (nan = ignore).

    >>> bradley_terry_strengths(np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])).round(4).tolist()
    [0.75, 0.25]
    """
    from nlgauge.studies.compare.rankings import win_counts
    from nlgauge.studies.compare.strengths import bradley_terry

    scored = np.isfinite(table)
    if scored.all():
        return np.asarray(bradley_terry(win_counts(table.T)).strengths)
    wins = np.zeros((len(table), len(table)))
    for first, second in combinations(range(len(table)), 2):
        both = scored[first] & scored[second]
        if both.any():
            counts = win_counts(table[np.ix_([first, second], both)].T)
            wins[first, second], wins[second, first] = counts[0, 1], counts[1, 0]
    return np.asarray(bradley_terry(wins).strengths)


AGGREGATES: Mapping[str, Aggregate] = MappingProxyType(
    {
        "mean": lambda table: np.nanmean(table, axis=1),
        "median": lambda table: np.nanmedian(table, axis=1),
        "bt": bradley_terry_strengths,
    }
)


class LevelCorrelation(NamedTuple):
    """Correlation of a metric with human judgements at one level."""

    value: float
    n: int
    """Outputs (segment level), systems (system level) or groups averaged over."""
    level: str
    kind: str
    skipped: Mapping[str, int] = MappingProxyType({})
    """Number of groups or systems left out, by reason."""
    reason: str | None = None
    """Why `value` is nan."""


def human_scores(human: ArrayLike) -> Matrix:
    """Check human scores of systems x segments; nan marks outputs without one."""
    gold = numbers(human, "human")
    if gold.ndim != 2 or gold.size == 0:
        msg = f"human scores must be systems x segments, got shape {gold.shape}"
        raise InputError(msg)
    bad = np.argwhere(np.isinf(gold))
    if bad.size:
        system, segment = bad[0]
        msg = f"human score of system {system}, segment {segment} is {float(gold[system, segment])!r}"
        raise InputError(msg)
    if np.isnan(gold).all():
        msg = "all human scores are missing (nan)"
        raise InputError(msg)
    return gold


def score_matrix(scores: ArrayLike, name: str) -> Matrix:
    """Check that scores have the shape systems x segments."""
    matrix = numbers(scores, f"scores of {name!r}")
    if matrix.ndim != 2 or matrix.size == 0:
        msg = f"scores of {name!r} must be systems x segments, got shape {matrix.shape}"
        raise InputError(msg)
    return matrix


def check_scores(scores: ArrayLike, needed: Mask, name: str) -> Matrix:
    """Check that scores have the shape of `needed` and are finite wherever it is true."""
    matrix = score_matrix(scores, name)
    if matrix.shape != needed.shape:
        msg = (
            f"scores of {name!r} have shape {matrix.shape}, human scores {needed.shape}; "
            "both must be systems x segments in the same order"
        )
        raise InputError(msg)
    bad = np.argwhere(needed & ~np.isfinite(matrix))
    if bad.size:
        system, segment = bad[0]
        msg = (
            f"score of {name!r} for system {system}, segment {segment} is {float(matrix[system, segment])!r} "
            f"({len(bad)} such score(s)); score these outputs, or remove their human scores"
        )
        raise InputError(msg)
    return matrix


def judged_scores(scores: ArrayLike, human: ArrayLike, name: str) -> tuple[Matrix, Matrix, Mask]:
    """Checked scores and human scores, and a mask of outputs that have a human score."""
    gold = human_scores(human)
    judged = ~np.isnan(gold)
    return check_scores(scores, judged, name), gold, judged


def segment_level(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    undefined: Undefined = "raise",
    name: str = "metric",
) -> LevelCorrelation:
    """Correlation over all outputs that have a human score; `name` is the metric in messages."""
    ours, gold, judged = judged_scores(scores, human, name)
    result = correlate(ours[judged], gold[judged], kind=kind, undefined="nan")
    return _or_raise(LevelCorrelation(result.value, result.n, "segment", kind, {}, result.reason), name, undefined)


def system_level(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    aggregate: str | Aggregate = "mean",
    on: Literal["all", "judged"] = "all",
    undefined: Undefined = "raise",
    name: str = "metric",
) -> LevelCorrelation:
    """Correlation of one number per system.

    `human` is one number per system (the official score, or nan) or systems x segments, which is averaged over
    judged outputs. The metric's scores are aggregated by `aggregate` ("mean", "median", "bt" or a function of the
    matrix), by default over all segments: more scores, less noise (Deutsch et al. 2022).
    """
    ours, gold, dropped = system_vectors(scores, human, aggregate=aggregate, on=on, name=name)
    result = correlate(ours, gold, kind=kind, undefined="nan")
    skipped = {"systems without a human score": dropped} if dropped else {}
    return _or_raise(
        LevelCorrelation(result.value, result.n, "system", kind, skipped, result.reason), name, undefined
    )


def grouped_level(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    by: Literal["item", "system"] = "item",
    constant: Literal["skip", "raise"] = "skip",
    undefined: Undefined = "raise",
    name: str = "metric",
) -> LevelCorrelation:
    """Mean of the correlations within each item (across systems) or each system (across items).

    Groups with fewer than two judged outputs are left out and counted in `skipped`, and so are groups where one side
    is constant if `constant="skip"`. If no group is left, that is an error, or nan with its reason.
    """
    check_choices(by=(by, ("item", "system")), constant=(constant, ("skip", "raise")), kind=(kind, KINDS))
    sides = judged_scores(scores, human, name)
    rows = tuple(side.T for side in sides) if by == "item" else sides
    values: list[float] = []
    skipped: Counter[str] = Counter()
    for index, (ours, theirs, mask) in enumerate(zip(*rows, strict=True)):
        if mask.sum() < 2:
            skipped["fewer than two judged outputs"] += 1
            continue
        x, y = ours[mask], theirs[mask]
        reason = ""
        for side, values_of in (("human", y), ("metric", x)):
            if not reason and why_undefined(values_of, side, kind=kind):  # finite, so constant
                reason = f"constant {side} scores"
        if reason and constant == "raise":
            msg = f"{name!r}, {by} {index}: {reason}, so {kind} is undefined; constant='skip' leaves such groups out"
            raise InputError(msg)
        if reason:
            skipped[reason] += 1
            continue
        values.append(correlate(x, y, kind=kind).value)
    level = "item" if by == "item" else "by-system"
    if values:
        return LevelCorrelation(float(np.mean(values)), len(values), level, kind, dict(skipped))
    reason = f"no {by} is left to average over ({', '.join(f'{n} with {reason}' for reason, n in skipped.items())})"
    return _or_raise(LevelCorrelation(float("nan"), 0, level, kind, dict(skipped), reason), name, undefined)


def check_choices(**choices: tuple[Any, Collection[Any]]) -> None:
    """Raise an error if the value of an argument is not one of those allowed."""
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            msg = f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}"
            raise RecipeError(msg)


def system_vectors(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    aggregate: str | Aggregate = "mean",
    on: str = "all",
    name: str = "metric",
) -> tuple[Vector, Vector, int]:
    """Metric score and human score of each judged system, and the number of systems without a human score."""
    check_choices(on=(on, ("all", "judged")))
    matrix = score_matrix(scores, name)
    gold = numbers(human, "human")
    if gold.ndim == 1 and on == "judged":
        msg = "on='judged' needs human scores of systems x segments, got one number per system"
        raise InputError(msg)
    judged = np.ones(matrix.shape, dtype=bool)
    if gold.ndim == 1:
        if gold.size != len(matrix) or np.isinf(gold).any():
            msg = f"human must be a finite number (or nan) for each of {len(matrix)} systems, got {gold.size}"
            raise InputError(msg)
        systems = systems_with_scores(gold)
        official = gold[systems]
    else:
        gold = human_scores(gold)
        systems = systems_with_scores(gold)
        official = np.nanmean(gold[systems], axis=1)
        if on == "judged":
            judged = ~np.isnan(gold)
        elif gold.shape != matrix.shape:
            check_scores(matrix, ~np.isnan(gold), name)  # raises
    judged[~systems] = False
    ours = np.where(judged, check_scores(matrix, judged, name), np.nan)[systems]
    return aggregate_systems(ours, aggregate), official, int((~systems).sum())


def systems_with_scores(gold: Matrix) -> Mask:
    """Mask of systems that have a human score; `gold` has one number per system, or systems x segments."""
    return np.asarray((~np.isnan(gold)).reshape(len(gold), -1).any(axis=1))


def aggregate_systems(table: Matrix, aggregate: str | Aggregate) -> Vector:
    """Join the scores of each system into one number."""
    if isinstance(aggregate, str):
        if aggregate not in AGGREGATES:
            msg = f"aggregate must be one of {', '.join(AGGREGATES)} or a function, got {aggregate!r}"
            raise RecipeError(msg)
        aggregate = AGGREGATES[aggregate]
    result = numbers(aggregate(table), "aggregate")
    if result.shape != (len(table),) or not np.isfinite(result).all():
        msg = f"aggregate must give a finite number for each of {len(table)} systems, got {result!r}"
        raise InputError(msg)
    return result


def _or_raise(result: LevelCorrelation, name: str, undefined: str) -> LevelCorrelation:
    """Return the result, or raise an error if it is undefined and `undefined` is "raise"."""
    if result.reason is None or undefined == "nan":
        return result
    check_choices(undefined=(undefined, ("raise", "nan")))
    msg = f"{name!r} has no {result.kind} at {result.level} level: {result.reason}; pass undefined='nan' to get nan"
    raise InputError(msg)


#: Maximum number of draws in memory.
_CELLS = 2_000_000


class SummedCounts(NamedTuple):
    """Counts of outputs, for a metric whose system score is computed from their sums."""

    counts: NDArray[np.float64]
    """systems x segments x counts."""
    score: Callable[[Matrix], Vector]
    """The scores of rows of summed counts; higher is better."""


class Hybrids(NamedTuple):
    """Human and metric scores of hybrid systems, higher is better."""

    names: tuple[str, ...]
    human: Vector
    metrics: Matrix
    """metrics x hybrids."""
    segments: int
    unjudged: int
    """Segments left out because none of their outputs was judged."""


class HybridResult(NamedTuple):
    """Row of one metric in super-sampled tables."""

    metric: str
    pearson: float
    """Signed: scores are oriented before, so a negative value is a bad one."""
    hits_at_1: float
    mrr: float
    diff: float
    """x 100."""
    reason: str | None = None
    """Why all four values are nan: a metric that gives every hybrid the same score cannot select one."""


def make_hybrids(
    scores: Mapping[str, ArrayLike | SummedCounts],
    human: ArrayLike,
    *,
    hybrids: int = 10_000,
    mixed: Literal["all", "two"] = "all",
    seed: int = 12345,
) -> Hybrids:
    """Draw hybrid systems: for each segment uniformly from the systems judged there, or from two systems each.

    `mixed="two"` needs a human score for each output of each system.
    """
    check_resampling(hybrids, seed)
    if mixed not in ("all", "two"):
        msg = f"mixed must be 'all' or 'two', got {mixed!r}"
        raise RecipeError(msg)
    gold = human_scores(human)
    judged = ~np.isnan(gold)
    counted = {name: values for name, values in scores.items() if isinstance(values, SummedCounts)}
    tables = [gold]
    for name, values in scores.items():
        columns = np.moveaxis(values.counts, 2, 0) if isinstance(values, SummedCounts) else [values]
        tables += [check_scores(column, judged, name) for column in columns]
    if mixed == "two" and (gold.shape[0] < 2 or not judged.all()):
        unjudged = int((~judged).sum())
        msg = (
            f"mixed='two' needs two systems, each output with a human score; got {gold.shape[0]}, {unjudged} without"
        )
        raise InputError(msg)
    choices = judged.sum(axis=0)
    segments = np.flatnonzero(choices)
    # Judged systems come first in every column: a draw below the number of choices is one of them.
    order = np.argsort(~judged, axis=0, kind="stable")[:, segments]
    packed = np.stack([np.take_along_axis(table[:, segments], order, axis=0) for table in tables])
    rng = np.random.default_rng(seed)
    places = np.arange(segments.size)
    means = np.empty((len(tables), hybrids))
    for block in blocks(hybrids, segments.size, _CELLS):
        shape = (block.stop - block.start, segments.size)
        drawn = _of_two(rng, len(gold), shape) if mixed == "two" else rng.integers(0, choices[segments], size=shape)
        flat = drawn * segments.size + places
        for table, values in enumerate(packed):
            means[table, block] = values.ravel()[flat].mean(axis=1)
    metrics = np.empty((len(scores), hybrids))
    first = 1
    for row, name in enumerate(scores):
        last = first + (counted[name].counts.shape[2] if name in counted else 1)
        rows = means[first:last]
        metrics[row] = counted[name].score(rows.T * segments.size) if name in counted else rows[0]
        first = last
    return Hybrids(tuple(scores), means[0], metrics, segments.size, gold.shape[1] - segments.size)


def hybrid_results(
    scores: Mapping[str, ArrayLike | SummedCounts],
    human: ArrayLike,
    *,
    hybrids: int = 10_000,
    mixed: Literal["all", "two"] = "all",
    chosen_from: int = 100,
    repeats: int = 100_000,
    seed: int = 12345,
    undefined: Undefined = "raise",
) -> list[HybridResult]:
    """Pearson over hybrids and model selection among them, for every metric on the same draws."""
    drawn = make_hybrids(scores, human, hybrids=hybrids, mixed=mixed, seed=seed)
    return model_selection(drawn, chosen_from=chosen_from, repeats=repeats, seed=seed, undefined=undefined)


def model_selection(
    made: Hybrids,
    *,
    chosen_from: int = 100,
    repeats: int = 100_000,
    seed: int = 12345,
    undefined: Undefined = "raise",
) -> list[HybridResult]:
    """Choose the best of `chosen_from` hybrids by each metric, `repeats` times, and compare with human scores."""
    check_resampling(repeats, seed)
    hybrids = made.human.size
    if not 2 <= chosen_from <= hybrids:
        msg = f"chosen_from must lie between 2 and the number of hybrids ({hybrids}), got {chosen_from!r}"
        raise InputError(msg)
    correlations = [correlate(scores, made.human, undefined="nan") for scores in made.metrics]
    for name, correlation in zip(made.names, correlations, strict=True):
        if correlation.reason is not None and undefined != "nan":
            msg = (
                f"{name!r} has no correlation over hybrids: {correlation.reason}; remove it, or pass undefined='nan'"
            )
            raise InputError(msg)
    rng = np.random.default_rng((seed, 1))  # another stream than that of the hybrids
    sums = np.zeros((3, len(made.metrics)))
    for part in blocks(repeats, chosen_from, _CELLS):
        rows = _subsets(rng, part.stop - part.start, chosen_from, hybrids)
        human = made.human[rows]
        best = human.max(axis=1)
        for index, scores in enumerate(made.metrics):
            picked = np.take_along_axis(human, scores[rows].argmax(axis=1)[:, None], axis=1)
            rank = 1 + (human > picked).sum(axis=1)
            sums[:, index] += (rank == 1).sum(), (1 / rank).sum(), (best - picked[:, 0]).sum()
    sums[2] *= 100
    sums[:, [correlation.reason is not None for correlation in correlations]] = np.nan
    results = []
    for name, correlation, figures in zip(made.names, correlations, sums.T, strict=True):
        hits, mrr, diff = (float(figure) / repeats for figure in figures)
        results.append(HybridResult(name, correlation.value, hits, mrr, diff, correlation.reason))
    return results


def _of_two(rng: np.random.Generator, systems: int, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Draw two different systems and a proportion for each hybrid, then one of the two for each segment."""
    first = rng.integers(0, systems, size=(shape[0], 1))
    second = (first + rng.integers(1, systems, size=(shape[0], 1))) % systems
    return np.where(rng.random(shape) < rng.random((shape[0], 1)), first, second)


def _subsets(rng: np.random.Generator, rows: int, size: int, among: int) -> NDArray[np.int64]:
    """Draw rows of `size` different numbers below `among`, every set equally likely."""
    if size * size > 2 * among:  # repetitions are frequent: shuffle instead of drawing again
        return np.stack([rng.permutation(among)[:size] for _ in range(rows)])
    subsets = rng.integers(0, among, size=(rows, size))
    repeated = np.arange(rows)
    while repeated.size:
        ordered = np.sort(subsets[repeated], axis=1)
        repeated = repeated[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        subsets[repeated] = rng.integers(0, among, size=(repeated.size, size))
    return subsets
