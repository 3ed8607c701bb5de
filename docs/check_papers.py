"""Compare transcribed tables with the papers' texts (`python -m docs.check_papers FOLDER`).

FOLDER holds the texts of the papers, which are not part of this project: bertscore.txt, moverscore.txt,
reproducibility.txt, sentsim.txt, dissertation.txt. Of each published table the values of a row, in the order of its
columns, must stand in one line (or in a few lines close to each other) near the caption of that table. Understood are
lines of cells between tabs, HTML tables, cells with two values (`.970/.995`) and cells with those of several rows.

What cannot be compared is named: rows that the text has lost or broken (`BROKEN`), and tables whose cells are names.
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

__all__ = ["BROKEN", "Checked", "check_table", "main", "printed_rows", "text_of"]

#: By the beginning of an id: file, and chapter where the file is a collection.
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

#: Rows whose values the texts at hand have broken or lost, by table; read by eye, or from another table of the paper.
BROKEN: Mapping[str, tuple[str, ...]] = {
    # The line of F has lost its name, and F (idf) its values: Table 30 has both.
    "bertscore-table6": ("F BERT", "F BERT (idf)"),
    # Values stand in the cell of the names.
    "xmoverscore-table1": ("COSINE + CLP(LASER)", "COSINE + UMD(LASER)"),
    # A value without its point; values in the cell of the names.
    "bt-table3": ("WMT18 ROUGE-WE", "MSCOCO BLEU"),
}

#: Columns that are not in print, but computed from those that are.
_DERIVED = ("avg of 7",)

_NUMBER = re.compile(r"-?(?:\d*\.\d+|\d+)")
_CHAPTER = re.compile(r"(?:^|\. )Chapter (\d+)$")
_CAPTION = re.compile(r"^Table ([\d.]+\d|\d+)(?::|\.\s)")


@dataclass(frozen=True)
class Checked:
    """One table beside the text."""

    id: str
    found: tuple[str, ...]
    """Rows whose values stand in the text."""
    absent: tuple[str, ...]
    """Rows whose values do not."""
    broken: tuple[str, ...] = ()
    """Rows that the text at hand has broken."""


def text_of(folder: Path, table: PaperTable) -> list[str] | None:
    """The lines of a table's paper, or of its chapter; None where the text is not there."""
    file, chapter = _TEXTS[table.id.partition("-")[0]]
    path = folder / file
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    if chapter is None:
        return lines
    starts = {int(match[1]): at for at, line in enumerate(lines) if (match := _CHAPTER.search(line))}
    return lines[starts[chapter] : starts.get(chapter + 1)]


def printed_rows(lines: Sequence[str], numbers: Sequence[str]) -> list[tuple[float, ...]]:
    """The values of every line between the captions before and after those of these tables."""
    captions = [(at, match[1]) for at, line in enumerate(lines) if (match := _CAPTION.match(line))]
    found = []
    for place, (_, number) in enumerate(captions):
        if number in numbers:
            first = captions[place - 1][0] if place else 0
            last = captions[place + 1][0] if place + 1 < len(captions) else len(lines)
            found += [row for line in _table_lines(lines[first:last]) for row in _values(line)]
    return found


def _table_lines(lines: Sequence[str]) -> Iterator[list[str]]:
    """Cells of each line of a table, in any of the layouts."""
    text = "\n".join(lines)
    for line in re.findall(r"<tr>(.*?)</tr>", text, flags=re.DOTALL):
        yield [
            re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, flags=re.DOTALL)
        ]
    for line in lines:
        if "\t" in line:
            yield line.split("\t")


def _values(cells: Sequence[str]) -> Iterator[tuple[float, ...]]:
    """The rows of a line: one, or several where cells hold the values of several rows."""
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


def check_table(table: PaperTable, lines: Sequence[str]) -> Checked:
    """Which rows of a table stand in the text."""
    where = table.source.rpartition(", ")[2] if "code:" not in table.source else table.source.split("; code:")[0]
    numbers = re.findall(r"\d+(?:\.\d+)?", where.rpartition("Table")[2])
    rows = printed_rows(lines, numbers)
    broken = BROKEN.get(table.id, ())
    found, absent = [], []
    for row in table.rows:
        values = _printed_values(table, row)
        if len(values) > 1 and row.name not in broken:
            (found if _stands_in(values, rows) else absent).append(row.name)
    return Checked(table.id, tuple(found), tuple(absent), tuple(broken))


def _printed_values(table: PaperTable, row: TableRow) -> list[float]:
    labels = [column.label for column in table.columns if column.label not in _DERIVED]
    return [value for label in labels if isinstance(value := row.published.get(label), float | int)]


#: How many lines further on the next values of a row may stand: print has other rows in between (Table 4 of the
#: reproducibility study), or a line for each measure (Table 3 of Better than Average).
_APART = 3


def _stands_in(values: Sequence[float], rows: Sequence[tuple[float, ...]]) -> bool:
    """Whether values are a stretch of one line, or of several in their order, none far from the one before."""
    return any(_stands_from(tuple(values), rows, first) for first in range(len(rows)))


def _stands_from(wanted: tuple[float, ...], rows: Sequence[tuple[float, ...]], first: int) -> bool:
    """Whether values begin in that line, and go on in those after it."""
    row = rows[first]
    for size in range(len(wanted), 1, -1):
        if any(wanted[:size] == row[at : at + size] for at in range(len(row) - size + 1)):
            rest = range(first + 1, min(first + 1 + _APART, len(rows)))
            if size == len(wanted) or any(_stands_from(wanted[size:], rows, line) for line in rest):
                return True
    return False


def main(argv: Sequence[str] | None = None) -> int:
    """Check every table; status 1 where a row does not stand in the text."""
    parser = argparse.ArgumentParser(prog="python -m docs.check_papers", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the papers' texts lie")
    parser.add_argument("--tables", nargs="*", metavar="ID", help="only these")
    options = parser.parse_args(argv)
    worst = 0
    for table in PAPER_TABLES.values():
        # Figures print no values in a text, and what is not in print is not there either.
        if "-table" not in table.id or (options.tables and table.id not in options.tables):
            continue
        lines = text_of(options.folder, table)
        if lines is None:
            print(f"{table.id}: no text here", file=sys.stderr)
            continue
        checked = check_table(table, lines)
        said = f"{table.id}: {len(checked.found)} rows as in the text"
        said += f", {len(checked.broken)} broken there" if checked.broken else ""
        print(said + (f"; NOT FOUND: {', '.join(checked.absent)}" if checked.absent else ""))
        worst = max(worst, bool(checked.absent))
    return worst


if __name__ == "__main__":
    sys.exit(main())
