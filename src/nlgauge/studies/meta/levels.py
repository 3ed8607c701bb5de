"""Levels at which a metric is compared with human judgements, and hybrid systems, of which there are many.

Scores are arrays of systems x segments, higher for better outputs, and so are human scores; nan means that nobody
judged that output. Levels are

- segment: all outputs that have a human score, in one list;
- system: one number per system on both sides;
- item: across systems for each segment (topic), then the unweighted mean over segments;
- by-system: across segments for each system, then the unweighted mean over systems.

A mean over groups leaves out the groups where the coefficient has no value, and says how many and why.

Hybrid super-sampling (Zhang et al. 2020, BERTScore, section 4) makes many systems out of few. A hybrid system takes,
for every segment, the output of one real system drawn at random; its score is the mean of what it took, on both
sides. Correlations then rest on thousands of systems instead of a dozen. Drawn from all systems alike, as the paper's
text has it, hybrids hardly differ from each other; mixed from two systems each, in a share drawn anew
(`mixed="two"`), they differ as far as systems do (D24). For model selection some hybrids are drawn again and again,
and the metric's best is looked up among people's:

    Hits@1  share of draws in which it is also people's best
    MRR     mean of 1 / its rank by people
    Diff    mean of (human score of people's best - human score of the metric's best), x 100
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import KINDS, Undefined, correlate, why_undefined
from nlgauge.stats.numeric import Vector, blocks, check_resampling, numbers

Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

#: From a matrix of systems x segments (nan = not to be counted) to one number per system.
Aggregate: TypeAlias = Callable[[Matrix], ArrayLike]
AGGREGATES: Mapping[str, Aggregate] = MappingProxyType(
    {"mean": lambda table: np.nanmean(table, axis=1), "median": lambda table: np.nanmedian(table, axis=1)}
)


class LevelCorrelation(NamedTuple):
    """A metric's correlation with people at one level."""

    value: float
    n: int
    """Outputs (segment level), systems (system level) or groups averaged over."""
    level: str
    kind: str
    skipped: Mapping[str, int] = MappingProxyType({})
    """What was left out and why, with counts."""
    reason: str | None = None
    """Set where `value` is nan."""


def human_scores(human: ArrayLike) -> Matrix:
    """Human scores of systems x segments; nan where nobody judged."""
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
        msg = "there is not a single human score"
        raise InputError(msg)
    return gold


def score_matrix(scores: ArrayLike, name: str) -> Matrix:
    """Scores of systems x segments; those of other shapes are refused."""
    matrix = numbers(scores, f"scores of {name!r}")
    if matrix.ndim != 2 or matrix.size == 0:
        msg = f"scores of {name!r} must be systems x segments, got shape {matrix.shape}"
        raise InputError(msg)
    return matrix


def check_scores(scores: ArrayLike, needed: Mask, name: str) -> Matrix:
    """Scores of systems x segments, finite wherever they are needed."""
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
            f"{name!r} gives {float(matrix[system, segment])!r} to system {system}, segment {segment} "
            f"({len(bad)} such score(s)); score these outputs, or leave them out of the human scores"
        )
        raise InputError(msg)
    return matrix


def judged_scores(scores: ArrayLike, human: ArrayLike, name: str) -> tuple[Matrix, Matrix, Mask]:
    """Scores, human scores and which outputs have one."""
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
    """Correlation over all outputs with a human score, whatever their system; messages call the metric by `name`."""
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

    `human` is one number per system (an official one, nan where there is none) or systems x segments, which is
    averaged over what was judged. The metric's scores are aggregated by `aggregate` ("mean", "median" or a
    function of the matrix), by default over all segments: more scores, less noise (Deutsch et al. 2022).
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
    """The mean of the correlations within each item (across systems) or each system (across items).

    Groups with fewer than two judged outputs and, with `constant="skip"`, groups where one side is constant
    are left out and counted in `skipped`; no group left is an error, or nan with its reason.
    """
    check_choices(by=(by, ("item", "system")), constant=(constant, ("skip", "raise")), kind=(kind, KINDS))
    sides = judged_scores(scores, human, name)
    rows = tuple(side.T for side in sides) if by == "item" else sides
    values: list[float] = []
    skipped: Counter[str] = Counter()
    for index, (ours, theirs, there) in enumerate(zip(*rows, strict=True)):
        if there.sum() < 2:
            skipped["fewer than two judged outputs"] += 1
            continue
        x, y = ours[there], theirs[there]
        why = ""
        for side, values_of in (("human", y), ("metric", x)):
            if not why and why_undefined(values_of, side, kind=kind):  # finite, so constant
                why = f"constant {side} scores"
        if why and constant == "raise":
            msg = f"{name!r}, {by} {index}: {why}, so {kind} has no value; pass constant='skip' to count these"
            raise InputError(msg)
        if why:
            skipped[why] += 1
            continue
        values.append(correlate(x, y, kind=kind).value)
    level = "item" if by == "item" else "by-system"
    if values:
        return LevelCorrelation(float(np.mean(values)), len(values), level, kind, dict(skipped))
    reason = f"no {by} is left to average over ({', '.join(f'{n} with {why}' for why, n in skipped.items())})"
    return _or_raise(LevelCorrelation(float("nan"), 0, level, kind, dict(skipped), reason), name, undefined)


def check_choices(**choices: tuple[Any, Collection[Any]]) -> None:
    """Refuse a value that is none of those allowed, by the name of its argument."""
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
    """One number per judged system on both sides, and how many systems have no human score."""
    check_choices(on=(on, ("all", "judged")))
    matrix = score_matrix(scores, name)
    gold = numbers(human, "human")
    if gold.ndim == 1 and on == "judged":
        msg = "on='judged' needs human scores of systems x segments; one number per system says nothing of segments"
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
    return aggregated(ours, aggregate), official, int((~systems).sum())


def systems_with_scores(gold: Matrix) -> Mask:
    """Which systems have any human score, of one number per system or of systems x segments."""
    return np.asarray((~np.isnan(gold)).reshape(len(gold), -1).any(axis=1))


def aggregated(table: Matrix, aggregate: str | Aggregate) -> Vector:
    """One number per system."""
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
    """The result, unless it has no value and the caller wants an error then."""
    if result.reason is None or undefined == "nan":
        return result
    check_choices(undefined=(undefined, ("raise", "nan")))
    msg = f"{name!r} has no {result.kind} at {result.level} level: {result.reason}; undefined='nan' gives nan"
    raise InputError(msg)


#: Draws held at once.
_CELLS = 2_000_000


class Hybrids(NamedTuple):
    """Scores of hybrid systems by people and by each metric (oriented: higher is better)."""

    names: tuple[str, ...]
    human: Vector
    metrics: Matrix
    """metrics x hybrids."""
    segments: int
    unjudged: int
    """Segments left out because no output was judged."""


class HybridResult(NamedTuple):
    """One metric's row of the super-sampled tables."""

    metric: str
    pearson: float
    """Signed; a metric that is turned the right way up and still negative is wrong, not good."""
    hits_at_1: float
    mrr: float
    diff: float
    """x 100."""
    reason: str | None = None
    """Why all four figures are nan: a metric that gives every hybrid the same score selects nothing."""


def make_hybrids(
    scores: Mapping[str, ArrayLike],
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
    tables = [gold] + [check_scores(values, judged, name) for name, values in scores.items()]
    if mixed == "two" and (gold.shape[0] < 2 or not judged.all()):
        unjudged = int((~judged).sum())
        msg = (
            f"mixed='two' needs two systems, each output with a human score; got {gold.shape[0]}, {unjudged} without"
        )
        raise InputError(msg)
    choices = judged.sum(axis=0)
    segments = np.flatnonzero(choices)
    # Judged systems first in every column, so that a draw below the number of choices is one of them.
    order = np.argsort(~judged, axis=0, kind="stable")[:, segments]
    packed = np.stack([np.take_along_axis(table[:, segments], order, axis=0) for table in tables])
    rng = np.random.default_rng(seed)
    columns = np.arange(segments.size)
    means = np.empty((len(tables), hybrids))
    for here in blocks(hybrids, segments.size, _CELLS):
        shape = (here.stop - here.start, segments.size)
        drawn = _of_two(rng, len(gold), shape) if mixed == "two" else rng.integers(0, choices[segments], size=shape)
        flat = drawn * segments.size + columns
        for table, values in enumerate(packed):
            means[table, here] = values.ravel()[flat].mean(axis=1)
    return Hybrids(tuple(scores), means[0], means[1:], segments.size, gold.shape[1] - segments.size)


def hybrid_results(
    scores: Mapping[str, ArrayLike],
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
    made = make_hybrids(scores, human, hybrids=hybrids, mixed=mixed, seed=seed)
    return model_selection(made, chosen_from=chosen_from, repeats=repeats, seed=seed, undefined=undefined)


def model_selection(
    made: Hybrids,
    *,
    chosen_from: int = 100,
    repeats: int = 100_000,
    seed: int = 12345,
    undefined: Undefined = "raise",
) -> list[HybridResult]:
    """Choose the best of `chosen_from` hybrids by each metric, `repeats` times, and see what people say."""
    check_resampling(repeats, seed)
    hybrids = made.human.size
    if not 2 <= chosen_from <= hybrids:
        msg = f"chosen_from must lie between 2 and the number of hybrids ({hybrids}), got {chosen_from!r}"
        raise InputError(msg)
    correlations = [correlate(scores, made.human, undefined="nan") for scores in made.metrics]
    for name, found in zip(made.names, correlations, strict=True):
        if found.reason is not None and undefined != "nan":
            msg = f"{name!r} has no correlation over hybrids: {found.reason}; leave it out, or pass undefined='nan'"
            raise InputError(msg)
    rng = np.random.default_rng((seed, 1))  # not the stream that made the hybrids
    sums = np.zeros((3, len(made.metrics)))
    for part in blocks(repeats, chosen_from, _CELLS):
        rows = _subsets(rng, part.stop - part.start, chosen_from, hybrids)
        people = made.human[rows]
        best = people.max(axis=1)
        for index, scores in enumerate(made.metrics):
            picked = np.take_along_axis(people, scores[rows].argmax(axis=1)[:, None], axis=1)
            rank = 1 + (people > picked).sum(axis=1)
            sums[:, index] += (rank == 1).sum(), (1 / rank).sum(), (best - picked[:, 0]).sum()
    sums[2] *= 100
    sums[:, [found.reason is not None for found in correlations]] = np.nan
    results = []
    for name, found, figures in zip(made.names, correlations, sums.T, strict=True):
        hits, mrr, diff = (float(figure) / repeats for figure in figures)
        results.append(HybridResult(name, found.value, hits, mrr, diff, found.reason))
    return results


def _of_two(rng: np.random.Generator, systems: int, shape: tuple[int, int]) -> NDArray[np.int64]:
    """For each hybrid two different systems, a share of the first, and for each segment one of the two."""
    first = rng.integers(0, systems, size=(shape[0], 1))
    second = (first + rng.integers(1, systems, size=(shape[0], 1))) % systems
    return np.where(rng.random(shape) < rng.random((shape[0], 1)), first, second)


def _subsets(rng: np.random.Generator, rows: int, size: int, among: int) -> NDArray[np.int64]:
    """Rows of `size` different numbers below `among`, every set equally likely."""
    if size * size > 2 * among:  # repetitions are the rule: shuffle instead of drawing again
        return np.stack([rng.permutation(among)[:size] for _ in range(rows)])
    found = rng.integers(0, among, size=(rows, size))
    repeated = np.arange(rows)
    while repeated.size:
        ordered = np.sort(found[repeated], axis=1)
        repeated = repeated[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        found[repeated] = rng.integers(0, among, size=(repeated.size, size))
    return found
