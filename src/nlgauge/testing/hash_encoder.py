"""An encoder without a model: a token's vector is made from the sha256 of its spelling.

Equal tokens have equal vectors, others have unrelated ones, and a neighbour moves a vector a little, so that context
counts. It needs no files and no engine, gives the same vectors on every machine, and says so in a signature.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from nlgauge.encoders.load import add_encoder, remove_encoder
from nlgauge.files.digests import text_digest
from nlgauge.text import TextTokenizer

__all__ = ["HashEncoder", "hash_encoder"]

_SPECIAL = ("[UNK]", "[CLS]", "[SEP]")

#: Words that texts under test are made of; any other word is unknown.
_TEXT = """
    a an the cat dog bird sat slept ran on under over at mat sofa tree and but it was black white small old storm
    ferry stopped left late early because of rain train station man woman child saw read wrote book letter . , ! ?
"""
WORDS = tuple(_TEXT.split())


class HashEncoder:
    """Deterministic vectors for the words of a small vocabulary."""

    cacheable = False
    languages: tuple[str, ...] = ("en",)

    def __init__(self, model: str = "hash", *, layers: int = 2, width: int = 16, limit: int = 64) -> None:
        self.model = model
        self.layers = layers
        self.hidden_size = width
        self.engine = "hash-1-fp32"
        self.weights_digest = text_digest(f"nlgauge hash encoder {layers} {width}")
        self.config_digest = ""
        self.digest = self.weights_digest
        self.tokenizer = _tokenizer(limit)
        spelt = [*_SPECIAL, *WORDS]
        self._tables = [
            np.stack([_vector(f"{layer} {word}", width) for word in spelt]) for layer in range(layers + 1)
        ]

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Vectors (batch, length, width) of each layer asked for."""
        found = []
        for layer in layers:
            vectors = self._tables[layer][ids]
            # Layer 0 knows no neighbours; each layer above lets them in a little more.
            before = np.roll(vectors, 1, axis=1)
            before[:, 0] = 0
            found.append((vectors + np.float32(0.1 * layer) * before).astype(np.float32))
        return found


@contextlib.contextmanager
def hash_encoder(name: str = "hash", *, layers: int = 2, width: int = 16, limit: int = 64) -> Iterator[str]:
    """Make a `HashEncoder` known under a name, for `model=name`, while the block runs; it reads `limit` tokens."""
    add_encoder(name, HashEncoder(name, layers=layers, width=width, limit=limit))
    try:
        yield name
    finally:
        remove_encoder(name)


def _vector(text: str, width: int) -> NDArray[np.float32]:
    """Numbers from -1 to 1 that anyone can compute again."""
    digest = b"".join(hashlib.sha256(f"{text} {part}".encode()).digest() for part in range(width // 8 + 1))
    whole = np.frombuffer(digest, dtype="<u4")[:width].astype(np.float64)
    return (whole / 2**31 - 1).astype(np.float32)


def _tokenizer(limit: int) -> TextTokenizer:
    vocabulary = {word: number for number, word in enumerate([*_SPECIAL, *WORDS])}
    backend = tokenizers.Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = BertPreTokenizer()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    return TextTokenizer(backend, limit=limit, digest=text_digest(" ".join(vocabulary)))
