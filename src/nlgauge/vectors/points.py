"""From token vectors to points: token filters, aggregation of layers, and names of n-grams.

`TokenFilter` selects the tokens that become points, by sub-words, punctuation, stop words and special tokens.

Layers z_1 ... z_L become one vector per token in one of three ways:

*Power means* (MoverScore, equations 4 and 5), element by element, concatenated over the exponents:

    h(p) = ((z_1^p + ... + z_L^p) / L)^(1/p)        p = 1 mean, 0 geometric, -inf minimum, +inf maximum

*Routing* (MoverScore, appendix A.2; the paper leaves alpha, epsilon, the distance and the start open, and no code
exists, D5.11). The reading here: one vector v per token, squared distance d between unit vectors, softmax over
layers, start at the mean, by default alpha = 1 (`step`) and epsilon = 0.05. The kernel is one of the paper's two,
with slope k':

    epanechnikov    k(d) = max(0, 1 - d)      k' = 1 for d < 1, else 0 (all 1 if no layer is that near)
    gaussian        k(d) = exp(-d / 2)        k' ~ exp(-d / 2)

v is the mean of the layers, weighted by gamma k'. With the denominator `published` it is sum gamma k' z / sum k', as
printed, which is shorter by about the number of layers. Routing of many inputs to many outputs, as in capsule
networks, is in `examples/nlp-capsule`.

*Barycentre* (BaryScore): each layer is a weighted cloud, and the vectors are the points of the cloud that is nearest
to all of them in transport. It starts at the mean of each token's layers, and usually stays there.

Labels and spans of n-grams are derived from those of their tokens.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import EncodedText, Encoder
from nlgauge.errors import RecipeError
from nlgauge.text.tokenizer import TextTokenizer, Tokens, is_punctuation
from nlgauge.vectors.cloud import PointSpans, unit_rows
from nlgauge.vectors.transport import Barycentre, free_support_barycentre, normalise_weights

SUBWORDS = ("first", "all", "average")
PUNCTUATION = ("keep", "drop-ascii", "drop-unicode")
SPECIALS = ("keep", "drop")

#: The units that are compared with stop words, by the option `subwords`.
_STOPS = {"first": "starts", "all": "pieces", "average": "words"}

_ASCII = frozenset(string.punctuation)

#: Ways to aggregate layers: a pattern, and its description.
AGGREGATIONS = (
    r"pmeans|kde-routing|barycentre|last|two-thirds|layer-\d+",
    "pmeans, kde-routing, barycentre, last, two-thirds (layer 8 of 12), or layer-N",
)

#: Number of layers for power means, routing and barycentre.
_LAYERS = 5

#: Kernels of routing, and the sums that it divides by.
ROUTING_KERNELS = ("epanechnikov", "gaussian")
ROUTING_DENOMINATORS = ("weighted", "published")

#: Most rounds of routing.
_MOST_ROUNDS = 100


@dataclass(frozen=True)
class TokenFilter:
    """The tokens of a text that become points.

    By default, `subwords` determines which units are compared with stop words. With `first` they are first pieces (as
    in the released MoverScore, where the first piece of "therapist" may be "the"); with `all` they are all pieces
    without their marks (the reproducibility study's code); with `average` they are whole words. `stops` overrides
    this.
    """

    subwords: str = "first"
    punctuation: str = "drop-ascii"
    stopwords: frozenset[str] = frozenset()
    specials: str = "keep"
    stops: str = ""
    """starts, pieces or words; empty: by `subwords`."""

    def kept(self, tokens: Tokens, surfaces: Sequence[str], pieces: Sequence[str]) -> NDArray[np.bool_]:
        """A mask of the tokens to keep; special tokens are kept unless `specials` is `drop`.

        `surfaces` are tokens as readers write them, `pieces` the same without the marks of continued words.
        """
        starts = tokens.starts_word
        keep = np.ones(len(tokens), dtype=np.bool_)
        if self.punctuation == "drop-ascii":
            keep = np.array([text not in _ASCII for text in surfaces], dtype=np.bool_)
        elif self.punctuation == "drop-unicode":
            keep = np.array([len(text) != 1 or not is_punctuation(text) for text in surfaces], dtype=np.bool_)
        if self.stopwords:
            keep &= ~self._is_stopword(tokens, pieces)
        if self.subwords == "first":
            keep &= starts
        return keep | tokens.is_special if self.specials == "keep" else keep & ~tokens.is_special

    def _is_stopword(self, tokens: Tokens, pieces: Sequence[str]) -> NDArray[np.bool_]:
        rule = self.stops or _STOPS[self.subwords]
        if rule == "words":
            sizes = tokens.word_pieces[1]
            return np.repeat([word in self.stopwords for word in _join_pieces(tokens, pieces)], sizes)
        matches = np.array([text in self.stopwords for text in pieces], dtype=np.bool_)
        return matches & tokens.starts_word if rule == "starts" else matches


def surfaces_of(text: EncodedText, tokenizer: TextTokenizer) -> tuple[str, ...]:
    """The text's tokens as readers write them, computed once."""
    return text.derived("surfaces", lambda: tokenizer.surfaces(text.tokens))


def pieces_of(text: EncodedText, tokenizer: TextTokenizer) -> tuple[str, ...]:
    """The text's tokens without the marks of continued words, computed once."""
    return text.derived("pieces", lambda: tokenizer.pieces(text.tokens))


def _join_pieces(tokens: Tokens, pieces: Sequence[str]) -> tuple[str, ...]:
    starts, sizes = tokens.word_pieces
    return tuple("".join(pieces[start : start + size]) for start, size in zip(starts, sizes, strict=True))


def select_tokens(text: EncodedText, keep: TokenFilter, tokenizer: TextTokenizer) -> NDArray[np.intp]:
    """Indices of the tokens to keep; if pieces are averaged, indices of words."""

    def make() -> NDArray[np.intp]:
        pieces = pieces_of(text, tokenizer) if keep.stopwords else ()
        mask = keep.kept(text.tokens, surfaces_of(text, tokenizer), pieces)
        return np.flatnonzero(mask[text.tokens.starts_word] if keep.subwords == "average" else mask)

    return text.derived(("kept", keep), make)


def power_mean(layers: NDArray[np.float32], exponent: float) -> NDArray[np.float32]:
    """Power mean over the first axis.

    Roots and logarithms are not defined for negative coordinates. So an odd whole exponent keeps the sign and an even
    one loses it, as in the formula; for 0 and fractions, powers are computed from magnitudes and keep the sign.
    """
    if math.isnan(exponent):
        msg = f"the exponent of a power mean must be a number, inf or -inf, got {exponent!r}"
        raise RecipeError(msg)
    if exponent == 1:
        mean: NDArray[np.float32] = layers.mean(axis=0)
        return mean
    if math.isinf(exponent):
        extreme: NDArray[np.float32] = layers.max(axis=0) if exponent > 0 else layers.min(axis=0)
        return extreme
    values = layers.astype(np.float64)
    size = np.abs(values)
    if exponent == 0:
        with np.errstate(divide="ignore"):  # log 0 is -inf, and the geometric mean is 0 then
            result = np.exp(np.log(size).mean(axis=0)) * np.sign(np.sign(values).sum(axis=0))
        return np.asarray(result, dtype=np.float32)
    keeps_sign = not (float(exponent).is_integer() and exponent % 2 == 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 to a negative power: its mean is 0 again
        powers = size**exponent * (np.sign(values) if keeps_sign else 1.0)
        mean64 = powers.mean(axis=0)
        result = np.abs(mean64) ** (1 / exponent) * np.sign(mean64)
    return np.asarray(np.nan_to_num(result, nan=0.0, posinf=0.0, neginf=0.0), dtype=np.float32)


def power_means(layers: Sequence[NDArray[np.float32]], exponents: Sequence[float]) -> NDArray[np.float32]:
    """Power means of the layers for each exponent, concatenated."""
    stack = np.stack(list(layers))
    return np.concatenate([power_mean(stack, exponent) for exponent in exponents], axis=-1)


@dataclass(frozen=True)
class Routing:
    """Constants of routing over layers."""

    step: float = 1.0
    epsilon: float = 0.05
    kernel: str = "epanechnikov"
    denominator: str = "weighted"

    def slopes(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """The size of k' at each distance, up to a factor."""
        if self.kernel == "gaussian":
            return np.exp(-distances / 2)
        near = distances < 1
        return near.astype(np.float64) if near.any() else np.ones(len(near))

    def closeness(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """The kernel k at each distance."""
        return np.exp(-distances / 2) if self.kernel == "gaussian" else np.maximum(0.0, 1.0 - distances)

    def route(self, layers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Aggregate the layers of one token (Algorithm 1)."""
        gamma = np.zeros(len(layers))
        vector: NDArray[np.float64] = layers.mean(axis=0)
        previous = math.inf
        for _ in range(_MOST_ROUNDS):
            share = np.exp(gamma - gamma.max())
            gamma = share / share.sum()
            slopes = self.slopes(((layers - vector) ** 2).sum(axis=1))
            weight = gamma * slopes
            vector = weight @ layers / (slopes.sum() if self.denominator == "published" else weight.sum())
            kernel = self.closeness(((layers - vector) ** 2).sum(axis=1))
            gamma = gamma + self.step * kernel
            loss = math.log(max(float(gamma @ kernel), 1e-300))
            if abs(loss - previous) < self.epsilon:
                break
            previous = loss
        return vector


def kde_routing_of_layers(
    layers: Sequence[NDArray[np.float32]], routing: Routing | None = None
) -> NDArray[np.float32]:
    """KDE routing over layers, for each token independently."""
    route = (routing or Routing()).route
    stack = np.stack(list(layers)).astype(np.float64)
    result = np.empty(stack.shape[1:])
    for token in range(stack.shape[1]):
        result[token] = route(stack[:, token])
    return result.astype(np.float32)


def barycentre_of_layers(layers: Sequence[NDArray[np.float32]], weights: NDArray[np.float64]) -> Barycentre:
    """Barycentre of the layers, a point per token, each with the token's weight (all above 0)."""
    clouds = [layer.astype(np.float64) for layer in layers]
    return free_support_barycentre(clouds, normalise_weights(weights), np.mean(clouds, axis=0))


class Aggregation(NamedTuple):
    """Aggregation of a token's layers into one vector. Recipes with equal settings share the vectors of a text."""

    name: str
    exponents: str
    """Exponents of power means, joined by +."""
    routing: Routing
    unit_layers: bool
    """Whether the vectors of each layer are scaled to length 1 first, as routing always does."""

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        """The layers that it uses."""
        top = encoder.layers
        if self.name.startswith("layer-"):
            layer = int(self.name.removeprefix("layer-"))
            if layer > top:
                msg = f"aggregation must name a layer from 0 to {top} for model {encoder.model!r}, got {self.name}"
                raise RecipeError(msg)
            return (layer,)
        if self.name in {"last", "two-thirds"}:
            return (top if self.name == "last" else round(top * 2 / 3),)
        return tuple(range(min(top, max(1, top - _LAYERS + 1)), top + 1))  # static vectors have layer 0 only

    def join(self, layers: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Aggregate the layers into one vector per token."""
        if self.name == "kde-routing" or self.unit_layers:
            layers = [unit_rows(layer) for layer in layers]
        if len(layers) == 1:
            return layers[0]
        if self.name == "barycentre":
            return barycentre_of_layers(layers, np.ones(len(layers[0]))).points.astype(np.float32)
        if self.name == "kde-routing":
            return kde_routing_of_layers(layers, self.routing)
        return power_means(layers, [float(power) for power in self.exponents.split("+")])


def ngram_labels(words: Sequence[str], n: int) -> tuple[str, ...]:
    """N-grams of words; fewer than n words form one.

    >>> ngram_labels(["a", "black", "cat"], 2)
    ('a black', 'black cat')
    """
    size = min(n, len(words))
    return tuple(" ".join(words[start : start + size]) for start in range(len(words) - size + 1))


def ngram_spans(spans: Sequence[PointSpans], n: int) -> tuple[PointSpans, ...]:
    """Spans of n-grams: those of their tokens, which need not be neighbours in the text."""
    size = min(n, len(spans))
    windows = (spans[start : start + size] for start in range(len(spans) - size + 1))
    return tuple(tuple(span for point in window for span in point) for window in windows)
