"""Routing by agreement: many candidates become few outputs, weighted by their agreement.

Zhao, Peng, Eger, Cambria, Yang 2019, "Towards Scalable and Reliable Capsule Networks for Challenging NLP
Applications", section 3.2 and Algorithm 1. Input i proposes u_j|i for output j, and in rounds

    c_ij  <- softmax over the outputs of b_ij                          share of input i in output j
    v_j   <- weighted sum of the proposals                             the output's pose
    b_ij  <- b_ij + alpha k(d(v_j, u_j|i))                             proposals near the pose gain
    NAS   <- log sum_ij c_ij k(d(v_j, u_j|i))                          negative agreement score, D7.12

NAS follows Eq. 1 and the released code and uses the c of the poses. Algorithm 1 uses the updated c, so its NAS may
decrease (D7.19).

`kde_routing` runs a fixed number of rounds, `adaptive_kde_routing` stops when the agreement converges, and
`dynamic_routing` (Sabour, Frosst, Hinton 2017) updates by the inner product of proposal and pose. Where paper and
code differ, `update` selects the rule:

    released   plain softmax, shared out over the inputs too (D7.3); the pose is squashed with the constant .5 (D7.1,
               D7.5); k = 1 - ||squash(u) - v||^2, which may be negative (D7.4)
    paper      softmax with a leak (D7.3); v = sum c k' u / sum k', not squashed (D7.5); k = max(0, 1 - ||u - v||)
               (D7.4), from a start at the mean of the proposals, which the paper leaves open

An array is one instance, and instances stop independently: with a common stop (D7.6) a result would depend on the
batch. With one output the softmax over outputs is always 1, so routing has no effect. nlgauge's
`aggregation=kde-routing` combines layers of a token with a softmax over layers instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError, RecipeError

__all__ = ["Routed", "adaptive_kde_routing", "dynamic_routing", "kde_routing", "squash"]

Update: TypeAlias = Literal["released", "paper"]

#: Constant of `squash` in the released code and in the paper (D7.1).
_RELEASED_CONSTANT = 0.5
#: Maximum number of rounds; the released loop has no limit.
_MOST_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Routed:
    """Result of routing."""

    poses: NDArray[np.float64]
    """(outputs, width)"""
    activations: NDArray[np.float64]
    """(outputs,): length of each pose."""
    coefficients: NDArray[np.float64]
    """(inputs, outputs): weight of each input in each output."""
    agreement: tuple[float, ...]
    """NAS after every round; NaN where the kernels sum to 0 or less, which has no logarithm."""

    @property
    def rounds(self) -> int:
        """Rounds until it stopped."""
        return len(self.agreement)


def squash(x: ArrayLike, *, constant: float = 1.0) -> NDArray[np.float64]:
    """||x|| x / (constant + ||x||^2) over the last axis: the direction stays, the length becomes less than 1.

    >>> squash([3.0, 4.0]).round(6).tolist()
    [0.576923, 0.769231]
    """
    if not constant > 0:
        msg = f"the constant of squash must be above 0, got {constant!r}"
        raise RecipeError(msg)
    values = np.asarray(x, dtype=np.float64)
    length = np.sqrt((values**2).sum(axis=-1, keepdims=True))
    squashed: NDArray[np.float64] = length / (constant + length**2) * values
    return squashed


def kde_routing(
    proposals: ArrayLike, *, iterations: int = 3, step: float = 1.0, update: Update = "released"
) -> Routed:
    """Routing by a kernel, in a fixed number of rounds.

    `proposals` is (inputs, outputs, width). Proposals that agree are routed to their common pose:

    >>> found = kde_routing([[[1.0, 0.0], [0.1, 0.0]], [[1.0, 0.0], [0.0, 0.1]]])
    >>> bool(found.activations[0] > found.activations[1])
    True
    """
    if iterations < 1:
        msg = f"iterations must be 1 or more, got {iterations!r}"
        raise RecipeError(msg)
    rounds = _KernelRounds(_checked(proposals), step, update)
    for _ in range(iterations):
        rounds.go()
    return rounds.result()


def adaptive_kde_routing(
    proposals: ArrayLike, *, epsilon: float = 0.05, step: float = 1.0, update: Update = "released"
) -> Routed:
    """Routing by a kernel until the agreement changes by less than `epsilon` (Algorithm 1).

    The first round is compared with an agreement of 0, as in the released code.
    """
    if not epsilon > 0:
        msg = f"epsilon must be above 0, got {epsilon!r}"
        raise RecipeError(msg)
    rounds = _KernelRounds(_checked(proposals), step, update)
    previous = 0.0
    for _ in range(_MOST_ROUNDS):
        agreement = rounds.go()
        if abs(agreement - previous) < epsilon or rounds.nothing_near:
            break
        previous = agreement
    return rounds.result()


def dynamic_routing(proposals: ArrayLike, *, iterations: int = 3, leaky: bool = True) -> Routed:
    """Routing by inner products, the baseline of the released code; its agreement is sum c_ij <v_j, u_j|i>.

    With `leaky` the softmax has an additional empty output, so an input may go to no output.
    """
    if iterations < 1:
        msg = f"iterations must be 1 or more, got {iterations!r}"
        raise RecipeError(msg)
    u = _checked(proposals)
    logits = np.zeros(u.shape[:2])
    agreement = []
    for number in range(iterations):
        shares = _softmax(logits, leaky=leaky)
        poses = squash(np.einsum("ij,ijd->jd", shares, u), constant=_RELEASED_CONSTANT)
        products = np.einsum("jd,ijd->ij", poses, u)
        agreement.append(float((shares * products).sum()))
        if number < iterations - 1:
            logits = logits + products
    return Routed(poses, np.linalg.norm(poses, axis=1), shares, tuple(agreement))


class _KernelRounds:
    """Rounds of routing by a kernel; each begins with the logits that the one before left."""

    def __init__(self, proposals: NDArray[np.float64], step: float, update: Update) -> None:
        if update not in ("released", "paper"):
            msg = f"update must be released or paper, got {update!r}"
            raise RecipeError(msg)
        if not (math.isfinite(step) and step > 0):
            msg = f"step must be above 0, got {step!r}"
            raise RecipeError(msg)
        self._u, self._step, self._released = proposals, step, update == "released"
        self._squashed = squash(proposals, constant=_RELEASED_CONSTANT) if self._released else proposals
        # Both starts distribute an input equally over the outputs (D7.8).
        start = 0.0 if self._released else 1 / proposals.shape[1]
        self._logits = np.full(proposals.shape[:2], start)
        self._poses: NDArray[np.float64] = proposals.mean(axis=0)
        self._shares = self._logits
        self._agreement: list[float] = []

    def go(self) -> float:
        """One round; the agreement after it."""
        shares = _softmax(self._logits, leaky=not self._released)
        if self._released:
            shares = shares / shares.sum(axis=0)
            self._poses = squash(np.einsum("ij,ijd->jd", shares, self._u), constant=_RELEASED_CONSTANT)
            kernel = 1 - ((self._squashed - self._poses) ** 2).sum(axis=-1)
        else:
            self._poses = self._weighted_by_slope(shares)
            kernel = np.maximum(0.0, 1 - self._distances())
        self._shares = shares
        self._logits = (self._logits if self._released else shares) + self._step * kernel
        total = float((shares * kernel).sum())
        self._agreement.append(math.log(total) if total > 0 else math.nan)
        return self._agreement[-1]

    def result(self) -> Routed:
        return Routed(self._poses, np.linalg.norm(self._poses, axis=1), self._shares, tuple(self._agreement))

    @property
    def nothing_near(self) -> bool:
        """Whether no proposal lies within the kernel of its pose, so that no further round moves one."""
        return not self._released and math.isnan(self._agreement[-1])

    def _distances(self) -> NDArray[np.float64]:
        distances: NDArray[np.float64] = np.sqrt(((self._u - self._poses) ** 2).sum(axis=-1))
        return distances

    def _weighted_by_slope(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """sum c k' u / sum k': k' is constant within 1 of the pose and 0 beyond; a pose with none near stays."""
        near = (self._distances() < 1).astype(np.float64)
        count = near.sum(axis=0)[:, None]
        moved = np.einsum("ij,ijd->jd", shares * near, self._u) / np.maximum(count, 1)
        return np.where(count > 0, moved, self._poses)


def _softmax(logits: NDArray[np.float64], *, leaky: bool) -> NDArray[np.float64]:
    """Over the outputs; with a leak, beside one more of logit 0."""
    highest = logits.max(axis=1, keepdims=True)
    highest = np.maximum(highest, 0.0) if leaky else highest
    powers = np.exp(logits - highest)
    total = powers.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = powers / (total + np.exp(-highest) if leaky else total)
    return shares


def _checked(proposals: ArrayLike) -> NDArray[np.float64]:
    u = np.asarray(proposals, dtype=np.float64)
    if u.ndim != 3 or 0 in u.shape:
        msg = f"proposals are an array of (inputs, outputs, width), none of them 0, got the shape {u.shape}"
        raise InputError(msg)
    if not np.isfinite(u).all():
        place = np.argwhere(~np.isfinite(u))[0]
        msg = f"proposal of input {place[0]} to output {place[1]} is not finite; check the layers before"
        raise InputError(msg)
    return u
