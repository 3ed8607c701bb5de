"""Regularised combinations of standardised columns, and nested cross-validation of their penalty.

With the columns X minus their means and divided by their standard deviations (of n values), and y minus its mean:

    ridge      w = argmin |y - X w|^2 / n + penalty |w|^2       (X'X / n + penalty I) w = X'y / n
    nnls       the same with w >= 0
    average    w = 1 / columns; y is not used

The penalty is per row and per unit of variance, so the same penalties suit any number of rows. It is the one of
`PENALTIES` with the highest correlation on left-out groups; of equal ones the highest.

Nested: the predictions of a group come from a fit, and from a penalty, in which no row of the group took part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError
from nlgauge.stats.correlation import correlate
from nlgauge.stats.numeric import SAME, Vector

Method: TypeAlias = Literal["ridge", "nnls", "average"]
METHODS: tuple[Method, ...] = ("ridge", "nnls", "average")

#: Penalties to choose from; correlated columns have eigenvalues from about .01 to their number.
PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


class Combination(NamedTuple):
    """A linear combination of standardised columns."""

    means: Vector
    deviations: Vector
    weights: Vector
    intercept: float
    penalty: float

    def predict(self, columns: Vector) -> Vector:
        """The combination of rows (rows x columns)."""
        predicted: Vector = self.intercept + (columns - self.means) / self.deviations @ self.weights
        return predicted


def fit_combination(columns: Vector, gold: Vector, *, method: Method, penalty: float) -> Combination:
    """Fit the weights of columns (rows x columns).

    >>> columns = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> fit = fit_combination(columns, np.array([2.0, -2.0, 1.0, -1.0]), method="ridge", penalty=1.0)
    >>> (fit.weights * np.sqrt(2)).round(3).tolist()  # half of those without a penalty, 2 and 1
    [1.0, 0.5]
    """
    means, deviations = columns.mean(axis=0), columns.std(axis=0)
    constant = deviations <= SAME * np.maximum(1.0, np.abs(means))
    if constant.any():
        number = int(np.flatnonzero(constant)[0])
        msg = f"all {len(columns)} scores of column {number + 1} are {means[number]:g}; leave it out"
        raise InputError(msg)
    z, n, width = (columns - means) / deviations, *columns.shape
    if method == "average":
        return Combination(means, deviations, np.full(width, 1 / width), 0.0, 0.0)
    centre = float(gold.mean())
    if method == "ridge":
        weights = np.linalg.solve(z.T @ z / n + penalty * np.eye(width), z.T @ (gold - centre) / n)
    else:
        from scipy.optimize import nnls

        # A penalty is as many further rows in which each column alone should be 0.
        rows = np.concatenate([z / np.sqrt(n), np.sqrt(penalty) * np.eye(width)])
        weights, _ = nnls(rows, np.concatenate([(gold - centre) / np.sqrt(n), np.zeros(width)]))
    return Combination(means, deviations, np.asarray(weights, dtype=np.float64), centre, penalty)


def mean_correlation(values: Vector, gold: Vector, groups: NDArray[np.intp]) -> float:
    """Pearson within each group, averaged; groups without a correlation count as 0."""
    numbers = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    return float(np.mean([_correlation(values[rows], gold[rows]) for rows in numbers]))


def _correlation(values: Vector, gold: Vector) -> float:
    if len(values) < 2:
        return 0.0
    return float(np.nan_to_num(correlate(values, gold, undefined="nan").value))


def fit_best(
    columns: Vector, gold: Vector, folds: NDArray[np.intp], groups: NDArray[np.intp], *, method: Method
) -> Combination:
    """Choose the penalty on left-out folds, and fit all rows with it.

    `groups` are the language pairs in which correlations are computed.
    """
    if method == "average":
        return fit_combination(columns, gold, method=method, penalty=0.0)
    best = (-np.inf, 0.0)
    for penalty in PENALTIES:
        predicted = np.empty(len(gold))
        for left_out in _masks(folds):
            fit = fit_combination(columns[~left_out], gold[~left_out], method=method, penalty=penalty)
            predicted[left_out] = fit.predict(columns[left_out])
        best = max(best, (mean_correlation(predicted, gold, groups), penalty))
    return fit_combination(columns, gold, method=method, penalty=best[1])


def predict_left_out(
    columns: Vector, gold: Vector, folds: NDArray[np.intp], groups: NDArray[np.intp], *, method: Method
) -> Vector:
    """Predict every row by a combination that was fitted, with its penalty, without the fold of the row."""
    predicted = np.empty(len(gold))
    for left_out in _masks(folds):
        rest = ~left_out
        fit = fit_best(columns[rest], gold[rest], folds[rest], groups[rest], method=method)
        predicted[left_out] = fit.predict(columns[left_out])
    return predicted


def draw_folds(units: Sequence[str], count: int, seed: int) -> NDArray[np.intp]:
    """The fold of each row: units (documents, segments) are dealt to `count` folds of nearly equal numbers of units.

    The folds depend on the names of the units, not on the order of rows.
    """
    names = sorted(set(units))
    order = np.random.default_rng(seed).permutation(len(names))
    fold = {names[place]: number % count for number, place in enumerate(order)}
    return np.array([fold[unit] for unit in units], dtype=np.intp)


def _masks(folds: NDArray[np.intp]) -> list[NDArray[np.bool_]]:
    return [folds == fold for fold in np.unique(folds)]
