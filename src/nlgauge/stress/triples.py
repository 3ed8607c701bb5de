"""Adversarial triples: a text A, a paraphrase B that shares few of its words, and a lookalike C that shares many.

A metric that looks at meaning scores (A, B) above (A, C). Triples come from a data set in the form of `paws` (each A
in two rows, one of them a paraphrase), from a file with columns `anchor`, `paraphrase` and `lookalike`, or are made
(`stress/build_triples.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.data import JudgementTable
from nlgauge.errors import FileFormatError, InputError
from nlgauge.explain.factors.overlap import bleu1
from nlgauge.files.atomic import write_atomic
from nlgauge.files.digests import short_digest, text_digest
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import Row, delimited_rows, json_lines
from nlgauge.text.treebank import treebank_words

__all__ = ["COLUMNS", "Triple", "Triples", "load_triples", "save_triples", "triples_of_table"]

#: Columns of a file of triples.
COLUMNS = ("anchor", "paraphrase", "lookalike")


class Triple(NamedTuple):
    """Three texts."""

    anchor: str
    """A."""
    paraphrase: str
    """B: the same meaning, in other words."""
    lookalike: str
    """C: many words of A, another meaning."""

    @property
    def overlaps(self) -> tuple[float, float]:
        """Share of A's words in B, and in C: BLEU-1 with A in the place of the hypothesis, with case."""
        words = treebank_words(self.anchor)
        of_b, of_c = (bleu1(treebank_words(other), words) for other in (self.paraphrase, self.lookalike))
        return of_b, of_c


@dataclass(frozen=True, eq=False)
class Triples:
    """Triples of one origin, in order."""

    name: str
    triples: tuple[Triple, ...]
    released: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Scores that came with them, by metric: a row of m(A, B) and one of m(A, C)."""
    skipped: int = 0
    """Texts that no triple could be made of."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "triples", tuple(self.triples))
        if not self.triples:
            msg = f"{self.name} has no triple"
            raise InputError(msg)
        for number, one in enumerate(self.triples):
            empty = [name for name, text in zip(COLUMNS, one, strict=True) if not text.strip()]
            if empty:
                msg = f"{self.name}, triple {number}: {', '.join(empty)} is empty; a triple is three texts"
                raise InputError(msg)

    def __len__(self) -> int:
        return len(self.triples)

    @property
    def label(self) -> str:
        """Name, number and digest of the texts, for the line that says what was measured."""
        return f"{self.name}[{len(self)},{short_digest(text_digest(repr(self.triples)))}]"

    @property
    def overlaps(self) -> NDArray[np.float64]:
        """Overlap of A with B, and with C: a row each."""
        return np.array([one.overlaps for one in self.triples]).T


def triples_of_table(table: JudgementTable) -> Triples:
    """The triples of a data set in the form of `paws`: a topic is an A, judged 1 beside B and 0 beside C."""
    gold = table.gold("paraphrase")
    topics = table.topic
    if topics is None:
        msg = f"{table.name} has no topics to tell its triples by; data in the form of 'paws' has"
        raise InputError(msg)
    places: dict[str, dict[float, int]] = {}
    for row, topic in enumerate(topics):
        if gold[row] in places.setdefault(topic, {}):
            msg = f"{table.name}: {topic!r} has two rows judged {gold[row]:g}; a triple has one of each"
            raise InputError(msg)
        places[topic][gold[row]] = row
    incomplete = [topic for topic, found in places.items() if len(found) < 2]
    whole = [(found[1.0], found[0.0]) for topic, found in places.items() if len(found) == 2]
    rows = np.array(whole, dtype=np.intp).T
    return Triples(
        table.name,
        tuple(Triple(topics[b], table.hypothesis[b], table.hypothesis[c]) for b, c in whole),
        {name: values[rows] for name, values in table.released.items()} if whole else {},
        len(incomplete),
    )


def load_triples(path: str | os.PathLike[str]) -> Triples:
    """Triples from a .tsv or .jsonl file with the columns anchor, paraphrase and lookalike."""
    name = os.fspath(path)
    data = read_bytes(name)
    suffix = Path(name).suffix.lower()
    if suffix not in (".tsv", ".jsonl"):
        msg = f"triples are read from .tsv or .jsonl files with columns {', '.join(COLUMNS)}, got {name!r}"
        raise FileFormatError(msg)
    rows = json_lines(data, name) if suffix == ".jsonl" else delimited_rows(data, name, needed=COLUMNS)
    return Triples(Path(name).name, tuple(_triple(row) for row in rows))


def _triple(row: Row) -> Triple:
    return Triple(*(row.text(column) for column in COLUMNS))


def save_triples(triples: Triples, path: str | os.PathLike[str]) -> None:
    """Write the triples as a .tsv file that `load_triples` reads; a tab or line end in a text becomes a blank."""
    lines = ["\t".join(COLUMNS), *("\t".join(" ".join(text.split()) for text in one) for one in triples.triples)]
    write_atomic(Path(path), ("\n".join(lines) + "\n").encode())
