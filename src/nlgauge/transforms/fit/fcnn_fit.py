"""FCNN fitted to paired rows by squared error. Needs torch.

What is in print: three fully connected layers, tanh after each. Width, optimiser and length are ours (D10.1). A tenth
of the pairs is kept apart, and the state with the best semantic criterion on it is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError
from nlgauge.transforms.fit.flow_arithmetic import load_torch, new_network, one_thread, run_network
from nlgauge.transforms.fit.flow_losses import criterion
from nlgauge.transforms.fit.flow_options import FlowOptions
from nlgauge.transforms.fit.procrustes import row_pairs
from nlgauge.transforms.origin import Origin
from nlgauge.transforms.tanh_network import TanhNetwork

__all__ = ["fit_fcnn"]

_MOST_HELD_OUT, _FEWEST_PAIRS = 2000, 20


def fit_fcnn(
    source: ArrayLike,
    target: ArrayLike,
    *,
    options: FlowOptions | None = None,
    origin: Origin | None = None,
    advance: Callable[[int], None] | None = None,
) -> TanhNetwork:
    """Fit to paired rows; of the options, hidden, epochs, batch, learning_rate, patience and seed are meant."""
    chosen = options or FlowOptions()
    x, y = row_pairs(source, target)
    if len(x) < _FEWEST_PAIRS:
        msg = f"{len(x)} pairs are too few for a network; give {_FEWEST_PAIRS}"
        raise InputError(msg)
    means = x.mean(axis=0), y.mean(axis=0)
    spread = math.sqrt(np.square(x - means[0]).mean()) or 1.0
    reach = float(np.abs(y - means[1]).max()) * 1.05 or 1.0  # tanh reaches 1 nowhere
    rows = [((x - means[0]) / spread).astype(np.float32), ((y - means[1]) / reach).astype(np.float32)]
    torch = load_torch()
    with one_thread(torch):
        network = _trained(torch, rows[0], rows[1], chosen, advance or (lambda _: None))
    arrays = [np.array(tensor.detach().numpy(), dtype=np.float32) for tensor in network]
    made = (origin or Origin())._replace(method="fcnn", pairs=len(x))
    layers = tuple(zip(arrays[::2], arrays[1::2], strict=True))
    return TanhNetwork(layers, means[0].astype(np.float32), means[1].astype(np.float32), spread, reach, made)


def _trained(
    torch: Any,
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    options: FlowOptions,
    advance: Callable[[int], None],
) -> list[Any]:
    chance = torch.Generator().manual_seed(options.seed)
    width = x.shape[1]
    network = new_network(torch, (width, options.hidden, options.hidden, width), generator=chance)
    optimiser = torch.optim.Adam(network, lr=options.learning_rate)
    order = torch.randperm(len(x), generator=chance)
    held_out = order[: min(_MOST_HELD_OUT, max(2, len(x) // 10))]
    kept = order[len(held_out) :]
    rows, goal = torch.from_numpy(x), torch.from_numpy(y)
    best: tuple[float, int, list[Any]] = (-math.inf, 0, network)
    for number in range(1, options.epochs + 1):
        for part in kept[torch.randperm(len(kept), generator=chance)].split(options.batch):
            loss = ((run_network(network, rows[part], torch.tanh, last=True) - goal[part]) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            moved = run_network(network, rows[held_out], torch.tanh, last=True).numpy()
        reached = criterion("semantic", moved, goal[held_out].numpy())
        if reached > best[0]:
            best = (reached, number, [tensor.detach().clone() for tensor in network])
        advance(1)
        if number - best[1] >= options.patience:
            break
    return best[2]
