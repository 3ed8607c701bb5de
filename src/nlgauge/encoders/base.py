"""What every engine offers, and how texts become vectors on any of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.batching import equal_length_batches
from nlgauge.encoders.cache import EmbeddingCache
from nlgauge.encoders.host import current_host
from nlgauge.errors import ModelError
from nlgauge.text import TextTokenizer, Tokens
from nlgauge.text.windows import TextWindow

__all__ = ["EncodedText", "Encoder", "Portion", "check_ids", "encode_texts", "portions"]

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
        made: Made = self._cache[key]
        return made


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
    cache: EmbeddingCache | None = None,
) -> list[EncodedText]:
    """Encode texts in batches of equal length; the result is in the order of the input.

    A text without a token is not worth a model's time: it gets arrays of no rows. `advance` is told the
    number of tokens after each batch. What `cache` holds is not encoded, and what was encoded is put there. A window
    of a long text is encoded, and kept, like a text of its own.
    """
    host = current_host()
    none = np.empty((0, encoder.hidden_size), dtype=np.float32)
    found: list[dict[int, NDArray[np.float32]]] = [dict.fromkeys(layers, none) for _ in tokens]

    def put(portion: Portion, vectors: Mapping[int, NDArray[np.float32]]) -> None:
        if portion.window is None:
            found[portion.text] = dict(vectors)
            return
        whole = found[portion.text]
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
        vectors = encoder.encode(ids, layers) if host is None else host.encode(encoder, ids, layers)
        for row, portion in enumerate(members):
            by_layer = {layer: array[row] for layer, array in zip(layers, vectors, strict=True)}
            put(portion, by_layer)
            if cache is not None:
                cache.store(encoder, portion.tokens, by_layer)
        if advance is not None:
            advance(sum(portion.share for portion in members))
    return [EncodedText(text, by_layer) for text, by_layer in zip(tokens, found, strict=True)]
