"""Machine translations of sentences, from a file: what the cross-lingual factors compare with.

{"sentence": {"Ein Hund bellt.": ["A", "dog", "barks", "."]}}     as released; also plain {text: translation}
Ein Hund bellt.<TAB>A dog barks.                                  TSV without a header
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from nlgauge.errors import FileFormatError
from nlgauge.files.digests import bytes_digest, short_digest
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import delimited_rows, json_document
from nlgauge.text.treebank import treebank_words

__all__ = ["Translations", "read_translations"]


@dataclass(frozen=True)
class Translations:
    """English translations by text."""

    label: str
    """Name and digest of the file."""
    words: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.words)


def read_translations(path: str | os.PathLike[str]) -> Translations:
    """The translations of a file; words of a text are those of the Penn Treebank unless the file has them."""
    name = os.fspath(path)
    data = read_bytes(name)
    found: dict[str, str | list[str]] = {}
    if name.lower().endswith(".json"):
        document = json_document(name)
        found = dict(document["sentence"] if isinstance(document.get("sentence"), dict) else document)
    else:
        for row in delimited_rows(data, name, columns=("text", "translation")):
            found[row.text("text")] = row.text("translation")
    words: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    for text, translation in found.items():
        if isinstance(translation, list) and all(isinstance(word, str) for word in translation):
            words[text], texts[text] = tuple(translation), " ".join(translation)
        elif isinstance(translation, str):
            words[text], texts[text] = tuple(treebank_words(translation)), translation
        else:
            msg = f"{name}, {text[:40]!r}: expected a translation as text or as a list of words, got {translation!r}"
            raise FileFormatError(msg)
    return Translations(f"{os.path.basename(name)}[{short_digest(bytes_digest(data))}]", words, texts)
