"""Compare transcribed tables with the texts of the papers (`python -m docs.check_papers FOLDER`).

FOLDER contains the texts of the papers, which are not part of this project: bertscore.txt, moverscore.txt,
reproducibility.txt, sentsim.txt, dissertation.txt. The values of each row, in the order of the columns, must occur in
one line (or in a few lines close to each other) near the caption of the table. Supported are cells separated by tabs,
HTML tables, cells with two values (`.970/.995`) and cells with the values of several rows.

The check lists what it cannot compare: rows damaged in the text (`BROKEN`), and tables whose cells are names.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.tables import PaperTable, TableRow

__all__ = ["BROKEN", "TableCheck", "check_table", "main", "printed_rows", "text_of"]

#: File by prefix of a table id, with the chapter if the file is a collection.
_TEXTS: Mapping[str, tuple[str, int | None]] = {
    "repro": ("reproducibility.txt", None),
    "bertscore": ("bertscore.txt", None),
    "moverscore": ("moverscore.txt", None),
    "sentsim": ("sentsim.txt", None),
    "disco": ("dissertation.txt", 6),
    "xmoverscore": ("dissertation.txt", 8),
    "bt": ("dissertation.txt", 11),
    "explain": ("dissertation.txt", 12),
}

#: Rows damaged in the texts, by table; checked by eye or against another table of the paper.
BROKEN: Mapping[str, tuple[str, ...]] = {
    # The line of F has lost its name, and F (idf) its values: Table 30 has both.
    "bertscore-table6": ("F BERT", "F BERT (idf)"),
    # Values are in the cell of the names.
    "xmoverscore-table1": ("COSINE + CLP(LASER)", "COSINE + UMD(LASER)"),
    # A value without its point; values in the cell of the names.
    "bt-table3": ("WMT18 ROUGE-WE", "MSCOCO BLEU"),
}

#: Columns computed from the printed ones.
_DERIVED = ("avg of 7",)

_NUMBER = re.compile(r"-?(?:\d*\.\d+|\d+)")
_CHAPTER = re.compile(r"(?:^|\. )Chapter (\d+)$")
_CAPTION = re.compile(r"^Table ([\d.]+\d|\d+)(?::|\.\s)")


@dataclass(frozen=True)
class TableCheck:
    """Result of comparing one table with the text."""

    id: str
    matched: tuple[str, ...]
    """Rows whose values occur in the text."""
    absent: tuple[str, ...]
    """Rows whose values do not occur in the text."""
    broken: tuple[str, ...] = ()
    """Rows damaged in the text."""


def text_of(folder: Path, table: PaperTable) -> list[str] | None:
    """Lines of the table's paper or chapter; None if the text is missing."""
    file, chapter = _TEXTS[table.id.partition("-")[0]]
    path = folder / file
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    if chapter is None:
        return lines
    starts = {int(match[1]): i for i, line in enumerate(lines) if (match := _CHAPTER.search(line))}
    return lines[starts[chapter] : starts.get(chapter + 1)]


def printed_rows(lines: Sequence[str], numbers: Sequence[str]) -> list[tuple[float, ...]]:
    """Values of every line between the captions before and after those of these tables."""
    captions = [(i, match[1]) for i, line in enumerate(lines) if (match := _CAPTION.match(line))]
    values = []
    for place, (_, number) in enumerate(captions):
        if number in numbers:
            first = captions[place - 1][0] if place else 0
            last = captions[place + 1][0] if place + 1 < len(captions) else len(lines)
            values += [row for line in _table_lines(lines[first:last]) for row in _values(line)]
    return values


def _table_lines(lines: Sequence[str]) -> Iterator[list[str]]:
    """Cells of each line of a table, in any of the supported layouts."""
    text = "\n".join(lines)
    for line in re.findall(r"<tr>(.*?)</tr>", text, flags=re.DOTALL):
        yield [
            re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, flags=re.DOTALL)
        ]
    for line in lines:
        if "\t" in line:
            yield line.split("\t")


def _values(cells: Sequence[str]) -> Iterator[tuple[float, ...]]:
    """Rows of a line: one, or several if cells contain the values of several rows."""
    kept = []
    for cell in cells:
        plain = re.sub(r"</?\w+/?>|[*$%\\]|mathbf|[{}]", "", cell)
        plain = re.sub(r"\.\s+(?=\d)", ".", plain)  # a bold digit apart from its point
        values = [float(number) for number in _NUMBER.findall(plain)]
        if values and not re.sub(r"[\s/–—-]|\d*\.\d+|\d+|\(.*?\)", "", plain):
            kept.append((values, "/" in plain))
    if not kept:
        return
    if any(slash for _, slash in kept) or all(len(values) == 1 for values, _ in kept):
        yield tuple(value for values, _ in kept for value in values)
    else:
        for row in zip_longest(*(values for values, _ in kept)):
            yield tuple(value for value in row if value is not None)


def check_table(table: PaperTable, lines: Sequence[str]) -> TableCheck:
    """Find the rows of a table in the text."""
    where = table.source.rpartition(", ")[2] if "code:" not in table.source else table.source.split("; code:")[0]
    numbers = re.findall(r"\d+(?:\.\d+)?", where.rpartition("Table")[2])
    rows = printed_rows(lines, numbers)
    broken = BROKEN.get(table.id, ())
    matched, absent = [], []
    for name, values in _lines_in_print(table).items():
        if len(values) > 1 and name not in broken:
            (matched if _occurs_in(values, rows) else absent).append(name)
    return TableCheck(table.id, tuple(matched), tuple(absent), tuple(broken))


def _lines_in_print(table: PaperTable) -> dict[str, list[float]]:
    """Values by row; examples have a line for each sentence in print, with the values of all metrics."""
    if not table.examples:
        return {row.name: _printed_values(table, row) for row in table.rows}
    return {
        label: [value for row in table.rows if isinstance(value := row.published.get(label), float | int)]
        for label in table.examples
    }


def _printed_values(table: PaperTable, row: TableRow) -> list[float]:
    labels = [column.label for column in table.columns if column.label not in _DERIVED]
    return [value for label in labels if isinstance(value := row.published.get(label), float | int)]


#: Largest distance in lines to the next values of a row: print has other rows in between (Table 4 of the
#: reproducibility study), or a line for each measure (Table 3 of Better than Average).
_APART = 3


def _occurs_in(values: Sequence[float], rows: Sequence[tuple[float, ...]]) -> bool:
    """Whether values are consecutive in one line, or in several ordered lines close to each other."""
    return any(_occurs_from(tuple(values), rows, first) for first in range(len(rows)))


def _occurs_from(values: tuple[float, ...], rows: Sequence[tuple[float, ...]], first: int) -> bool:
    """Whether values begin in a line and continue in the following ones."""
    row = rows[first]
    for size in range(len(values), 1, -1):
        if any(values[:size] == row[i : i + size] for i in range(len(row) - size + 1)):
            rest = range(first + 1, min(first + 1 + _APART, len(rows)))
            if size == len(values) or any(_occurs_from(values[size:], rows, line) for line in rest):
                return True
    return False


def main(argv: Sequence[str] | None = None) -> int:
    """Check every table; the status is 1 if a row is missing in the text."""
    parser = argparse.ArgumentParser(prog="python -m docs.check_papers", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the texts of the papers")
    parser.add_argument("--tables", nargs="*", metavar="ID", help="only these")
    options = parser.parse_args(argv)
    worst = 0
    for table in PAPER_TABLES.values():
        # Figures and unpublished tables have no values in the text.
        if "-table" not in table.id or (options.tables and table.id not in options.tables):
            continue
        lines = text_of(options.folder, table)
        if lines is None:
            print(f"{table.id}: text is missing", file=sys.stderr)
            continue
        checked = check_table(table, lines)
        summary = f"{table.id}: {len(checked.matched)} rows match the text"
        summary += f", {len(checked.broken)} damaged in the text" if checked.broken else ""
        print(summary + (f"; MISSING: {', '.join(checked.absent)}" if checked.absent else ""))
        worst = max(worst, bool(checked.absent))
    return worst


if __name__ == "__main__":
    sys.exit(main())
