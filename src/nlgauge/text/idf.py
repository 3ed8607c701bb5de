"""Inverse document frequency over token ids, frozen and named by a digest.

    idf(t) = ln((N + 1) / (df(t) + 1)),   ln(N + 1) for a token no document holds

with one text as one document (BERTScore, section 3, and its released code; MoverScore's code has the same
formula). Special tokens stand in every document, so their idf is 0.

A table computed from the texts at hand makes each score depend on its neighbours. That is how the metrics
are defined, so it is allowed, but the table's digest is part of the signature, and a table saved to a file
makes the dependence explicit.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError, TruncationWarning
from nlgauge.files.atomic import write_whole
from nlgauge.files.digests import short_digest
from nlgauge.text.tokenizer import TextTokenizer, Tokens

__all__ = ["IdfTable"]

_FORMAT = "nlgauge-idf/1"

_NO_DOCUMENT = "idf needs at least one document, got none"

#: A file that claims more token ids than any tokenizer has is damaged.
_LARGEST_VOCABULARY = 10_000_000


@dataclass(frozen=True, eq=False)
class IdfTable:
    """Document frequencies of token ids in a corpus."""

    documents: int
    frequency: NDArray[np.int64]
    """Number of documents that hold each token id."""
    tokenizer: str
    """Digest of the tokenizer whose ids these are."""
    source: str = ""
    """A word on the corpus, for people; not part of the digest."""

    @classmethod
    def build(
        cls, documents: Iterable[Tokens], *, vocabulary_size: int, tokenizer: str, source: str = ""
    ) -> IdfTable:
        """Count each token once per document."""
        frequency = np.zeros(vocabulary_size, dtype=np.int64)
        count = 0
        for tokens in documents:
            frequency[np.unique(tokens.ids)] += 1
            count += 1
        if count == 0:
            raise InputError(_NO_DOCUMENT)
        return cls(count, frequency, tokenizer, source)

    @classmethod
    def count(cls, documents: Iterable[str], tokenizer: TextTokenizer, *, source: str = "") -> IdfTable:
        """Count texts under a tokenizer, a chunk at a time: memory does not grow with their number."""
        counted: Counter[int] = Counter()
        number, cut, first = 0, 0, 0
        for number, (ids, shortened) in enumerate(tokenizer.stream_ids(documents), start=1):
            counted.update(set(ids))
            if shortened:
                cut, first = cut + 1, first or number
        if number == 0:
            raise InputError(_NO_DOCUMENT)
        frequency = np.zeros(tokenizer.vocabulary_size, dtype=np.int64)
        frequency[list(counted.keys())] = list(counted.values())
        if cut:
            what = f"{cut} documents (the first is line {first}) were truncated to {tokenizer.limit} tokens"
            warnings.warn(what, TruncationWarning, stacklevel=2)
        return cls(number, frequency, tokenizer.digest, source)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """idf of every token id."""
        values: NDArray[np.float64] = np.log((self.documents + 1) / (self.frequency + 1))
        return values

    @cached_property
    def digest(self) -> str:
        """sha256 of the counts; equal tables have equal digests, however they were stored."""
        state = hashlib.sha256(f"{_FORMAT}\n{self.tokenizer}\n{self.documents}\n".encode())
        for token in np.flatnonzero(self.frequency):
            state.update(f"{token} {self.frequency[token]}\n".encode())
        return state.hexdigest()

    def text(self) -> str:
        """The file's content: one JSON object."""
        present = np.flatnonzero(self.frequency)
        record = {
            "format": _FORMAT,
            "source": self.source,
            "tokenizer": self.tokenizer,
            "documents": self.documents,
            "vocabulary": len(self.frequency),
            "frequency": {str(token): int(self.frequency[token]) for token in present},
        }
        return json.dumps(record) + "\n"

    def save(self, path: Path) -> None:
        """Write the table, whole or not at all."""
        write_whole(path, self.text().encode())

    @classmethod
    def load(cls, path: Path) -> IdfTable:
        """Read a table that `save` wrote."""
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            msg = f"idf file {str(path)!r} does not exist; build one with 'nlgauge idf build CORPUS -o {path}'"
            raise InputError(msg) from error
        except OSError as error:
            msg = f"idf file {str(path)!r} cannot be read: {error.strerror or error}"
            raise FileFormatError(msg) from error
        except ValueError as error:  # no JSON, or no UTF-8: most likely the texts themselves
            msg = f"{str(path)!r} is not an idf file; make one of it with 'nlgauge idf build {path} -o FILE'"
            raise FileFormatError(msg) from error
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            msg = f"{str(path)!r} is no idf file: expected a JSON object with format {_FORMAT!r}"
            raise FileFormatError(msg)
        try:
            return cls._from_record(record)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            msg = f"idf file {str(path)!r} is damaged: {error!r}"
            raise FileFormatError(msg) from error

    @classmethod
    def _from_record(cls, record: dict[str, Any]) -> IdfTable:
        documents, vocabulary = int(record["documents"]), int(record["vocabulary"])
        if documents < 1 or not 0 < vocabulary <= _LARGEST_VOCABULARY:
            msg = f"documents={documents}, vocabulary={vocabulary}"
            raise ValueError(msg)
        frequency = np.zeros(vocabulary, dtype=np.int64)
        for token, count in record["frequency"].items():
            if not (0 <= int(token) < vocabulary and 0 < int(count) <= documents):
                msg = f"token {token} in {count} of {documents} documents"
                raise ValueError(msg)
            frequency[int(token)] = int(count)
        return cls(documents, frequency, str(record["tokenizer"]), str(record.get("source", "")))

    def check_tokenizer(self, digest: str, *, vocabulary_size: int, path: str) -> None:
        """Refuse a table whose ids belong to another tokenizer."""
        if digest != self.tokenizer or vocabulary_size != len(self.frequency):
            msg = (
                f"idf file {path!r} was built with tokenizer {short_digest(self.tokenizer)}, but the model's is "
                f"{short_digest(digest)}; build it again with the --model you score with"
            )
            raise InputError(msg)
