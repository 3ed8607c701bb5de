"""Hand-made documents as files: annotated, and with vectors that one can calculate with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.annotated_texts import annotated, conllu

__all__ = ["text_of", "write_conllu", "write_vectors"]


def text_of(short: str) -> str:
    """A document, in the notation of `tests.annotated_texts`, without its annotation."""
    return annotated(short).text


def write_conllu(path: Path, *documents: str) -> str:
    """A file with the annotation of documents, as `annotator=` takes it."""
    path.write_text(conllu(*documents), encoding="utf-8")
    return str(path)


def write_vectors(path: Path, vectors: Mapping[str, Sequence[float]]) -> str:
    """A file of word vectors, which is a model without context: a token is a word, and there is layer 0 only."""
    lines = [" ".join([word, *map(str, vector)]) for word, vector in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
