"""`nlgauge study reproduce list` and `nlgauge study reproduce NAME`: published tables and figures next to ours."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nlgauge.apps.cli.common import MODEL, add_output_options, add_run_options, run_options
from nlgauge.apps.cli.datasets import DATA_NAME
from nlgauge.apps.cli.flags import add_flags, flag_of, given_options, read_options
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.kinds import Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.published.figure import check_plotted
from nlgauge.studies.published.load import (
    INVENTORY,
    PAPER_TABLES,
    ListedTable,
    PrintedItem,
    PublishedTables,
    find_paper_table,
)
from nlgauge.studies.published.reproduce import ReproduceOptions, StudyInputs, reproduce
from nlgauge.studies.published.runs import data_at, models_at
from nlgauge.studies.published.tables import PaperTable

#: Options of a table, which the list of tables has no use of.
_OF_A_TABLE = (ReproduceOptions, StudyInputs, RankingOptions)


@dataclass(frozen=True, kw_only=True)
class TableChoice(OptionSet):
    """A published table."""

    name: str = option(
        "",
        Text("the id of a table or figure, or 'list'", known=lambda: ("list", *PAPER_TABLES)),
        help="id of a table or figure, or 'list'",
        positional=True,
        required=True,
    )


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        description="Published values beside ours. Exit status 1 if no value of ours could be computed."
    )
    add_flags(parser, TableChoice)
    change: dict[str, dict[str, Any]] = {
        "at": {"unset": "$NLGAUGE_DATA, if set", "metavar": "PATH"},
        "model": {"kind": MODEL},
        "data": {"kind": Many(DATA_NAME)},
    }
    add_flags(parser, ReproduceOptions, change=change)
    add_flags(parser, StudyInputs, title="sensitivity studies (repro-table9 to 15, repro-figure1 to 9)")
    add_flags(
        parser,
        RankingOptions,
        title="rankings of systems (bt-table1, ...); the defaults are those of the released code",
    )
    add_output_options(
        parser, width=None, plot="figure of what was computed, for studies and bt-figure2, 3, 4 (.png, .svg, .pdf)"
    )
    add_run_options(parser, texts=True)
    parser.add_help_all()
    parser.set_defaults(run=_reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    at = args.at or os.environ.get("NLGAUGE_DATA") or None
    if at is not None and not os.path.exists(at):
        msg = f"the folder of data {at!r} does not exist ({'--at' if args.at else 'NLGAUGE_DATA'})"
        raise InputError(msg)
    if args.name == "list":
        _list(args, at)
        return 0
    table = find_paper_table(args.name)
    if args.plot:
        check_plotted(table)
    result = reproduce(
        table,
        study=read_options(args, StudyInputs),
        rankings=read_options(args, RankingOptions),
        **(given_options(args, ReproduceOptions) | {"at": at}),
        **run_options(args),
    )
    write_output(args.output, result.render(args.format))
    if not any(row.has_ours for row in result.rows):
        print(f"nlgauge: nothing of {table.id} could be computed here; see what is missing", file=sys.stderr)
        return 1
    if args.plot:
        with saving(args.plot) as target:
            result.save_figure(target)
    return 0


class _ListedTable(NamedTuple):
    """A published table in the list of all."""

    table: PaperTable
    printed: tuple[str, ...]
    """Where it stands in print: paper and number."""
    data: dict[str, bool]
    """Data sets, with whether they are here."""
    models: dict[str, bool]
    """Models in print and the one that stands in for them, with whether they are here."""


def _list(args: argparse.Namespace, at: str | None) -> None:
    names = [name for options in _OF_A_TABLE for name in given_options(args, options) if name != "at"]
    given = [flag_of(name) for name in (*names, *(["plot"] if args.plot else []))]
    if given:
        msg = f"{', '.join(given)} {'goes' if len(given) == 1 else 'go'} with a table's name, not with 'list'"
        raise RecipeError(msg)
    if args.format not in {"text", "json", "markdown"}:
        msg = f"'list' is printed as text, json or markdown, got --format {args.format}"
        raise RecipeError(msg)
    printed: dict[str, list[str]] = {}
    for item in INVENTORY:
        for name in item.entries:
            printed.setdefault(name, []).append(item.title)
    found = [
        _ListedTable(table, tuple(printed.get(table.id, ())), data_at(table, at), models_at(table))
        for table in PAPER_TABLES.values()
    ]
    left_out = [item for item in INVENTORY if not item.entries]
    if args.format == "json":
        entries = PublishedTables((*map(_described, found), *map(_without_entry, left_out)))
        write_output(args.output, entries.render("json"))
    else:
        write_output(args.output, _render_list(found, left_out, args.format))


def _described(one: _ListedTable) -> ListedTable:
    table = one.table
    return ListedTable(table.id, table.title, table.source, one.printed, one.data, one.models)


def _without_entry(item: PrintedItem) -> ListedTable:
    """A table in print that is not here."""
    return ListedTable(None, None, None, (f"{item.paper}, {item.name}",), {}, {}, item.reason)


def _render_list(tables: Sequence[_ListedTable], left_out: Sequence[PrintedItem], form: str) -> str:
    """The list of published tables, with whether data and models are here; then those in print without an entry."""
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
    return f"{known.write(form, line=LINE)}\n{missing.write(form, line=LINE)}"


def _models(one: _ListedTable) -> str:
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
