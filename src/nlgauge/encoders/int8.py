"""Int8 products of a model: the plan that defines them, their graphs, and their weights.

    x_k W_jk summed over k  ~  a b_j (q_k - z) Q_jk summed over k

    q_k = round(x_k / (a s_k)) + z, from 0 to 255        Q_jk = round(s_k W_jk / b_j), from -64 to 64

The step a and the zero z are fixed for each input of products, the step b_j for each row of weights, and s_k for each
channel of a smoothed input. Sums of whole numbers are exact in any order and on any processor, because two products
fit into the 16 bits in which processors without VNNI add them: 2 * 255 * 64 < 2^15.

A plan is made once from a corpus and named by a digest; it is shipped or the user's own. The weights are computed
from a checkpoint on first use and stored in the cache folder.

Products of whole numbers are the same on every processor. The operations between them (attention, normalisation,
activation) are float32, whose last bit can depend on the kernels that an engine selects for the processor; a value
between two steps is then rounded differently. So signatures contain the processor's instruction set, and vectors of
different instruction sets are not compared.
"""

from __future__ import annotations

import contextlib
import json
import math
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import INT8
from nlgauge.encoders.checkpoint import CheckpointWeights
from nlgauge.encoders.graphs.builder import GraphBuilder
from nlgauge.errors import InputError, ModelError
from nlgauge.io.storage import ContentError, FrozenTable, cache_dir, number, short_digest, text_digest, write_atomic
from nlgauge.io.store.resolve import ModelFiles

#: Instruction sets by numpy's names, newest first; for older processors the kind of processor is used.
_SETS = {"AVX512F": "avx512", "AVX2": "avx2", "AVX": "avx"}


#: Weights are whole numbers from -64 to 64 (the module docstring explains why not 127).
LARGEST_WEIGHT = 64

#: Steps between the lowest and the highest value of an input.
LEVELS = 255

#: The letter for the power 0 in a file.
_NO_POWER = ord("O")

_SHIPPED = Path(__file__).parent / "int8_plans"


@dataclass(frozen=True)
class Rounding:
    """The range of an input of products; values outside are clipped."""

    low: float
    high: float
    powers: tuple[int, ...] = ()
    """Powers of 2 that divide the channels and multiply their weights; empty: not smoothed."""

    def grid(self) -> tuple[float, int]:
        """The step, and the whole number that represents 0.

        >>> Rounding(-16.0, 47.75).grid()
        (0.25, 64)
        """
        step = (self.high - self.low) / LEVELS
        return step, round(-self.low / step)


class _Range(TypedDict):
    low: float
    high: float


class _SmoothedRange(_Range, total=False):
    powers: str


class _PlanContent(TypedDict):
    model: str
    weights: str
    corpus: str
    about: str
    method: str
    inputs: dict[str, _SmoothedRange]
    products: dict[str, str]


@dataclass(frozen=True)
class Plan(FrozenTable):
    """The int8 products of a model, and the rounding of their inputs."""

    FORMAT = "nlgauge-int8-1"
    KIND = "int8 plan"
    COMMAND = "nlgauge build int8 MODEL --corpus FILE"
    RECORD = _PlanContent

    model: str
    weights: str
    """sha256 of the model's weights."""
    corpus: str
    """sha256 of the calibration texts."""
    about: str
    """Description of these texts."""
    method: str
    inputs: Mapping[str, Rounding]
    """Rounding by the name of a value in the model's graph."""
    products: Mapping[str, str]
    """Inputs by the weights' name in the checkpoint; other products stay float32."""

    @property
    def digest(self) -> str:
        """sha256 of the plan without its descriptions."""
        descriptions = ("model", "about")
        content = {key: value for key, value in self.content().items() if key not in descriptions}
        return text_digest(json.dumps(content, sort_keys=True))

    def signed(self, engine: str) -> str:
        """The precision in signatures: with the digest, the engine and the instruction set."""
        return f"{INT8}@{short_digest(self.digest)}.{engine}.{instruction_set()}"

    def content(self) -> Mapping[str, Any]:
        return {
            "model": self.model,
            "weights": self.weights,
            "corpus": self.corpus,
            "about": self.about,
            "method": self.method,
            "inputs": {
                name: {"low": how.low, "high": how.high} | ({"powers": _letters(how.powers)} if how.powers else {})
                for name, how in self.inputs.items()
            },
            "products": dict(self.products),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Plan:
        names = ("model", "weights", "corpus", "about", "method")
        for name in names:
            if not isinstance(content[name], str):
                msg = f"{name!r} must be a text, got {content[name]!r}"
                raise ContentError(msg)
        inputs, products = content["inputs"], content["products"]
        if not isinstance(inputs, dict) or not all(isinstance(how, dict) for how in inputs.values()):
            msg = "'inputs' must be an object of objects"
            raise ContentError(msg)
        rounding = {name: _rounding(name, how) for name, how in inputs.items()}
        if not isinstance(products, dict) or not all(isinstance(x, str) and x in inputs for x in products.values()):
            msg = "'products' must be an object of names of inputs"
            raise ContentError(msg)
        return cls(**{name: content[name] for name in names}, inputs=rounding, products=products)


def _rounding(name: str, how: Mapping[str, Any]) -> Rounding:
    low, high = (number(how[end], f"{end!r} of {name!r}") for end in ("low", "high"))
    if not (low <= 0 <= high and low < high and math.isfinite(high - low)):
        msg = f"the range of {name!r} must include 0 and not be empty, got {low} to {high}"
        raise ContentError(msg)
    powers = how.get("powers", "")
    if not isinstance(powers, str):
        msg = f"'powers' of {name!r} must be a text, got {powers!r}"
        raise ContentError(msg)
    return Rounding(low, high, tuple(ord(letter) - _NO_POWER for letter in powers))


def _letters(powers: tuple[int, ...]) -> str:
    """Encode each power as a letter, because lists of thousands of numbers would dominate the file."""
    return "".join(chr(power + _NO_POWER) for power in powers)


def plan_of(files: ModelFiles) -> Plan:
    """The user's own plan for a model, or else the shipped one; raises ModelError if there is none."""
    with contextlib.suppress(InputError):  # no own plan
        own = Plan.load(own_plan_path(files.digest))
        if own.weights == files.digest:
            return own
    shipped = _shipped().get(files.digest)
    if shipped is None:
        msg = (
            f"model {files.name!r} has no int8 plan; make one from texts similar to those that you score: "
            f"nlgauge build int8 {files.name} --corpus FILE"
        )
        raise ModelError(msg)
    return shipped


def own_plan_path(digest: str) -> Path:
    """The file of the user's own plan for the model with a digest."""
    return cache_dir() / "int8" / f"{short_digest(digest)}.json"


@cache
def _shipped() -> dict[str, Plan]:
    return {plan.weights: plan for plan in map(Plan.load, sorted(_SHIPPED.glob("*.json")))}


@cache
def instruction_set() -> str:
    """`avx512`, `avx2`, `avx`, or the kind of processor (`arm64`, `x86_64`, ...)."""
    # numpy detects the features on every system, but has no public name for them.
    for module in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):  # of numpy 2 and 1
        with contextlib.suppress(ImportError):
            has = import_module(module).__cpu_features__
            return next((name for feature, name in _SETS.items() if has.get(feature)), _machine())
    return _machine()


def _machine() -> str:
    return platform.machine().lower() or "unknown"


def bytes_name(product: str) -> str:
    """The parameter Q of a product, (into, out)."""
    return f"{product}.weight.bytes"


def steps_name(product: str) -> str:
    """The parameter b of a product, (out,)."""
    return f"{product}.weight.steps"


class QuantisedBuilder(GraphBuilder):
    """Builds the products of a plan in int8, and all others in float32."""

    def __init__(self, plan: Plan, *, fused: bool) -> None:
        """`fused` uses ONNX Runtime's own operator; otherwise standard operators, which OpenVINO fuses itself."""
        super().__init__()
        self._plan = plan
        self._fused = fused
        self._rounded: dict[str, str] = {}

    def linear(
        self, x: str, at: str, into: int, out: int, name: str, *, bias: bool = True, scale: float = 1.0
    ) -> str:
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
        """Round an input, once for all products that share it."""
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
        """A parameter times a number; engines compute it once, when a session starts."""
        if scale == 1:
            return parameter
        return self.node("Mul", [parameter, self.constant(f"{name}.scale", scale)], f"{parameter}.scaled")


def round_weights(
    weights: NDArray[np.float32], powers: tuple[int, ...] = ()
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round weights (out, into) to whole numbers (into, out), and return the size of a step in each row.

    >>> whole, steps = round_weights(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32))
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
    """The weights of a checkpoint, with those of a plan's products in int8."""

    def __init__(self, checkpoint: CheckpointWeights, plan: Plan) -> None:
        self._checkpoint = checkpoint
        self._plan = plan

    def take(self, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
        """The parameters of a graph, which must have these shapes."""
        plain = {name: shape for name, shape in wanted.items() if name not in self._quantised}
        weights: dict[str, NDArray[Any]] = {**self._quantised, **self._checkpoint.take(plain)}
        return {name: weights[name] for name in wanted}

    @cached_property
    def _quantised(self) -> dict[str, NDArray[Any]]:
        """The int8 weights of the plan, from the cache folder or computed and stored there."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file, save

        plan = self._plan
        path = cache_dir() / "int8" / f"{plan.digest}.safetensors"
        with contextlib.suppress(OSError, SafetensorError):  # not stored yet, or truncated by a full disk
            return dict(load_file(path))
        print(
            f"nlgauge: computing the int8 weights of model {plan.model!r} once; they are kept in {path.parent}",
            file=sys.stderr,
        )
        arrays: dict[str, NDArray[Any]] = {}
        for product, x in plan.products.items():
            weights = self._checkpoint.read(f"{product}.weight")
            arrays[bytes_name(product)], arrays[steps_name(product)] = round_weights(weights, plan.inputs[x].powers)
        with contextlib.suppress(OSError):  # without a writable cache, weights are computed again
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, save(arrays))
        return arrays
