"""Synonyms of English words by WordNet, for METEOR.

`load_wordnet` reads the dictionary files of WordNet (`index.noun`, `data.noun`, `noun.exc` and so on) from the
archive that `nlgauge models pull wordnet` stores, which is the one of NLTK, or from a folder, such as that of
Debian's package `wordnet-base`. A signature contains the digest of these files.

A word and its base forms are looked up, as WordNet's own `morphy` does: exceptions ("mice") come from a list, other
forms ("dogs", "running") lose an ending, if the result is in the dictionary.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from nlgauge.errors import FileFormatError
from nlgauge.io.storage import file_digest, short_digest
from nlgauge.io.store.resolve import resolve
from nlgauge.io.tables import read_bytes

#: The name of the known WordNet, as in `nlgauge models pull wordnet`.
WORDNET = "wordnet"

#: Parts of speech with the endings that base forms replace.
_ENDINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "verb": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", "")),
        *(("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


class _Part(NamedTuple):
    """The files of a part of speech."""

    words: Mapping[str, str]
    """The rest of the line of each word."""
    data: bytes
    exceptions: Mapping[str, list[str]]


class WordNet:
    """Sets of synonyms; `contents` maps each dictionary file to its bytes."""

    def __init__(self, contents: Mapping[str, bytes], label: str) -> None:
        self._contents = contents
        digest = hashlib.sha256(b"".join(contents[name] for name in sorted(contents))).hexdigest()
        self.label = f"{label}[{short_digest(digest)}]"
        """Name for signatures, with the digest of the files."""
        self.synonyms = lru_cache(maxsize=1 << 16)(self._find_synonyms)
        """All words (not phrases) that share a meaning with a word, and the word itself."""

    @cached_property
    def _parts(self) -> Mapping[str, _Part]:
        return {
            name: _Part(
                dict(_index_lines(self._contents[f"index.{name}"])),
                self._contents[f"data.{name}"],
                {line.split()[0]: line.split()[1:] for line in _lines(self._contents[f"{name}.exc"]) if line.strip()},
            )
            for name in _ENDINGS
        }

    def base_forms(self, word: str, part: str) -> Iterator[str]:
        """The word and its base forms that the dictionary has for a part of speech (noun, verb, adj or adv)."""
        words, exceptions = self._parts[part].words, self._parts[part].exceptions
        forms = exceptions.get(word)
        if forms is None:
            forms = [word.removesuffix(old) + new for old, new in _ENDINGS[part] if word.endswith(old)]
        yield from dict.fromkeys(form for form in (word, *forms) if form in words)

    def _find_synonyms(self, word: str) -> frozenset[str]:
        names = {word}
        for part, files in self._parts.items():
            for form in self.base_forms(word.lower(), part):
                for offset in _offsets(files.words[form]):
                    names.update(_names(files.data, offset))
        return frozenset(names)


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8").splitlines()


def _index_lines(data: bytes) -> Iterator[tuple[str, str]]:
    """Words of an index with the rest of their lines; the licence, which is indented, is skipped."""
    for line in _lines(data):
        if not line.startswith(" "):
            word, _, rest = line.partition(" ")
            yield word, rest


def _offsets(fields: str) -> list[int]:
    """The places of the sets of synonyms: the last fields of a line, whose second field is their number."""
    columns = fields.split()
    return [int(column) for column in columns[len(columns) - int(columns[1]) :]]


def _names(data: bytes, offset: int) -> Iterator[str]:
    """The words of the set at a place of a data file, without phrases and marks such as "(p)"."""
    columns = data[offset : data.index(b"\n", offset)].decode("utf-8").split(" ")
    if columns[0] != f"{offset:08d}":
        msg = f"WordNet's index and data files do not belong together: no set at place {offset}; give another folder"
        raise FileFormatError(msg)
    for name in columns[4 : 4 + 2 * int(columns[3], 16) : 2]:
        if "_" not in name:
            yield name.partition("(")[0]


#: Names of the dictionary files.
_FILES = tuple(sorted(file for part in _ENDINGS for file in (f"index.{part}", f"data.{part}", f"{part}.exc")))


def load_wordnet(name: str = WORDNET) -> WordNet:
    """Load WordNet by name, or from a folder with its dictionary files.

    Equal calls return the same object while the files are unchanged.
    """
    if name == WORDNET:
        archive = resolve(WORDNET).path / "wordnet.zip"
        return _load(archive, WORDNET, file_digest(archive))
    folder = Path(name).expanduser()
    missing = [file for file in _FILES if not (folder / file).is_file()]
    if missing:
        msg = (
            f"no WordNet in {name!r}: {missing[0]!r} is missing; give a folder with {', '.join(_FILES)}, or use "
            f"'{WORDNET}' (nlgauge models pull {WORDNET})"
        )
        raise FileFormatError(msg)
    return _load(folder, "file", " ".join(file_digest(folder / file) for file in _FILES))


@lru_cache(maxsize=2)
def _load(path: Path, label: str, state: str) -> WordNet:
    """Load an archive or a folder in a certain state."""
    if path.is_dir():
        return WordNet({file: read_bytes(str(path / file)) for file in _FILES}, label)
    with zipfile.ZipFile(path) as archive:
        return WordNet({file: archive.read(f"wordnet/{file}") for file in _FILES}, label)
