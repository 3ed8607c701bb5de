"""Fit flows and networks to paired words of two languages, with the losses of flows. Needs torch.

    flow        Real-NVP with parallel text: squared error of paired words in both directions, and likelihood of both
                sides
    fcnn        three fully connected layers, tanh after each, fitted to paired words by squared error. Width,
                optimiser and length are ours (D10.1).

A flow starts as the centred rotation. The result is the state with the best criterion, including the start; with
parallel text the criterion is computed on a held-out tenth of the pairs. If a loss is not finite, the fit ends with
the best state and a warning. One thread computes: same seed, same bytes. The larger of two widths is reduced to the
smaller (`word_spaces.py`), as a step of the map. An interrupted fit can be resumed (`training_loop.py`).

    squared error       |f(x) - y|^2 of paired words, both directions                         Eq. 1, 2
    likelihood          - log P(x) - log P(y), latent N(0, I), subtracted (D10.2, D10.3)      Eq. 2
    graph               |F F' - Y Y'|^2 of unit rows (D10.11): words keep their neighbours    Eq. 4
    cross-correlation   |rho - 1|^2, rho_d with the square root (D10.4)                       Eq. 5
    procrustes          |f(x) - x W|^2, W the best rotation for all pairs (D10.10)

Equations are those of the dissertation, chapter 10. Each loss is a mean over entries instead of a sum (D10.11), so
weights do not depend on width and batch size. Sizes and lengths are not published (D10.1): the defaults are ours.
Layers are dictionaries of tensors, which can be copied, saved and passed to an optimiser: the arithmetic of
`vectors/network_maps.py`, with gradients. Rows are already centred and scaled, source rows also rotated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import InputError
from nlgauge.io.packages import require
from nlgauge.studies.alignment.training_loop import (
    FCNN_HIDDEN,
    FitRun,
    Fitted,
    FlowOptions,
    Training,
    one_thread,
    split_pairs,
    train,
)
from nlgauge.studies.alignment.word_spaces import Pairs, same_width
from nlgauge.vectors.network_maps import SCALE_LIMIT, Coupling, FlowMap, Reduction, TanhNetwork
from nlgauge.vectors.remap import Origin, Side, procrustes, row_pairs

#: Minimum number of pairs.
_FEWEST_PAIRS = 20

Rows = NDArray[np.float32]

#: Maximum norm of gradients; longer ones are clipped so that one unusual batch cannot undo an epoch.
LONGEST_GRADIENT = 5.0


class FlowLayers(Training):
    """Training of two flows."""

    source: Layers
    target: Layers


class FlowTraining(FlowLayers):
    """Training on paired rows; the criterion is computed on the watched rows."""

    def __init__(self, torch: Any, x: Rows, y: Rows, options: FlowOptions, *, watched: tuple[Rows, Rows]) -> None:
        super().__init__(torch, options)
        self._options = options
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y)
        sizes = {"couplings": options.couplings, "hidden": options.hidden, "generator": self.chance}
        self.source = new_layers(torch, x.shape[1], **sizes)
        self.target = new_layers(torch, x.shape[1], **sizes)
        self.parameters = [tensor for layer in (*self.source, *self.target) for tensor in layer.values()]
        self.optimisers = [torch.optim.Adam(self.parameters, lr=options.learning_rate)]
        self._watched = torch.from_numpy(watched[0]), watched[1]
        self._rotation = best_rotation(torch, self._x, self._y) if options.constraint == "procrustes" else None

    def watched(self) -> tuple[Rows, Rows]:
        """Held-out pairs under the current map."""
        return self._moved(self._watched[0]), self._watched[1]

    def epoch(self) -> float:
        """Run one epoch; return the mean loss of batches, not finite if one of them is not."""
        torch, losses = self.torch, []
        order = torch.randperm(len(self._x), generator=self.chance)
        for rows in order.split(self._options.batch):
            if len(rows) < 2:
                continue  # a correlation needs two rows
            loss = self._paired_loss(rows)
            losses.append(float(loss.detach()))
            if not np.isfinite(losses[-1]):
                break
            self.follow(loss, self.optimisers[0], longest_gradient=LONGEST_GRADIENT)
        return float(np.mean(losses))

    def _paired_loss(self, rows: Any) -> Any:
        x, y = self._x[rows], self._y[rows]
        both = Mapped(self.torch, self.source, self.target, x, y)
        loss = both.squared_error() + self._options.likelihood * both.unlikelihood()
        return loss + self._constraint(x, both.x_as_y, y)

    def _constraint(self, x: Any, moved: Any, y: Any) -> Any:
        if self._options.constraint == "none":
            return 0.0
        loss = constraint_loss(self.torch, self._options.constraint, x, moved, y, rotation=self._rotation)
        return self._options.constraint_weight * loss

    def _moved(self, rows: Any) -> Rows:
        with self.torch.no_grad():
            return np.asarray(mapped(self.torch, self.source, self.target, rows).numpy(), dtype=np.float32)


class Start(NamedTuple):
    """Compute the centred rotation and the normalised rows of both sides."""

    rotation: Rows
    source_mean: Rows
    target_mean: Rows
    scale: float
    x: Rows
    y: Rows
    reductions: Mapping[Side, Reduction]


def fit_flow(
    source: ArrayLike, target: ArrayLike, *, options: FlowOptions | None = None, run: FitRun | None = None
) -> Fitted[FlowMap]:
    """Fit to paired rows, with a held-out tenth for early stopping and the choice of the best state."""
    chosen = options or FlowOptions()
    chosen.check_method("flow")
    x, y, reductions = _enough_pairs(source, target, "flow")
    kept, held_out = split_pairs(len(x), chosen.seed)
    start = start_of(x, y, Pairs(kept, kept), reductions)
    torch = require("torch", "torch")
    with one_thread(torch):
        watched = start.x[held_out], start.y[held_out]
        training = FlowTraining(torch, start.x[kept], start.y[kept], chosen, watched=watched)
        return finish_flow(training, start, chosen, run or FitRun(), "flow", len(x))


def _enough_pairs(
    source: ArrayLike, target: ArrayLike, what: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], Mapping[Side, Reduction]]:
    """Reduce paired rows to one width, and return the projection of the wider side."""
    left, right, reductions = same_width(source, target)
    x, y = row_pairs(left, right)
    needed = max(_FEWEST_PAIRS, x.shape[1])
    if len(x) < needed:
        msg = f"{len(x)} pairs are too few for a {what} of width {x.shape[1]}; provide {needed}"
        raise InputError(msg)
    return x, y, reductions


def start_of(
    x: NDArray[np.float64], y: NDArray[np.float64], pairs: Pairs | None, reductions: Mapping[Side, Reduction]
) -> Start:
    """Compute means and rotation of the pairs, and one scale that brings the entries of both sides to size 1.

    Without pairs: the means of all rows, and the identity.
    """
    if pairs is None:
        means, rotation = [x.mean(axis=0), y.mean(axis=0)], np.eye(x.shape[1])
    else:
        means = [rows[side].mean(axis=0) for rows, side in ((x, pairs.source), (y, pairs.target))]
        rotation = procrustes(x[pairs.source] - means[0], y[pairs.target] - means[1])
    with one_blas_thread:
        scale = math.sqrt((np.square(x - means[0]).mean() + np.square(y - means[1]).mean()) / 2) or 1.0
        turned = ((x - means[0]) / scale) @ rotation
    arrays = [part.astype(np.float32) for part in (rotation, *means)]
    sides = turned.astype(np.float32), ((y - means[1]) / scale).astype(np.float32)
    return Start(arrays[0], arrays[1], arrays[2], scale, *sides, reductions)


def finish_flow(
    training: FlowLayers, start: Start, options: FlowOptions, run: FitRun, method: str, pairs: int
) -> Fitted[FlowMap]:
    def build(origin: Origin) -> FlowMap:
        return FlowMap(
            start.rotation,
            start.source_mean,
            start.target_mean,
            start.scale,
            couplings_of(training.source),
            couplings_of(training.target),
            origin,
            start.reductions,
        )

    inputs = (start.x, start.y, start.rotation)
    trained = train(training, options, run, method=method, inputs=inputs, build=build)
    return Fitted(build(run.origin_of(method, pairs, trained, options.seed)), *trained)


def fit_fcnn(
    source: ArrayLike, target: ArrayLike, *, options: FlowOptions | None = None, run: FitRun | None = None
) -> Fitted[TanhNetwork]:
    """Fit to paired rows. Options: hidden, epochs, batch, learning_rate, validation, patience and seed."""
    chosen, run = options or FlowOptions(hidden=FCNN_HIDDEN), run or FitRun()
    chosen.check_method("fcnn")
    x, y, reductions = _enough_pairs(source, target, "network")
    means = x.mean(axis=0), y.mean(axis=0)
    spread = math.sqrt(np.square(x - means[0]).mean()) or 1.0
    reach = float(np.abs(y - means[1]).max()) * 1.05 or 1.0  # tanh never reaches 1
    rows = [((x - means[0]) / spread).astype(np.float32), ((y - means[1]) / reach).astype(np.float32)]
    torch = require("torch", "torch")
    with one_thread(torch):
        training = _FcnnTraining(torch, rows[0], rows[1], chosen)

        def build(origin: Origin) -> TanhNetwork:
            arrays = list(map(to_array, training.parameters))
            layers = tuple(zip(arrays[::2], arrays[1::2], strict=True))
            shifts = means[0].astype(np.float32), means[1].astype(np.float32)
            return TanhNetwork(layers, *shifts, spread, reach, origin, reductions)

        trained = train(training, chosen, run, method="fcnn", inputs=rows, build=build)
    return Fitted(build(run.origin_of("fcnn", len(x), trained, chosen.seed)), *trained)


class _FcnnTraining(Training):
    """State of a fit."""

    def __init__(self, torch: Any, x: Rows, y: Rows, options: FlowOptions) -> None:
        super().__init__(torch, options)
        self._options = options
        widths = (x.shape[1], options.hidden, options.hidden, x.shape[1])
        self.parameters = new_network(torch, widths, generator=self.chance)
        self.optimisers = [torch.optim.Adam(self.parameters, lr=options.learning_rate)]
        kept, self._apart = split_pairs(len(x), options.seed)
        self._kept = torch.from_numpy(kept)
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y)

    def watched(self) -> tuple[Rows, Rows]:
        """Held-out pairs under the current map."""
        with self.torch.no_grad():
            moved = run_network(self.parameters, self._x[self._apart], self.torch.tanh, last=True).numpy()
        return moved, self._y[self._apart].numpy()

    def epoch(self) -> float:
        """Run one epoch; return the mean loss."""
        torch, losses = self.torch, []
        for part in self._kept[torch.randperm(len(self._kept), generator=self.chance)].split(self._options.batch):
            moved = run_network(self.parameters, self._x[part], torch.tanh, last=True)
            loss = ((moved - self._y[part]) ** 2).mean()
            losses.append(float(loss.detach()))
            self.follow(loss, self.optimisers[0])
        return float(np.mean(losses))


#: Layers of a flow: a dictionary of tensors per coupling; even ones keep the first half, odd ones the second.
Layers = list[dict[str, Any]]


def new_layers(torch: Any, width: int, *, couplings: int, hidden: int, generator: Any) -> Layers:
    """Build couplings that are the identity: the last layers of their networks are 0."""
    layers: Layers = []
    for number in range(couplings):
        stays = width // 2 if number % 2 == 0 else width - width // 2
        inner = torch.randn(stays, hidden, generator=generator) * (2 / max(stays, 1)) ** 0.5
        zeros = [torch.zeros(shape) for shape in ((hidden,), (hidden, 2 * (width - stays)), (2 * (width - stays),))]
        made = dict(zip(("inner", "inner_bias", "outer", "outer_bias"), (inner, *zeros), strict=True))
        layers.append({name: tensor.requires_grad_(True) for name, tensor in made.items()})
    return layers


def _parts(torch: Any, layer: Mapping[str, Any], number: int, rows: Any) -> tuple[Any, Any, Any, Any]:
    """Split rows into the fixed and the transformed half, with s and t."""
    middle = rows.shape[1] // 2
    first, second = rows[:, :middle], rows[:, middle:]
    stays, moves = (first, second) if number % 2 == 0 else (second, first)
    both = torch.relu(stays @ layer["inner"] + layer["inner_bias"]) @ layer["outer"] + layer["outer_bias"]
    half = both.shape[1] // 2
    return stays, moves, SCALE_LIMIT * torch.tanh(both[:, :half]), both[:, half:]


def _joined(torch: Any, number: int, stays: Any, moved: Any) -> Any:
    return torch.cat((stays, moved) if number % 2 == 0 else (moved, stays), dim=1)


def forward(torch: Any, layers: Layers, rows: Any) -> tuple[Any, Any]:
    """Map rows to the latent space; also return log |det| of each."""
    log_det = torch.zeros(len(rows), dtype=rows.dtype)
    for number, layer in enumerate(layers):
        stays, moves, stretch, shift = _parts(torch, layer, number, rows)
        rows = _joined(torch, number, stays, moves * torch.exp(stretch) + shift)
        log_det = log_det + stretch.sum(dim=1)
    return rows, log_det


def inverse(torch: Any, layers: Layers, rows: Any) -> Any:
    """Map rows back from the latent space."""
    for number, layer in reversed(list(enumerate(layers))):
        stays, moves, stretch, shift = _parts(torch, layer, number, rows)
        rows = _joined(torch, number, stays, (moves - shift) * torch.exp(-stretch))
    return rows


def couplings_of(layers: Layers) -> tuple[Coupling, ...]:
    """Convert to NumPy arrays."""
    return tuple(
        Coupling(number % 2 == 0, **{name: to_array(tensor) for name, tensor in layer.items()})
        for number, layer in enumerate(layers)
    )


def to_array(tensor: Any) -> NDArray[np.float32]:
    """Convert a tensor to a NumPy array."""
    return np.array(tensor.detach().numpy(), dtype=np.float32)


def new_network(torch: Any, widths: Sequence[int], *, generator: Any) -> list[Any]:
    """Matrices and biases of a plain network, in order."""
    tensors = []
    for before, after in itertools.pairwise(widths):
        tensors += [torch.randn(before, after, generator=generator) * before**-0.5, torch.zeros(after)]
    return [tensor.requires_grad_(True) for tensor in tensors]


def run_network(network: Sequence[Any], rows: Any, activation: Any, *, last: bool) -> Any:
    """Apply a network; `last`: whether the last layer has an activation too."""
    for place in range(0, len(network), 2):
        rows = rows @ network[place] + network[place + 1]
        if last or place + 2 < len(network):
            rows = activation(rows)
    return rows


class Mapped:
    """Rows of both sides, mapped to the other side, and their likelihoods."""

    def __init__(self, torch: Any, source: Layers, target: Layers, x: Any, y: Any) -> None:
        latent_x, volume_x = forward(torch, source, x)
        latent_y, volume_y = forward(torch, target, y)
        self.x_as_y = inverse(torch, target, latent_x)
        self.y_as_x = inverse(torch, source, latent_y)
        self._terms = [(latent_x, volume_x), (latent_y, volume_y)]
        self._x, self._y = x, y

    def squared_error(self) -> Any:
        """Squared error of both directions, per entry."""
        return ((self.x_as_y - self._y) ** 2).mean() + ((self.y_as_x - self._x) ** 2).mean()

    def unlikelihood(self) -> Any:
        """Negative log-likelihood of both sides per entry, without the constant of the normal distribution."""
        return sum((latent**2).mean() / 2 - volume.mean() / latent.shape[1] for latent, volume in self._terms)


def mapped(torch: Any, source: Layers, target: Layers, x: Any) -> Any:
    """Map source rows to the target space."""
    return inverse(torch, target, forward(torch, source, x)[0])


def best_rotation(torch: Any, x: Any, y: Any) -> Any:
    """Orthogonal W that minimises |x W - y| of paired rows."""
    u, _, vt = torch.linalg.svd(x.T @ y, full_matrices=False)
    return u @ vt


def constraint_loss(torch: Any, kind: str, x: Any, moved: Any, y: Any, *, rotation: Any = None) -> Any:
    """Constraint loss of paired rows: source, mapped source, target.

    `rotation` is that of all pairs, for procrustes. A batch has fewer pairs than dimensions, so a rotation of the
    batch alone would fit any pairs.
    """
    if kind == "graph":
        f, z = (torch.nn.functional.normalize(rows, dim=1) for rows in (moved, y))
        return ((f @ f.T - z @ z.T) ** 2).mean()
    if kind == "cross-correlation":
        f, z = (rows - rows.mean(dim=0) for rows in (moved, y))
        rho = (f * z).sum(dim=0) / torch.sqrt((f**2).sum(dim=0) * (z**2).sum(dim=0) + 1e-8)
        return ((rho - 1) ** 2).mean()
    return ((moved - x @ rotation) ** 2).mean()
