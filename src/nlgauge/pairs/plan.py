"""What is compared with what: blocks of texts, and what of it is refused, counted and warned of.

A pair here is what a segment is to `nlgauge.score`: notes in a signature count pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.corpus.texts import Corpus
from nlgauge.engine.notes import TextNames
from nlgauge.errors import EmptyPairError

__all__ = ["Block", "PairPlan"]


class Block(NamedTuple):
    """Hypotheses that are compared with references, all with all."""

    rows: range
    columns: range
    others: bool = False
    """Whether the two are the same texts, none of which is compared with itself."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.rows) * (len(self.columns) - self.others)


@dataclass(frozen=True, eq=False)
class PairPlan:
    """Texts, and the blocks that are compared."""

    hypotheses: Sequence[str]
    references: Sequence[str]
    """Or sources."""
    blocks: Sequence[Block]
    name_hypothesis: Callable[[int], str]
    name_reference: Callable[[int], str]
    same: bool = False
    """Whether references are the hypotheses themselves."""

    @property
    def texts(self) -> list[str]:
        """All texts in one list: hypotheses, and references where they are others."""
        return [*self.hypotheses, *(() if self.same else self.references)]

    @property
    def listed(self) -> Corpus:
        """That list, of texts that are looked at one by one."""
        texts = self.texts
        return Corpus({"": texts}, [()] * len(texts))

    @property
    def names(self) -> TextNames:
        """How messages call the texts of that list."""
        count = len(self.hypotheses)
        return TextNames(
            "text", lambda at: self.name_hypothesis(at) if at < count else self.name_reference(at - count)
        )

    @property
    def pairs(self) -> int:
        """How many there are."""
        return sum(block.pairs for block in self.blocks)

    def split(self, noted: Iterable[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Flags of hypotheses and of references, from numbers of `texts`."""
        flags = np.zeros(len(self.hypotheses) + (0 if self.same else len(self.references)), dtype=bool)
        flags[list(noted)] = True
        return flags[: len(self.hypotheses)], flags if self.same else flags[len(self.hypotheses) :]

    def count(self, noted: Iterable[int]) -> int:
        """Pairs of which a text is among those noted (numbers of `texts`)."""
        left, right = self.split(noted)
        total = 0
        for block in self.blocks:
            rows = int(np.count_nonzero(~left[block.rows.start : block.rows.stop]))
            columns = int(np.count_nonzero(~right[block.columns.start : block.columns.stop]))
            total += block.pairs - rows * max(0, columns - block.others)
        return total

    def refuse_empty(self, empty: Iterable[int]) -> None:
        """An error for the first pair of two empty texts (numbers of `texts`), for which no score is defined."""
        for row, column in self.pairs_of(*self.split(empty)):
            names = f"{self.name_hypothesis(row)} and {self.name_reference(column)}"
            msg = f"{names} are both empty, so no score is defined; remove one, or score the pair 0 (empty='zero')"
            raise EmptyPairError(msg)

    def pairs_of(self, left: NDArray[np.bool_], right: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """Pairs of flagged hypotheses and flagged references."""
        for block in self.blocks:
            rows = block.rows.start + np.flatnonzero(left[block.rows.start : block.rows.stop])
            columns = block.columns.start + np.flatnonzero(right[block.columns.start : block.columns.stop])
            for row in rows.tolist():
                yield from ((row, at) for at in columns.tolist() if not (block.others and at == row))
