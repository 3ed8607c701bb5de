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
from nlgauge.corpus.views import Role
from nlgauge.errors import InputError
from nlgauge.files.digests import short_digest
from nlgauge.text import IdfTable, Tokens

__all__ = ["COUNTED", "IdfTables", "idf_tables"]

#: Choices that look at the texts at hand.
COUNTED = ("refs", "both")


@dataclass(frozen=True, eq=False)
class IdfTables:
    """The tables of a run, and how a signature names them."""

    label: str = "none"
    shared: IdfTable | None = None
    """Of the references, or of all texts; None where tokens weigh the same."""
    by_system: Mapping[str, IdfTable] = field(default_factory=dict)
    """Of a system's own outputs, where each system has one."""

    def of(self, role: Role) -> IdfTable | None:
        """The table that weighs texts of a role."""
        return self.shared if role.system is None else self.by_system.get(role.system, self.shared)

    def run_fields(self, system: str) -> dict[str, str]:
        """Names a system's own table in the run part of its signature: another one for each system."""
        own = self.by_system.get(system)
        return {} if own is None else {"idf_hyps": short_digest(own.digest)}


def idf_tables(choice: str, corpus: TokenizedCorpus) -> IdfTables:
    """The tables that a choice asks for, counted or read once for all recipes of a run."""
    if choice not in corpus.memo:
        corpus.memo[choice] = _counted_or_read(choice, corpus)
    found: IdfTables = corpus.memo[choice]
    return found


def _counted_or_read(choice: str, corpus: TokenizedCorpus) -> IdfTables:
    tokenizer = corpus.tokenizer

    def table(documents: Iterable[Tokens]) -> IdfTable:
        return IdfTable.build(documents, vocabulary_size=tokenizer.vocabulary_size, tokenizer=tokenizer.digest)

    if choice == "none":
        return IdfTables()
    if choice not in COUNTED:
        loaded = IdfTable.load(Path(choice))
        if loaded.tokenizer == tokenizer.digest_otherwise:
            ways = "without a space before each document" if tokenizer.prefix_space else "with one"
            mine = tokenizer.signed_prefix_space
            msg = (
                f"idf file {choice!r} was counted {ways}, and the recipe has prefix_space={mine}; build it again "
                f"with --prefix-space {mine}"
            )
            raise InputError(msg)
        loaded.check_tokenizer(tokenizer.digest, vocabulary_size=tokenizer.vocabulary_size, path=choice)
        return IdfTables(f"file[{short_digest(loaded.digest)}]", loaded)
    shared = table(corpus.reference_tokens())
    own = {}
    if choice == "both":
        own = {system: table(corpus.system_tokens(system)) for system in corpus.corpus.systems}
    return IdfTables(f"{choice}[{short_digest(shared.digest)}]", shared, own)
