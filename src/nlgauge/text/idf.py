"""Inverse document frequency of token ids, frozen and named by a digest.

    idf(t) = ln((N + 1) / (df(t) + 1)),   ln(N + 1) for a token that is in no document

Each text is one document (BERTScore, section 3, and its released code; MoverScore's code has the same formula).
Special tokens are in every document, so their idf is 0.

With a table computed from the scored texts, each score depends on the other texts. The metrics are defined this way,
so it is allowed. The table's digest is part of the signature, and a saved table makes the dependence explicit.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import DataWarning, InputError, TruncationWarning
from nlgauge.io.storage import ContentError, FrozenTable, short_digest, whole_number
from nlgauge.io.store.catalog import CARDS
from nlgauge.text.tokenizer import TextTokenizer, Tokens

_NO_DOCUMENT = "idf needs at least one document, got none"

#: No tokenizer has more token ids; a file with more is damaged.
_LARGEST_VOCABULARY = 10_000_000


class _IdfContent(TypedDict):
    source: str
    tokenizer: str
    documents: int
    vocabulary: int
    frequency: dict[str, int]


@dataclass(frozen=True, eq=False)
class IdfTable(FrozenTable):
    """Document frequencies of token ids in a corpus."""

    FORMAT: ClassVar[str] = "nlgauge-idf/1"
    KIND: ClassVar[str] = "idf file"
    COMMAND: ClassVar[str] = "nlgauge build idf CORPUS"
    RECORD: ClassVar[type] = _IdfContent

    documents: int
    frequency: NDArray[np.int64]
    """Number of documents that contain each token id."""
    tokenizer: str
    """Digest of the tokenizer of these ids."""
    source: str = ""
    """Description of the corpus; not part of the digest."""

    @classmethod
    def build(
        cls, documents: Iterable[Tokens], *, vocabulary_size: int, tokenizer: str, source: str = ""
    ) -> IdfTable:
        """Create a table from tokenised documents."""
        frequency = np.zeros(vocabulary_size, dtype=np.int64)
        count = 0
        for tokens in documents:
            frequency[np.unique(tokens.ids)] += 1
            count += 1
        if count == 0:
            raise InputError(_NO_DOCUMENT)
        return cls(count, frequency, tokenizer, source)

    @classmethod
    def count(
        cls, documents: Iterable[str], tokenizer: TextTokenizer, *, source: str = "", whole: bool = False
    ) -> IdfTable:
        """Create a table from texts in chunks; memory does not grow with their number.

        Documents are truncated to the tokenizer's limit, as in a metric that truncates texts, unless `whole` is set.
        """
        counts: Counter[int] = Counter()
        number, truncated, first, empty = 0, 0, 0, 0
        frame = len(next(tokenizer.stream_ids([""]))[0])
        for number, (ids, is_truncated) in enumerate(tokenizer.stream_ids(documents, whole=whole), start=1):
            counts.update(set(ids))
            empty += len(ids) <= frame
            if is_truncated:
                truncated, first = truncated + 1, first or number
        if number == 0:
            raise InputError(_NO_DOCUMENT)
        frequency = np.zeros(tokenizer.vocabulary_size, dtype=np.int64)
        frequency[list(counts.keys())] = list(counts.values())
        if truncated:
            msg = (
                f"{truncated} documents (the first is line {first}) were truncated to {tokenizer.limit} tokens; "
                "use --long windows (whole=True) to count whole documents"
            )
            warnings.warn(msg, TruncationWarning, stacklevel=2)
        if empty * 2 >= number:
            msg = f"{empty} of {number} documents have no tokens but still count; remove the blank lines"
            warnings.warn(msg, DataWarning, stacklevel=2)
        return cls(number, frequency, tokenizer.digest, source)

    @classmethod
    def merge(cls, tables: Sequence[IdfTable]) -> IdfTable:
        """Add up tables of different documents."""
        first = tables[0]
        if any(table.tokenizer != first.tokenizer for table in tables):
            names = sorted({_name_tokenizer(table.tokenizer) for table in tables})
            msg = f"cannot merge idf tables of different tokenizers: {', '.join(names)}"
            raise InputError(msg)
        frequency = first.frequency.copy()
        for table in tables[1:]:
            frequency += table.frequency
        return cls(sum(table.documents for table in tables), frequency, first.tokenizer, first.source)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """idf of every token id."""
        values: NDArray[np.float64] = np.log((self.documents + 1) / (self.frequency + 1))
        return values

    @cached_property
    def digest(self) -> str:
        """sha256 of the counts; it does not depend on how the table is stored."""
        state = hashlib.sha256(f"{self.FORMAT}\n{self.tokenizer}\n{self.documents}\n".encode())
        for token in np.flatnonzero(self.frequency):
            state.update(f"{token} {self.frequency[token]}\n".encode())
        return state.hexdigest()

    def content(self) -> _IdfContent:
        """The file's content, without tokens that are in no document."""
        present = np.flatnonzero(self.frequency)
        return {
            "source": self.source,
            "tokenizer": self.tokenizer,
            "documents": self.documents,
            "vocabulary": len(self.frequency),
            "frequency": {str(token): int(self.frequency[token]) for token in present},
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> IdfTable:
        """Create a table from a file's content and check every number."""
        tokenizer, counts = content["tokenizer"], content["frequency"]
        documents = whole_number(content["documents"], "'documents'")
        vocabulary = whole_number(content["vocabulary"], "'vocabulary'")
        if documents < 1 or not 0 < vocabulary <= _LARGEST_VOCABULARY:
            msg = f"'documents' and 'vocabulary' must be at least 1, got {documents} and {vocabulary}"
            raise ContentError(msg)
        if not isinstance(counts, dict) or not isinstance(tokenizer, str):
            msg = "'frequency' must be an object and 'tokenizer' a text"
            raise ContentError(msg)
        if not counts and "digest" not in content:
            msg = "'frequency' contains no token"
            raise ContentError(msg)
        frequency = np.zeros(vocabulary, dtype=np.int64)
        for token, count in counts.items():
            if not (token.isascii() and token.isdigit() and int(token) < vocabulary):
                msg = f"'frequency' contains {token!r}, which is not a token id below {vocabulary}"
                raise ContentError(msg)
            if not 1 <= whole_number(count, f"the count of token {token}") <= documents:
                msg = f"token {token} cannot be in {count} of {documents} documents"
                raise ContentError(msg)
            frequency[int(token)] = count
        return cls(documents, frequency, tokenizer, str(content.get("source", "")))

    def check_tokenizer(self, digest: str, *, vocabulary_size: int, path: str) -> None:
        """Raise InputError if the table was built with another tokenizer."""
        if digest != self.tokenizer or vocabulary_size != len(self.frequency):
            msg = (
                f"idf file {path!r} was built with {_name_tokenizer(self.tokenizer)}, but this score uses "
                f"{_name_tokenizer(digest)}; build it again with 'nlgauge build idf' and this --model"
            )
            raise InputError(msg)


def _name_tokenizer(digest: str) -> str:
    """Name a tokenizer by its models, else by its digest."""
    models = [card.name for card in CARDS.values() if card.digests.get(card.tokenizer) == digest]
    return f"the tokenizer of {' and '.join(models)}" if models else f"an unknown tokenizer ({short_digest(digest)})"
