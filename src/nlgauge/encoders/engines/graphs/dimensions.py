"""Sizes that a `config.json` states, and an error that names the entry that is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from nlgauge.errors import ModelError

__all__ = ["ENTRIES", "Dimensions", "check_dimensions", "dimensions_of"]

#: Where most families state their sizes.
ENTRIES: Mapping[str, str] = {
    "hidden": "hidden_size",
    "intermediate": "intermediate_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
    "vocabulary": "vocab_size",
    "positions": "max_position_embeddings",
}

_EPSILON = 1e-12


@dataclass(frozen=True)
class Dimensions:
    """What a graph's shapes depend on."""

    hidden: int
    intermediate: int
    heads: int
    layers: int
    vocabulary: int
    positions: int | None
    """Tokens that the model can number."""
    epsilon: float
    first_position: int = 0
    """Row of the position table that the first token takes."""


def dimensions_of(
    config: Mapping[str, Any],
    entries: Mapping[str, str] = ENTRIES,
    *,
    first_position: int = 0,
    epsilon: str = "layer_norm_eps",
    default_epsilon: float = _EPSILON,
) -> Dimensions:
    """The sizes of a `config.json` that `check_dimensions` accepts."""
    sizes = {name: int(config[entry]) for name, entry in entries.items()}
    sizes["positions"] -= first_position
    value = float(config.get(epsilon, default_epsilon))
    return Dimensions(**sizes, epsilon=value, first_position=first_position)


def check_dimensions(
    config: Mapping[str, Any],
    entries: Mapping[str, str] = ENTRIES,
    *,
    model: str,
    epsilon: str = "layer_norm_eps",
    after_padding: bool = False,
) -> None:
    """Refuse a `config.json` that no graph can be built from."""
    for name, entry in entries.items():
        least = 0 if name == "layers" else 1
        if not _is_whole(config.get(entry)) or config[entry] < least:
            _refuse(config, entry, f"a whole number, at least {least}", model=model)
    hidden, heads = entries["hidden"], entries["heads"]
    if config[hidden] % config[heads]:
        _refuse(config, heads, f"a divisor of {hidden} ({config[hidden]})", model=model)
    value = config.get(epsilon, _EPSILON)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        _refuse(config, epsilon, "a number above 0", model=model)
    if after_padding:
        padding, rows = config.get("pad_token_id", 1), config[entries["positions"]]
        if not _is_whole(padding) or not 0 <= padding < rows - 1:
            _refuse(config, "pad_token_id", f"a whole number below {rows - 1}, where positions start", model=model)


def _refuse(config: Mapping[str, Any], name: str, expected: str, *, model: str) -> NoReturn:
    msg = f"config.json of model {model!r}: {name!r} must be {expected}, got {config.get(name)!r}"
    raise ModelError(msg)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
