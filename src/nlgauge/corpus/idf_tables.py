"""Token weights of a corpus: which idf table weighs which text.

none    no table: every token weighs the same
refs    one table, each reference a document                       (BERTScore as published)
both    references by a table of the references, a system's outputs by a table of its own outputs
        (MoverScore and BaryScore as published)
FILE    one frozen table for all texts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.files.digests import short_digest
from nlgauge.text import IdfTable, Tokens

__all__ = ["IdfBySide", "counts_idf", "idf_by_side", "idf_side"]


#: Choices that look at the texts at hand.
_COUNTED = ("refs", "both")

#: Before the system's name in the side of its texts.
_OWN = "hyps:"


@dataclass(frozen=True, eq=False)
class IdfBySide:
    """The tables of a run, and how a signature names them."""

    label: str = "none"
    tables: Mapping[str, IdfTable] = field(default_factory=dict)

    def of(self, side: str) -> IdfTable | None:
        """The table of a side; None where tokens weigh the same."""
        return self.tables.get(side)

    def run_fields(self, side: str) -> dict[str, str]:
        """Names a system's own table in the run part of its signature: another one for each system."""
        return {"idf_hyps": short_digest(self.tables[side].digest)} if side.startswith(_OWN) else {}


def counts_idf(choice: str) -> bool:
    """Whether a choice is counted on the texts at hand."""
    return choice in _COUNTED


def idf_side(choice: str, system: str | None) -> str:
    """The side that a system's texts (None: references) are on; all texts share one unless idf is `both`."""
    if choice != "both":
        return ""
    return "refs" if system is None else f"{_OWN}{system}"


def idf_by_side(choice: str, corpus: TokenizedCorpus) -> IdfBySide:
    """The tables that a choice asks for, counted or read once for all recipes of a run."""
    if choice not in corpus.memo:
        corpus.memo[choice] = _counted_or_read(choice, corpus)
    found: IdfBySide = corpus.memo[choice]
    return found


def _counted_or_read(choice: str, corpus: TokenizedCorpus) -> IdfBySide:
    tokenizer = corpus.encoder.tokenizer

    def table(documents: Iterable[Tokens]) -> IdfTable:
        return IdfTable.build(documents, vocabulary_size=tokenizer.vocabulary_size, tokenizer=tokenizer.digest)

    if choice == "none":
        return IdfBySide()
    if not counts_idf(choice):
        loaded = IdfTable.load(Path(choice))
        loaded.check_tokenizer(tokenizer.digest, vocabulary_size=tokenizer.vocabulary_size, path=choice)
        return IdfBySide(f"file[{short_digest(loaded.digest)}]", {"": loaded})
    tables = {idf_side(choice, None): table(corpus.reference_tokens())}
    label = f"{choice}[{short_digest(next(iter(tables.values())).digest)}]"
    if choice == "both":
        for system in corpus.corpus.systems:
            tables[idf_side(choice, system)] = table(corpus.system_tokens(system))
    return IdfBySide(label, tables)
