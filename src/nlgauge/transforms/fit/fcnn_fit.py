"""FCNN fitted to paired rows by squared error. Needs torch.

What is in print: three fully connected layers, tanh after each. Width, optimiser and length are ours (D10.1). A tenth
of the pairs is kept apart, and the state with the best criterion on it is kept; a fit can go on later.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.transforms.fit.flow_arithmetic import load_torch, new_network, one_thread, run_network
from nlgauge.transforms.fit.flow_losses import criterion
from nlgauge.transforms.fit.flow_options import FCNN_HIDDEN, Fitted, FlowOptions
from nlgauge.transforms.fit.procrustes import row_pairs
from nlgauge.transforms.fit.training_loop import noted, split_pairs, train
from nlgauge.transforms.fit.widths import same_width
from nlgauge.transforms.origin import Origin
from nlgauge.transforms.tanh_network import TanhNetwork

__all__ = ["fit_fcnn"]

_FEWEST_PAIRS = 20


def fit_fcnn(
    source: ArrayLike,
    target: ArrayLike,
    *,
    options: FlowOptions | None = None,
    origin: Origin | None = None,
    state: Path | None = None,
    advance: Callable[[int], None] | None = None,
) -> Fitted[TanhNetwork]:
    """Fit to paired rows; of the options, hidden, epochs, batch, learning_rate, validation, patience and seed are
    meant. `state`: a file that keeps what is done after each epoch; `advance` is told of each.
    """
    chosen = options or FlowOptions(hidden=FCNN_HIDDEN)
    x, y, reductions = same_width(source, target)
    x, y = row_pairs(x, y)
    if len(x) < max(_FEWEST_PAIRS, x.shape[1]):
        msg = f"{len(x)} pairs are too few for a network of width {x.shape[1]}; give {max(_FEWEST_PAIRS, x.shape[1])}"
        raise InputError(msg)
    means = x.mean(axis=0), y.mean(axis=0)
    spread = math.sqrt(np.square(x - means[0]).mean()) or 1.0
    reach = float(np.abs(y - means[1]).max()) * 1.05 or 1.0  # tanh reaches 1 nowhere
    rows = [((x - means[0]) / spread).astype(np.float32), ((y - means[1]) / reach).astype(np.float32)]
    torch = load_torch()
    with one_thread(torch):
        training = _FcnnTraining(torch, rows[0], rows[1], chosen)
        trained = train(training, chosen, method="fcnn", inputs=rows, state=state, advance=advance)
    arrays = [np.array(tensor.detach().numpy(), dtype=np.float32) for tensor in training.network]
    made = noted((origin or Origin())._replace(method="fcnn", pairs=len(x)), trained, chosen.seed)
    layers = tuple(zip(arrays[::2], arrays[1::2], strict=True))
    shifts = means[0].astype(np.float32), means[1].astype(np.float32)
    return Fitted(TanhNetwork(layers, *shifts, spread, reach, made, reductions), *trained)


class _FcnnTraining:
    """One fit under way."""

    def __init__(self, torch: Any, x: NDArray[np.float32], y: NDArray[np.float32], options: FlowOptions) -> None:
        self.torch, self._options = torch, options
        self._chance = torch.Generator().manual_seed(options.seed)
        widths = (x.shape[1], options.hidden, options.hidden, x.shape[1])
        self.network = new_network(torch, widths, generator=self._chance)
        self._optimiser = torch.optim.Adam(self.network, lr=options.learning_rate)
        kept, self._apart = split_pairs(len(x), options.seed)
        self._kept = torch.from_numpy(kept)
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y)
        self._best: Any = None

    def criterion(self) -> float:
        """Of the state as it is, on the pairs kept apart."""
        with self.torch.no_grad():
            moved = run_network(self.network, self._x[self._apart], self.torch.tanh, last=True).numpy()
        return criterion(self._options.validation, moved, self._y[self._apart].numpy())

    def begin_round(self) -> None:
        """Pairs are known: nothing to find."""

    def epoch(self) -> float:
        """Go once through the pairs; the mean loss."""
        torch, losses = self.torch, []
        for part in self._kept[torch.randperm(len(self._kept), generator=self._chance)].split(self._options.batch):
            moved = run_network(self.network, self._x[part], torch.tanh, last=True)
            loss = ((moved - self._y[part]) ** 2).mean()
            losses.append(float(loss.detach()))
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
        return float(np.mean(losses))

    def keep_best(self, *, new: bool) -> None:
        """Remember the layers as they are, unless a better state is remembered."""
        if new or self._best is None:
            self._best = self._values()

    def restore_best(self) -> None:
        """Put the remembered layers back."""
        self._put(self._best)

    def state(self) -> dict[str, Any]:
        """All that the next epoch depends on."""
        optimiser = copy.deepcopy(self._optimiser.state_dict())
        return {
            "network": self._values(),
            "optimiser": optimiser,
            "chance": self._chance.get_state(),
            "best": self._best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._put(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._chance.set_state(state["chance"])
        self._best = state["best"]

    def _values(self) -> list[Any]:
        return [tensor.detach().clone() for tensor in self.network]

    def _put(self, values: list[Any]) -> None:
        with self.torch.no_grad():
            for tensor, value in zip(self.network, values, strict=True):
                tensor.copy_(value)
