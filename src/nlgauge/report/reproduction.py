"""A published table next to ours, as text, JSON, TSV, LaTeX or Markdown.

Each metric has up to three lines: `published`, `ours`, `difference`; a line without a value is left out, and the
last line of a metric has the reason. Text has source, recipes, notes and what is missing below; JSON has all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nlgauge._version import __version__
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.report.metrics import deviation_notes
from nlgauge.studies.published.tables import Column, PaperTable

if TYPE_CHECKING:
    from nlgauge.studies.published.inventory import PrintedItem
    from nlgauge.studies.published.runs import ReproducedRow, Reproduction


class ListedTable(NamedTuple):
    """A published table in the list of all."""

    table: PaperTable
    printed: tuple[str, ...]
    """Where it stands in print: paper and number."""
    data: dict[str, bool]
    """Data sets, with whether they are here."""
    models: dict[str, bool]
    """Models in print and the one that stands in for them, with whether they are here."""


def render_reproduction(result: Reproduction, *, format: str = "text") -> str:  # noqa: A002 - as users know it
    """The result as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **result.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    return _table(result, repeat=format == "tsv").write(format, width=result.table.width, line=LINE)


def render_tables(tables: Sequence[ListedTable], left_out: Sequence[PrintedItem], *, format: str = "text") -> str:  # noqa: A002 - as users know it
    """The list of published tables, with whether data and models are here; then those in print without an entry.

    As text or as Markdown.
    """
    rows: list[list[Cell]] = [
        [
            one.table.id,
            _at_hand(one.data) or ("no public copy" if one.table.unavailable else "needs none"),
            f"{one.table.title}; {_models(one)}; {'; '.join(one.printed)}",
        ]
        for one in tables
    ]
    known = Table(["id", "data", "what; models; in print as"], rows)
    others: list[list[Cell]] = [[item.paper, item.name, item.reason] for item in left_out]
    missing = Table(["paper", "in print", "why"], others, "In print, and not here:")
    return f"{known.write(format, line=LINE)}\n{missing.write(format, line=LINE)}"


def _models(one: ListedTable) -> str:
    """How many of the models in print are here, and whether the one in their place is."""
    if not any(row.computed for row in one.table.rows):
        return "only shown"
    if not one.models:
        return "needs no model"
    printed = [one.models[model.name] for model in one.table.models]
    other = one.table.default_model
    stands_in = "" if all(printed) else f"; in their place {other}, {'here' if one.models[other] else 'not here'}"
    return f"models in print: {sum(printed)} of {len(printed)} here{stands_in}"


def _at_hand(data: Mapping[str, bool]) -> str:
    here = [name for name, found in data.items() if found]
    absent = [name for name, found in data.items() if not found]
    return "; ".join([*([_some(here)] if here else []), *([f"not here: {_some(absent)}"] if absent else [])])


def _some(names: Sequence[str]) -> str:
    """Names of a list; of a long one the first three."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _table(result: Reproduction, *, repeat: bool) -> Table:
    columns = [column.label for column in result.columns]
    rows = [line for row in result.rows for line in _lines(row, columns, repeat=repeat)]
    return Table(
        [result.table.row_title, "value", *columns, "reason"],
        rows,
        caption=f"{result.table.id}: {result.table.title}",
        notes=list(_notes(result)),
    )


def _lines(row: ReproducedRow, columns: Sequence[str], *, repeat: bool) -> list[list[Cell]]:
    """The lines of a metric; its name stands in each where a program reads them, else in the first."""
    lines: list[list[Cell]] = []
    for kind in ("published", "ours", "difference"):
        values = [getattr(row.cells[label], kind) for label in columns]
        if any(value is not None for value in values):
            lines.append([row.name if repeat or not lines else "", kind, *values, ""])
    if not lines:
        lines = [[row.name, "", *(None for _ in columns), ""]]
    lines[-1][-1] = row.reason
    return lines


def _notes(result: Reproduction) -> Iterator[str]:
    table = result.table
    yield f"source: {table.source}"
    if table.data:
        shown = [column for column in result.columns if isinstance(column, Column)]
        used = {column.question.data for column in shown if column.question} | {row.data for row in table.rows}
        names = [name for name in table.data if name in used] or table.data
        pairs = sorted({column.langpair for column in shown if column.question})
        yield f"data: {', '.join(names)}" + (f" ({', '.join(pairs)})" if pairs else "")
    if table.models:
        yield f"model: {result.model}; published: {', '.join(model.name for model in table.models)}"
    recipes: dict[str, list[str]] = {}
    for row in result.rows:
        if row.recipe:
            recipes.setdefault(row.recipe, []).append(row.name)
    for recipe, names in recipes.items():
        yield f"recipe: {recipe} = {', '.join(names)}"
    for options, pairs in _exceptions(result).items():
        yield f"recipe: {', '.join(pairs)} with {options}"
    yield from (f"note: {note}" for note in (*table.notes, *result.notes))
    yield from (f"missing: {what}" for what in result.missing)
    yield from deviation_notes([*table.notes, *result.notes, *(row.reason for row in result.rows)])


def _exceptions(result: Reproduction) -> dict[str, list[str]]:
    """Options that recipes have for some of the language pairs shown."""
    shown = {column.langpair for column in result.columns if isinstance(column, Column)}
    found: dict[str, list[str]] = {}
    for row in result.table.rows:
        for pair, options in row.exceptions.items():
            if pair in shown and pair not in found.setdefault(options, []):
                found[options].append(pair)
    return found
