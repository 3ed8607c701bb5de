"""Hybrid super-sampling (Zhang et al. 2020, BERTScore, section 4): many systems out of few.

A hybrid system takes, for every segment, the output of one real system drawn at random; its score is the mean
of what it took, on both sides. Correlations then rest on thousands of systems instead of a dozen. Drawn from all
systems alike, as the paper's text has it, hybrids hardly differ from each other; mixed from two systems each, in a
share drawn anew (`mixed="two"`), they differ as far as systems do (D24). For model selection some hybrids are drawn
again and again, and the metric's best is looked up among people's:

    Hits@1  share of draws in which it is also people's best
    MRR     mean of 1 / its rank by people
    Diff    mean of (human score of people's best - human score of the metric's best), x 100
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import Undefined, correlate
from nlgauge.stats.numeric import Vector, check_resampling
from nlgauge.studies.meta.levels import Matrix, check_scores, human_scores

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
    block = max(1, _CELLS // segments.size)
    for start in range(0, hybrids, block):
        here = slice(start, min(start + block, hybrids))
        shape = (here.stop - start, segments.size)
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
    block = max(1, _CELLS // chosen_from)
    for start in range(0, repeats, block):
        rows = _subsets(rng, min(block, repeats - start), chosen_from, hybrids)
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
