"""Recompute every published table that can be run, and judge each cell.

    overview = reproduce_all(at="DATA", minutes=5, state_folder="finished")
    print(overview.render("markdown"))

Tables run one after the other. An error, a missing data set or the time limit of a table never loses the others: it
is the reason of that table. With a folder for finished tables an interrupted call continues where it stopped; a table
that the time limit cut short runs again only with a longer limit.
"""

from __future__ import annotations

import contextlib
import html
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from nlgauge._version import __version__
from nlgauge.core.kinds import Flag, Float, Folder, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.data.judgements import select_known
from nlgauge.encoders.run_context import current_run, run_context
from nlgauge.errors import InputError, NlgaugeError, RecipeError
from nlgauge.io.numbers import deviation_notes, format_count
from nlgauge.io.storage import json_text, text_digest, write_atomic
from nlgauge.io.table import LINE, Cell, Formatted, Table
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import KINDS, KnownScores, ReproduceOptions, StudyInputs, reproduce
from nlgauge.studies.published.runs import NO_MODEL, TimeLimitError, describe_error
from nlgauge.studies.published.tables import PaperTable
from nlgauge.studies.published.verdicts import VERDICTS, ComparedCell, compare_cells, count_verdicts

#: Options of one table that also apply to all tables; the others select rows or layers of one table.
SHARED = ("at", "model", "langpairs", "data", "levels", "vectors")


@dataclass(frozen=True, kw_only=True)
class AllOptions(OptionSet):
    """All tables at once."""

    called: ClassVar[str] = "options of all tables"

    all: bool = option(
        False, Flag(), help="recompute every table that can be run; compare its values with the published ones"
    )
    tables: tuple[str, ...] | None = option(
        None,
        Many(Text("the id of a table or figure", known=lambda: PAPER_TABLES)),
        help="only these tables, by id",
        needs="all",
    )
    minutes: float | None = option(
        None, Float(above=0, unit="minutes"), help="time limit of each table in minutes", needs="all", unset="none"
    )
    state_folder: str | None = option(
        None, Folder(), help="folder with finished tables, used to resume an interrupted run", needs="all"
    )


@dataclass(frozen=True)
class ReproducedEntry:
    """A published table with its computed cells, or the reason why it has none."""

    id: str
    title: str
    source: str
    decimals: int
    model: str
    """Empty if nothing is encoded."""
    cells: tuple[ComparedCell, ...]
    missing: tuple[str, ...]
    """Missing inputs, errors and the time limit."""
    seconds: float
    limited: bool
    """Whether the time limit cut it short."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of computed cells by verdict."""
        return count_verdicts(self.cells)

    @property
    def was_run(self) -> bool:
        """Whether any cell was computed."""
        return any(cell.verdict for cell in self.cells)

    @property
    def why_not_computed(self) -> str:
        """Why no cell was computed: the first missing inputs."""
        reasons = self.missing or tuple(dict.fromkeys(cell.reason for cell in self.cells))
        more = f"; and {len(reasons) - 2} more" if len(reasons) > 2 else ""
        return "; ".join(reasons[:2]) + more


#: Verdicts in a sentence, where their heading is too short for one.
_IN_SENTENCES = {
    "other model": "with another model than the paper's",
    "explained": "different for a known reason",
    "not printed": "that the paper does not print",
}


@dataclass(frozen=True, repr=False)
class Overview(Result):
    """All published tables, with a verdict on each computed cell."""

    format = "nlgauge-reproduced-tables-1"
    line = LINE
    computed = ("totals",)

    options: Mapping[str, Any]
    """Options that limit or select what was computed."""
    entries: tuple[ReproducedEntry, ...]

    def __repr__(self) -> str:
        return f"<Overview {self.summary}>"

    @property
    def totals(self) -> dict[str, int]:
        """Number of tables that were run, cut short and not run, and of cells by verdict."""
        run = [entry for entry in self.entries if entry.was_run]
        counts = count_verdicts(cell for entry in run for cell in entry.cells)
        return {
            "tables": len(self.entries),
            "run": len(run),
            "limited": sum(entry.limited for entry in run),
            "cells": sum(counts.values()),
            **counts,
        }

    @property
    def summary(self) -> str:
        """One sentence with the totals."""
        totals = self.totals
        counts = ", ".join(
            f"{totals[name]:,} {_IN_SENTENCES.get(name, title)}" for name, title in VERDICTS.items() if totals[name]
        )
        cells = format_count(totals["cells"], "cell")
        return f"{totals['run']} of {totals['tables']} tables run, {cells} computed" + (
            f": {counts}" if counts else ""
        )

    def tables(self, form: str = "text") -> list[Table]:
        """A table of all tables, then one per computed table; formats read by programs have one flat table."""
        if form in ("tsv", "csv"):
            return [self._flat_table()]
        computed = [entry for entry in self.entries if entry.was_run]
        return [self._counts(), self._left_out(), *(_cells_table(entry) for entry in computed)]

    def to_page(self) -> str:
        """The tables as one HTML page that needs no network."""
        body = "\n".join(table.write("html", line=self.line) for table in self.tables("html"))
        return _PAGE.format(summary=html.escape(self.summary), body=body)

    def _counts(self) -> Table:
        names = [name for name in VERDICTS if self.totals[name]]
        rows: list[list[Cell]] = []
        for entry in self.entries:
            if entry.was_run:
                counts = entry.counts
                remark = "cut short by the time limit" if entry.limited else ""
                rows.append([entry.id, sum(counts.values()), *(counts[name] for name in names), remark])
        rows.append(["all", self.totals["cells"], *(self.totals[name] for name in names), ""])
        limits = [f"{name}: {value}" for name, value in self.options.items()]
        notes = [f"options: {'; '.join(limits)}"] if limits else []
        notes.append("cells of another model are listed with their difference, and not judged")
        columns = ["table", "cells", *(VERDICTS[name] for name in names), "remark"]
        return Table(columns, rows, self.summary, notes)

    def _left_out(self) -> Table:
        rows: list[list[Cell]] = [[entry.id, entry.why_not_computed] for entry in self.entries if not entry.was_run]
        return Table(["table", "reason"], rows, f"Not run: {format_count(len(rows), 'table')}")

    def _flat_table(self) -> Table:
        rows: list[list[Cell]] = [
            [entry.id, cell.row, cell.column, cell.published, cell.ours, cell.difference, cell.verdict, cell.reason]
            for entry in self.entries
            for cell in entry.cells
        ]
        return Table(["table", "row", "column", "printed", "ours", "difference", "verdict", "why"], rows)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Published tables recomputed with nlgauge</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }}
table {{ border-collapse: collapse; margin: 2em 0 .5em; }}
th, td {{ border-bottom: 1px solid #ddd; padding: .15em .6em; text-align: left; vertical-align: top; }}
caption {{ font-weight: bold; text-align: left; }}
</style>
</head>
<body>
<h1>Published tables recomputed</h1>
<p>{summary}</p>
{body}
</body>
</html>
"""


def _cells_table(entry: ReproducedEntry) -> Table:
    def number(value: float | str | None, sign: str = "") -> Cell:
        return Formatted(f"{value:{sign}.{entry.decimals}f}") if isinstance(value, float | int) else value

    rows: list[list[Cell]] = []
    for cell in entry.cells:
        values = [number(cell.published), number(cell.ours), number(cell.difference, "+")]
        rows.append([cell.row, cell.column, *values, cell.reason])
    notes = [f"source: {entry.source}", *([f"model: {entry.model}"] if entry.model else [])]
    notes += [f"missing: {text}" for text in entry.missing]
    notes += deviation_notes([cell.reason for cell in entry.cells])
    return Table(["row", "column", "printed", "ours", "difference", "why"], rows, f"{entry.id}: {entry.title}", notes)


#: Called with each finished entry, its number and the number of entries.
Report = Callable[[ReproducedEntry, int, int], None]


def reproduce_all(
    *,
    tables: Sequence[str] | None = None,
    minutes: float | None = None,
    state_folder: str | Path | None = None,
    run: RunOptions | None = None,
    report: Report | None = None,
    **options: Any,
) -> Overview:
    """Recompute every published table that can be run, and judge each cell.

    Args:
        tables: Ids of tables; all if None.
        minutes: Time limit per table. It is checked between pairs of texts, so a table can take a little longer.
        state_folder: Folder with finished tables, and with the finished scores of sensitivity studies.
        run: Options of a run.
        report: Called after each table.
        options: `at`, `model`, `langpairs`, `data`, `levels` and `vectors`, as in `reproduce`. A table without a
            selected language pair, data set or level is not run; one that does not accept an option ignores it.
    """
    for name in options:
        if name not in SHARED:
            where = "is an option of one table" if name in ReproduceOptions.options() else "is unknown"
            msg = f"{name!r} {where}; all tables accept {', '.join(SHARED)}"
            raise RecipeError(msg)
    given = {name: value for name, value in options.items() if value is not None}
    chosen = [PAPER_TABLES[name] for name in select_known(tables, list(PAPER_TABLES), "published table")]
    folder = None if state_folder is None else Path(state_folder)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    runner = _Runner(given, minutes, folder, run or RunOptions())
    entries = []
    for number, table in enumerate(chosen, start=1):
        with run_context(stage=f"{table.id}, {number} of {len(chosen)}"):
            entries.append(runner.entry(table))
        if report is not None:
            report(entries[-1], number, len(chosen))
    limits = {name: _as_text(value) for name, value in given.items() if name != "at"}
    limits |= {} if minutes is None else {"minutes": _as_text(minutes)}
    return Overview(limits, tuple(entries))


def _as_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float | int) else str(value)


@dataclass(frozen=True)
class _Runner:
    """Recomputes tables one by one, or reads them from the folder of finished tables."""

    options: Mapping[str, Any]
    minutes: float | None
    folder: Path | None
    run: RunOptions
    known_scores: KnownScores = field(default_factory=dict)
    """Scores that several tables need are computed once."""

    def entry(self, table: PaperTable) -> ReproducedEntry:
        """Recompute a table unless it is finished."""
        entry = self._read(table)
        if entry is None:
            entry = self._compute(table)
            if self.folder is not None:
                record: dict[str, Any] = {"key": self._key(table), "minutes": self.minutes}
                record |= {"result": Overview({}, (entry,)).to_dict()}
                write_atomic(self._path(table), json_text(record).encode())
        return entry

    def _compute(self, table: PaperTable) -> ReproducedEntry:
        start = time.monotonic()
        result, missing = None, []
        with _time_limit(self.minutes) as passed:
            try:
                result = reproduce(
                    table,
                    study=self._study_inputs(table),
                    run=self.run,
                    skip_broken=True,
                    known_scores=self.known_scores,
                    **self._accepted(table),
                )
            except Exception as error:  # of any metric or file: the other tables still run
                missing.append(describe_error(error))
        seconds = round(time.monotonic() - start, 1)
        decimals = table.decimals if table.shown_decimals is None else table.shown_decimals
        entry = ReproducedEntry(table.id, table.title, table.source, decimals, "", (), (), seconds, bool(passed))
        if result is None:
            return replace(entry, missing=tuple(missing))
        cells = tuple(compare_cells(result, table))
        return replace(entry, model=result.model, cells=cells, missing=result.missing)

    def _accepted(self, table: PaperTable) -> dict[str, Any]:
        """The options that a table accepts, with the selected parts that it has."""
        refused = KINDS[table.kind].refused
        accepted = {name: value for name, value in self.options.items() if name not in refused}
        if table.default_model == NO_MODEL:
            accepted.pop("model", None)
        if "vectors" in accepted and not any(row.word_vectors for row in table.rows):
            del accepted["vectors"]
        levels = {column.question.level for column in table.questions if column.question is not None}
        parts = {"langpairs": table.langpairs, "data": table.data, "levels": levels}
        for name, known in parts.items():
            if name in accepted:
                accepted[name] = tuple(value for value in accepted[name] if value in known)
                if not accepted[name]:
                    msg = f"not selected: no column with {name} {_as_text(self.options[name])}"
                    raise InputError(msg)
        return accepted

    def _study_inputs(self, table: PaperTable) -> StudyInputs | None:
        if self.folder is None or table.kind != "sensitivity":
            return None
        return StudyInputs(state=str(self.folder / f"{table.id}.scores"))

    def _path(self, table: PaperTable) -> Path:
        assert self.folder is not None
        return self.folder / f"{table.id}.json"

    def _key(self, table: PaperTable) -> str:
        """Digest of the table and of all options but the time limit."""
        rows = [[row.name, row.recipe, row.released, sorted(row.published.items())] for row in table.rows]
        columns = [column.label for column in table.columns]
        options = {name: _as_text(value) for name, value in sorted(self.options.items())}
        run = [self.run.engine, self.run.precision, self.run.long, self.run.empty]
        return text_digest(json.dumps([__version__, table.id, rows, columns, options, run]))

    def _read(self, table: PaperTable) -> ReproducedEntry | None:
        """Read a finished table; None if it is not there, belongs to other options, or may go further now."""
        if self.folder is None or not self._path(table).is_file():
            return None
        try:
            record = json.loads(self._path(table).read_text(encoding="utf-8"))
            (entry,) = Overview.from_dict(record["result"]).entries
        except (ValueError, KeyError, NlgaugeError):  # of another version, or damaged: computed again
            return None
        longer = self.minutes is None or (record["minutes"] is not None and self.minutes > record["minutes"])
        if record["key"] != self._key(table) or (entry.limited and longer):
            return None
        return entry


@contextlib.contextmanager
def _time_limit(minutes: float | None) -> Iterator[list[bool]]:
    """Raise TimeLimitError from checks after this time; the yielded list is not empty if that happened."""
    passed: list[bool] = []
    if minutes is None:
        yield passed
        return
    before, deadline = current_run().check, time.monotonic() + 60 * minutes

    def check() -> None:
        before()
        if time.monotonic() > deadline:
            passed.append(True)
            msg = f"the time limit of {minutes:g} minutes has passed"
            raise TimeLimitError(msg)

    with run_context(check=check):
        yield passed
