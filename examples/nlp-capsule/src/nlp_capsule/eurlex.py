"""Loader of EUR-Lex: 15.4 thousand training documents, 3.8 thousand test documents.

    eurlex_raw_text.p            file of the released code: a pickle of [train, test, vocabulary, categories] with
                                 documents {"text": ..., "catgy": [numbers]}
    train.jsonl and test.jsonl   a folder with a document per line, {"text": ..., "labels": [numbers or names]}

Reading a pickle can run any code. This loader refuses pickles that contain more than lists, dictionaries, texts and
numbers.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nlgauge.errors import FileFormatError, InputError
from nlp_capsule.tasks import LabelledTexts, Split

__all__ = ["load_eurlex"]


def load_eurlex(path: Path) -> Split:
    """Load either layout. Labels that occur only in the test are kept.

    There is no development set; the published run chose the epoch on the test set.
    """
    if path.is_dir():
        parts = [_from_lines(path / f"{name}.jsonl") for name in ("train", "test")]
    elif path.is_file():
        parts = _from_pickle(path)
    else:
        msg = f"{path} is neither a pickle nor a folder with train.jsonl and test.jsonl"
        raise InputError(msg)
    labels = sorted({label for documents in parts for _, own in documents for label in own}, key=_natural)
    numbers = {label: number for number, label in enumerate(labels)}
    training, test = (
        LabelledTexts(
            [text for text, _ in documents], [frozenset(numbers[item] for item in own) for _, own in documents]
        )
        for documents in parts
    )
    return Split(training, LabelledTexts([], []), test, tuple(labels))


def _natural(label: str) -> tuple[int, str]:
    """Sort key: numbers by size, before names."""
    return (int(label), "") if label.isdigit() else (1 << 62, label)


def _from_lines(path: Path) -> list[tuple[str, list[str]]]:
    if not path.is_file():
        msg = f"{path} is not there"
        raise InputError(msg)
    documents = []
    # Split at newlines only; splitlines() also breaks at separators inside a text.
    for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            msg = f"{path}, line {number}: not JSON ({error})"
            raise FileFormatError(msg) from error
        documents.append(_document(record, "labels", f"{path}, line {number}"))
    return documents


def _from_pickle(path: Path) -> list[list[tuple[str, list[str]]]]:
    try:
        content = _PlainUnpickler(io.BytesIO(path.read_bytes()), encoding="utf-8", errors="replace").load()
    except (pickle.UnpicklingError, EOFError, UnicodeDecodeError, ValueError, IndexError, KeyError) as error:
        msg = f"{path} is not a pickle of lists, dictionaries, texts and numbers: {error}"
        raise FileFormatError(msg) from error
    if not isinstance(content, list | tuple) or len(content) != 4:
        msg = f"{path} must hold [train, test, vocabulary, categories]"
        raise FileFormatError(msg)
    return [
        [_document(document, "catgy", f"{path}, {name} document {i}") for i, document in enumerate(documents)]
        for name, documents in zip(("training", "test"), content[:2], strict=True)
    ]


def _document(record: Any, key: str, place: str) -> tuple[str, list[str]]:
    text, labels = (record.get("text"), record.get(key)) if isinstance(record, dict) else (None, None)
    if not isinstance(text, str) or not isinstance(labels, Iterable) or isinstance(labels, str) or not labels:
        msg = f"{place}: needs a text and a list {key!r} with at least one label"
        raise FileFormatError(msg)
    return text, [str(label) for label in labels]


class _PlainUnpickler(pickle.Unpickler):
    """Unpickler that refuses imports."""

    def find_class(self, module: str, name: str) -> Any:
        msg = f"it asks for {module}.{name}"
        raise pickle.UnpicklingError(msg)
