"""The arithmetic of flows in torch: the same as `transforms/flow.py`, with gradients.

Layers are dictionaries of tensors, so that they can be copied, saved and handed to an optimiser as they are. Rows are
already centred, divided by the scale and, of the source, rotated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nlgauge.errors import MissingExtraError
from nlgauge.transforms.flow import SCALE_LIMIT, Coupling

__all__ = [
    "Layers",
    "couplings_of",
    "forward",
    "inverse",
    "load_torch",
    "new_layers",
    "new_network",
    "one_thread",
    "run_network",
]

#: Of one flow: a dictionary of tensors per coupling; even ones leave the first half as it is, odd ones the second.
Layers = list[dict[str, Any]]


def load_torch() -> Any:
    """The torch package, or how to get it."""
    try:
        import torch
    except ImportError as error:
        msg = "fitting a flow or a network needs torch: pip install 'nlgauge[torch]' (applying one does not)"
        raise MissingExtraError(msg) from error
    return torch


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
        Coupling(number % 2 == 0, **{name: _array(tensor) for name, tensor in layer.items()})
        for number, layer in enumerate(layers)
    )


def _array(tensor: Any) -> Any:
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
