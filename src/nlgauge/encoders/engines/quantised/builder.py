"""Graphs whose products with weights are of whole numbers.

    x_k W_jk summed over k  ~  a b_j (q_k - z) Q_jk summed over k

    q_k = round(x_k / (a s_k)) + z, from 0 to 255        Q_jk = round(s_k W_jk / b_j), from -64 to 64

The step a and the zero z are fixed for each input of products, the step b_j for each row of weights, and s_k, where
an input is smoothed, for each of its channels. Sums of whole numbers are exact in any order and on any processor,
because two products fit into the sixteen bits in which processors without VNNI add them: 2 * 255 * 64 < 2^15.
"""

from __future__ import annotations

import numpy as np

from nlgauge.encoders.engines.graphs.builder import GraphBuilder
from nlgauge.encoders.engines.quantised.plan import Plan

__all__ = ["QuantisedBuilder", "bytes_name", "steps_name"]


def bytes_name(at: str) -> str:
    """The parameter Q of a product, (into, out)."""
    return f"{at}.weight.bytes"


def steps_name(at: str) -> str:
    """The parameter b of a product, (out,)."""
    return f"{at}.weight.steps"


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
