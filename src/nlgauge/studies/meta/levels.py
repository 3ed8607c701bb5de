"""Levels at which a metric is compared with human judgements.

Scores are arrays of systems x segments, higher for better outputs, and so are human scores; nan means that nobody
judged that output. Levels are

- segment: all outputs that have a human score, in one list;
- system: one number per system on both sides;
- item: across systems for each segment (topic), then the unweighted mean over segments;
- by-system: across segments for each system, then the unweighted mean over systems.

A mean over groups leaves out the groups where the coefficient has no value, and says how many and why.
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
from nlgauge.stats.numeric import Vector, numbers

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
