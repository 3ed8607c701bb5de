"""Training losses. The paper does not name one; its code uses the binary cross-entropy of lengths.

Activations, targets (0 or 1) and weights are (batch, outputs); where the weight is 0 an output is only filling. Each
loss is a mean over the outputs of a text, and then over texts, so that a text with many outputs counts as one.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

__all__ = ["LOSSES", "binary_cross_entropy", "margin", "spread"]

#: The length of a pose that was not squashed (D7.5) can be 1 or more.
_EDGE = 1e-6


def binary_cross_entropy(activations: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """- t log a - (1 - t) log (1 - a), as released."""
    inside = activations.clamp(_EDGE, 1 - _EDGE)
    return _mean(-(targets * inside.log() + (1 - targets) * (1 - inside).log()), weights)


def margin(activations: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """t max(0, .9 - a)^2 + .5 (1 - t) max(0, a - .1)^2: Sabour, Frosst, Hinton 2017, Eq. 4."""
    right = (0.9 - activations).clamp_min(0).square()
    wrong = (activations - 0.1).clamp_min(0).square()
    return _mean(targets * right + 0.5 * (1 - targets) * wrong, weights)


def spread(activations: Tensor, targets: Tensor, weights: Tensor, *, gap: float = 0.9) -> Tensor:
    """max(0, gap - (a_t - a_i))^2 for every right output t and wrong one i: Hinton, Sabour, Frosst 2018, Eq. 3."""
    right, wrong = targets * (weights > 0), (1 - targets) * (weights > 0)
    pairs = right.unsqueeze(2) * wrong.unsqueeze(1)
    short = (gap - (activations.unsqueeze(2) - activations.unsqueeze(1))).clamp_min(0).square()
    return ((pairs * short).sum(dim=(1, 2)) / pairs.sum(dim=(1, 2)).clamp_min(1)).mean()


def _mean(losses: Tensor, weights: Tensor) -> Tensor:
    mask = weights > 0
    return ((losses * mask).sum(dim=1) / mask.sum(dim=1)).mean()


LOSSES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "bce": binary_cross_entropy,
    "margin": margin,
    "spread": spread,
}
