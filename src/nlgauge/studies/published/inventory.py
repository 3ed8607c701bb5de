"""Every table and figure of the papers behind nlgauge, with the entry that carries it, or why none does.

They are listed in `papers/inventory.toml`: entries as a list, with `part` where they do not have all of it, or a
reason as a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from nlgauge.core.result import Result
from nlgauge.errors import FileFormatError
from nlgauge.io.table import Cell, Table
from nlgauge.studies.published.load import check_keys, expand_text, parse_toml, read_data


class PrintedItem(NamedTuple):
    """A table or figure of a paper."""

    paper: str
    name: str
    """Its number in print: `Table 3`."""
    entries: tuple[str, ...] = ()
    """Ids of `nlgauge study reproduce`."""
    reason: str = ""
    """Why there is no entry."""
    part: str = ""
    """What of it the entries have, where that is not all."""

    @property
    def title(self) -> str:
        """Paper, number, and the part that is carried."""
        return f"{self.paper}, {self.name}" + (f" ({self.part})" if self.part else "")


class ListedTable(NamedTuple):
    """A published table, and what of it is here; one without an entry has a reason."""

    id: str | None
    title: str | None
    source: str | None
    printed: tuple[str, ...]
    data: Mapping[str, bool]
    """By data set, whether it is here."""
    models: Mapping[str, bool]
    reason: str | None = None


@dataclass(frozen=True)
class PublishedTables(Result):
    """All published tables and figures."""

    format = "nlgauge-published-tables-1"

    entries: tuple[ListedTable, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """A row per table; one without an entry has the reason instead of a title."""
        rows: list[list[Cell]] = [
            [entry.id, entry.title or entry.reason or "", "; ".join(entry.printed)] for entry in self.entries
        ]
        return [Table(["id", "title", "printed"], rows)]


def parse_inventory(text: str, *, where: str = "text") -> tuple[PrintedItem, ...]:
    """The items of a text in TOML."""
    content = parse_toml(text, where)
    check_keys(content, ("texts", "papers"), where)
    texts: Mapping[str, str] = content.get("texts", {})
    return tuple(
        _item(paper, name, value, texts, f"{where}, {paper}, {name}")
        for paper, items in content.get("papers", {}).items()
        for name, value in items.items()
    )


def _item(paper: str, name: str, value: Any, texts: Mapping[str, str], where: str) -> PrintedItem:
    if isinstance(value, str):
        return PrintedItem(paper, name, reason=expand_text(value, texts, where))
    fields = value if isinstance(value, dict) else {"entries": value}
    check_keys(fields, ("entries", "part"), where)
    if not isinstance(fields.get("entries"), list):
        msg = f"{where}: expected a list of entries, a table with entries and part, or a reason, got {value!r}"
        raise FileFormatError(msg)
    return PrintedItem(paper, name, tuple(fields["entries"]), part=expand_text(fields.get("part", ""), texts, where))


INVENTORY = parse_inventory(read_data("inventory.toml"), where="inventory.toml")
