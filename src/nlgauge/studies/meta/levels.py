"""Levels at which a metric is compared with human judgements.

- segment: all outputs that have a human score, in one list;
- system: one number per system on both sides;
- item: across systems for each segment (topic), then the unweighted mean over segments;
- by-system: across segments for each system, then the unweighted mean over systems.

A mean over groups leaves out the groups where the coefficient has no value, and says how many and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import KINDS, Undefined, correlate, why_undefined
from nlgauge.stats.validation import Vector, numbers
from nlgauge.studies.meta.metric_values import Mask, Matrix, MetricValues, check_matrix, check_scores, human_scores

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


def segment_level(
    metric: MetricValues, human: ArrayLike, *, kind: str = "pearson", undefined: Undefined = "raise"
) -> LevelCorrelation:
    """Correlation over all outputs with a human score, whatever their system."""
    found = correlate(*segment_vectors(metric, human), kind=kind, undefined="nan")
    return _or_raise(LevelCorrelation(found.value, found.n, "segment", kind, {}, found.reason), metric, undefined)


def system_level(
    metric: MetricValues,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    aggregate: str | Aggregate = "mean",
    on: Literal["all", "judged"] = "all",
    undefined: Undefined = "raise",
) -> LevelCorrelation:
    """Correlation of one number per system.

    `human` is one number per system (an official one, nan where there is none) or systems x segments, which is
    averaged over what was judged. The metric's scores are aggregated by `aggregate` ("mean", "median" or a
    function of the matrix), by default over all segments: more scores, less noise (Deutsch et al. 2022).
    """
    scores, gold, dropped = system_vectors(metric, human, aggregate=aggregate, on=on)
    found = correlate(scores, gold, kind=kind, undefined="nan")
    skipped = {"systems without a human score": dropped} if dropped else {}
    return _or_raise(LevelCorrelation(found.value, found.n, "system", kind, skipped, found.reason), metric, undefined)


def grouped_level(
    metric: MetricValues,
    human: ArrayLike,
    *,
    kind: str = "pearson",
    by: Literal["item", "system"] = "item",
    constant: Literal["skip", "raise"] = "skip",
    undefined: Undefined = "raise",
) -> LevelCorrelation:
    """The mean of the correlations within each item (across systems) or each system (across items).

    Groups with fewer than two judged outputs and, with `constant="skip"`, groups where one side is constant
    are left out and counted in `skipped`; no group left is an error, or nan with its reason.
    """
    if by not in ("item", "system"):
        msg = f"by must be 'item' or 'system', got {by!r}"
        raise RecipeError(msg)
    if constant not in ("skip", "raise"):
        msg = f"constant must be 'skip' or 'raise', got {constant!r}"
        raise RecipeError(msg)
    if kind not in KINDS:
        msg = f"kind must be one of {', '.join(KINDS)}, got {kind!r}"
        raise RecipeError(msg)
    gold = human_scores(human)
    judged = ~np.isnan(gold)
    scores = check_scores(metric, judged)
    rows = (scores.T, gold.T, judged.T) if by == "item" else (scores, gold, judged)
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
            msg = f"{metric.name!r}, {by} {index}: {why}, so {kind} has no value; pass constant='skip' to count these"
            raise InputError(msg)
        if why:
            skipped[why] += 1
            continue
        values.append(correlate(x, y, kind=kind).value)
    level = "item" if by == "item" else "by-system"
    if values:
        return LevelCorrelation(float(np.mean(values)), len(values), level, kind, dict(skipped))
    reason = f"no {by} is left to average over ({', '.join(f'{n} with {why}' for why, n in skipped.items())})"
    return _or_raise(LevelCorrelation(float("nan"), 0, level, kind, dict(skipped), reason), metric, undefined)


def segment_vectors(metric: MetricValues, human: ArrayLike) -> tuple[Vector, Vector]:
    """Scores and human scores of all judged outputs."""
    gold = human_scores(human)
    judged = ~np.isnan(gold)
    return check_scores(metric, judged)[judged], gold[judged]


def system_vectors(
    metric: MetricValues, human: ArrayLike, *, aggregate: str | Aggregate = "mean", on: str = "all"
) -> tuple[Vector, Vector, int]:
    """One number per judged system on both sides, and how many systems have no human score."""
    if on not in ("all", "judged"):
        msg = f"on must be 'all' or 'judged', got {on!r}"
        raise RecipeError(msg)
    gold = numbers(human, "human")
    if gold.ndim == 1 and on == "judged":
        msg = "on='judged' needs human scores of systems x segments; one number per system says nothing of segments"
        raise InputError(msg)
    judged = np.ones(check_matrix(metric).shape, dtype=bool)
    if gold.ndim == 1:
        if gold.size != len(metric.values) or np.isinf(gold).any():
            msg = f"human must be a finite number (or nan) for each of {len(metric.values)} systems, got {gold.size}"
            raise InputError(msg)
        systems = systems_with_scores(gold)
        official = gold[systems]
    else:
        gold = human_scores(gold)
        systems = systems_with_scores(gold)
        official = np.nanmean(gold[systems], axis=1)
        if on == "judged":
            judged = ~np.isnan(gold)
        elif gold.shape != metric.values.shape:
            check_scores(metric, ~np.isnan(gold))  # raises
    judged[~systems] = False
    scores = np.where(judged, check_scores(metric, judged), np.nan)[systems]
    return aggregated(scores, aggregate), official, int((~systems).sum())


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


def _or_raise(found: LevelCorrelation, metric: MetricValues, undefined: str) -> LevelCorrelation:
    """The result, unless it has no value and the caller wants an error then."""
    if found.reason is None or undefined == "nan":
        return found
    if undefined != "raise":
        msg = f"undefined must be 'raise' or 'nan', got {undefined!r}"
        raise RecipeError(msg)
    msg = f"{metric.name!r} has no {found.kind} at {found.level} level: {found.reason}; undefined='nan' gives nan"
    raise InputError(msg)
