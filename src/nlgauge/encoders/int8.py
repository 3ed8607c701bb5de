"""Products of a model in eight bits: the plan that fixes them, their graphs, and their weights.

    x_k W_jk summed over k  ~  a b_j (q_k - z) Q_jk summed over k

    q_k = round(x_k / (a s_k)) + z, from 0 to 255        Q_jk = round(s_k W_jk / b_j), from -64 to 64

The step a and the zero z are fixed for each input of products, the step b_j for each row of weights, and s_k, where
an input is smoothed, for each of its channels. Sums of whole numbers are exact in any order and on any processor,
because two products fit into the sixteen bits in which processors without VNNI add them: 2 * 255 * 64 < 2^15.

A plan is fixed once from a corpus, named by a digest, shipped or the user's own. The weights are made from a
checkpoint when they are first wanted, and kept in the cache folder.

Products of whole numbers are the same on every processor. What is between them (attention, normalisation, activation)
is float32, whose last bit can depend on the kernels that an engine chooses by what the processor can do; a value on
the edge of two steps then falls to one side or the other. So a signature names the processor's instructions, and
vectors of two sets of instructions are not compared.
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
from nlgauge.encoders.graphs.builder import GraphBuilder
from nlgauge.encoders.graphs.families import CheckpointWeights
from nlgauge.errors import InputError, ModelError
from nlgauge.io.storage import ContentError, FrozenTable, cache_dir, number, short_digest, text_digest, write_atomic
from nlgauge.io.store.resolve import ModelFiles

#: As numpy calls what a processor has, from the newest; older ones than these go by the processor's kind.
_SETS = {"AVX512F": "avx512", "AVX2": "avx2", "AVX": "avx"}


#: Weights are whole numbers from minus this to this (see above why not 127).
LARGEST_WEIGHT = 64

#: Steps between the lowest and the highest value of an input.
LEVELS = 255

#: The letter that stands for the power 0 in a file.
_NO_POWER = ord("O")

_SHIPPED = Path(__file__).parent / "int8_plans"


@dataclass(frozen=True)
class Rounding:
    """What is done to the input of products: values outside the range are cut to it."""

    low: float
    high: float
    powers: tuple[int, ...] = ()
    """Channels are divided by 2 to these powers before, and their weights multiplied; empty: not smoothed."""

    def grid(self) -> tuple[float, int]:
        """The step, and the whole number that stands for 0.

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
    """Which products of a model are of eight bits, and how their inputs are rounded."""

    FORMAT = "nlgauge-int8-1"
    KIND = "int8 plan"
    COMMAND = "nlgauge build int8 MODEL --corpus FILE"
    RECORD = _PlanContent

    model: str
    weights: str
    """sha256 of the model's weights."""
    corpus: str
    """sha256 of the texts that ranges were taken from."""
    about: str
    """What these texts are."""
    method: str
    inputs: Mapping[str, Rounding]
    """By the name of a value in the model's graph."""
    products: Mapping[str, str]
    """Weights, by their name in the checkpoint, with the input they are multiplied with; all others stay float32."""

    @property
    def digest(self) -> str:
        """sha256 of all that vectors depend on, and of where it is from."""
        names = ("model", "about")  # which can change
        content = {key: value for key, value in self.content().items() if key not in names}
        return text_digest(json.dumps(content, sort_keys=True))

    def signed(self, engine: str) -> str:
        """The precision, as signatures name it: with the digest, and with what else bits depend on."""
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
        msg = f"the range of {name!r} must hold 0 and more, got {low} to {high}"
        raise ContentError(msg)
    powers = how.get("powers", "")
    if not isinstance(powers, str):
        msg = f"'powers' of {name!r} must be a text, got {powers!r}"
        raise ContentError(msg)
    return Rounding(low, high, tuple(ord(letter) - _NO_POWER for letter in powers))


def _letters(powers: tuple[int, ...]) -> str:
    """Powers as a letter each: a list of thousands of numbers would be the larger part of a file."""
    return "".join(chr(power + _NO_POWER) for power in powers)


def plan_of(files: ModelFiles) -> Plan:
    """The user's own plan for a model, else the shipped one, else an error that says how to make one."""
    with contextlib.suppress(InputError):  # there is none
        own = Plan.load(own_plan_path(files.digest))
        if own.weights == files.digest:
            return own
    shipped = _shipped().get(files.digest)
    if shipped is None:
        msg = (
            f"model {files.name!r} has no int8 plan yet; make one from texts like those to be scored: "
            f"nlgauge build int8 {files.name} --corpus FILE"
        )
        raise ModelError(msg)
    return shipped


def own_plan_path(digest: str) -> Path:
    """The file of the user's own plan for a model of that digest."""
    return cache_dir() / "int8" / f"{short_digest(digest)}.json"


@cache
def _shipped() -> dict[str, Plan]:
    return {plan.weights: plan for plan in map(Plan.load, sorted(_SHIPPED.glob("*.json")))}


@cache
def instruction_set() -> str:
    """`avx512`, `avx2`, `avx`, or the kind of processor (`arm64`, `x86_64`, ...)."""
    # numpy asks the processor itself, on every system; it has no public name for what it found.
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
