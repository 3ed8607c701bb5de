"""The interface of an encoder, texts encoded in batches, and precisions as signatures name them.

Batches hold texts of one length, within a budget of tokens. So there is no padding, and no attention mask that could
let one text affect another: a text's vectors are the same bits in every batch.

The field `engine` of a signature has library, version and precision, and where it matters the device:

    onnxruntime-1.31.1-fp32     torch-2.13.0-bf16-cuda     onnxruntime-1.31.1-int8@3f0a51c2d9e8.onnx.avx512

What follows `int8@` is a digest of the quantised model: there are many of one model, and their vectors differ. So do
those of another engine, or of a processor with other instructions, which follow the digest.
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

#: The default first; no engine needs to have the others.
PRECISIONS = ("fp32", "fp16", "bf16", "int8")

DEFAULT_PRECISION = PRECISIONS[0]

#: Those that the engine torch computes in.
TORCH_PRECISIONS = ("fp32", "fp16", "bf16")

#: Made by a plan, not by the engine alone (`encoders/int8.py`).
INT8 = "int8"

_SIGNED = re.compile(rf"-((?:{'|'.join(PRECISIONS)})(?:@[^-]+)?)(?=-|$)")
_VECTORS = re.compile(rf"(.*)-((?:{'|'.join(PRECISIONS)})(?:@[^-]+)?)", re.DOTALL)


def check_precision(name: str) -> str:
    """The precision, if there is one of that name."""
    if not isinstance(name, str) or name not in PRECISIONS:
        msg = f"precision must be one of {', '.join(PRECISIONS)}, got {name!r}"
        raise RecipeError(msg)
    return name


def signed_precision(engine: str) -> str:
    """The precision that the engine of a signature names; one that names none (`static`) computes in float32.

    >>> signed_precision("torch-2.13.0-bf16-cuda"), signed_precision("onnxruntime-1.31.1-int8@3f0a51c2d9e8")
    ('bf16', 'int8@3f0a51c2d9e8')
    """
    match = _SIGNED.search(engine)
    return DEFAULT_PRECISION if match is None else match[1]


def precision_name(engine: str) -> str:
    """The same as it is asked for, without the digest of a quantised model."""
    return signed_precision(engine).partition("@")[0]


def vectors_digest(encoder: Encoder) -> str:
    """What files that were made of vectors name the vectors by: the model, and the precision unless it is fp32."""
    precision = signed_precision(encoder.engine)
    return encoder.digest if precision == DEFAULT_PRECISION else f"{encoder.digest}-{precision}"


def shown_vectors(digest: str) -> str:
    """A `vectors_digest` for people: the first digits of the model, and the precision unless it is fp32."""
    model, precision = _parts(digest)
    return short_digest(model) + ("" if precision == DEFAULT_PRECISION else f" in {precision}")


def other_precision(made: str, asked: str) -> tuple[str, str] | None:
    """The precisions of two `vectors_digest`, where they are of one model and differ in nothing else."""
    (model, before), (same, now) = _parts(made), _parts(asked)
    return (before, now) if model == same and before != now else None


def _parts(digest: str) -> tuple[str, str]:
    match = _VECTORS.fullmatch(digest)
    return (digest, DEFAULT_PRECISION) if match is None else (match[1], match[2])


def equal_length_batches(lengths: Sequence[int], *, budget: int) -> Iterator[list[int]]:
    """Indices of texts, grouped by length (longest first, so that memory peaks early).

    A text longer than the budget is a batch of its own.

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


Made = TypeVar("Made")


class Encoder(Protocol):
    """A loaded model on one engine."""

    @property
    def model(self) -> str:
        """The model's name, as the signature shows it."""

    @property
    def weights_digest(self) -> str:
        """sha256 of the weights."""

    @property
    def config_digest(self) -> str:
        """sha256 of what of the configuration vectors depend on; empty for a model without one."""

    @property
    def digest(self) -> str:
        """The model's identity, for files and keys: the weights with their configuration.

        For a known model in its known configuration it is the digest of the weights.
        """

    @property
    def engine(self) -> str:
        """Engine and version, as the signature shows them."""

    @property
    def cacheable(self) -> bool:
        """Whether vectors are worth keeping on disk; those of a table in memory are not."""

    @property
    def layers(self) -> int:
        """Number of transformer layers; vectors exist for 0 (embeddings) to this."""

    @property
    def hidden_size(self) -> int:
        """Width of a vector."""

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's tokenizer."""

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors (batch, length, hidden) of each layer asked for, for texts of one length."""


@dataclass(frozen=True, eq=False)
class EncodedText:
    """A text's tokens with their vectors, one array (tokens, hidden) per layer asked for."""

    tokens: Tokens
    layers: Mapping[int, NDArray[np.float32]]
    _cache: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    text_features: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    """What models of whole texts found about it, whatever is done to its vectors."""

    def derived(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What recipes derive from the text and share with each other: made once, and gone when the text goes."""
        if key not in self._cache:
            self._cache[key] = make()
        value: Made = self._cache[key]
        return value


def check_ids(ids: NDArray[np.int64], rows: int, *, model: str) -> None:
    """Refuse token ids that the model has no vector for: its tokenizer is another one's."""
    largest = int(ids.max())
    if largest >= rows:
        msg = (
            f"the tokenizer of model {model!r} gives the id {largest}, but the model knows {rows} tokens "
            f"(0 to {rows - 1}); give a folder whose tokenizer belongs to its weights"
        )
        raise ModelError(msg)


class Portion(NamedTuple):
    """What a model reads at once: a text, or a window of one."""

    text: int
    """Its number."""
    tokens: Tokens
    window: TextWindow | None = None

    @property
    def share(self) -> int:
        """Tokens of the text whose vectors it gives."""
        return len(self.tokens) if self.window is None else self.window.at.stop - self.window.at.start


def portions(tokens: Sequence[Tokens]) -> Iterator[Portion]:
    """What the model reads of each text; nothing of a text without a token."""
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

    A text without a token is not worth a model's time: it gets arrays of no rows. `advance` is told the
    number of tokens after each batch. What `cache` holds is not encoded, and what was encoded is put there. A window
    of a long text is encoded, and kept, like a text of its own.
    """
    pool = current_run().encoder_pool
    none = np.empty((0, encoder.hidden_size), dtype=np.float32)
    encoded: list[dict[int, NDArray[np.float32]]] = [dict.fromkeys(layers, none) for _ in tokens]

    def put(portion: Portion, vectors: Mapping[int, NDArray[np.float32]]) -> None:
        if portion.window is None:
            encoded[portion.text] = dict(vectors)
            return
        whole = encoded[portion.text]
        for layer, array in vectors.items():
            if whole[layer] is none:
                whole[layer] = np.empty((len(tokens[portion.text]), encoder.hidden_size), dtype=np.float32)
            whole[layer][portion.window.at] = array[portion.window.taken]

    left = []
    for portion in portions(tokens) if layers else ():
        if cache is not None and (known := cache.load(encoder, portion.tokens, layers)) is not None:
            put(portion, known)
            if advance is not None:
                advance(portion.share)
        else:
            left.append(portion)
    for batch in equal_length_batches([len(portion.tokens) for portion in left], budget=batch_tokens):
        members = [left[place] for place in batch]
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
