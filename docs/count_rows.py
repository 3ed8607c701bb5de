"""Count the rows of published tables by metric (`python -m docs.count_rows [RUN.json ...]`).

RUN.json is the output of `nlgauge study reproduce --all --at DATA -o RUN.json`. Columns:

    rows       rows with published values
    recipe     of these: rows that nlgauge can compute, given data and models
    computed   of these: rows of a run with a recomputed value next to a published one
    close      of these: rows whose values are all within .02 of the published ones
    explained  of the others: rows with a reason for each of these values

The last line is the sum of lexical metrics. `--list` prints rows that are not computed or not close, with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.overview import Overview, ReproducedEntry
from nlgauge.studies.published.tables import PaperTable, TableRow
from nlgauge.studies.published.verdicts import CLOSE

__all__ = ["KINDS", "LEXICAL", "RowState", "count_kinds", "kind_of", "main", "row_states"]

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
LEXICAL = tuple(KINDS)[:10]


@dataclass(frozen=True)
class RowState:
    """A row with published values, and what is known of it."""

    kind: str
    table: str
    name: str
    has_recipe: bool
    computed: bool = False
    farthest: float = 0.0
    """Largest difference from a published value, on the scale of a coefficient."""
    is_explained: bool = False
    """Whether no value is unexplained."""
    reason: str = ""
    """Why the row differs or is not computed."""

    @property
    def close(self) -> bool:
        """Whether all values are close to the published ones."""
        return self.computed and self.farthest <= CLOSE + 1e-9

    @property
    def explained(self) -> bool:
        """Whether there is a reason for values that are not close."""
        return self.computed and not self.close and self.is_explained


def row_states(runs: Iterable[Overview] = ()) -> Iterator[RowState]:
    """States of the rows of all kinds; of several runs, each row is that of the run with most of its values."""
    entries: dict[str, list[ReproducedEntry]] = {}
    for run in runs:
        for entry in run.entries:
            entries.setdefault(entry.id, []).append(entry)
    for table in PAPER_TABLES.values():
        for row in table.rows:
            kind = kind_of(row.name)
            if kind and row.published and table.id.partition("-")[0] != "explain":
                states = [_state(kind, table, row, entry) for entry in entries.get(table.id, [None])]
                yield max(states, key=lambda state: state.computed)


def kind_of(name: str) -> str:
    """The kind of a row by its name; empty if it is not counted.

    >>> kind_of("METEOR, REF-MT"), kind_of("METEOR++")
    ('METEOR', '')
    """
    return next((kind for kind, names in KINDS.items() if any(fnmatchcase(name, pattern) for pattern in names)), "")


def _state(kind: str, table: PaperTable, row: TableRow, entry: ReproducedEntry | None) -> RowState:
    cells = [cell for cell in entry.cells if cell.row == row.name] if entry else []
    compared = {cell: abs(cell.difference) / table.scale for cell in cells if cell.difference is not None}
    reasons = [cell.reason for cell, difference in compared.items() if difference > CLOSE]
    if entry and not compared:
        reasons = list(entry.missing) or [cell.reason for cell in cells]
    return RowState(
        kind,
        table.id,
        row.name,
        row.computed,
        bool(compared),
        max(compared.values(), default=0.0),
        not any(cell.verdict == "unexplained" for cell in compared),
        "; ".join(dict.fromkeys(reasons)),
    )


def count_kinds(states: Sequence[RowState]) -> list[tuple[str, int, int, int, int, int]]:
    """Counts by kind, with the sums of lexical metrics and of all."""
    groups = {kind: (kind,) for kind in LEXICAL} | {"lexical": LEXICAL}
    groups |= {kind: (kind,) for kind in KINDS if kind not in LEXICAL} | {"all": tuple(KINDS)}
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
    parser = argparse.ArgumentParser(
        prog="python -m docs.count_rows", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="*", help="JSON output of `nlgauge study reproduce --all`")
    parser.add_argument("--list", action="store_true", help="list rows that are not computed or not close")
    options = parser.parse_args(argv)
    runs = [Overview.from_dict(json.loads(path.read_text(encoding="utf-8"))) for path in options.run]
    states = list(row_states(runs))
    print("| rows of | rows | recipe | computed | close | explained |\n|---|---|---|---|---|---|")
    counts = count_kinds(states)
    for row in counts:
        print(f"| {' | '.join(map(str, row))} |")
    if options.list:
        for state in states:
            if not state.has_recipe or (runs and not state.computed):
                what = "not computed" if state.has_recipe else "no recipe"
                print(f"{state.table}: {state.name}: {what}: {state.reason or 'table not in these runs'}")
            elif state.computed and not state.close:
                print(f"{state.table}: {state.name}: {state.farthest:.3f}: {state.reason}")
    _, rows, recipes, computed, close, explained = next(row for row in counts if row[0] == "lexical")
    print(
        f"lexical metrics: {computed} of {rows} rows computed ({recipes} have a recipe), {close} within {CLOSE:g}, "
        f"{explained} explained"
    )
    return int(any(state.computed and not state.close and not state.explained for state in states))


if __name__ == "__main__":
    sys.exit(main())
