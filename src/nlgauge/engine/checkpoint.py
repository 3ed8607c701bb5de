"""Scores that a study has finished, in a file, so that an interrupted run goes on where it was.

A line is a JSON object: the scores of one piece of the corpus under one recipe. Its key is a digest of all that they
depend on: the texts, the corpus that idf is counted on, the recipe with the content of its files, the model, the
engine and this library. So a line is used where it fits, whatever study asks for it, and never where it does not.
Lines are only ever added, each in one write; what a kill left of the last one is cut off. Numbers are written with
all their digits, so a run that was interrupted gives the bytes of one that was not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.corpus.texts import Corpus
from nlgauge.errors import FileFormatError, InputError
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text import load_stopwords

__all__ = ["Piece", "StudyState", "corpus_key", "recipe_key"]

#: Options of a recipe that may name files.
_FILES = ("idf", "rescale", "bounds", "steps")

_FORMAT = "nlgauge-study/1"
_HEAD = json.dumps({"format": _FORMAT}).encode() + b"\n"


class Piece:
    """Scores of the systems of one piece of a corpus under one recipe."""

    def __init__(self, values: dict[str, NDArray[np.float64]], signature: str, zero_weight: int) -> None:
        self.values = values
        self.signature = signature
        self.zero_weight = zero_weight
        """Segments in which nothing of a text was left."""


class StudyState:
    """Finished pieces by key; kept in memory, and in a file where one is named."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._pieces: dict[str, Piece] = {}
        if self._path is not None:
            self._read(self._path)

    def __len__(self) -> int:
        return len(self._pieces)

    def get(self, key: str) -> Piece | None:
        """The piece of that key, if it is finished."""
        return self._pieces.get(key)

    def add(self, pieces: Iterable[tuple[str, Piece]]) -> None:
        """Keep finished pieces, on disk before this returns."""
        lines = []
        for key, piece in pieces:
            self._pieces[key] = piece
            values = {system: array.tolist() for system, array in piece.values.items()}
            record = {"key": key, "signature": piece.signature, "zero_weight": piece.zero_weight, "values": values}
            lines.append(json.dumps(record) + "\n")
        if self._path is None or not lines:
            return
        try:
            with open(self._path, "ab") as file:
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            msg = f"the state of the study cannot be written to {str(self._path)!r}: {error.strerror}"
            raise InputError(msg) from error

    def _read(self, path: Path) -> None:
        try:
            data = path.read_bytes() if path.exists() else b""
            if _HEAD.startswith(data):  # new, or killed before its first line was whole
                path.write_bytes(_HEAD)
                return
            if not data.startswith(_HEAD):
                msg = f"{str(path)!r} is no state of a study ({_FORMAT}); name one, or a file that does not exist"
                raise FileFormatError(msg)
            end = data.rfind(b"\n") + 1
            if end < len(data):  # a line that was never finished
                os.truncate(path, end)
        except OSError as error:
            msg = f"the state of the study cannot be kept in {str(path)!r}: {error.strerror}"
            raise InputError(msg) from error
        lines = data[:end].split(b"\n")[:-1]
        for number, line in enumerate(lines[1:], start=2):
            try:
                record = json.loads(line)
                values = {name: np.array(found, dtype=np.float64) for name, found in record["values"].items()}
                self._pieces[record["key"]] = Piece(values, record["signature"], int(record["zero_weight"]))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                msg = f"{str(path)!r}, line {number} is damaged ({error!r}); remove the line, it is computed again"
                raise FileFormatError(msg) from error


def corpus_key(corpus: Corpus, options: RunOptions) -> str:
    """Digest of the texts, of those that idf is counted on, and of what a run does with long and empty ones."""
    state = hashlib.sha256(f"{_FORMAT} {__version__} {options.long} {options.empty}".encode())
    texts: list[Any] = [[name, list(found)] for name, found in corpus.systems.items()]
    documents = [[name, list(found)] for name, found in corpus.idf_documents.items()]
    sources = None if corpus.sources is None else list(corpus.sources)
    for part in (texts, [list(group) for group in corpus.references], documents, sources):
        state.update(json.dumps(part).encode() + b"\n")
    return state.hexdigest()


def recipe_key(recipe: Metric, encoder: str) -> str:
    """The recipe in words, with digests for files; `encoder` says which model computes, and on what."""
    changes: dict[str, str] = {}
    for entry in fields(recipe):
        value = getattr(recipe, entry.name)
        if entry.name == "stopwords" and value != "none":
            changes[entry.name] = load_stopwords(value).digest
        elif entry.name in _FILES and isinstance(value, str):
            changes[entry.name] = "+".join(_content(part) for part in value.split("+"))
    described = {entry.name: changes.get(entry.name, getattr(recipe, entry.name)) for entry in fields(recipe)}
    return f"{recipe.name} {described!r} {encoder}"


def _content(value: str) -> str:
    """The digest of a file's bytes, or the value itself where it is no file."""
    path = Path(value)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else value
