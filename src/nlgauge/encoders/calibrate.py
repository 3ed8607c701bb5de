"""Calibration: from texts to the plan by which a model is computed in eight bits (`nlgauge build int8`).

The texts fix how the inputs of a model's products with weights are rounded. Some channels of an input are tens of
times as large as the median one, and in one range with them the others would keep few bits. So channels are brought
nearer to each other, and their weights take up what is left, as SmoothQuant does (Xiao et al. 2023, equation 4):

    s_k = max |x_k|^alpha / max |W_k|^(1 - alpha)

but by powers of two, with which scaling is exact, and for the input of the second product of a feed-forward layer as
well, which SmoothQuant leaves as it is. A range reaches from the lowest to the highest value that occurred.
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

#: alpha of the equation (docs/findings has what others do).
STRENGTH = 0.7

#: Tokens of a batch: all inputs of all products of a batch are in memory at once.
_BATCH_TOKENS = 512

#: Significant digits of a range, so that a plan is the same one when another processor makes it again.
_DIGITS = 4

#: A channel that is never larger over the corpus may be so in other texts, and is not blown up.
_SMALLEST = 1e-5

#: From fewer texts, ranges miss values that occur in others.
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
    """Take the ranges of a model's products from texts, and compute the model by them in eight bits from now on.

    `float32` names products to leave as they are, by the names of their weights (`encoder.layer.*.output.dense`). The
    plan is kept in the cache folder and takes the place of the shipped one. Scores made by another plan have another
    signature and do not compare.
    """
    encoder = load_encoder(model, threads=threads, progress=progress)
    if not isinstance(encoder, GraphEncoder):
        msg = f"model {model!r} brings its own engine, which does not compute in eight bits"
        raise UnsupportedModelError(msg)
    if len(texts) < ENOUGH_TEXTS:
        msg = (
            f"{len(texts)} texts are few to take the ranges of an int8 model from; take at least {ENOUGH_TEXTS}, "
            "like those to be scored"
        )
        warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    plan = calibrate(encoder, texts, about=about, strength=strength, float32=float32)
    path = own_plan_path(plan.weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    plan.save(path)
    release_models()  # one that is loaded has the plan that it was loaded with
    return plan


def use_shipped_plan(model: str, *, progress: bool = False) -> Plan:
    """Go back to the plan that comes with the library, or an error where there is none."""
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
    """The plan of a float32 encoder from what its products see over the texts.

    `float32` names products that are left as they are, by the names of their weights, which may hold `*`.
    """
    distinct = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not distinct:
        msg = "a corpus for int8 needs at least one text that is not empty"
        raise InputError(msg)
    graph, products = observed_graph(encoder.family, encoder.config)
    chosen = _without(products, float32, model=encoder.model)
    seen = _extremes(encoder, encoder.session(graph), list(dict.fromkeys(entry.x for entry in products)), distinct)
    inputs = {}
    for x in dict.fromkeys(product.x for product in chosen):
        weights = [encoder.weight(f"{product.at}.weight") for product in chosen if product.x == x]
        inputs[x] = _rounding(seen[x], weights, strength)
    left = f", float32 {' '.join(float32)}" if float32 else ""
    return Plan(
        model=encoder.model,
        weights=encoder.digest,
        corpus=text_digest("\n".join(distinct)),
        about=about or f"{len(distinct)} texts",
        method=f"min-max, smoothed by {strength:g}, weights of 7 bits by row{left}",
        inputs=inputs,
        products={product.at: product.x for product in chosen},
    )


def smoothing_powers(largest: FloatArray, weights: FloatArray, strength: float) -> tuple[int, ...]:
    """The power of two that each channel is divided by, from the largest sizes of its values and of its weights.

    Only ratios of channels matter: the powers are as near to 0 as can be.

    >>> smoothing_powers(np.array([1, 16], dtype=np.float32), np.array([1, 1], dtype=np.float32), 0.5)
    (-1, 1)
    """
    sizes, steepness = (np.log2(np.maximum(values, _SMALLEST)) for values in (largest, weights))
    wanted = strength * sizes - (1 - strength) * steepness
    return tuple(int(power) for power in np.rint(wanted - wanted.mean()))


def _extremes(encoder: GraphEncoder, run: Run, names: Sequence[str], texts: Sequence[str]) -> dict[str, _Extremes]:
    """Of each channel of each input, over all tokens of the texts."""
    tokens = encoder.tokenizer.encode(texts)
    cut = sum(text.cut > 0 for text in tokens)
    if cut:
        msg = f"{cut} of {len(texts)} texts were truncated to {encoder.tokenizer.limit} tokens; ranges are without it"
        warnings.warn(msg, TruncationWarning, stacklevel=user_stacklevel())
    extremes: dict[str, _Extremes] = {}
    for batch in equal_length_batches([len(text) for text in tokens], budget=_BATCH_TOKENS):
        ids = np.stack([tokens[index].ids for index in batch]).astype(np.int64)
        for name, values in zip(names, run(ids), strict=True):
            low, high = values.min(axis=(0, 1)), values.max(axis=(0, 1))
            before = extremes.get(name, _Extremes(low, high))
            extremes[name] = _Extremes(np.minimum(before.low, low), np.maximum(before.high, high))
    return extremes


def _rounding(seen: _Extremes, weights: Sequence[FloatArray], strength: float) -> Rounding:
    steepest = np.max([np.abs(matrix).max(axis=0) for matrix in weights], axis=0)
    powers = smoothing_powers(np.maximum(-seen.low, seen.high), steepest, strength)
    shrink = np.exp2(-np.asarray(powers, dtype=np.float64))
    low, high = min(0.0, float((seen.low * shrink).min())), max(0.0, float((seen.high * shrink).max()))
    return Rounding(float(f"{low:.{_DIGITS}g}"), float(f"{high:.{_DIGITS}g}"), powers)


def _without(products: Sequence[Product], patterns: Sequence[str], *, model: str) -> list[Product]:
    """The products that no pattern names; a pattern that names none is a slip of the keyboard.

    Weights that are multiplied with two inputs (DeBERTa's, with content and positions) cannot be scaled for both.
    """
    for pattern in patterns:
        if not any(fnmatchcase(product.at, pattern) for product in products):
            msg = f"no product of model {model!r} is called {pattern!r}; there are such as {products[-1].at!r}"
            raise RecipeError(msg)
    used = Counter(product.at for product in products)
    chosen = [
        item
        for item in products
        if used[item.at] == 1 and not any(fnmatchcase(item.at, pattern) for pattern in patterns)
    ]
    if not chosen:
        msg = f"all products of model {model!r} are to stay float32; leave some to be of eight bits"
        raise RecipeError(msg)
    return chosen


def observed_graph(family: Family, config: Mapping[str, Any]) -> tuple[Graph, list[Product]]:
    """A graph from token ids to what enters the products (each input once, in their order), and the products."""
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
