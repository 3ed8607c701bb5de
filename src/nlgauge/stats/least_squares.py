"""Least squares on standardised columns: coefficients, errors, p values, shares of variance, intervals.

    y = X b + e        every column, y too, minus its mean and divided by its standard deviation (of n values)

So there is no intercept, coefficients of columns in different units are comparable, and R2 is that of a model with
an intercept. Each column takes one of the n degrees of freedom, and the means one more.

    VIF            diag(inv(R)), R the correlations of the columns: 1 / (1 - R2 of a column given the others)
    partial R2     t^2 / (t^2 + degrees of freedom): what a column explains of that which the others leave over
    intervals      percentile bootstrap of rows, each resample standardised anew; percentiles are moved outwards as
                   those of means are (`nlgauge.stats.resampling`). Below 30 rows: Student's t

A resample enters by its sums of products only, so that all of them are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.numeric import SAME, Vector, check_level, check_resampling, numbers
from nlgauge.stats.resampling import FEW, bootstrap_sums, percentile_bounds, t_reach

#: Columns are collinear if their correlations have a smaller eigenvalue.
_SINGULAR = 1e-10


class LeastSquares(NamedTuple):
    """A fit on standardised columns; arrays have an entry per column of X."""

    coefficients: Vector
    errors: Vector
    """Standard errors."""
    p: Vector
    """Two-sided, by Student's t."""
    low: Vector
    high: Vector
    r2: float
    vif: Vector
    partial_r2: Vector
    fitted: Vector
    """An entry per row, standardised as y is."""
    rows: int


def standardise(values: Vector) -> Vector:
    """Columns minus their means, divided by their standard deviations (of n values).

    >>> standardise(np.array([1.0, 2.0, 3.0])).round(4).tolist()
    [-1.2247, 0.0, 1.2247]
    """
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0), dtype=np.float64)


def least_squares(
    y: ArrayLike,
    columns: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 12345,
) -> LeastSquares:
    """Fit y by the columns (rows x columns), all of them standardised; `names` are for messages, y's first.

    >>> fit = least_squares([1.0, 2.0, 4.0, 3.0], [[1.0], [2.0], [3.0], [4.0]])
    >>> round(float(fit.coefficients[0]), 4), round(fit.r2, 4)
    (0.8, 0.64)
    """
    check_level(level)
    check_resampling(resamples, seed)
    response, data = numbers(y, "least squares"), numbers(columns, "least squares")
    called = _names(names, data)
    _check(response, data, called)
    whole = standardise(np.column_stack([response, data]))
    target, factors = whole[:, 0], whole[:, 1:]
    n, count = factors.shape
    degrees = n - count - 1
    correlations = factors.T @ factors / n
    _check_collinear(correlations, called)
    inverse = np.linalg.inv(correlations)
    coefficients = inverse @ (factors.T @ target / n)
    fitted = factors @ coefficients
    unexplained = float(np.sum((target - fitted) ** 2))
    errors = np.sqrt(unexplained / degrees * np.diag(inverse) / n)
    p, partial = _tests(coefficients, errors, degrees)
    if n < FEW:
        half = t_reach(errors, level=level, units=degrees + 1)
        low, high = coefficients - half, coefficients + half
    else:
        low, high = _percentiles(whole, level=level, resamples=resamples, seed=seed)
    r2, vif = 1 - unexplained / n, np.diag(inverse).copy()
    return LeastSquares(coefficients, errors, p, low, high, r2, vif, partial, fitted, n)


def _names(names: Sequence[str] | None, data: Vector) -> list[str]:
    width = data.shape[1] if data.ndim == 2 else 0
    called = list(names) if names is not None else ["y", *(f"column {number}" for number in range(width))]
    if data.ndim != 2 or not width or len(called) != width + 1:
        msg = f"least squares needs columns (rows x columns) and a name for each and for y, got shape {data.shape}"
        raise InputError(msg)
    return called


def _check(y: Vector, data: Vector, names: Sequence[str]) -> None:
    """Raise InputError, naming the column, for data that cannot be fitted."""
    if y.shape != (len(data),):
        msg = f"{names[0]} needs a value for each of {len(data)} rows, got shape {y.shape}"
        raise InputError(msg)
    if len(data) < data.shape[1] + 2:
        msg = (
            f"{len(data)} rows are too few for {data.shape[1]} factors: at least {data.shape[1] + 2} are needed; "
            "take fewer factors or more rows"
        )
        raise InputError(msg)
    for name, values in zip(names, [y, *data.T], strict=True):
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            msg = f"{name} needs finite numbers, got {float(values[row])!r} in row {row}; leave out such rows"
            raise InputError(msg)
        if np.ptp(values) <= SAME * np.abs(values).max():
            msg = (
                f"{name} is {float(values[0])!r} in all {len(values)} rows: a constant explains nothing; leave it out"
            )
            raise InputError(msg)


def _check_collinear(correlations: Vector, names: Sequence[str]) -> None:
    values, vectors = np.linalg.eigh(correlations)
    if values[0] < _SINGULAR:
        parts = [name for name, weight in zip(names[1:], vectors[:, 0], strict=True) if abs(weight) > 1e-3]
        msg = f"the factors {', '.join(parts)} are linear combinations of each other; leave out one of them"
        raise InputError(msg)


def _tests(coefficients: Vector, errors: Vector, degrees: int) -> tuple[Vector, Vector]:
    """Two-sided p values, and partial R2."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore"):  # a perfect fit has no error
        t2 = np.where(errors > 0, (coefficients / np.where(errors > 0, errors, 1.0)) ** 2, np.inf)
    p = 2 * stdtr(degrees, -np.sqrt(t2))
    partial = np.where(np.isfinite(t2), t2 / (np.where(np.isfinite(t2), t2, 0.0) + degrees), 1.0)
    return np.asarray(p, dtype=np.float64), np.asarray(partial, dtype=np.float64)


def _percentiles(whole: Vector, *, level: float, resamples: int, seed: int) -> tuple[Vector, Vector]:
    """Ends of the intervals of all coefficients; the first column is y."""
    n, width = whole.shape
    upper = np.triu_indices(width)
    products = whole[:, upper[0]] * whole[:, upper[1]]
    drawn = [
        _from_sums(sums, n, width, upper)
        for sums in bootstrap_sums(np.column_stack([whole, products]), resamples=resamples, seed=seed)
    ]
    return percentile_bounds(np.concatenate(drawn), level=level, units=n)


def _from_sums(sums: Vector, n: int, width: int, upper: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Vector:
    """Coefficients of each draw from its sums and sums of products."""
    means = sums[:, :width] / n
    moments = np.empty((len(sums), width, width))
    moments[:, upper[0], upper[1]] = moments[:, upper[1], upper[0]] = sums[:, width:] / n
    covariances = moments - means[:, :, None] * means[:, None, :]
    deviations = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    # A column that is constant in a draw explains nothing there: its row and column are 0, and so is its coefficient.
    scale = np.where(deviations > 0, 1 / np.where(deviations > 0, deviations, 1.0), 0.0)
    correlations = covariances * scale[:, :, None] * scale[:, None, :]
    inverses = np.linalg.pinv(correlations[:, 1:, 1:], hermitian=True)
    return np.asarray(np.einsum("dij,dj->di", inverses, correlations[:, 1:, 0]), dtype=np.float64)
