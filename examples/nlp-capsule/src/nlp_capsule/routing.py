"""Routing by agreement for batches of torch tensors, with gradients.

The rules are those of `nlp_capsule.array_routing`, which explains them; tests compare the two. Proposals are a tensor
(batch, inputs, outputs, width). Instances stop independently (D7.6): a converged instance leaves the batch, so no
result depends on the other instances.

Partial routing leaves each instance its own few outputs. Where instances have different numbers of them, `weights`
(batch, outputs) is 0 at the places that are only filling, and those are routed nowhere. An output of weight w counts
w times in the agreement, and its proposals gain w times as much:

    NAS = log sum_i (sum_j+ c_ij k_ij + lambda sum_j- c_ij k_ij)         lambda the weight of sampled outputs (D7.7)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from nlgauge.errors import InputError, RecipeError

__all__ = ["Routed", "Update", "adaptive_kde_routing", "dynamic_routing", "kde_routing", "length", "squash"]

Update: TypeAlias = Literal["released", "paper"]

_RELEASED_CONSTANT = 0.5
_MOST_ROUNDS = 100
#: Under the root of a sum of squares: the root of 0 has no slope.
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class Routed:
    """Result of routing for each instance."""

    poses: Tensor
    """(batch, outputs, width)"""
    activations: Tensor
    """(batch, outputs): length of each pose; 0 for padding."""
    coefficients: Tensor
    """(batch, inputs, outputs): weight of each input in each output."""
    agreement: Tensor
    """(batch,): NAS after the last round of each instance; NaN where the kernels sum to 0 or less."""
    rounds: Tensor
    """(batch,): rounds until each instance stopped."""


def length(x: Tensor) -> Tensor:
    """Length over the last axis."""
    return x.square().sum(dim=-1).clamp_min(_TINY).sqrt()


def squash(x: Tensor, *, constant: float = 1.0) -> Tensor:
    """||x|| x / (constant + ||x||^2) over the last axis: the direction stays, the length becomes less than 1."""
    if not constant > 0:
        msg = f"the constant of squash must be above 0, got {constant!r}"
        raise RecipeError(msg)
    long = length(x).unsqueeze(-1)
    return x * (long / (constant + long.square()))


def kde_routing(
    proposals: Tensor,
    *,
    iterations: int = 3,
    step: float = 1.0,
    update: Update = "released",
    weights: Tensor | None = None,
) -> Routed:
    """Routing by a kernel, in a fixed number of rounds."""
    if iterations < 1:
        msg = f"iterations must be 1 or more, got {iterations!r}"
        raise RecipeError(msg)
    return _route(_Kernel(step, update), proposals, weights, most=iterations, epsilon=None)


def adaptive_kde_routing(
    proposals: Tensor,
    *,
    epsilon: float = 0.05,
    step: float = 1.0,
    update: Update = "released",
    weights: Tensor | None = None,
) -> Routed:
    """Routing by a kernel until the agreement of an instance changes by less than `epsilon` (Algorithm 1).

    The first round is compared with an agreement of 0, as in the released code (D7.14).
    """
    if not epsilon > 0:
        msg = f"epsilon must be above 0, got {epsilon!r}"
        raise RecipeError(msg)
    return _route(_Kernel(step, update), proposals, weights, most=_MOST_ROUNDS, epsilon=epsilon)


def dynamic_routing(
    proposals: Tensor, *, iterations: int = 3, leaky: bool = True, weights: Tensor | None = None
) -> Routed:
    """Routing by inner products (Sabour, Frosst, Hinton 2017); the agreement is sum c_ij <v_j, u_j|i>."""
    if iterations < 1:
        msg = f"iterations must be 1 or more, got {iterations!r}"
        raise RecipeError(msg)
    u, weight_rows = _checked(proposals, weights)
    present = (weight_rows > 0).unsqueeze(1)
    logits = u.new_zeros(u.shape[:3])
    for number in range(iterations):
        shares = _softmax(logits, present, leaky=leaky)
        poses = squash(torch.einsum("bij,bijd->bjd", shares, u), constant=_RELEASED_CONSTANT)
        products = torch.einsum("bjd,bijd->bij", poses, u) * weight_rows.unsqueeze(1)
        agreement = (shares * products).sum(dim=(1, 2))
        if number < iterations - 1:
            logits = logits + products
    rounds = torch.full((len(u),), iterations)
    return Routed(poses, length(poses) * present.squeeze(1), shares, agreement, rounds)


class _State(NamedTuple):
    """State of the instances of a batch between two rounds."""

    u: Tensor
    near: Tensor
    """Proposals as the kernel sees them: squashed by the released rule."""
    weights: Tensor
    logits: Tensor
    poses: Tensor

    def of(self, chosen: Tensor) -> _State:
        return _State(*(part[chosen] for part in self))


class _Round(NamedTuple):
    state: _State
    shares: Tensor
    agreement: Tensor


@dataclass(frozen=True)
class _Kernel:
    """One round of routing by a kernel, by the released rule or the printed one."""

    step: float
    update: Update

    def __post_init__(self) -> None:
        if self.update not in ("released", "paper"):
            msg = f"update must be released or paper, got {self.update!r}"
            raise RecipeError(msg)
        if not (math.isfinite(self.step) and self.step > 0):
            msg = f"step must be above 0, got {self.step!r}"
            raise RecipeError(msg)

    @property
    def released(self) -> bool:
        return self.update == "released"

    def start(self, u: Tensor, weights: Tensor) -> _State:
        near = squash(u, constant=_RELEASED_CONSTANT) if self.released else u
        # Both starts share an input out alike over the outputs that are there (D7.8).
        equal = 0.0 if self.released else 1 / (weights > 0).sum(dim=1).view(-1, 1, 1)
        return _State(u, near, weights, u.new_zeros(u.shape[:3]) + equal, u.mean(dim=1))

    def go(self, state: _State) -> _Round:
        present = (state.weights > 0).unsqueeze(1)
        shares = _softmax(state.logits, present, leaky=not self.released)
        if self.released:
            shares = shares / shares.sum(dim=1, keepdim=True).clamp_min(_TINY)
            poses = squash(torch.einsum("bij,bijd->bjd", shares, state.u), constant=_RELEASED_CONSTANT)
            kernel = 1 - (state.near - poses.unsqueeze(1)).square().sum(dim=-1)
        else:
            poses = self._weighted_by_slope(state, shares)
            kernel = (1 - length(state.u - poses.unsqueeze(1))).clamp_min(0.0)
        kernel = kernel * state.weights.unsqueeze(1)
        logits = (state.logits if self.released else shares) + self.step * kernel
        total = (shares * kernel).sum(dim=(1, 2)).detach()
        agreement = torch.where(total > 0, total, torch.nan).log()
        return _Round(state._replace(logits=logits, poses=poses), shares, agreement)

    def stuck(self, agreement: Tensor) -> Tensor:
        """Whether no proposal lies within the kernel of its pose, so that no further round moves one."""
        return agreement.isnan() & (not self.released)

    @staticmethod
    def _weighted_by_slope(state: _State, shares: Tensor) -> Tensor:
        """sum c k' u / sum k': k' is constant within 1 of the pose and 0 beyond; a pose with none near stays."""
        within = (length(state.u - state.poses.unsqueeze(1)) < 1).to(shares.dtype)
        count = within.sum(dim=1).unsqueeze(-1)
        moved = torch.einsum("bij,bijd->bjd", shares * within, state.u) / count.clamp_min(1)
        return torch.where(count > 0, moved, state.poses)


def _route(kernel: _Kernel, proposals: Tensor, weights: Tensor | None, *, most: int, epsilon: float | None) -> Routed:
    """Rounds until `most`; with `epsilon`, an instance leaves as soon as its agreement has settled."""
    u, weight_rows = _checked(proposals, weights)
    state = kernel.start(u, weight_rows)
    places = torch.arange(len(u))
    previous = u.new_zeros(len(u))
    left: list[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]] = []
    for number in range(1, most + 1):
        state, shares, agreement = kernel.go(state)
        finished = torch.full_like(agreement, number == most, dtype=torch.bool)
        if epsilon is not None:
            finished |= ((agreement - previous).abs() < epsilon) | kernel.stuck(agreement)
        if finished.any():
            rounds = torch.full((int(finished.sum()),), number)
            left.append(
                (places[finished.cpu()], state.poses[finished], shares[finished], agreement[finished], rounds)
            )
            state, places, agreement = state.of(~finished), places[~finished.cpu()], agreement[~finished]
        if not len(places):
            break
        previous = agreement
    order = torch.cat([part[0] for part in left]).argsort()
    poses, coefficients, final, rounds = (torch.cat([part[i] for part in left])[order] for i in (1, 2, 3, 4))
    present = (weight_rows > 0).to(u.dtype)
    poses = poses * present.unsqueeze(-1)
    return Routed(poses, length(poses) * present, coefficients, final, rounds)


def _softmax(logits: Tensor, present: Tensor, *, leaky: bool) -> Tensor:
    """Over the outputs that are there; with a leak, beside one more of logit 0."""
    masked = logits.masked_fill(~present, -torch.inf)
    if not leaky:
        return masked.softmax(dim=2)
    return torch.cat((masked.new_zeros(*masked.shape[:2], 1), masked), dim=2).softmax(dim=2)[:, :, 1:]


def _checked(proposals: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Proposals, and a weight for each output of each instance."""
    if proposals.ndim != 4 or 0 in proposals.shape:
        msg = (
            "proposals are a tensor of (batch, inputs, outputs, width), none of them 0, "
            f"got the shape {tuple(proposals.shape)}"
        )
        raise InputError(msg)
    if not proposals.isfinite().all():
        instance, row, output, _ = (~proposals.isfinite()).nonzero()[0].tolist()
        msg = (
            f"proposal of input {row} to output {output} of instance {instance} is not finite; has training diverged?"
        )
        raise InputError(msg)
    outputs = (proposals.shape[0], proposals.shape[2])
    if weights is None:
        return proposals, proposals.new_ones(outputs)
    if (
        tuple(weights.shape) != outputs
        or bool((weights < 0).any())
        or bool((weights > 0).any(dim=1).logical_not().any())
    ):
        msg = f"weights are {outputs}, 0 or more, with an output above 0 in every row; got {tuple(weights.shape)}"
        raise InputError(msg)
    return proposals, weights.to(proposals.dtype)
