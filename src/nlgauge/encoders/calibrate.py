"""Calibration: derive the int8 plan of a model from texts (`nlgauge build int8`).

The texts determine how the inputs of a model's products with weights are rounded. Some channels of an input are tens
of times as large as the median channel, and in a common range the others would keep few bits. So channels are scaled
towards each other, and their weights inversely, as in SmoothQuant (Xiao et al. 2023, equation 4):

    s_k = max |x_k|^alpha / max |W_k|^(1 - alpha)

with two differences: factors are powers of two, so scaling is exact, and the input of the second product of a
feed-forward layer is scaled too. A range reaches from the lowest to the highest observed value.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import equal_length_batches
from nlgauge.encoders.engines.graph_engines import GraphEncoder, Run
from nlgauge.encoders.graphs.builder import Family, Graph, GraphBuilder, Product
from nlgauge.encoders.int8 import Plan, Rounding, own_plan_path, plan_of
from nlgauge.encoders.load import load_encoder, release_models
from nlgauge.errors import (
    DataWarning,
    InputError,
    RecipeError,
    TruncationWarning,
    UnsupportedModelError,
    user_stacklevel,
)
from nlgauge.io.storage import text_digest
from nlgauge.io.store.resolve import resolve

FloatArray = NDArray[np.float32]

#: alpha of the equation (docs/findings compares values).
STRENGTH = 0.7

#: Tokens of a batch: all inputs of all products of a batch are in memory at once.
_BATCH_TOKENS = 512

#: Significant digits of a range, so that plans do not depend on the processor.
_DIGITS = 4

#: Lower bound of a channel's size, because it may be larger in other texts.
_SMALLEST = 1e-5

#: With fewer texts, ranges miss values that occur in other texts.
ENOUGH_TEXTS = 100


def quantise_model(
    model: str,
    texts: Sequence[str],
    *,
    about: str = "",
    strength: float = STRENGTH,
    float32: Sequence[str] = (),
    threads: int | None = None,
    progress: bool = False,
) -> Plan:
    """Calibrate a model on texts and store the plan, which int8 then uses.

    `float32` excludes products by the names of their weights (`encoder.layer.*.output.dense`). The plan is stored in
    the cache folder and replaces the shipped one. Scores of different plans have different signatures and must not be
    compared.
    """
    encoder = load_encoder(model, threads=threads, progress=progress)
    if not isinstance(encoder, GraphEncoder):
        msg = f"model {model!r} has its own engine, which does not support int8"
        raise UnsupportedModelError(msg)
    if len(texts) < ENOUGH_TEXTS:
        msg = (
            f"{len(texts)} texts are too few to calibrate an int8 model; use at least {ENOUGH_TEXTS} texts similar "
            "to those that you score"
        )
        warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    plan = calibrate(encoder, texts, about=about, strength=strength, float32=float32)
    path = own_plan_path(plan.weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    plan.save(path)
    release_models()  # loaded models keep their old plan
    return plan


def use_shipped_plan(model: str, *, progress: bool = False) -> Plan:
    """Restore the plan that is shipped with the library; raises ModelError if there is none."""
    files = resolve(model, progress=progress)
    own_plan_path(files.digest).unlink(missing_ok=True)
    release_models()
    return plan_of(files)


def calibrate(
    encoder: GraphEncoder,
    texts: Sequence[str],
    *,
    about: str = "",
    strength: float = STRENGTH,
    float32: Sequence[str] = (),
) -> Plan:
    """Create a plan from the inputs that a float32 encoder's products have on the texts.

    `float32` excludes products by the names of their weights, which may contain `*`.
    """
    distinct = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not distinct:
        msg = "calibration of int8 needs at least one text that is not empty"
        raise InputError(msg)
    graph, products = observed_graph(encoder.family, encoder.config)
    chosen = _exclude(products, float32, model=encoder.model)
    names = list(dict.fromkeys(product.x for product in products))
    extremes = _extremes(encoder, encoder.session(graph), names, distinct)
    inputs = {}
    for x in dict.fromkeys(product.x for product in chosen):
        weights = [encoder.weight(f"{product.weights}.weight") for product in chosen if product.x == x]
        inputs[x] = _rounding(extremes[x], weights, strength)
    excluded = f", float32 {' '.join(float32)}" if float32 else ""
    return Plan(
        model=encoder.model,
        weights=encoder.digest,
        corpus=text_digest("\n".join(distinct)),
        about=about or f"{len(distinct)} texts",
        method=f"min-max, smoothed by {strength:g}, weights of 7 bits by row{excluded}",
        inputs=inputs,
        products={product.weights: product.x for product in chosen},
    )


def smoothing_powers(largest: FloatArray, weights: FloatArray, strength: float) -> tuple[int, ...]:
    """The power of two that divides each channel, from the largest sizes of its values and weights.

    Only ratios of channels matter, so the powers are centred at 0.

    >>> smoothing_powers(np.array([1, 16], dtype=np.float32), np.array([1, 1], dtype=np.float32), 0.5)
    (-1, 1)
    """
    sizes, steepness = (np.log2(np.maximum(values, _SMALLEST)) for values in (largest, weights))
    wanted = strength * sizes - (1 - strength) * steepness
    return tuple(int(power) for power in np.rint(wanted - wanted.mean()))


def _extremes(encoder: GraphEncoder, run: Run, names: Sequence[str], texts: Sequence[str]) -> dict[str, _Extremes]:
    """The extremes of each channel of each input over all tokens of the texts."""
    tokens = encoder.tokenizer.encode(texts)
    cut = sum(text.cut > 0 for text in tokens)
    if cut:
        msg = f"{cut} of {len(texts)} texts were truncated to {encoder.tokenizer.limit} tokens for calibration"
        warnings.warn(msg, TruncationWarning, stacklevel=user_stacklevel())
    extremes: dict[str, _Extremes] = {}
    for batch in equal_length_batches([len(text) for text in tokens], budget=_BATCH_TOKENS):
        ids = np.stack([tokens[index].ids for index in batch]).astype(np.int64)
        for name, values in zip(names, run(ids), strict=True):
            low, high = values.min(axis=(0, 1)), values.max(axis=(0, 1))
            before = extremes.get(name, _Extremes(low, high))
            extremes[name] = _Extremes(np.minimum(before.low, low), np.maximum(before.high, high))
    return extremes


def _rounding(extremes: _Extremes, weights: Sequence[FloatArray], strength: float) -> Rounding:
    steepest = np.max([np.abs(matrix).max(axis=0) for matrix in weights], axis=0)
    powers = smoothing_powers(np.maximum(-extremes.low, extremes.high), steepest, strength)
    shrink = np.exp2(-np.asarray(powers, dtype=np.float64))
    low, high = min(0.0, float((extremes.low * shrink).min())), max(0.0, float((extremes.high * shrink).max()))
    return Rounding(float(f"{low:.{_DIGITS}g}"), float(f"{high:.{_DIGITS}g}"), powers)


def _exclude(products: Sequence[Product], patterns: Sequence[str], *, model: str) -> list[Product]:
    """The products that match no pattern; a pattern without a match is an error.

    Weights with two inputs (DeBERTa's content and positions) are excluded too, because they cannot be scaled for
    both.
    """
    for pattern in patterns:
        if not any(fnmatchcase(product.weights, pattern) for product in products):
            msg = (
                f"no product of model {model!r} matches {pattern!r}; an example of a name is {products[-1].weights!r}"
            )
            raise RecipeError(msg)
    uses = Counter(product.weights for product in products)
    chosen = [
        product
        for product in products
        if uses[product.weights] == 1 and not any(fnmatchcase(product.weights, pattern) for pattern in patterns)
    ]
    if not chosen:
        msg = f"float32 excludes all products of model {model!r}; leave at least one for int8"
        raise RecipeError(msg)
    return chosen


def observed_graph(family: Family, config: Mapping[str, Any]) -> tuple[Graph, list[Product]]:
    """A graph from token ids to the inputs of the products (each once, in order), and the products."""
    build = GraphBuilder()
    list(family.build(build, config, family.dimensions(config).layers))
    inputs = []
    for x, width in {product.x: product.into for product in build.products}.items():
        shape = build.constant(f"{x}.one_text", [1, -1, width])  # rows need not be tokens
        inputs.append((build.node("Reshape", [x, shape], f"{x}.observed"), width))
    return build.finish(inputs, as_inputs=False), build.products


class _Extremes(NamedTuple):
    """The lowest and the highest value of each channel of an input."""

    low: FloatArray
    high: FloatArray
