"""What a flow is fitted to (dissertation, chapter 10), and what tells a good state without gold.

squared error       |f(x) - y|^2 of paired words, both ways                               Eq. 1, 2
likelihood          - log P(x) - log P(y), latent N(0, I), subtracted (D10.2, D10.3)      Eq. 2
critic              E h(y) - E h(f(x)), h held to slope 1 by a gradient penalty           Eq. 3
graph               |F F' - Y Y'|^2 of unit rows (D10.11): words keep their neighbours    Eq. 4
cross-correlation   |rho - 1|^2, rho_d with the square root (D10.4)                       Eq. 5
procrustes          |f(x) - x W|^2, W the rotation that fits all pairs best (D10.10)

Each is a mean over entries where print has a sum (D10.11), so that weights mean the same at any width and batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.transforms.fit.flow_arithmetic import Layers, forward, inverse, run_network
from nlgauge.transforms.fit.neighbours import csls_pairs

__all__ = [
    "Mapped",
    "best_rotation",
    "constraint_loss",
    "criterion",
    "critic_loss",
    "judged",
    "mapped",
    "structural_criterion",
    "unit_rows",
]

_TINY = 1e-8


class Mapped:
    """Rows of both sides, each seen from the other, and how likely they are."""

    def __init__(self, torch: Any, source: Layers, target: Layers, x: Any, y: Any) -> None:
        latent_x, volume_x = forward(torch, source, x)
        latent_y, volume_y = forward(torch, target, y)
        self.x_as_y = inverse(torch, target, latent_x)
        self.y_as_x = inverse(torch, source, latent_y)
        self._terms = [(latent_x, volume_x), (latent_y, volume_y)]
        self._x, self._y = x, y

    def squared_error(self) -> Any:
        """Of both directions, per entry."""
        return ((self.x_as_y - self._y) ** 2).mean() + ((self.y_as_x - self._x) ** 2).mean()

    def unlikelihood(self) -> Any:
        """Negative log-likelihood of both sides per entry, without the constant of the normal distribution."""
        return sum((latent**2).mean() / 2 - volume.mean() / latent.shape[1] for latent, volume in self._terms)


def mapped(torch: Any, source: Layers, target: Layers, x: Any) -> Any:
    """Rows of the source in the target's space."""
    return inverse(torch, target, forward(torch, source, x)[0])


def best_rotation(torch: Any, x: Any, y: Any) -> Any:
    """Orthogonal W with the least |x W - y|, of paired rows."""
    u, _, vt = torch.linalg.svd(x.T @ y, full_matrices=False)
    return u @ vt


def constraint_loss(torch: Any, kind: str, x: Any, moved: Any, y: Any, *, rotation: Any = None) -> Any:
    """Of paired rows: the source's, the same after the map, and the target's.

    `rotation`: of all pairs, for procrustes. A batch has fewer pairs than a space has directions, and a rotation of
    its own would bring any pairs together.
    """
    if kind == "graph":
        f, z = (torch.nn.functional.normalize(rows, dim=1) for rows in (moved, y))
        return ((f @ f.T - z @ z.T) ** 2).mean()
    if kind == "cross-correlation":
        f, z = (rows - rows.mean(dim=0) for rows in (moved, y))
        rho = (f * z).sum(dim=0) / torch.sqrt((f**2).sum(dim=0) * (z**2).sum(dim=0) + _TINY)
        return ((rho - 1) ** 2).mean()
    return ((moved - x @ rotation) ** 2).mean()


def critic_loss(torch: Any, critic: list[Any], real: Any, made: Any, *, penalty: float, generator: Any) -> Any:
    """What a critic minimises: made rows low, real rows high, a slope of 1 between them (Gulrajani et al. 2017)."""
    share = torch.rand(len(real), 1, generator=generator)
    between = (share * real + (1 - share) * made).requires_grad_(True)
    (slope,) = torch.autograd.grad(judged(torch, critic, between).sum(), between, create_graph=True)
    gap = judged(torch, critic, made).mean() - judged(torch, critic, real).mean()
    return gap + penalty * ((slope.norm(dim=1) - 1) ** 2).mean()


def judged(torch: Any, critic: list[Any], rows: Any) -> Any:
    """The critic's number for each row."""
    return run_network(critic, rows, torch.nn.functional.leaky_relu, last=False)


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def structural_criterion(moved: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """How alike two spaces stretch: minus the squared differences of the logarithms of their singular values.

    After Dubossarsky et al. (2020), which the chapter names without a formula. The same for every rotation, so it
    does not see whether words lie with their translations.
    """
    sizes = [np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) for rows in (moved, target)]
    logs = [
        np.log(np.maximum(size / np.sqrt(len(rows)), _TINY))
        for size, rows in zip(sizes, (moved, target), strict=True)
    ]
    count = min(map(len, logs))
    return -float(((logs[0][:count] - logs[1][:count]) ** 2).sum(dtype=np.float64))


def criterion(kind: str, moved: NDArray[np.float32], target: NDArray[np.float32]) -> float:
    """Semantic (mean cosine of words that are each other's first by CSLS), structural, or minus the error of paired
    rows; higher is better.
    """
    if not np.isfinite(moved).all():
        return float("-inf")
    if kind == "error":
        return -float(np.square(moved - target).mean(dtype=np.float64))
    if kind == "structural":
        return structural_criterion(moved, target)
    return csls_pairs(unit_rows(moved), unit_rows(target))[1]
