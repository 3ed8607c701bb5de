"""The simulation of chapter 10: words of two languages in a plane, of which one is moved, and methods that find how.

    words        20, means uniform in [-5, 5]^2; k occurrences each, drawn around the mean with a deviation of 1
    test         as many again, around means moved by eps: another domain
    as written   the other language is the first, rotated and moved t times in turn. That is one rigid motion for any
                 t, which the centred rotation finds exactly (D10.9)
    bent         ours: beside rotation and translation each step bends the plane, y <- y + sin(x) and x <- x + sin(y),
                 so that more steps are really less alike, and no rotation is right

An occurrence of the test is found if the nearest among all occurrences of the other language is of its word (P@1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.io.packages import require
from nlgauge.studies.alignment.flow_fit import fit_flow
from nlgauge.studies.alignment.flow_losses import FlowOptions
from nlgauge.vectors.remap import fit_remapping

Matrix = NDArray[np.float64]
Fitter = Callable[[Matrix, Matrix], Callable[[Matrix], NDArray[np.float32]]]

WORDS = 20
_REACH = 5.0


class Setup(NamedTuple):
    """What is varied."""

    steps: int = 5
    """t: how often the other language is moved."""
    occurrences: int = 100
    """k, of each word."""
    shift: float = 0.0
    """eps: how far the words of the test lie from where they were learned."""
    kind: Literal["as written", "bent"] = "as written"


class Drawn(NamedTuple):
    """Occurrences of both languages, row by row; the first two for fitting."""

    source: Matrix
    target: Matrix
    test_source: Matrix
    test_target: Matrix


def draw(setup: Setup, *, seed: int) -> Drawn:
    """One run."""
    chance = np.random.default_rng(seed)
    means = chance.uniform(-_REACH, _REACH, (WORDS, 2))
    moves = [(chance.uniform(0, 2 * np.pi), chance.uniform(-_REACH, _REACH, 2)) for _ in range(setup.steps)]
    around = np.repeat(means, setup.occurrences, axis=0)
    source = around + chance.normal(size=around.shape)
    test = around + setup.shift + chance.normal(size=around.shape)
    return Drawn(source, _moved(source, moves, setup), test, _moved(test, moves, setup))


def _moved(rows: Matrix, moves: list[tuple[float, Matrix]], setup: Setup) -> Matrix:
    """t moves: a rotation, then a translation, in turn; a bent step has both and a wave on each axis."""
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
    """P@1 of words by Euclidean distance: in a plane, directions alone do not tell words apart."""
    x, y = moved.astype(np.float64), target.astype(np.float64)
    words = np.arange(len(y)) // occurrences
    right = 0
    for start in range(0, len(x), 500):
        part = x[start : start + 500]
        distance = np.square(part[:, 0, None] - y[None, :, 0]) + np.square(part[:, 1, None] - y[None, :, 1])
        right += int((words[distance.argmin(axis=1)] == words[start : start + len(part)]).sum())
    return right / len(x)


def _linear(method: str) -> Fitter:
    def fit(source: Matrix, target: Matrix) -> Callable[[Matrix], NDArray[np.float32]]:
        return fit_remapping(source, target, method=method).apply

    return fit


#: Methods that need no torch, by the name in the table.
LINEAR: Mapping[str, Fitter] = {
    "Rotation": _linear("clp"),
    "centred rotation": _linear("centred"),
    "least squares": _linear("lsq"),
}


def flow_fitter(*, seed: int = 0) -> Fitter:
    """Real-NVP as fitted by nlgauge; needs torch."""
    require("torch", "torch")

    def fit(source: Matrix, target: Matrix) -> Callable[[Matrix], NDArray[np.float32]]:
        # In a plane a half is one number: many narrow layers, and no likelihood (words are clusters, not a bell).
        options = FlowOptions(
            couplings=4,
            hidden=64,
            epochs=60,
            batch=min(64, max(16, len(source) // 8)),
            learning_rate=1e-2,
            likelihood=0.0,
            validation="error",  # in a plane, cosines say little
            patience=20,
            seed=seed,
        )
        return fit_flow(source, target, options=options).map.apply

    return fit


def simulate_density(setup: Setup, fit: Fitter, *, runs: int = 10, seed: int = 0) -> NDArray[np.float64]:
    """P@1 of a method in each of the runs."""
    found = []
    for number in range(runs):
        drawn = draw(setup, seed=seed + number)
        apply = fit(drawn.source, drawn.target)
        found.append(precision_of(apply(drawn.test_source), drawn.test_target, setup.occurrences))
    return np.array(found)
