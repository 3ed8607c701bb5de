"""Result of a recomputed table: published and recomputed values, reasons for differences, and the data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nlgauge.core.result import Result
from nlgauge.data.cards import find_data_card, load, locate
from nlgauge.data.judgements import JudgementTable, RankedPairs, select_known
from nlgauge.data.loaders.wmt import WmtPackage, load_wmt_rankings
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import FileFormatError, InputError, MissingExtraError, NlgaugeError, RecipeError
from nlgauge.io.numbers import deviation_notes
from nlgauge.io.store.catalog import find_card
from nlgauge.io.store.fetch import cached_card
from nlgauge.io.store.hub import cached_snapshot
from nlgauge.io.table import LINE, Cell, Formatted, Marked, Table
from nlgauge.studies.meta.pairwise import ranked_rows
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.tables import Column, PaperTable, TableRow

if TYPE_CHECKING:
    from nlgauge.studies.published.reproduce import Request


class ReproducedCell(NamedTuple):
    """A published and a recomputed value, both on the paper's scale; None if missing.

    A value is a number, or a name in tables of names (the best setting of a language pair).
    """

    published: float | str | None
    ours: float | str | None
    difference: float | None
    """Ours minus the published value; None for names."""


def compared_cell(
    published: float | str | None, ours: float | str | None, *, absolute: bool = False
) -> ReproducedCell:
    """Compare a published value with ours; with `absolute` the paper has no signs, and ours is compared without."""
    numbers = [value for value in (ours, published) if isinstance(value, float | int)]
    difference = (abs(numbers[0]) if absolute else numbers[0]) - numbers[1] if len(numbers) == 2 else None
    return ReproducedCell(published, ours, difference)


@dataclass(frozen=True)
class ReproducedRow:
    """A row of the table, usually a metric."""

    name: str
    cells: Mapping[str, ReproducedCell]
    """By column."""
    recipe: str
    """Recipe for the model; empty for a row with published values only."""
    reason: str
    """Why our value differs or is missing."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """By column."""
    beyond: tuple[str, ...] = ()
    """Columns whose difference is larger than the reason allows, such as two standard errors."""
    best: tuple[str, ...] = ()
    """Columns in which no other computed row is significantly better, by the test that the paper bolds by."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """95 % interval of our value by column, if intervals are computed."""

    @property
    def has_ours(self) -> bool:
        """Whether any value was recomputed."""
        return any(cell.ours is not None for cell in self.cells.values())

    def has(self, label: str) -> bool:
        """Whether the cell in a column has a published or recomputed value."""
        cell = self.cells[label]
        return cell.published is not None or cell.ours is not None


#: Reason for a row without our values; the details are below the table.
NOT_COMPUTED = "not computed: see missing inputs"

#: Reason for a row on entities without our values.
NEEDS_VECTORS = "needs word vectors (--vectors FILE)"


def cells_of(
    row: TableRow, columns: Iterable[Column], ours: Mapping[str, float | str], *, absolute: bool = False
) -> dict[str, ReproducedCell]:
    """Build the cells of a row from our values by column."""
    labels = [column.label for column in columns]
    return {label: compared_cell(row.published.get(label), ours.get(label), absolute=absolute) for label in labels}


class ModelInPrint(NamedTuple):
    """A model used in a paper, and its source."""

    name: str
    published: str


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """A recomputed table.

    Each row has up to three lines: `published`, `ours`, `difference`, and a fourth with intervals if these are
    selected. Lines without values are omitted, and the last line of a row has the reason. Source, recipes, notes and
    missing inputs are below the table.
    """

    format = "nlgauge-reproduction-1"
    line = LINE
    unwritten = ("table", "drawing")

    id: str
    title: str
    source: str
    row_title: str
    """Title of the column of row names."""
    shown_decimals: int
    data: tuple[str, ...]
    """Data sets that the table needs."""
    used_data: str
    """Selected data sets and language pairs, as text."""
    published_models: tuple[ModelInPrint, ...]
    model: str
    """Empty if nothing is encoded."""
    columns: tuple[str, ...]
    rows: tuple[ReproducedRow, ...]
    exceptions: Mapping[str, tuple[str, ...]]
    """Options of recipes for some language pairs only, with these pairs."""
    options: Mapping[str, Any]
    """Options of a table on rankings."""
    notes: tuple[str, ...]
    """Notes of the table, then of this run."""
    missing: tuple[str, ...]
    """Missing inputs and their sources."""
    table: PaperTable | None = None
    """Not in JSON."""
    drawing: Callable[[], Any] | None = None
    """Draws the figure of values that are not in the table. Not in JSON."""

    @property
    def decimals(self) -> int:  # type: ignore[override]  # of this table, not of all
        """Decimals of our values."""
        return self.shown_decimals

    def __repr__(self) -> str:
        computed = sum(row.has_ours for row in self.rows)
        missing = f", {len(self.missing)} inputs missing" if self.missing else ""
        model = f" with {self.model}" if self.model else ""
        return f"<Reproduction {self.id}{model}: {computed} of {len(self.rows)} rows computed{missing}>"

    def tables(self, form: str = "text") -> list[Table]:
        """Build one table; formats read by programs repeat the row name in each line."""
        repeat = form in ("tsv", "csv", "html")
        rows = [line for row in self.rows for line in self._lines(row, repeat=repeat)]
        columns = [self.row_title, "value", *self.columns, "reason"]
        return [Table(columns, rows, f"{self.id}: {self.title}", list(self._notes()))]

    def figure(self) -> Any:
        """Draw recomputed values; only sensitivity studies and some tables on rankings have a figure."""
        from nlgauge.studies.published.reproduce import draw_reproduction

        return draw_reproduction(self)

    def _lines(self, row: ReproducedRow, *, repeat: bool) -> list[list[Cell]]:
        lines: list[list[Cell]] = []
        for kind in ReproducedCell._fields:
            values: list[Cell] = [getattr(row.cells[column], kind) for column in self.columns]
            if kind == "ours":
                values = [
                    Marked(value) if column in row.best and isinstance(value, float) else value
                    for column, value in zip(self.columns, values, strict=True)
                ]
            if any(value is not None for value in values):
                lines.append([row.name if repeat or not lines else "", kind, *values, ""])
        if any(column in row.intervals for column in self.columns):
            bounds = [self._interval(row.intervals.get(column)) for column in self.columns]
            lines.append([row.name if repeat else "", "95 % interval", *bounds, ""])
        if not lines:
            lines = [[row.name, "", *(None for _ in self.columns), ""]]
        lines[-1][-1] = row.reason
        return lines

    def _interval(self, bounds: tuple[float, float] | None) -> Cell:
        if bounds is None:
            return None
        low, high = (f"{bound:.{self.decimals}f}" for bound in bounds)
        return Formatted(f"[{low}, {high}]")

    def _notes(self) -> Iterator[str]:
        yield f"source: {self.source}"
        if self.used_data:
            yield f"data: {self.used_data}"
        if self.published_models:
            yield f"model: {self.model}; published: {', '.join(model.name for model in self.published_models)}"
        recipes: dict[str, list[str]] = {}
        for row in self.rows:
            if row.recipe:
                recipes.setdefault(row.recipe, []).append(row.name)
        for recipe, names in recipes.items():
            yield f"recipe: {recipe} = {', '.join(names)}"
        for options, pairs in self.exceptions.items():
            yield f"recipe: {', '.join(pairs)} with {options}"
        yield from (f"note: {note}" for note in self.notes)
        yield from (f"missing: {text}" for text in self.missing)
        yield from deviation_notes([*self.notes, *(row.reason for row in self.rows)])


def _used_data(table: PaperTable, columns: Sequence[Column]) -> str:
    shown = [column for column in columns if not column.over]
    used = {column.question.data for column in shown if column.question} | {row.data for row in table.rows}
    names = [name for name in table.data if name in used] or table.data
    pairs = sorted({column.langpair for column in shown if column.question})
    return ", ".join(names) + (f" ({', '.join(pairs)})" if names and pairs else "")


def _exceptions(table: PaperTable, columns: Sequence[Column]) -> dict[str, tuple[str, ...]]:
    """Options of recipes for some of the shown language pairs, with these pairs."""
    shown = {column.langpair for column in columns if not column.over}
    pairs: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for pair, options in row.exceptions.items():
            if pair in shown:
                pairs.setdefault(options, {})[pair] = None
    return {options: tuple(names) for options, names in pairs.items()}


def agrees(cells: Iterable[ReproducedCell], decimals: int) -> str:
    """Describe how our values agree with the published ones; empty if one differs or none is published.

    >>> agrees([compared_cell(0.743, 0.7436)], 3)
    'as published, truncated'
    """
    step = 10.0**-decimals
    # Ours minus published: at most half a step if the paper rounds, up to a step of the same sign if it truncates.
    differences = [cell.difference / step for cell in cells if cell.difference is not None]
    slack = 1e-6
    if not differences:
        return ""
    if all(abs(steps) <= 0.5 + slack for steps in differences):
        return "as published"
    return "as published, truncated" if all(-0.5 - slack <= steps < 1 for steps in differences) else ""


#: Model name that means no model: only lexical metrics and released scores are computed.
NO_MODEL = "none"

#: Relative rankings of a WMT package.
_RANKINGS = "RR-seglevel.csv"


class DataSlice(NamedTuple):
    """Rows of a data set that several columns share."""

    data: str
    options: tuple[tuple[str, Any], ...]
    langpair: str
    """Empty: all of its language pairs."""
    ranked: bool


class JudgedRows(NamedTuple):
    """Rows to score, with ranked pairs if the human judgements are preferences."""

    table: JudgementTable
    pairs: RankedPairs | None
    part: DataSlice


def slice_of(question: Question, langpair: str, *, data: str = "") -> DataSlice:
    """Rows for a question and language pair, or rows of another data set that replaces them."""
    return DataSlice(data or question.data, () if data else question.options, langpair, question.ranked)


class TimeLimitError(NlgaugeError):
    """The time limit of a table has passed; what remains is listed as missing."""


def describe_error(error: Exception) -> str:
    """Describe an error; errors of other packages begin with their type.

    >>> describe_error(InputError("no texts")), describe_error(ValueError("bad"))
    ('no texts', 'ValueError: bad')
    """
    return str(error) if isinstance(error, NlgaugeError) else f"{type(error).__name__}: {error}"


class Run:
    """State while a table is computed: the request, missing inputs, and notes of the run."""

    def __init__(self, request: Request) -> None:
        self.request, self.table = request, request.table
        self.missing: dict[str, None] = {}
        """Missing inputs and their sources; a dictionary, to list each once."""
        self.notes: dict[str, None] = {}

    @contextmanager
    def or_missing(self, what: str) -> Iterator[None]:
        """List an error as missing, so that the rest of the table is computed.

        A broken file stays an error because other values from it cannot be trusted, unless the request skips it.
        """
        try:
            yield
        except Exception as error:  # of any metric, also of a plug-in
            if self.stops(error):
                raise
            self.missing[f"{what}: {describe_error(error)}"] = None

    def stops(self, error: Exception) -> bool:
        """Whether an error ends the table: it is a broken file, and the request does not skip those."""
        return isinstance(error, FileFormatError) and not self.request.skip_broken

    def columns(self) -> tuple[Column, ...]:
        """Columns of the selected data sets, language pairs and levels, and averages over selected columns only."""
        table, request = self.table, self.request
        questions = [column.question for column in table.questions if column.question is not None]
        pairs = select_known(request.langpairs, table.langpairs, f"{table.id}: language pair")
        sets = select_known(request.data, table.data, f"{table.id}: data set")
        levels = list(dict.fromkeys(question.level for question in questions))
        selected_levels = select_known(request.levels, levels, f"{table.id}: level")
        labels = {
            column.label
            for column in table.questions
            if column.langpair in pairs
            and (
                column.question is None or (column.question.data in sets and column.question.level in selected_levels)
            )
        }
        # An average of fewer columns than in the paper would be another number under the same name.
        for column in table.columns:
            if column.over and set(column.over) <= labels:
                labels.add(column.label)  # papers also have averages of averages
        return tuple(column for column in table.columns if column.label in labels)

    def locate(self, data: str) -> Path | None:
        """Find the folder of a data set; None if it is missing, which is added to the list of missing inputs."""
        card, folder = find_data_card(data), self.request.at
        path = None if folder is None else locate(card, folder)
        if path is None:
            problem = "no data folder set (--at PATH)" if folder is None else f"not found in {folder!r}"
            self.missing[f"data set {card.name}: {problem}; available at {card.published}"] = None
        return path

    def judged(self, part: DataSlice) -> JudgedRows | None:
        """Load the rows of a slice; None if they are missing, which is added to the list of missing inputs."""
        path = self.locate(part.data)
        if path is None:
            return None
        try:
            current_run().check()
            # Rankings first: they are small, and without them the texts are not needed.
            pairs = load_wmt_rankings(path, year=_year(part.data), langpairs=part.langpair) if part.ranked else None
            table = load(part.data, path, langpairs=part.langpair or None, **dict(part.options))
        except (InputError, RecipeError, MissingExtraError, TimeLimitError) as error:
            if self.stops(error):
                raise
            problem = str(error).removeprefix(f"{part.data}: ")
            self.missing[f"{part.data}: {problem}; available at {find_data_card(part.data).published}"] = None
            return None
        return JudgedRows(table if pairs is None else ranked_rows(table, pairs), pairs, part)

    def row(
        self,
        row: TableRow,
        ours: Mapping[str, float],
        reason: str,
        recipe: str = "",
        *,
        beyond: Sequence[str] = (),
    ) -> ReproducedRow:
        """Build a row from our values by column."""
        cells = cells_of(row, self.table.columns, ours)
        return ReproducedRow(row.name, cells, recipe, reason, beyond=tuple(beyond))

    def result(
        self,
        rows: Sequence[ReproducedRow],
        columns: Sequence[Column] | None = None,
        *,
        model: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> Reproduction:
        """Build the result from these rows and the selected columns."""
        table = self.table
        columns = table.columns if columns is None else columns
        if not any(row.has_ours for row in rows):
            self._locate_data()
        return Reproduction(
            id=table.id,
            title=table.title,
            source=table.source,
            row_title=table.row_title,
            shown_decimals=table.decimals if table.shown_decimals is None else table.shown_decimals,
            data=table.data,
            used_data=_used_data(table, columns),
            published_models=tuple(ModelInPrint(model.name, model.published) for model in table.models),
            model=model,
            columns=tuple(column.label for column in columns),
            rows=tuple(rows),
            exceptions=_exceptions(table, columns),
            options=options or {},
            notes=(*table.notes, *self.notes),
            missing=tuple(sorted(self.missing, key=self._is_about_inputs)),
            table=table,
        )

    def _locate_data(self) -> None:
        """List the data of a table without any, also if it was not computed for another reason, such as no model."""
        folder = self.request.at
        names = select_known(self.request.data, self.table.data, f"{self.table.id}: data set")
        if folder is None or not any(locate(find_data_card(name), folder) for name in names):
            for name in names:
                self.locate(name)

    def _is_about_inputs(self, text: str) -> bool:
        """Whether a missing input is not data: those are listed last, because without data a model is no use."""
        return not text.startswith(("data set ", *(f"{name}: " for name in self.table.data)))


def data_at(table: PaperTable, at: str | os.PathLike[str] | None) -> dict[str, bool]:
    """Whether each data set of a published table is in a folder, with the parts that the table needs.

    These are a language pair of its columns, and rankings if all columns depend on them.
    """
    questions = [column.question for column in table.questions if column.question is not None]
    unranked = {row.data for row in table.rows if row.data} | {
        question.data for question in questions if not question.ranked
    }
    ranked = {question.data for question in questions if question.ranked} - unranked
    available = {}
    for name in table.data:
        path = None if at is None else locate(find_data_card(name), at)
        available[name] = (
            path is not None
            and (name not in ranked or (path / _RANKINGS).is_file())
            and _has_outputs(
                name, path, [question.langpair for question in table.questions if question.question in questions]
            )
        )
    return available


def _has_outputs(name: str, path: Path, langpairs: Iterable[str]) -> bool:
    """Whether a WMT package has outputs of one of the language pairs; other data sets are always complete."""
    if not re.fullmatch(r"wmt1[789]", name):
        return True
    try:
        return not set(langpairs).isdisjoint(WmtPackage(path, _year(name)).outputs)
    except InputError:
        return False


def models_at(table: PaperTable) -> dict[str, bool]:
    """Published models and the default model of a table, with whether each is available offline.

    Available are downloaded models of nlgauge and folders in the hub's cache. Empty if the table needs no model.
    """
    locations = {model.name: model.published.partition("huggingface.co/")[2] or model.name for model in table.models}
    if locations:
        locations[table.default_model] = table.default_model
    cards = {name: find_card(location) for name, location in locations.items()}
    return {
        name: (cached_snapshot(location) if (card := cards[name]) is None else cached_card(card)) is not None
        for name, location in locations.items()
    }


def _year(data: str) -> int:
    return 2000 + int(data.removeprefix("wmt"))
