"""Recompute the simulation in chapter 10 of W. Zhao's dissertation: words of two languages in a plane.

One language is transformed, and methods estimate the transformation; the key of a row is such a method.

    words        20, means uniform in [-5, 5]^2; k occurrences each, drawn around the mean with a deviation of 1
    test         the same number, around means shifted by eps: another domain
    as written   the other language is the first, alternately rotated and shifted t times. That is one rigid motion
                 for any t, which the centred rotation finds exactly (D10.9)
    bent         our variant: each step also bends the plane, y <- y + sin(x) and x <- x + sin(y), so the difference
                 grows with each step, and no rotation is exact

P@1 is the share of test occurrences whose nearest occurrence in the other language belongs to the same word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.io.packages import require
from nlgauge.studies.alignment.flow_fit import fit_flow
from nlgauge.studies.alignment.training_loop import FlowOptions
from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NOT_COMPUTED, ReproducedRow, Reproduction, Run
from nlgauge.studies.published.tables import TableRow
from nlgauge.vectors.remap import fit_remapping

#: Number of runs of a simulation of languages, as in the paper.
_RUNS = 10


def compute_density(request: Request) -> Reproduction:
    """Recompute the table; uses only the ranking options `seed` and `draws` (the number of runs)."""
    run, options = Run(request), request.rankings
    if replace(options, draws=None, seed=RankingOptions.seed) != RankingOptions():
        msg = f"{run.table.id} accepts only the ranking options draws and seed"
        raise RecipeError(msg)
    count = options.draws or _RUNS
    run.notes[f"ours: {count} run{'s' * (count != 1)} from seed {options.seed}"] = None
    return run.result([_density_row(run, row, count) for row in run.table.rows])


def _density_row(run: Run, row: TableRow, count: int) -> ReproducedRow:
    fit = _find_fitter(run, row)
    if fit is None:
        return run.row(row, {}, NOT_COMPUTED if row.computed else row.note)
    ours: dict[str, float] = {}
    spread: dict[str, float] = {}
    for column in run.table.questions:
        with run.or_missing(f"value of {row.name}, {column.label}"):
            setup, seed = Setup(**column.setup), run.request.rankings.seed
            shares = run.table.scale * simulate_density(setup, fit, runs=count, seed=seed)
            ours[column.label] = float(shares.mean())
            spread[column.label] = float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
    deviation = f"standard deviation over runs up to {max(spread.values()):.1f}" if spread else NOT_COMPUTED
    return run.row(row, ours, "; ".join(filter(None, [deviation, row.note])))


def _find_fitter(run: Run, row: TableRow) -> Fitter | None:
    """Function that fits the row's method; None if it cannot be computed, with a note if a package is missing."""
    if not row.computed:
        return None
    if row.key[0] in LINEAR:
        return LINEAR[row.key[0]]
    try:
        return flow_fitter()
    except MissingExtraError as error:
        run.missing[f"{row.name}: {error}"] = None
        return None


Matrix = NDArray[np.float64]
Fitter = Callable[[Matrix, Matrix], Callable[[Matrix], NDArray[np.float32]]]

WORDS = 20
_REACH = 5.0


class Setup(NamedTuple):
    """Setup of a simulation."""

    steps: int = 5
    """t: number of transformation steps."""
    occurrences: int = 100
    """k: occurrences per word."""
    shift: float = 0.0
    """eps: distance between the words of the test and those of training."""
    kind: Literal["as written", "bent"] = "as written"


class Drawn(NamedTuple):
    """Occurrences of both languages, row by row; the first two for fitting."""

    source: Matrix
    target: Matrix
    test_source: Matrix
    test_target: Matrix


def draw(setup: Setup, *, seed: int) -> Drawn:
    """Draw the data of one run."""
    chance = np.random.default_rng(seed)
    means = chance.uniform(-_REACH, _REACH, (WORDS, 2))
    moves = [(chance.uniform(0, 2 * np.pi), chance.uniform(-_REACH, _REACH, 2)) for _ in range(setup.steps)]
    around = np.repeat(means, setup.occurrences, axis=0)
    source = around + chance.normal(size=around.shape)
    test = around + setup.shift + chance.normal(size=around.shape)
    return Drawn(source, _transform(source, moves, setup), test, _transform(test, moves, setup))


def _transform(rows: Matrix, moves: list[tuple[float, Matrix]], setup: Setup) -> Matrix:
    """Apply t steps: alternately a rotation and a translation; a bent step has both and a wave on each axis."""
    for number, (angle, shift) in enumerate(moves):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        if setup.kind == "bent":
            rows = rows @ turn
            rows = rows + np.stack([np.zeros(len(rows)), np.sin(rows[:, 0])], axis=1)
            rows = rows + np.stack([np.sin(rows[:, 1]), np.zeros(len(rows))], axis=1) + shift
        else:
            rows = rows @ turn if number % 2 == 0 else rows + shift
    return rows


def precision_of(moved: NDArray[np.float32], target: Matrix, occurrences: int = 1) -> float:
    """P@1 of words by Euclidean distance: in a plane, cosines do not separate words."""
    x, y = moved.astype(np.float64), target.astype(np.float64)
    words = np.arange(len(y)) // occurrences
    right = 0
    for start in range(0, len(x), 500):
        part = x[start : start + 500]
        distance = np.square(part[:, 0, None] - y[None, :, 0]) + np.square(part[:, 1, None] - y[None, :, 1])
        right += int((words[distance.argmin(axis=1)] == words[start : start + len(part)]).sum())
    return right / len(x)


#: Methods that need no torch, by name in the table.
LINEAR: Mapping[str, Fitter] = {
    "Rotation": lambda source, target: fit_remapping(source, target, method="clp").apply,
    "centred rotation": lambda source, target: fit_remapping(source, target, method="centred").apply,
    "least squares": lambda source, target: fit_remapping(source, target, method="lsq").apply,
}


def flow_fitter(*, seed: int = 0) -> Fitter:
    """Build a function that fits Real-NVP; needs torch."""
    require("torch", "torch")

    def fit(source: Matrix, target: Matrix) -> Callable[[Matrix], NDArray[np.float32]]:
        # In a plane, half of a vector is one number: many narrow layers, and no likelihood (words are clusters, not
        # normally distributed).
        options = FlowOptions(
            couplings=4,
            hidden=64,
            epochs=60,
            batch=min(64, max(16, len(source) // 8)),
            learning_rate=1e-2,
            likelihood=0.0,
            validation="error",  # in a plane, cosines carry little information
            patience=20,
            seed=seed,
        )
        return fit_flow(source, target, options=options).map.apply

    return fit


def simulate_density(setup: Setup, fit: Fitter, *, runs: int = 10, seed: int = 0) -> NDArray[np.float64]:
    """P@1 of a method in each run."""
    shares = []
    for number in range(runs):
        drawn = draw(setup, seed=seed + number)
        apply = fit(drawn.source, drawn.target)
        shares.append(precision_of(apply(drawn.test_source), drawn.test_target, setup.occurrences))
    return np.array(shares)
