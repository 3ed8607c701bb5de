"""Count the rows of published tables by metric (`python -m docs.count_rows [FOLDER]`).

FOLDER contains tables as JSON (`nlgauge study reproduce ID --format json -o FOLDER/ID.json`). Columns:

    rows       rows with published values
    recipe     of these: rows that nlgauge can compute, given data and models
    computed   of these: rows in FOLDER with a recomputed value next to a published one
    close      of these: rows whose values are all within .02 of the published ones
    explained  of the others: rows with a reason

`--list` prints the rows without a recipe, and the rows that are computed and not close.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.tables import PaperTable, TableRow

__all__ = ["CLOSE", "KINDS", "RowState", "count_kinds", "kind_of", "main", "row_states"]

#: Names of rows by kind; other rows are not counted.
KINDS: Mapping[str, tuple[str, ...]] = {
    "CharacTER": ("CHARACTER",),
    "NIST": ("NIST",),
    "CDER": ("CDER",),
    "PER": ("PER",),
    "TER": ("TER",),
    "WER": ("WER",),
    "BLEU-1 to BLEU-4": ("BLEU-[1-4]",),
    "METEOR": ("METEOR", "METEOR, REF-MT"),
    "EED": ("EED",),
    "CIDEr": ("CIDER",),
    "YiSi-0, YiSi-1": ("YiSi-0", "YiSi-1", "YISI-1"),
    "word2vec": ("*+ W2V", "WMD o (Word2Vec)"),
    "TF*IDF, ROUGE-WE": ("TF[*]IDF-?", "ROUGE-?-WE"),
    "SBERT": ("SBERT",),
}

#: Kinds of lexical metrics, which have a sum of their own.
_LEXICAL = tuple(KINDS)[:10]

#: Largest difference of a close value, on the scale of a coefficient.
CLOSE = 0.02


@dataclass(frozen=True)
class RowState:
    """A row with published values, and what is known of it."""

    kind: str
    table: str
    name: str
    has_recipe: bool
    computed: bool = False
    farthest: float = 0.0
    """Largest difference from a published value."""
    reason: str = ""

    @property
    def close(self) -> bool:
        """Whether all values are close to the published ones."""
        return self.computed and self.farthest <= CLOSE + 1e-9

    @property
    def explained(self) -> bool:
        """Whether there is a reason for values that are not close."""
        return self.computed and not self.close and bool(self.reason)


def row_states(folder: Path | None = None) -> Iterator[RowState]:
    """States of the rows of all kinds, with the results of a folder."""
    for table in PAPER_TABLES.values():
        results = _results(table, folder)
        for row in table.rows:
            kind = kind_of(row.name)
            if kind and row.published and table.id.partition("-")[0] != "explain":
                yield _state(kind, table, row, results.get(row.name))


def kind_of(name: str) -> str:
    """The kind of a row by its name; empty if it is not counted.

    >>> kind_of("METEOR, REF-MT"), kind_of("METEOR++")
    ('METEOR', '')
    """
    return next((kind for kind, names in KINDS.items() if any(fnmatchcase(name, pattern) for pattern in names)), "")


def _results(table: PaperTable, folder: Path | None) -> dict[str, Any]:
    """Results of a table by row, from all files of its id (`ID.json`, `ID.part.json`)."""
    results: dict[str, Any] = {}
    for path in sorted(folder.glob(f"{table.id}.*json")) if folder else ():
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            cells = results.get(row["name"], {}).get("cells", {})
            results[row["name"]] = row | {"cells": cells | _compared(row["cells"])}
    return results


def _compared(cells: Mapping[str, Any]) -> dict[str, float]:
    """Differences by column, of cells with both values."""
    return {label: cell["difference"] for label, cell in cells.items() if cell["difference"] is not None}


def _state(kind: str, table: PaperTable, row: TableRow, result: Mapping[str, Any] | None) -> RowState:
    differences = result["cells"].values() if result else ()
    return RowState(
        kind,
        table.id,
        row.name,
        row.computed,
        bool(differences),
        max(map(abs, differences), default=0.0) / table.scale,
        result["reason"] if result else "",
    )


def count_kinds(states: Sequence[RowState]) -> list[tuple[str, int, int, int, int, int]]:
    """Counts by kind, with the sums of lexical metrics and of all."""
    groups = {kind: (kind,) for kind in _LEXICAL} | {"lexical": _LEXICAL}
    groups |= {kind: (kind,) for kind in KINDS if kind not in _LEXICAL} | {"all": tuple(KINDS)}
    return [
        (
            title,
            len(rows := [state for state in states if state.kind in kinds]),
            *(
                sum(getattr(state, name) for state in rows)
                for name in ("has_recipe", "computed", "close", "explained")
            ),
        )
        for title, kinds in groups.items()
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the counts; the status is 1 if a computed row is neither close nor explained."""
    parser = argparse.ArgumentParser(prog="python -m docs.count_rows", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder with recomputed tables")
    parser.add_argument("--list", action="store_true", help="list rows without a recipe and rows that are not close")
    options = parser.parse_args(argv)
    states = list(row_states(options.folder))
    print("| rows of | rows | recipe | computed | close | explained |\n|---|---|---|---|---|---|")
    for row in count_kinds(states):
        print(f"| {' | '.join(map(str, row))} |")
    if options.list:
        for state in states:
            if not state.has_recipe:
                print(f"{state.table}: {state.name}: no recipe")
            elif state.computed and not state.close:
                print(f"{state.table}: {state.name}: {state.farthest:.3f}: {state.reason or 'NO REASON'}")
    return int(any(state.computed and not state.close and not state.explained for state in states))


if __name__ == "__main__":
    sys.exit(main())
