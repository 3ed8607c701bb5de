"""Products with weights in whole numbers: their graphs, and their weights.

    x_k W_jk summed over k  ~  a b_j (q_k - z) Q_jk summed over k

    q_k = round(x_k / (a s_k)) + z, from 0 to 255        Q_jk = round(s_k W_jk / b_j), from -64 to 64

The step a and the zero z are fixed for each input of products, the step b_j for each row of weights, and s_k, where
an input is smoothed, for each of its channels. Sums of whole numbers are exact in any order and on any processor,
because two products fit into the sixteen bits in which processors without VNNI add them: 2 * 255 * 64 < 2^15.

The weights are made from a checkpoint when they are first wanted, and kept in the cache folder.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.graphs.builder import GraphBuilder
from nlgauge.encoders.graphs.weights import CheckpointWeights
from nlgauge.encoders.int8.plan import LARGEST_WEIGHT, Plan
from nlgauge.io.storage import cache_dir, short_digest, write_atomic


def bytes_name(product: str) -> str:
    """The parameter Q of a product, (into, out)."""
    return f"{product}.weight.bytes"


def steps_name(product: str) -> str:
    """The parameter b of a product, (out,)."""
    return f"{product}.weight.steps"


class QuantisedBuilder(GraphBuilder):
    """Builds the products that a plan names in whole numbers, and all others as they are."""

    def __init__(self, plan: Plan, *, fused: bool) -> None:
        """`fused` writes ONNX Runtime's own operator; else operators of ONNX, which OpenVINO joins to its own."""
        super().__init__()
        self._plan = plan
        self._fused = fused
        self._rounded: dict[str, str] = {}

    def linear(
        self, x: str, at: str, into: int, out: int, name: str, *, bias: bool = True, scale: float = 1.0
    ) -> str:
        """scale * (x W^T + b) for x of shape (tokens, into), with the weights `at`."""
        if at not in self._plan.products:
            return super().linear(x, at, into, out, name, bias=bias, scale=scale)
        whole = self._round(x)
        weights = self.parameter(bytes_name(at), into, out, of_bytes=True)
        steps = self._scaled(self.parameter(steps_name(at), out), scale, name)
        added = self._scaled(self.parameter(f"{at}.bias", out), scale, name) if bias else ""
        if self._fused:
            inputs = [whole, weights, f"{x}.step", steps, f"{x}.zero", "", added]
            return self.node("MatMulIntegerToFloat", inputs, name, domain="com.microsoft")
        stepped = self.node("DequantizeLinear", [weights, steps], f"{name}.weights", axis=1)
        product = self.node("MatMul", [whole, stepped], f"{name}.product" if added else name)
        return self.node("Add", [product, added], name) if added else product

    def _round(self, x: str) -> str:
        """An input as whole numbers, once for all products that share it."""
        if x not in self._rounded:
            how = self._plan.inputs[x]
            step, zero = how.grid()
            smooth = x
            if how.powers:
                shrink = self.constant(f"{x}.shrink", np.exp2(-np.asarray(how.powers, dtype=np.float32)))
                smooth = self.node("Mul", [x, shrink], f"{x}.smooth")
            grid = [self.constant(f"{x}.step", step), self.constant(f"{x}.zero", np.array(zero, dtype=np.uint8))]
            whole = self.node("QuantizeLinear", [smooth, *grid], f"{x}.whole")
            self._rounded[x] = whole if self._fused else self.node("DequantizeLinear", [whole, *grid], f"{x}.rounded")
        return self._rounded[x]

    def _scaled(self, parameter: str, scale: float, name: str) -> str:
        """A parameter times a number, which engines multiply once, when a session starts."""
        if scale == 1:
            return parameter
        return self.node("Mul", [parameter, self.constant(f"{name}.scale", scale)], f"{parameter}.scaled")


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
        weights: dict[str, NDArray[Any]] = {**self._made, **self._checkpoint.take(plain)}
        return {name: weights[name] for name in wanted}

    @cached_property
    def _made(self) -> dict[str, NDArray[Any]]:
        """Of all products of the plan, from the cache folder or made and put there."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file, save

        plan = self._plan
        path = cache_dir() / "int8" / f"{plan.digest}.safetensors"
        with contextlib.suppress(OSError, SafetensorError):  # not there yet, or what a full disk left behind
            return dict(load_file(path))
        print(
            f"nlgauge: making the int8 weights of model {plan.model!r} ({len(plan.products)} products, plan "
            f"{short_digest(plan.digest)}: {plan.method}; ranges from {plan.about}), once, in {path.parent}",
            file=sys.stderr,
        )
        arrays: dict[str, NDArray[Any]] = {}
        for product, x in plan.products.items():
            weights = self._checkpoint.read(f"{product}.weight")
            arrays[bytes_name(product)], arrays[steps_name(product)] = rounded_weights(weights, plan.inputs[x].powers)
        with contextlib.suppress(OSError):  # a cache that cannot be written is only slower
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, save(arrays))
        return arrays
