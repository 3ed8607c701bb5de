"""A published table recomputed: each printed value next to ours, the reason for a difference, and the data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nlgauge.core.result import Result
from nlgauge.data.cards import find_data_card, load, locate
from nlgauge.data.judgements import JudgementTable, RankedPairs, select_known
from nlgauge.data.loaders.wmt import WmtPackage, load_wmt_rankings
from nlgauge.errors import FileFormatError, InputError, MissingExtraError, NlgaugeError, RecipeError
from nlgauge.io.store.catalog import find_card
from nlgauge.io.store.fetch import cached_card
from nlgauge.io.store.hub import cached_snapshot
from nlgauge.io.table import LINE, Cell, Table, deviation_notes
from nlgauge.studies.meta.pairwise import ranked_rows
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.tables import Column, PaperTable, TableRow

if TYPE_CHECKING:
    from nlgauge.studies.published.reproduce import Request


class ReproducedCell(NamedTuple):
    """A value in print beside ours, both on the scale of the print; None where there is none.

    A value is a number, or a name where a table prints names (the best setting of a language pair).
    """

    published: float | str | None
    ours: float | str | None
    difference: float | None
    """Ours minus the published value; None for names."""


def compared_cell(
    published: float | str | None, ours: float | str | None, *, absolute: bool = False
) -> ReproducedCell:
    """A value in print beside ours; print that hides signs (`absolute`) is compared with ours without its own."""
    numbers = [value for value in (ours, published) if isinstance(value, float | int)]
    difference = (abs(numbers[0]) if absolute else numbers[0]) - numbers[1] if len(numbers) == 2 else None
    return ReproducedCell(published, ours, difference)


@dataclass(frozen=True)
class ReproducedRow:
    """A metric of the table."""

    name: str
    cells: Mapping[str, ReproducedCell]
    """By column."""
    recipe: str
    """With the model at hand; empty for a row that is only shown."""
    reason: str
    """Why ours differs, or is missing."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """By column."""

    @property
    def has_ours(self) -> bool:
        """Whether a value of it was computed."""
        return any(cell.ours is not None for cell in self.cells.values())

    def has(self, label: str) -> bool:
        """Whether its cell of a column has a value, in print or ours."""
        cell = self.cells[label]
        return cell.published is not None or cell.ours is not None


#: Why a row has no value of ours, where the reason stands below the table.
NOT_COMPUTED = "not computed: see what is missing"

#: Why a row of entities is not computed.
NEEDS_VECTORS = "needs word vectors (--vectors FILE)"


def cells_of(
    row: TableRow, columns: Iterable[Column], ours: Mapping[str, float | str], *, absolute: bool = False
) -> dict[str, ReproducedCell]:
    """The cells of a row, with our values by column."""
    labels = [column.label for column in columns]
    return {label: compared_cell(row.published.get(label), ours.get(label), absolute=absolute) for label in labels}


class ModelInPrint(NamedTuple):
    """A model that a paper used, and where it is published."""

    name: str
    published: str


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """A table, recomputed.

    Each row has up to three lines: `published`, `ours`, `difference`; a line without a value is left out, and the
    last line of a row has the reason. Source, recipes, notes and what is missing are below the table.
    """

    format = "nlgauge-reproduction-1"
    line = LINE
    unwritten = ("table",)

    id: str
    title: str
    source: str
    row_title: str
    """What a row is."""
    shown_decimals: int
    data: tuple[str, ...]
    """Data sets that the table needs."""
    used_data: str
    """Those that were asked for, and their language pairs, in words."""
    published_models: tuple[ModelInPrint, ...]
    model: str
    """Empty where nothing is encoded."""
    columns: tuple[str, ...]
    rows: tuple[ReproducedRow, ...]
    exceptions: Mapping[str, tuple[str, ...]]
    """Options that recipes have for some of the language pairs, with these pairs."""
    options: Mapping[str, Any]
    """How a table on rankings was run."""
    notes: tuple[str, ...]
    """Those of the table, then what this run adds."""
    missing: tuple[str, ...]
    """What is not here, and where it is published."""
    table: PaperTable | None = None
    """Not in JSON."""

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
        """One table; the name of a row is in each of its lines where a program reads them, else in the first."""
        repeat = form in ("tsv", "csv", "html")
        rows = [line for row in self.rows for line in self._lines(row, repeat=repeat)]
        columns = [self.row_title, "value", *self.columns, "reason"]
        return [Table(columns, rows, f"{self.id}: {self.title}", list(self._notes()))]

    def figure(self) -> Any:
        """What was computed; only sensitivity studies and some tables on rankings have a figure."""
        from nlgauge.studies.published.reproduce import draw_reproduction

        return draw_reproduction(self)

    def _lines(self, row: ReproducedRow, *, repeat: bool) -> list[list[Cell]]:
        lines: list[list[Cell]] = []
        for kind in ReproducedCell._fields:
            values = [getattr(row.cells[column], kind) for column in self.columns]
            if any(value is not None for value in values):
                lines.append([row.name if repeat or not lines else "", kind, *values, ""])
        if not lines:
            lines = [[row.name, "", *(None for _ in self.columns), ""]]
        lines[-1][-1] = row.reason
        return lines

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
        yield from (f"missing: {what}" for what in self.missing)
        yield from deviation_notes([*self.notes, *(row.reason for row in self.rows)])


def _used_data(table: PaperTable, columns: Sequence[Column]) -> str:
    shown = [column for column in columns if not column.over]
    used = {column.question.data for column in shown if column.question} | {row.data for row in table.rows}
    names = [name for name in table.data if name in used] or table.data
    pairs = sorted({column.langpair for column in shown if column.question})
    return ", ".join(names) + (f" ({', '.join(pairs)})" if names and pairs else "")


def _exceptions(table: PaperTable, columns: Sequence[Column]) -> dict[str, tuple[str, ...]]:
    """Options that recipes have for some of the language pairs shown."""
    shown = {column.langpair for column in columns if not column.over}
    pairs: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for pair, options in row.exceptions.items():
            if pair in shown:
                pairs.setdefault(options, {})[pair] = None
    return {options: tuple(names) for options, names in pairs.items()}


def agrees(cells: Iterable[ReproducedCell], decimals: int) -> str:
    """How our values become the printed ones, if they all do; empty where one differs or none is in print.

    >>> agrees([compared_cell(0.743, 0.7436)], 3)
    'as published, truncated'
    """
    step = 10.0**-decimals
    # Ours minus print: at most half a step when print is rounded, up to a step of the same sign when it is cut.
    off = [cell.difference / step for cell in cells if cell.difference is not None]
    slack = 1e-6
    if not off:
        return ""
    if all(abs(one) <= 0.5 + slack for one in off):
        return "as published"
    return "as published, truncated" if all(-0.5 - slack <= one < 1 for one in off) else ""


#: The name of a model that computes only what needs none: lexical metrics and released scores.
NO_MODEL = "none"

#: Relative rankings of a WMT package.
_RANKINGS = "RR-seglevel.csv"


class DataSlice(NamedTuple):
    """Columns that are answered by the same rows of a data set."""

    data: str
    options: tuple[tuple[str, Any], ...]
    langpair: str
    """Empty: all of its language pairs."""
    ranked: bool


class JudgedRows(NamedTuple):
    """Rows to score, with the ranked pairs where people's side is these."""

    table: JudgementTable
    pairs: RankedPairs | None


def slice_of(question: Question, langpair: str, *, data: str = "") -> DataSlice:
    """The rows that answer a question for a language pair, or those of another data set that stand for them."""
    return DataSlice(data or question.data, () if data else question.options, langpair, question.ranked)


class Run:
    """A table that is being computed: the request, what is missing, and notes of the run."""

    def __init__(self, request: Request) -> None:
        self.request, self.table = request, request.table
        self.missing: dict[str, None] = {}
        """What is not here and where it is published; a dictionary, as a thing is listed once."""
        self.notes: dict[str, None] = {}

    @contextmanager
    def or_missing(self, what: str) -> Iterator[None]:
        """Enter what cannot be computed as missing, with the reason, so that the rest of a table stays.

        A broken file stays an error: what is read from it cannot be trusted elsewhere either.
        """
        try:
            yield
        except FileFormatError:
            raise
        except NlgaugeError as error:
            self.missing[f"{what}: {error}"] = None

    def columns(self) -> tuple[Column, ...]:
        """The columns of the data sets, language pairs and levels asked for; averages that lack none of theirs."""
        table, request = self.table, self.request
        asked = [column.question for column in table.questions if column.question is not None]
        pairs = select_known(request.langpairs, table.langpairs, f"{table.id}: language pair")
        sets = select_known(request.data, table.data, f"{table.id}: data set")
        levels = list(dict.fromkeys(question.level for question in asked))
        wanted = select_known(request.levels, levels, f"{table.id}: level")
        labels = {
            column.label
            for column in table.questions
            if column.langpair in pairs
            and (column.question is None or (column.question.data in sets and column.question.level in wanted))
        }
        # An average of fewer columns than in print would be another number under the same name.
        for column in table.columns:
            if column.over and set(column.over) <= labels:
                labels.add(column.label)  # print also has averages of averages
        return tuple(column for column in table.columns if column.label in labels)

    def locate(self, data: str) -> Path | None:
        """The place of a data set; None where it is not here, with an entry of what is missing."""
        card, folder = find_data_card(data), self.request.at
        place = None if folder is None else locate(card, folder)
        if place is None:
            where = "no folder of data was given (--at PATH)" if folder is None else f"not under {folder!r}"
            self.missing[f"data set {card.name}: {where}; published at {card.published}"] = None
        return place

    def judged(self, part: DataSlice) -> JudgedRows | None:
        """The rows of a part; None where they are not here, with an entry of what is missing."""
        place = self.locate(part.data)
        if place is None:
            return None
        try:
            # Rankings first: they are small, and without them the texts are of no use.
            pairs = load_wmt_rankings(place, year=_year(part.data), langpairs=part.langpair) if part.ranked else None
            table = load(part.data, place, langpairs=part.langpair or None, **dict(part.options))
        except FileFormatError:
            raise
        except (InputError, RecipeError, MissingExtraError) as error:
            what = str(error).removeprefix(f"{part.data}: ")
            self.missing[f"{part.data}: {what}; published at {find_data_card(part.data).published}"] = None
            return None
        return JudgedRows(table, None) if pairs is None else JudgedRows(ranked_rows(table, pairs), pairs)

    def row(self, row: TableRow, ours: Mapping[str, float], reason: str, recipe: str = "") -> ReproducedRow:
        """A row with our values by column."""
        return ReproducedRow(row.name, cells_of(row, self.table.columns, ours), recipe, reason)

    def result(
        self,
        rows: Sequence[ReproducedRow],
        columns: Sequence[Column] | None = None,
        *,
        model: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> Reproduction:
        """The table with these rows, and with the columns that were asked for."""
        table = self.table
        columns = table.columns if columns is None else columns
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
            missing=tuple(self.missing),
            table=table,
        )


def data_at(table: PaperTable, at: str | os.PathLike[str] | None) -> dict[str, bool]:
    """Whether each data set of a published table lies under a folder, with what of it the table needs.

    That is a language pair of its columns, and rankings where all depends on them.
    """
    asked = [column.question for column in table.questions if column.question is not None]
    unranked = {row.data for row in table.rows if row.data} | {one.data for one in asked if not one.ranked}
    ranked = {one.data for one in asked if one.ranked} - unranked
    found = {}
    for name in table.data:
        place = None if at is None else locate(find_data_card(name), at)
        found[name] = (
            place is not None
            and (name not in ranked or (place / _RANKINGS).is_file())
            and _has_outputs(name, place, [one.langpair for one in table.questions if one.question in asked])
        )
    return found


def _has_outputs(name: str, place: Path, langpairs: Iterable[str]) -> bool:
    """Whether a package of WMT has outputs of one of the language pairs; other data sets have all of theirs."""
    if not re.fullmatch(r"wmt1[789]", name):
        return True
    try:
        return not set(langpairs).isdisjoint(WmtPackage(place, _year(name)).outputs)
    except InputError:
        return False


def models_at(table: PaperTable) -> dict[str, bool]:
    """The models in print and the one that stands in for them, with whether each can be had without the network.

    A model is one of nlgauge's that was fetched, or a folder of the hub's. Empty if none is needed.
    """
    places = {model.name: model.published.partition("huggingface.co/")[2] or model.name for model in table.models}
    if places:
        places[table.default_model] = table.default_model
    cards = {name: find_card(place) for name, place in places.items()}
    return {
        name: (cached_snapshot(place) if (card := cards[name]) is None else cached_card(card)) is not None
        for name, place in places.items()
    }


def _year(data: str) -> int:
    return 2000 + int(data.removeprefix("wmt"))
