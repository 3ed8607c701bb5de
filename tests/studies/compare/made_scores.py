"""Score tables whose truth is known, and the worked examples of Peyrard et al. (2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import Signature
from nlgauge.studies.compare.system_scores import SystemScores

#: Figure 1 of the paper, as in the notebook of its released code.
FIGURE_1 = np.array([[1, 5, 11, 12, 17], [2, 6, 7, 13, 18], [5, 11, 12, 17, 1]], dtype=float).T

#: The demonstration at the end of the released bt.py.
DEMO = np.array([[2, 5, 2, 3, 4], [1, 2, 3, 4, 1], [2, 4, 5, 2, 2]], dtype=float).T


def made(n: int, k: int, *, spread: float = 1.0, seed: int = 0) -> NDArray[np.float64]:
    """Instances of unequal difficulty, systems that get better from column to column."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) + np.linspace(0, spread, k) + rng.normal(size=(n, k))


def scores_of(
    metric: str,
    systems: Sequence[str],
    values: ArrayLike,
    *,
    higher_is_better: bool = True,
    signature: str = "",
    counts: NDArray[np.float64] | None = None,
    **names: Any,
) -> SystemScores:
    """A matrix of scores (instances x systems); with `counts` (instances x systems x 2) those of a ratio."""
    columns = dict(zip(systems, np.asarray(values, dtype=float).T, strict=True))
    recipe = Signature.parse(signature) if signature else None
    scores = ScoreTable.from_numbers(metric, columns, higher_is_better=higher_is_better, signature=recipe)
    if counts is not None:
        ratios = [Ratio(counts[:, index]) for index in range(len(systems))]
        with_counts = (
            replace(score, corpus={"score": ratio.whole}, statistics=ratio)  # type: ignore[arg-type]
            for score, ratio in zip(scores, ratios, strict=True)
        )
        scores = ScoreTable(tuple(with_counts))
    return SystemScores(scores, **names)


def table(values: ArrayLike, systems: Sequence[str] = (), **fields: Any) -> SystemScores:
    """Scores of the metric `m`, systems a, b, c, ..."""
    k = np.shape(values)[1]
    return scores_of("m", tuple(systems) or tuple("abcdefghijklmnopqrstuvwxyz"[:k]), values, **fields)


class Ratio:
    """A corpus score that is no mean: sum of the first count over sum of the second, as BLEU's precision is."""

    def __init__(self, counts: NDArray[np.float64]) -> None:
        self.counts = counts

    def score(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(totals[..., 0] / totals[..., 1])

    @property
    def whole(self) -> float:
        return float(self.score(self.counts.sum(axis=0)))


def uneven() -> SystemScores:
    """Four systems whose pairs are unequally sure; the mean differences are exact.

    close is always .05 behind best, unsure .1 behind on average with wild scores, far 5 behind. So best is
    significantly better than close (t = 7.1) but not than unsure (t = .7), although unsure ranks lower; all three are
    better than far.
    """
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(200, 4))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0, ddof=1)
    best = noise[:, 0]
    columns = [best, best - 0.05 + 0.1 * noise[:, 1], best - 0.1 + 2 * noise[:, 2], best - 5 + noise[:, 3]]
    return scores_of("m", ("best", "close", "unsure", "far"), np.column_stack(columns))
