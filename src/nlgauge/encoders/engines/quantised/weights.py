"""Weights in whole numbers, made from a checkpoint when they are first wanted and kept in the cache folder."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.engines.checkpoint_weights import CheckpointWeights
from nlgauge.encoders.engines.quantised.builder import bytes_name, steps_name
from nlgauge.encoders.engines.quantised.plan import LARGEST_WEIGHT, Plan
from nlgauge.files.atomic import write_atomic
from nlgauge.files.cache_dir import cache_dir
from nlgauge.files.digests import short_digest

__all__ = ["QuantisedWeights", "rounded_weights"]


def rounded_weights(
    weights: NDArray[np.float32], powers: tuple[int, ...] = ()
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights (out, into) as whole numbers (into, out), and what one step stands for in each row.

    >>> whole, steps = rounded_weights(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32))
    >>> whole.tolist(), steps.tolist()
    ([[32, 0], [-64, 0]], [0.015625, 1.0])
    """
    if powers:
        weights = weights * np.exp2(np.asarray(powers, dtype=np.float32))
    largest = np.abs(weights).max(axis=1)
    steps = np.where(largest > 0, largest / np.float32(LARGEST_WEIGHT), np.float32(1)).astype(np.float32)
    whole = np.rint(weights / steps[:, None]).astype(np.int8)
    return np.ascontiguousarray(whole.T), steps


class QuantisedWeights:
    """The weights of a checkpoint, those of a plan's products in whole numbers."""

    def __init__(self, checkpoint: CheckpointWeights, plan: Plan) -> None:
        self._checkpoint = checkpoint
        self._plan = plan

    def take(self, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
        """The parameters of a graph, which must have these shapes."""
        plain = {name: shape for name, shape in wanted.items() if name not in self._made}
        found: dict[str, NDArray[Any]] = {**self._made, **self._checkpoint.take(plain)}
        return {name: found[name] for name in wanted}

    @cached_property
    def _made(self) -> dict[str, NDArray[Any]]:
        """Of all products of the plan, from the cache folder or made and put there."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file, save

        path = cache_dir() / "int8" / f"{self._plan.digest}.safetensors"
        with contextlib.suppress(OSError, SafetensorError):  # not there yet, or what a full disk left behind
            return dict(load_file(path))
        self._say(path)
        made: dict[str, NDArray[Any]] = {}
        for at, x in self._plan.products.items():
            weights = self._checkpoint.read(f"{at}.weight")
            made[bytes_name(at)], made[steps_name(at)] = rounded_weights(weights, self._plan.inputs[x].powers)
        with contextlib.suppress(OSError):  # a cache that cannot be written is only slower
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, save(made))
        return made

    def _say(self, path: Path) -> None:
        plan = self._plan
        print(
            f"nlgauge: making the int8 weights of model {plan.model!r} ({len(plan.products)} products, plan "
            f"{short_digest(plan.digest)}: {plan.method}; ranges from {plan.about}), once, in {path.parent}",
            file=sys.stderr,
        )
