"""Lexicons: probabilities of words given a word of the other language, in both directions.

A lexicon is made from parallel text by `nlgauge align lexicon`. Its texts are split at white space; letter case and
punctuation around words are ignored (`bare_words`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.io.storage import FrozenArrays, arrays_digest, file_digest, short_digest, text_digest

#: The word for none, from which words without a counterpart come.
NONE = ""


class Cells(NamedTuple):
    """Probabilities of a direction by pair of words, ordered by the given word and then by the other."""

    given: NDArray[np.int64]
    """Number of the given word; 0 is none."""
    word: NDArray[np.int64]
    probability: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Translations:
    """The probabilities of words given a word of the other language."""

    given_words: tuple[str, ...]
    """The first is none."""
    words: tuple[str, ...]
    cells: Cells

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        first, second = ({word: i for i, word in enumerate(words)} for words in (self.given_words, self.words))
        return first, second

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        keys: NDArray[np.int64] = self.cells.given * len(self.words) + self.cells.word
        return keys

    def table(self, given: Sequence[str], words: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities by word and given word; 0 for pairs that are not in the lexicon."""
        numbers, others = self._numbers
        columns = np.array([numbers.get(word, -1) for word in given], dtype=np.int64)
        rows = np.array([others.get(word, -1) for word in words], dtype=np.int64)
        known = (rows >= 0)[:, None] & (columns >= 0)[None, :]
        table = np.zeros(known.shape)
        if not len(self._keys):
            return table
        keys = columns[None, :] * len(self.words) + rows[:, None]
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known &= self._keys[places] == keys
        table[known] = self.cells.probability[places[known]]
        return table


@dataclass(frozen=True, eq=False)
class Lexicon(FrozenArrays):
    """The probabilities of both directions."""

    FORMAT: ClassVar[str] = "nlgauge-lexicon/1"
    KIND: ClassVar[str] = "lexicon"
    FIX: ClassVar[str] = "make one with 'nlgauge align lexicon SOURCE TARGET -o FILE.npz'"

    forward: Translations
    """Words of the target given a word of the source."""
    backward: Translations
    """Words of the source given a word of the target."""
    pairs: int
    """Number of pairs of texts that it is from."""

    @property
    def _directions(self) -> dict[str, Translations]:
        return {"forward": self.forward, "backward": self.backward}

    @cached_property
    def digest(self) -> str:
        """sha256 of the words and the numbers."""
        words = (_join(words) for way in self._directions.values() for words in (way.given_words, way.words))
        head = (self.FORMAT, self.pairs, *map(text_digest, words))
        arrays = (
            (f"{name} {field}", array)
            for name, way in self._directions.items()
            for field, array in way.cells._asdict().items()
        )
        return arrays_digest(head, arrays, form="<f8")

    def header(self) -> dict[str, Any]:
        """The number of pairs of texts."""
        return {"pairs": self.pairs}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Words and cells of both directions."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, way in self._directions.items():
            types = Cells("<i4", "<i4", "<f8")._asdict()  # type: ignore[arg-type]  # types in place of arrays
            arrays |= {f"{name}_{field}": array.astype(types[field]) for field, array in way.cells._asdict().items()}
            for kind, words in (("given_words", way.given_words), ("words", way.words)):
                arrays[f"{name}_{kind}"] = np.frombuffer(_join(words).encode(), dtype=np.uint8)
        return arrays

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Lexicon:
        """Create the lexicon from a file's content."""
        ways = []
        for name in ("forward", "backward"):
            given_words, words = (
                tuple(arrays[f"{name}_{kind}"].tobytes().decode().split("\n")) for kind in ("given_words", "words")
            )
            given, word = (arrays[f"{name}_{field}"].astype(np.int64) for field in ("given", "word"))
            cells = Cells(given, word, arrays[f"{name}_probability"].astype(np.float64))
            ways.append(Translations(given_words, words, cells))
        forward, backward = ways
        return cls(forward, backward, int(header["pairs"]))

    @property
    def label(self) -> str:
        """Name for signatures."""
        return f"file[{short_digest(self.digest)}]"


def _join(words: Sequence[str]) -> str:
    """Words of white space do not exist, so lines separate them."""
    return "\n".join(words)


def load_lexicon(path: str) -> Lexicon:
    """Read a lexicon; the last ones are kept."""
    file = Path(path)
    return _load(path, file_digest(file)) if file.is_file() else Lexicon.load(file)


@lru_cache(maxsize=2)
def _load(path: str, _digest: str) -> Lexicon:
    return Lexicon.load(Path(path))


class LexiconFile(Resource):
    """A lexicon."""

    def __init__(self) -> None:
        super().__init__("none", file="a file made by 'nlgauge align lexicon'")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The lexicon of the file."""
        lexicon = load_lexicon(value)
        return Loaded(lexicon.label, lexicon)
