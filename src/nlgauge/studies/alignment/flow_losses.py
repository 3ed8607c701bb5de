"""Options, layers and losses of flows in torch: the arithmetic of `vectors/network_maps.py`, with gradients.

    squared error       |f(x) - y|^2 of paired words, both ways                               Eq. 1, 2
    likelihood          - log P(x) - log P(y), latent N(0, I), subtracted (D10.2, D10.3)      Eq. 2
    critic              E h(y) - E h(f(x)), h held to slope 1 by a gradient penalty           Eq. 3
    graph               |F F' - Y Y'|^2 of unit rows (D10.11): words keep their neighbours    Eq. 4
    cross-correlation   |rho - 1|^2, rho_d with the square root (D10.4)                       Eq. 5
    procrustes          |f(x) - x W|^2, W the rotation that fits all pairs best (D10.10)

Equations are those of the dissertation, chapter 10. Each loss is a mean over entries where print has a sum (D10.11),
so that weights mean the same at any width and batch. Sizes and lengths are not in print (D10.1): the defaults are
ours. Layers are dictionaries of tensors, so that they can be copied, saved and handed to an optimiser as they are.
Rows are already centred, divided by the scale and, of the source, rotated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.errors import RecipeError
from nlgauge.studies.alignment.word_spaces import csls_pairs
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.network_maps import SCALE_LIMIT, Coupling, NetworkMap

CONSTRAINTS = ("none", "graph", "cross-correlation", "procrustes")
VALIDATIONS = ("semantic", "structural", "error")

#: Width inside of a plain network, through which everything must go; that of a flow adds to a rotation.
FCNN_HIDDEN = 128

Ended: TypeAlias = Literal["epochs", "patience", "diverged"]


@dataclass(frozen=True, kw_only=True)
class FlowOptions(OptionSet):
    """Sizes, weights and lengths of a fit."""

    called: ClassVar[str] = "options of a fit"

    constraint: str = option("none", Choice(*CONSTRAINTS), help="constraint on paired words")
    validation: str = option(
        "semantic",
        Choice(*VALIDATIONS),
        help="criterion for the state that is kept; error, on pairs kept apart, needs parallel text",
    )
    epochs: int = option(20, Int(1), help="epochs in each round")
    rounds: int = option(
        1, Int(1), help="rounds of bootstrapping, each with new word pairs", unset="1; gan-flow with a constraint 3"
    )
    patience: int = option(5, Int(1), help="epochs without a better criterion after which the fit ends")
    batch: int = option(256, Int(1), help="pairs per step")
    # Each coupling moves one half of a vector, so two move all of it.
    couplings: int = option(2, Int(2), help="layers of each of the two flows")
    hidden: int = option(
        32, Int(1), help="width inside a layer; the cost of applying the map grows with it", unset="32; fcnn 128"
    )
    learning_rate: float = option(1e-3, Float(0), help="learning rate", unset="0.001; gan-flow 5e-05")
    likelihood: float = option(
        0.1, Float(0), help="weight of the negative log-likelihood compared with the squared error"
    )
    constraint_weight: float = option(1.0, Float(0), help="weight of the constraint")
    critic_steps: int = option(5, Int(1), help="steps of the critic per step of the flow")
    penalty: float = option(10.0, Float(0), help="weight of the critic's gradient penalty (WGAN-GP)")
    seed: int = seed_option(0)

    def check_method(self, method: str) -> None:
        """Refuse what a fit of that method has no pairs for, before anything is encoded."""
        if method == "flow" and self.rounds != 1:
            what = "rounds belong to fits without parallel text, which find pairs anew in each"
            msg = f"{what}; got rounds={self.rounds}"
            raise RecipeError(msg)
        if method == "gan-flow" and self.validation == "error":
            msg = "validation 'error' needs pairs that are known; take semantic or structural"
            raise RecipeError(msg)
        if method == "gan-flow" and self.rounds > 1 and self.constraint == "none":
            msg = "rounds find pairs for a constraint, and there is none; choose one, or rounds=1"
            raise RecipeError(msg)

    @property
    def total_epochs(self) -> int:
        """Of all rounds."""
        return self.epochs * self.rounds


class Epoch(NamedTuple):
    """A point of the curves; epoch 0 is the start, before anything was learned (of a flow, the centred rotation)."""

    epoch: int
    round: int
    loss: float
    """Mean over batches; nan at epoch 0."""
    criterion: float
    """What the best state is chosen by: higher is better."""


Kind = TypeVar("Kind", bound=NetworkMap)


@dataclass(frozen=True)
class Fitted(Generic[Kind]):
    """A map by a network, and the way to it."""

    map: Kind
    curve: tuple[Epoch, ...]
    best: int
    """The epoch whose state was kept."""
    ended: Ended
    """Why the fit ended; a diverged one is that of its last good state."""


#: Of one flow: a dictionary of tensors per coupling; even ones leave the first half as it is, odd ones the second.
Layers = list[dict[str, Any]]


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Sums in one order, whatever the number of processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def new_layers(torch: Any, width: int, *, couplings: int, hidden: int, generator: Any) -> Layers:
    """Couplings that change nothing yet: what their networks say last is 0."""
    layers: Layers = []
    for number in range(couplings):
        stays = width // 2 if number % 2 == 0 else width - width // 2
        inner = torch.randn(stays, hidden, generator=generator) * (2 / max(stays, 1)) ** 0.5
        zeros = [torch.zeros(shape) for shape in ((hidden,), (hidden, 2 * (width - stays)), (2 * (width - stays),))]
        made = dict(zip(("inner", "inner_bias", "outer", "outer_bias"), (inner, *zeros), strict=True))
        layers.append({name: tensor.requires_grad_(True) for name, tensor in made.items()})
    return layers


def _parts(torch: Any, layer: Mapping[str, Any], number: int, rows: Any) -> tuple[Any, Any, Any, Any]:
    """The half that stays, the half that is moved, s and t."""
    middle = rows.shape[1] // 2
    first, second = rows[:, :middle], rows[:, middle:]
    stays, moves = (first, second) if number % 2 == 0 else (second, first)
    both = torch.relu(stays @ layer["inner"] + layer["inner_bias"]) @ layer["outer"] + layer["outer_bias"]
    half = both.shape[1] // 2
    return stays, moves, SCALE_LIMIT * torch.tanh(both[:, :half]), both[:, half:]


def _joined(torch: Any, number: int, stays: Any, moved: Any) -> Any:
    return torch.cat((stays, moved) if number % 2 == 0 else (moved, stays), dim=1)


def forward(torch: Any, layers: Layers, rows: Any) -> tuple[Any, Any]:
    """Rows in the latent space, and log |det| of each."""
    log_det = torch.zeros(len(rows), dtype=rows.dtype)
    for number, layer in enumerate(layers):
        stays, moves, stretch, shift = _parts(torch, layer, number, rows)
        rows = _joined(torch, number, stays, moves * torch.exp(stretch) + shift)
        log_det = log_det + stretch.sum(dim=1)
    return rows, log_det


def inverse(torch: Any, layers: Layers, rows: Any) -> Any:
    """Rows back from the latent space."""
    for number, layer in reversed(list(enumerate(layers))):
        stays, moves, stretch, shift = _parts(torch, layer, number, rows)
        rows = _joined(torch, number, stays, (moves - shift) * torch.exp(-stretch))
    return rows


def couplings_of(layers: Layers) -> tuple[Coupling, ...]:
    """As numbers that need no torch."""
    return tuple(
        Coupling(number % 2 == 0, **{name: to_array(tensor) for name, tensor in layer.items()})
        for number, layer in enumerate(layers)
    )


def to_array(tensor: Any) -> NDArray[np.float32]:
    """The numbers of a tensor."""
    return np.array(tensor.detach().numpy(), dtype=np.float32)


def new_network(torch: Any, widths: Sequence[int], *, generator: Any) -> list[Any]:
    """Matrices and biases of a plain network, in order."""
    tensors = []
    for before, after in itertools.pairwise(widths):
        tensors += [torch.randn(before, after, generator=generator) * before**-0.5, torch.zeros(after)]
    return [tensor.requires_grad_(True) for tensor in tensors]


def run_network(network: Sequence[Any], rows: Any, activation: Any, *, last: bool) -> Any:
    """Rows through the network; `last`: whether the last layer has the activation too."""
    for place in range(0, len(network), 2):
        rows = rows @ network[place] + network[place + 1]
        if last or place + 2 < len(network):
            rows = activation(rows)
    return rows


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
    return csls_pairs(unit_rows(moved, pairwise=True), unit_rows(target, pairwise=True))[1]
