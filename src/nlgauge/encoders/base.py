"""The interface of an encoder, encoding in batches, and precisions in signatures.

Batches contain texts of one length, within a budget of tokens. So there is no padding and no attention mask, and a
text's vectors are bit-identical in every batch.

The field `engine` of a signature contains library, version and precision, and if it matters the device:

    onnxruntime-1.31.1-fp32     torch-2.13.0-bf16-cuda     onnxruntime-1.31.1-int8@3f0a51c2d9e8.onnx.avx512

After `int8@` follows a digest of the quantised model, because one model can be quantised in many ways, then the
engine and the processor's instruction set, on which the vectors also depend.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.cache import EmbeddingCache, VectorFile
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import ModelError, RecipeError
from nlgauge.io.storage import short_digest
from nlgauge.text.tokenizer import TextTokenizer, Tokens
from nlgauge.text.windows import TextWindow

#: The default first, which every engine supports.
PRECISIONS = ("fp32", "fp16", "bf16", "int8")

DEFAULT_PRECISION = PRECISIONS[0]

#: Precisions of the torch engine.
TORCH_PRECISIONS = ("fp32", "fp16", "bf16")

#: Needs a plan (`encoders/int8.py`).
INT8 = "int8"

_SIGNED = re.compile(rf"-((?:{'|'.join(PRECISIONS)})(?:@[^-]+)?)(?=-|$)")
_VECTORS = re.compile(rf"(.*)-((?:{'|'.join(PRECISIONS)})(?:@[^-]+)?)", re.DOTALL)


def check_precision(name: str) -> str:
    """Check the name of a precision."""
    if not isinstance(name, str) or name not in PRECISIONS:
        msg = f"precision must be one of {', '.join(PRECISIONS)}, got {name!r}"
        raise RecipeError(msg)
    return name


def signed_precision(engine: str) -> str:
    """The precision in the engine field of a signature; engines without one (`static`) compute in float32.

    >>> signed_precision("torch-2.13.0-bf16-cuda"), signed_precision("onnxruntime-1.31.1-int8@3f0a51c2d9e8")
    ('bf16', 'int8@3f0a51c2d9e8')
    """
    match = _SIGNED.search(engine)
    return DEFAULT_PRECISION if match is None else match[1]


def precision_name(engine: str) -> str:
    """The precision as a user sets it, without the digest of a quantised model."""
    return signed_precision(engine).partition("@")[0]


def vectors_digest(encoder: Encoder) -> str:
    """The identity of an encoder's vectors: the model's digest, and the precision unless it is fp32."""
    precision = signed_precision(encoder.engine)
    return encoder.digest if precision == DEFAULT_PRECISION else f"{encoder.digest}-{precision}"


def format_vectors_digest(digest: str) -> str:
    """A short form of a `vectors_digest` for messages."""
    model, precision = _parts(digest)
    return short_digest(model) + ("" if precision == DEFAULT_PRECISION else f" in {precision}")


def differing_precisions(stored: str, current: str) -> tuple[str, str] | None:
    """The precisions of two `vectors_digest` that differ only in precision; otherwise None."""
    (model, before), (same, now) = _parts(stored), _parts(current)
    return (before, now) if model == same and before != now else None


def _parts(digest: str) -> tuple[str, str]:
    match = _VECTORS.fullmatch(digest)
    return (digest, DEFAULT_PRECISION) if match is None else (match[1], match[2])


def equal_length_batches(lengths: Sequence[int], *, budget: int) -> Iterator[list[int]]:
    """Group indices of texts into batches of one length, longest first, so memory peaks early.

    A text longer than the budget is a batch by itself.

    >>> list(equal_length_batches([3, 2, 3, 3], budget=6))
    [[0, 2], [3], [1]]
    """
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    for length in sorted(groups, reverse=True):
        size = max(1, budget // max(1, length))
        members = groups[length]
        for start in range(0, len(members), size):
            yield members[start : start + size]


Value = TypeVar("Value")


class Encoder(Protocol):
    """A loaded model on one engine."""

    @property
    def model(self) -> str:
        """The model's name in signatures."""

    @property
    def weights_digest(self) -> str:
        """sha256 of the weights."""

    @property
    def config_digest(self) -> str:
        """sha256 of the configuration that vectors depend on; empty for a model without one."""

    @property
    def digest(self) -> str:
        """The model's identity: the digest of weights and configuration.

        For a model with a card and its original configuration, it is the digest of the weights.
        """

    @property
    def engine(self) -> str:
        """Engine, version and precision in signatures."""

    @property
    def cacheable(self) -> bool:
        """Whether vectors are worth storing on disk; those of a table in memory are not."""

    @property
    def layers(self) -> int:
        """Number of transformer layers; vectors exist for layers 0 (embeddings) to this."""

    @property
    def hidden_size(self) -> int:
        """Width of a vector."""

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's tokenizer."""

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors (batch, length, hidden) of each requested layer, for texts of one length."""


@dataclass(frozen=True, eq=False)
class EncodedText:
    """A text's tokens with their vectors, one array (tokens, hidden) per requested layer."""

    tokens: Tokens
    layers: Mapping[int, NDArray[np.float32]]
    _cache: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    text_features: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """Results of models of whole texts, which do not depend on the vectors."""

    def derived(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Compute a value that recipes share, once per text."""
        if key not in self._cache:
            self._cache[key] = make()
        value: Value = self._cache[key]
        return value


def check_ids(ids: NDArray[np.int64], rows: int, *, model: str) -> None:
    """Raise ModelError for token ids without a vector: the tokenizer belongs to another model."""
    largest = int(ids.max())
    if largest >= rows:
        msg = (
            f"the tokenizer of model {model!r} gives token id {largest}, but the model has ids 0 to {rows - 1} only; "
            "use a folder whose tokenizer belongs to its weights"
        )
        raise ModelError(msg)


class Portion(NamedTuple):
    """The unit that a model reads at once: a text or a window."""

    text: int
    """Index of the text."""
    tokens: Tokens
    window: TextWindow | None = None

    @property
    def share(self) -> int:
        """Number of the text's tokens whose vectors come from this portion."""
        return (
            len(self.tokens)
            if self.window is None
            else self.window.rows_in_text.stop - self.window.rows_in_text.start
        )


def portions(tokens: Sequence[Tokens]) -> Iterator[Portion]:
    """Divide texts into portions; a text without tokens has none."""
    for index, text in enumerate(tokens):
        if text.empty:
            continue
        if text.windows is None:
            yield Portion(index, text)
            continue
        for window in text.windows.cut(len(text)):
            yield Portion(index, text.take(window.places), window)


def encode_texts(
    encoder: Encoder,
    tokens: Sequence[Tokens],
    layers: tuple[int, ...],
    *,
    batch_tokens: int,
    advance: Callable[[int], None] | None = None,
    cache: EmbeddingCache | VectorFile | None = None,
) -> list[EncodedText]:
    """Encode texts in batches of equal length; the result is in the order of the input.

    A text without tokens gets arrays without rows. `advance` is called with the number of tokens after each batch.
    Vectors are taken from `cache` if possible, and stored there. Windows of a long text are encoded and cached like
    separate texts.
    """
    pool = current_run().encoder_pool
    empty = np.empty((0, encoder.hidden_size), dtype=np.float32)
    encoded: list[dict[int, NDArray[np.float32]]] = [dict.fromkeys(layers, empty) for _ in tokens]

    def put(portion: Portion, vectors: Mapping[int, NDArray[np.float32]]) -> None:
        if portion.window is None:
            encoded[portion.text] = dict(vectors)
            return
        whole = encoded[portion.text]
        for layer, array in vectors.items():
            if whole[layer] is empty:
                whole[layer] = np.empty((len(tokens[portion.text]), encoder.hidden_size), dtype=np.float32)
            whole[layer][portion.window.rows_in_text] = array[portion.window.used_rows]

    remaining = []
    for portion in portions(tokens) if layers else ():
        if cache is not None and (cached := cache.load(encoder, portion.tokens, layers)) is not None:
            put(portion, cached)
            if advance is not None:
                advance(portion.share)
        else:
            remaining.append(portion)
    for batch in equal_length_batches([len(portion.tokens) for portion in remaining], budget=batch_tokens):
        members = [remaining[index] for index in batch]
        ids = np.stack([portion.tokens.ids for portion in members]).astype(np.int64)
        vectors = encoder.encode(ids, layers) if pool is None else pool.encode(encoder, ids, layers)
        for row, portion in enumerate(members):
            by_layer = {layer: array[row] for layer, array in zip(layers, vectors, strict=True)}
            put(portion, by_layer)
            if cache is not None:
                cache.store(encoder, portion.tokens, by_layer)
        if advance is not None:
            advance(sum(portion.share for portion in members))
    return [EncodedText(text, by_layer) for text, by_layer in zip(tokens, encoded, strict=True)]
