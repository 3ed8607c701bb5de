"""Agreement curves: how often human raters prefer the same system, by the size of the metric's difference.

    agreement(x) = .5 + .5 c (1 - exp(-(x / s)^k))

x is the size of a difference, s its scale, k the shape and c the ceiling: a difference of 0 is right in half of the
pairs, a large one in .5 + .5 c. The three numbers maximise the likelihood of the outcomes, which are 1 where raters
prefer the same system, 0 where they prefer the other one, and .5 where they do not differ. The form is that of a
psychometric function with a Weibull distribution and a chance level of a half (Wichmann and Hill 2001).

Pairs of systems are not independent, so intervals come from resampling whole groups of them. The weight of a pair is
the number of times that its group was drawn.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.stats.numeric import Vector, vector

#: Fewest pairs that a curve can be fitted to.
LEAST_PAIRS = 20

#: Bounds of the ceiling and of the shape; a scale lies within a factor of 20 of the differences.
_CEILING = (0.0, 1.0 - 1e-6)
_SHAPE = (0.25, 8.0)
_BEYOND = np.log(20.0)

#: Shapes to start from: the likelihood can have several maxima.
_STARTS = (0.7, 1.5, 3.0)

#: Probabilities are kept away from 0 and 1 by this much.
_EDGE = 1e-9


class AgreementFit(NamedTuple):
    """The numbers of an agreement curve."""

    ceiling: float
    scale: float
    shape: float

    def predict(self, sizes: ArrayLike) -> Vector:
        """Agreement at these sizes of a difference.

        >>> AgreementFit(ceiling=0.8, scale=2.0, shape=1.0).predict([0.0, 2.0, 1e9]).round(4).tolist()
        [0.5, 0.7528, 0.9]
        """
        ratio = np.asarray(sizes, dtype=np.float64) / self.scale
        return np.asarray(0.5 - 0.5 * self.ceiling * np.expm1(-(ratio**self.shape)))

    def size_at(self, agreement: float) -> float | None:
        """The size of a difference at which the curve reaches an agreement; None if it never does.

        >>> AgreementFit(ceiling=0.8, scale=2.0, shape=1.0).size_at(0.95)
        """
        share = (agreement - 0.5) / (0.5 * self.ceiling) if self.ceiling > 0 else np.inf
        if not 0 <= share < 1:
            return None
        return float(self.scale * (-np.log1p(-share)) ** (1 / self.shape))


def fit_agreement(
    sizes: ArrayLike, outcomes: ArrayLike, weights: ArrayLike | None = None, *, start: AgreementFit | None = None
) -> AgreementFit:
    """Fit a curve by maximum likelihood.

    Args:
        sizes: Size of the metric's difference of each pair, 0 or more.
        outcomes: 1 where raters prefer the same system, 0 the other one, .5 neither.
        weights: Number of times that each pair counts; once by default.
        start: A fit to start from, for resamples of the same pairs.
    """
    from scipy.optimize import minimize

    x, y = vector(sizes, "sizes", least=LEAST_PAIRS), vector(outcomes, "outcomes", least=LEAST_PAIRS)
    w = np.ones_like(x) if weights is None else vector(weights, "weights", least=LEAST_PAIRS)
    if not x.shape == y.shape == w.shape:
        msg = f"sizes, outcomes and weights must be equally many, got {x.size}, {y.size} and {w.size}"
        raise InputError(msg)
    if (x < 0).any() or (y < 0).any() or (y > 1).any() or (w < 0).any():
        msg = "sizes and weights must be 0 or more, and outcomes between 0 and 1"
        raise InputError(msg)
    used = (w > 0) & (x > 0)  # a difference of 0 has an agreement of .5 on every curve
    x, y, w = x[used], y[used], w[used]
    if not x.size:
        msg = "all differences are 0; choose a metric that tells the systems apart"
        raise InputError(msg)
    # In units of the median, so that one tolerance suits every metric.
    unit = float(np.median(x))
    logs = np.log(x / unit)
    bounds = [_CEILING, (float(logs.min()) - _BEYOND, float(logs.max()) + _BEYOND), _SHAPE]
    starts = [(0.8, 0.0, shape) for shape in _STARTS]
    if start is not None:
        starts = [(start.ceiling, float(np.log(start.scale / unit)), start.shape)]

    def loss(point: Vector) -> tuple[float, Vector]:
        ceiling, log_scale, shape = point
        power = np.exp(np.clip(shape * (logs - log_scale), -700.0, 700.0))
        left = np.exp(-power)
        raw = 0.5 + 0.5 * ceiling * (1 - left)
        p = np.clip(raw, _EDGE, 1 - _EDGE)
        value = -float(w @ (y * np.log(p) + (1 - y) * np.log1p(-p)))
        by_p = w * ((1 - y) / (1 - p) - y / p)
        slope = 0.5 * ceiling * left * power
        gradient = (by_p @ (0.5 * (1 - left)), by_p @ (-shape * slope), by_p @ (slope * (logs - log_scale)))
        return value / w.sum(), np.asarray(gradient) / w.sum()

    best = min(
        (
            minimize(loss, np.clip(first, *np.transpose(bounds)), jac=True, method="L-BFGS-B", bounds=bounds)
            for first in starts
        ),
        key=lambda result: float(result.fun),
    )
    ceiling, log_scale, shape = map(float, best.x)
    return AgreementFit(ceiling, unit * float(np.exp(log_scale)), shape)


def draw_fits(
    sizes: Vector,
    outcomes: Vector,
    units: Sequence[Sequence[Hashable]],
    *,
    resamples: int,
    seed: int,
) -> list[AgreementFit]:
    """Fits to resamples of whole groups.

    `units` names the groups of each pair from the largest to the smallest, such as (year, language pair): years are
    drawn first, then language pairs within each drawn year.
    """
    random = np.random.default_rng(seed)
    start = fit_agreement(sizes, outcomes)
    fits: list[AgreementFit] = []
    while len(fits) < resamples:
        weights = _draw_weights(units, random)
        if (sizes[weights > 0] > 0).any():
            fits.append(fit_agreement(sizes, outcomes, weights, start=start))
    return fits


def draw_fits_by_item(
    sizes: Vector, outcomes: Vector, pairs: Sequence[tuple[int, int]], *, resamples: int, seed: int
) -> list[AgreementFit]:
    """Fits to resamples of systems: a pair counts as often as its two systems were drawn together."""
    random = np.random.default_rng(seed)
    first, second = np.asarray(pairs, dtype=np.intp).T
    count = int(max(first.max(), second.max())) + 1
    start = fit_agreement(sizes, outcomes)
    fits: list[AgreementFit] = []
    while len(fits) < resamples:
        drawn = np.bincount(random.integers(count, size=count), minlength=count).astype(np.float64)
        weights = drawn[first] * drawn[second]
        if (sizes[weights > 0] > 0).any():
            fits.append(fit_agreement(sizes, outcomes, weights, start=start))
    return fits


def _draw_weights(units: Sequence[Sequence[Hashable]], random: np.random.Generator) -> Vector:
    """How often each row is drawn if its groups are drawn level by level."""
    weights = np.zeros(len(units))

    def draw(rows: NDArray[np.intp], depth: int, times: int) -> None:
        if depth == len(units[rows[0]]):
            weights[rows] += times
            return
        names = list(dict.fromkeys(units[row][depth] for row in rows))
        for _ in range(times):
            counts = np.bincount(random.integers(len(names), size=len(names)), minlength=len(names))
            for name, count in zip(names, counts.tolist(), strict=True):
                if count:
                    draw(np.asarray([row for row in rows if units[row][depth] == name]), depth + 1, count)

    draw(np.arange(len(units)), 0, 1)
    return weights


def predict_left_out(sizes: Vector, outcomes: Vector, groups: Sequence[Hashable]) -> Vector:
    """Agreement of each pair by a curve that was fitted to the pairs of all other groups."""
    names = list(dict.fromkeys(groups))
    if len(names) < 2:
        msg = f"leaving out groups needs at least 2 of them, got {len(names)}"
        raise InputError(msg)
    predicted = np.empty(len(sizes))
    for name in names:
        own = np.asarray([group == name for group in groups])
        predicted[own] = fit_agreement(sizes[~own], outcomes[~own]).predict(sizes[own])
    return predicted


class ReliabilityBin(NamedTuple):
    """Pairs with about the same predicted agreement."""

    predicted: float
    """Mean of the predictions."""
    observed: float
    """Share of pairs with the same preference."""
    pairs: int


def reliability(predicted: Vector, outcomes: Vector, *, bins: int = 10) -> list[ReliabilityBin]:
    """Predicted and observed agreement in bins of equally many pairs.

    >>> reliability(np.array([0.6, 0.6, 0.9, 0.9]), np.array([1.0, 0.0, 1.0, 1.0]), bins=2)
    [ReliabilityBin(predicted=0.6, observed=0.5, pairs=2), ReliabilityBin(predicted=0.9, observed=1.0, pairs=2)]
    """
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, len(order))) if part.size]
    return [
        ReliabilityBin(float(predicted[part].mean()), float(outcomes[part].mean()), int(part.size)) for part in parts
    ]


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Mean distance of observed from predicted agreement, weighted by the pairs of each bin.

    >>> calibration_error([ReliabilityBin(0.6, 0.5, 2), ReliabilityBin(0.9, 1.0, 2)])
    0.1
    """
    total = sum(part.pairs for part in bins)
    return round(sum(part.pairs * abs(part.observed - part.predicted) for part in bins) / total, 12)


def brier_score(predicted: Vector, outcomes: Vector) -> float:
    """Mean squared distance of outcomes from predictions: lower is better, .25 for a coin.

    >>> brier_score(np.array([0.5, 0.9]), np.array([1.0, 1.0]))
    0.13
    """
    return round(float(np.mean((predicted - outcomes) ** 2)), 12)
