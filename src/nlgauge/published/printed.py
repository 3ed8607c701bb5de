"""Values in print, read from the text files of `papers/printed`: a section per table, a line per row.

    [12]
    columns        | cs-en de-en
    SENTBLEU       | .557 .448
    F RoBERTa-Base | .761 -

Names and order are those of the print; `-` is a cell that it leaves empty, `_` in the name of a column a blank, and
`#` begins a comment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from nlgauge.errors import FileFormatError

__all__ = ["PrintedTable", "parse_printed", "printed_tables"]

_HEADER = "columns"


@dataclass
class PrintedTable:
    """One table as it stands in print."""

    columns: tuple[str, ...]
    rows: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """Values by row and column, without empty cells."""


@cache
def printed_tables(name: str) -> Mapping[str, PrintedTable]:
    """The tables of one file of `papers/printed`, by number."""
    file = resources.files("nlgauge.published.papers") / "printed" / f"{name}.txt"
    return parse_printed(file.read_text(encoding="utf-8"), where=f"{name}.txt")


def parse_printed(text: str, *, where: str = "text") -> dict[str, PrintedTable]:
    """The tables of a text, by number.

    >>> parse_printed("[1]\\ncolumns | a b\\nBLEU | .5 -")["1"].rows
    {'BLEU': {'a': 0.5}}
    """
    tables: dict[str, PrintedTable] = {}
    number = ""
    for at, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if content.startswith("["):
            number = content.strip("[]")
            continue
        name, bar, values = (part.strip() for part in content.partition("|"))
        if not bar or not number:
            msg = f"{where}, line {at}: expected '[NUMBER]' or 'NAME | VALUES', got {content!r}"
            raise FileFormatError(msg)
        if name == _HEADER:
            tables[number] = PrintedTable(tuple(column.replace("_", " ") for column in values.split()))
            continue
        _add_row(tables, number, name, values, f"{where}, line {at}")
    return tables


def _add_row(tables: Mapping[str, PrintedTable], number: str, name: str, values: str, where: str) -> None:
    if number not in tables:
        msg = f"{where}: table {number} has a row before its line '{_HEADER} | ...'"
        raise FileFormatError(msg)
    table, cells = tables[number], values.split()
    if name in table.rows or len(cells) != len(table.columns):
        why = "a second row of that name" if name in table.rows else f"{len(cells)} values"
        msg = f"{where}: {name!r} of table {number}: {why}; its columns are {', '.join(table.columns)}"
        raise FileFormatError(msg)
    table.rows[name] = {column: float(cell) for column, cell in zip(table.columns, cells, strict=True) if cell != "-"}
