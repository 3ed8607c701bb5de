"""Pairs of texts of one list: all of some against all of others, or candidates against each other.

To the first stage of a run the texts of the list are segments without references: they are tokenised, checked and
noted one by one. Blocks of the list say which texts are compared. Notes in a signature count pairs: a pair here is
what a segment is to `nlgauge.score`.

Idf that is counted on the texts at hand counts each hypothesis and each reference once, as `nlgauge.score` does for a
corpus of these texts, however many pairs a text is in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nlgauge.core.corpus import Corpus, TextNames
from nlgauge.errors import EmptyPairError, InputError
from nlgauge.text.tokenizer import Tokens


class Block(NamedTuple):
    """Hypotheses that are compared with references, all with all; both are numbers of texts."""

    rows: range
    columns: range
    others: bool = False
    """Whether the two are the same texts, none of which is compared with itself."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.rows) * (len(self.columns) - self.others)


@dataclass(frozen=True, eq=False)
class TextPairs(Corpus):
    """A list of texts, and the blocks of it that are compared."""

    blocks: Sequence[Block] = ()

    @classmethod
    def of(
        cls, hypotheses: Sequence[str], references: Sequence[str] | None, blocks: Sequence[Block], names: TextNames
    ) -> TextPairs:
        """Hypotheses, then references (or sources); None: the hypotheses are compared with each other."""
        texts = [*hypotheses, *(references or ())]
        documents = {"": hypotheses, None: hypotheses if references is None else references}
        return cls({"": texts}, [()] * len(texts), documents, names=names, blocks=blocks)

    @property
    def texts(self) -> Sequence[str]:
        """The list."""
        return self.systems[""]

    @property
    def pairs(self) -> int:
        """How many there are."""
        return sum(block.pairs for block in self.blocks)

    @property
    def reference_count(self) -> str:
        """A text is compared with one other at a time."""
        return "source" if self.against_source else "1"

    @property
    def reference_groups(self) -> Sequence[tuple[str, ...]]:
        """Each reference by itself."""
        return [(text,) for text in self.idf_documents[None]]

    def compared_with(self, what: str, *, metric: str, choice: bool = True) -> Corpus:
        """The list, where references may stand for sources; the hypotheses themselves may not."""
        if what == "refs":
            return self
        if len(self.idf_documents[""]) == len(self.texts):
            msg = (
                f"{metric} compares with the source, and none was given to compare the texts with; "
                f"give the sources, or compare the texts with each other: {metric}:against=refs"
            )
            raise InputError(msg)
        return self._with_sources

    @cached_property
    def _with_sources(self) -> Corpus:
        return replace(self, against_source=True)

    def pair_name(self, row: int, column: int) -> str:
        """What messages call a pair."""
        return f"{self.names.name(row)} and {self.names.name(column)}"

    def count(self, noted: Iterable[int]) -> int:
        """Pairs of which a text is among those noted."""
        flags = np.zeros(len(self.texts), dtype=bool)
        flags[list(noted)] = True
        total = 0
        for block in self.blocks:
            rows, columns = (
                int(np.count_nonzero(~flags[part.start : part.stop])) for part in (block.rows, block.columns)
            )
            total += block.pairs - rows * max(0, columns - block.others)
        return total

    def refuse_empty(self, empty: Iterable[int]) -> None:
        """An error for the first pair of two empty texts, for which no score is defined."""
        noted = {*empty}
        for block in self.blocks if noted else ():
            rows, columns = ([at for at in part if at in noted] for part in (block.rows, block.columns))
            for row, column in itertools.product(rows, columns):
                if block.others and row == column:
                    continue
                msg = (
                    f"{self.pair_name(row, column)} are both empty, so no score is defined; "
                    "remove one, or score the pair 0 (empty='zero')"
                )
                raise EmptyPairError(msg)

    def unknown_only(self, tokens: Mapping[str, Tokens]) -> list[int]:
        """Texts of nothing but unknown tokens that count as empty in a pair: with a text that is another one."""
        found: set[int] = set()
        unknown = {at for at, text in enumerate(self.texts) if tokens[text].only_unknown}
        for block in self.blocks if unknown else ():
            rows, columns = (
                {at: self.texts[at].strip() for at in part if not tokens[self.texts[at]].empty}
                for part in (block.rows, block.columns)
            )
            known = {text for at, text in rows.items() if at not in unknown}
            for side, others in ((rows, {*columns.values()}), (columns, known)):
                found |= {at for at, text in side.items() if at in unknown and len(others) > (text in others)}
        return sorted(found)
