"""Typological features of languages: those of the World Atlas of Language Structures (WALS) in the URIEL database.

URIEL (Littell et al. 2017) has each feature of WALS as questions with the answers yes, no and unknown, such as
whether adjectives follow the noun. A language without a dominant order has yes for both orders. `nlgauge models pull
wals` takes the file from the package lang2vec (10 MB, CC BY-SA 4.0; WALS is CC BY 4.0).

    similarity     share of the questions answered for both languages that have the same answer. The paper (Zhao et
                   al. 2021, Table 5) takes the share of the 192 properties of WALS themselves.
    rules          rules of word order (`normalise.py`) by which a language becomes more like another: `adjectives`
                   if its adjectives can follow the noun and those of the other never do, `objects` if its objects
                   can precede the verb and those of the other never do
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError, MissingExtraError
from nlgauge.io.store.catalog import CARDS
from nlgauge.io.store.fetch import cached_card, pull_advice
from nlgauge.text.languages import long_codes

#: Order in a language that a rule removes, by rule.
WORD_ORDER: Mapping[str, str] = {"adjectives": "S_ADJECTIVE_AFTER_NOUN", "objects": "S_OBJECT_BEFORE_VERB"}

_CARD, _FILE, _SOURCE = "wals", "features.npz", "WALS"

#: How the file writes that an answer is unknown.
_UNKNOWN = -1.0


@dataclass(frozen=True, eq=False)
class Typology:
    """Answers to questions about languages: 1, 0, or NaN if unknown."""

    questions: tuple[str, ...]
    languages: Mapping[str, int]
    """Row of each language by its three-letter code."""
    answers: NDArray[np.float32]

    @classmethod
    def read(cls, path: Path) -> Typology:
        """Read the answers of WALS from a file of URIEL."""
        try:
            with np.load(path, allow_pickle=False) as file:
                questions, codes = file["feats"].tolist(), file["langs"].tolist()
                values = file["data"][:, :, file["sources"].tolist().index(_SOURCE)].astype(np.float32)
        except (OSError, ValueError, KeyError) as error:
            msg = f"{path.name} is not a file of features of URIEL: {error}"
            raise FileFormatError(msg) from error
        return cls(tuple(questions), {code: row for row, code in enumerate(codes)}, _answered(values))

    def of(self, language: str) -> NDArray[np.float32]:
        """The answers for a language by its code; of several codes for it, those with most answers."""
        rows: list[NDArray[np.float32]] = [
            self.answers[self.languages[code]] for code in long_codes(language) if code in self.languages
        ]
        known = [int(np.isfinite(row).sum()) for row in rows]
        if not any(known):
            msg = f"WALS has no features of language {language!r}; leave it out"
            raise InputError(msg)
        return rows[int(np.argmax(known))]

    def similarity(self, first: str, second: str) -> float:
        """Share of equal answers among the questions that are answered for both languages."""
        left, right = self.of(first), self.of(second)
        known = np.isfinite(left) & np.isfinite(right)
        if not known.any():
            msg = f"WALS has no feature of both {first!r} and {second!r}; leave out one of them"
            raise InputError(msg)
        return float((left[known] == right[known]).mean())

    def rules(self, language: str, *, target: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Rules of word order that bring a language nearer to the target; and those whose answers are unknown."""
        chosen, unknown = [], []
        for rule, question in WORD_ORDER.items():
            place = self.questions.index(question)
            own, other = self.of(language)[place], self.of(target)[place]
            if not (np.isfinite(own) and np.isfinite(other)):
                unknown.append(rule)
            elif own > other:
                chosen.append(rule)
        return tuple(chosen), tuple(unknown)


def _answered(values: NDArray[np.float32]) -> NDArray[np.float32]:
    answers: NDArray[np.float32] = np.where(values == _UNKNOWN, np.float32(np.nan), values)
    return answers


def load_typology() -> Typology:
    """The features of WALS; raises MissingExtraError if they are not on this machine."""
    folder = cached_card(CARDS[_CARD])
    if folder is None:
        advice = pull_advice(_CARD)
        msg = f"the features of WALS are not on this machine; {advice[:1].lower()}{advice[1:]}"
        raise MissingExtraError(msg)
    return _read(folder / _FILE)


@lru_cache(maxsize=1)
def _read(path: Path) -> Typology:
    return Typology.read(path)
