"""Do mean, median and Bradley-Terry find strengths that are known? Figure 3 of *Better than Average*.

A setup has a number of systems k, of instances M, of types of instances T, and a share f of outliers. Two designs:

    coded     the released code, and section 4: strengths 10 s / sum(s), s uniform. A type adds one offset, up to
              100, to all systems; scores have a deviation of 1. Outliers are further rows, uniform up to 100, whose
              order opposes the strengths.
    appendix  appendix A.2: each system has a strength of its own for each type, uniform up to 1. Outliers are rows
              whose scores are permuted. Which strength a ranking should find is not said; here the mean over types.

All 288 combinations are drawn ten times. A ranking is scored by Kendall's tau with the strengths (D3).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.studies.paired_evaluation.mechanisms import Matrix, rank_frames, tau
from nlgauge.studies.paired_evaluation.options import RankingOptions

Drawn = tuple[Matrix, Matrix]
"""Strengths, and scores (instances x systems)."""

_OFFSET = 100.0


@dataclass(frozen=True)
class Grid:
    """Setups to draw."""

    types: tuple[int, ...] = (1, 3, 5, 10)
    outliers: tuple[float, ...] = (0.0, 0.01, 0.025)
    systems: tuple[int, ...] = (2, 3, 5, 10, 25, 50)
    instances: tuple[int, ...] = (10, 30, 100, 200)
    repeats: int = 10

    def __len__(self) -> int:
        sizes = map(len, (self.types, self.outliers, self.systems, self.instances))
        return int(np.prod(list(sizes))) * self.repeats


#: That of the paper: 2,880 setups.
GRID = Grid()


class Panel(NamedTuple):
    """A panel of Figure 3: what stands on its axis, and which setups it looks at."""

    axis: str
    one_type: bool = False
    no_outliers: bool = False


PANELS = {
    "a": Panel("systems", one_type=True, no_outliers=True),
    "b": Panel("instances", one_type=True, no_outliers=True),
    "c": Panel("outliers", one_type=True),
    "d": Panel("types", no_outliers=True),
    "e": Panel("types"),
    "f": Panel("outliers"),
    "g": Panel("instances"),
    "h": Panel("systems"),
}


class Simulated(NamedTuple):
    """A line per setup."""

    setups: dict[str, Matrix]
    """Types, outliers, systems, instances."""
    tau: dict[str, Matrix]
    """By mechanism: mean, median, BT; nan where a ranking ties all systems."""

    def mean_tau(self, chosen: NDArray[np.bool_]) -> dict[str, tuple[float, float]]:
        """Of some setups, by mechanism: mean and standard error, without the undefined, as in the released code."""
        found = {}
        for name, values in self.tau.items():
            there = values[chosen & ~np.isnan(values)]
            found[name] = (float(there.mean()), float(there.std(ddof=1) / np.sqrt(there.size)))
        return found

    def chosen(self, panel: Panel) -> NDArray[np.bool_]:
        """The setups of a panel."""
        kept = np.ones(len(self.setups["types"]), dtype=bool)
        if panel.one_type:
            kept &= self.setups["types"] == 1
        if panel.no_outliers:
            kept &= self.setups["outliers"] == 0
        return kept


def simulate(options: RankingOptions, *, grid: Grid = GRID) -> Simulated:
    """Draw all setups of a grid, rank, and score; a setup's numbers do not depend on what else is in the grid."""
    draw: Callable[..., Drawn] = draw_coded if options.design == "coded" else draw_appendix
    setups: list[tuple[float, ...]] = []
    found: list[Matrix] = []
    # Strengths and scores of one number of systems are ranked together, for the sake of the batched iteration.
    for k in grid.systems:
        drawn: list[Drawn] = []
        for types, outliers, instances, repeat in itertools.product(
            grid.types, grid.outliers, grid.instances, range(grid.repeats)
        ):
            seed = [options.seed, types, round(1000 * outliers), k, instances, repeat]
            drawn.append(draw(np.random.default_rng(seed), types, outliers, k, instances))
            setups.append((types, outliers, k, instances))
        found.append(_scored(drawn, options))
    names = ("types", "outliers", "systems", "instances")
    columns = dict(zip(names, np.array(setups, dtype=np.float64).T, strict=True))
    return Simulated(columns, dict(zip(("mean", "median", "BT"), np.concatenate(found).T, strict=True)))


def _scored(drawn: list[Drawn], options: RankingOptions) -> Matrix:
    """Kendall's tau of mean, median and BT with the strengths: a line per setup."""
    strengths = np.stack([strength for strength, _ in drawn])
    rankings = rank_frames([scores for _, scores in drawn], options)
    return np.stack([tau(strengths, ranking) for ranking in rankings.values()], axis=1)


def draw_coded(rng: np.random.Generator, types: int, outliers: float, k: int, instances: int) -> Drawn:
    """A setup of the released code: one offset per type, further rows as outliers."""
    strengths = rng.random(k)
    strengths *= 10 / strengths.sum()
    rows = instances // types
    offsets = np.repeat(_OFFSET * rng.random(types), rows)
    scores = rng.normal(strengths + offsets[:, None], 1.0)
    extra = max(int(outliers * len(scores)), 1) if outliers else 0
    opposed = list(itertools.islice(_opposed(rng, strengths), extra))
    return strengths, np.vstack([scores, *opposed])


def _opposed(rng: np.random.Generator, strengths: Matrix) -> Iterator[Matrix]:
    """Random rows whose order opposes the strengths."""
    while True:
        rows = _OFFSET * rng.random((16, len(strengths)))
        yield from rows[tau(np.broadcast_to(strengths, rows.shape), rows) < 0]


def draw_appendix(rng: np.random.Generator, types: int, outliers: float, k: int, instances: int) -> Drawn:
    """A setup of appendix A.2: strengths for each type, permuted rows as outliers."""
    strengths = rng.random((types, k))
    scores = rng.normal(np.repeat(strengths, instances // types, axis=0), 1.0)
    changed = max(int(outliers * len(scores)), 1) if outliers else 0
    at = rng.choice(len(scores), changed, replace=False)
    scores[at] = rng.permuted(scores[at], axis=1)
    return strengths.mean(axis=0), scores
