"""`nlgauge study reproduce list`, `NAME` or `--all`: published tables and figures next to ours."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nlgauge.apps.cli.common import FORMAT_OF, MODEL, output_flags, run_flags, run_options, write_figure, write_output
from nlgauge.apps.cli.datasets import DATA_NAME
from nlgauge.apps.cli.flags import Command, Flags, flag_of, given_options, read_options
from nlgauge.core.kinds import Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.published.load import (
    INVENTORY,
    PAPER_TABLES,
    ListedTable,
    PrintedItem,
    PublishedTables,
    find_paper_table,
)
from nlgauge.studies.published.overview import SHARED, AllOptions, ReproducedEntry, reproduce_all
from nlgauge.studies.published.reproduce import ReproduceOptions, StudyInputs, check_plotted, reproduce
from nlgauge.studies.published.runs import NO_MODEL, data_at, models_at
from nlgauge.studies.published.tables import PaperTable

#: Options of a table, which cannot be combined with the list of tables.
_OF_A_TABLE = (ReproduceOptions, StudyInputs, RankingOptions)


@dataclass(frozen=True, kw_only=True)
class TableChoice(OptionSet):
    """A published table."""

    name: str = option(
        "",
        Text("the id of a table or figure, or 'list'", known=lambda: ("list", *PAPER_TABLES)),
        help="id of a table or figure, or 'list'",
        positional=True,
    )


def _reproduce(args: argparse.Namespace) -> int:
    folder = args.at or os.environ.get("NLGAUGE_DATA") or None
    if folder is not None and not os.path.exists(folder):
        msg = f"the data folder {folder!r} does not exist ({'--at' if args.at else 'NLGAUGE_DATA'})"
        raise InputError(msg)
    if args.all:
        return _reproduce_all(args, folder)
    if not args.name:
        msg = "name a table or figure, 'list' or --all"
        raise RecipeError(msg)
    if args.name == "list":
        return _list(args, folder)
    table = find_paper_table(args.name)
    if args.plot:
        check_plotted(table)
    result = reproduce(
        table,
        study=read_options(args, StudyInputs),
        rankings=read_options(args, RankingOptions),
        **(given_options(args, ReproduceOptions) | {"at": folder}),
        **run_options(args),
    )
    write_output(args.output, result.render(args.format))
    if not any(row.has_ours for row in result.rows):
        print(f"nlgauge: no value of {table.id} could be recomputed; the notes list what is missing", file=sys.stderr)
        return 1
    write_figure(args.plot, result.save_figure)
    return 0


#: Characters of a reason in a line of progress.
_REASON_WIDTH = 100


def _cut(text: str) -> str:
    """The start of a text, cut between words, and without the addresses of missing data."""
    text = text.removeprefix("not computed: ").partition("; available at ")[0].partition("; name the folder ")[0]
    text = re.sub(r" \([^)]*\.\w+/[^)]*\)", "", text)  # web addresses
    if len(text) <= _REASON_WIDTH:
        return text
    return f"{text[: _REASON_WIDTH + 1].rpartition(' ')[0].rstrip(' ,;:(')} ..."


def _reproduce_all(args: argparse.Namespace, folder: str | None) -> int:
    shared = {name: value for name, value in given_options(args, ReproduceOptions).items() if name in SHARED}
    other = [name for options in _OF_A_TABLE for name in given_options(args, options) if name not in shared]
    if other or args.plot or args.name:
        words = [*([args.name] if args.name else []), *map(flag_of, [*other, *(["plot"] if args.plot else [])])]
        msg = f"--all recomputes all tables; leave out --all or {', '.join(words)}"
        raise RecipeError(msg)
    extension = os.path.splitext(args.output)[1].lower()
    form = args.format if "format" in args.given else FORMAT_OF.get(extension, "text")
    chosen = {name: value for name, value in given_options(args, AllOptions).items() if name != "all"}

    def report(entry: ReproducedEntry, number: int, count: int) -> None:
        cells = sum(entry.counts.values())
        outcome = f"{cells} cells" if cells else f"not run: {_cut(entry.why_not_computed)}"
        limit = ", cut short by the time limit" if entry.limited else ""
        print(f"{number} of {count}, {entry.id}: {outcome} ({entry.seconds:.0f} s{limit})", file=sys.stderr)

    result = reproduce_all(
        **chosen,
        **(shared | {"at": folder}),
        run=RunOptions(**run_options(args)),
        report=None if args.quiet else report,
    )
    write_output(args.output, result.to_page() if form == "html" else result.render(form))
    if not args.quiet:
        print(f"nlgauge: {result.summary}", file=sys.stderr)
    return 0 if result.totals["run"] else 1


def _list(args: argparse.Namespace, folder: str | None) -> int:
    names = [name for options in _OF_A_TABLE for name in given_options(args, options) if name != "at"]
    flags = [flag_of(name) for name in (*names, *(["plot"] if args.plot else []))]
    if flags:
        msg = f"{', '.join(flags)} {'goes' if len(flags) == 1 else 'go'} with the name of a table, not with 'list'"
        raise RecipeError(msg)
    if args.format not in {"text", "json", "markdown"}:
        msg = f"'list' is printed as text, json or markdown, got --format {args.format}"
        raise RecipeError(msg)
    printed: dict[str, list[str]] = {}
    for item in INVENTORY:
        for name in item.entries:
            printed.setdefault(name, []).append(item.title)
    entries = {
        name: ListedTable(
            *(name, table.title, table.source, tuple(printed.get(name, ()))), data_at(table, folder), models_at(table)
        )
        for name, table in PAPER_TABLES.items()
    }
    left_out = [item for item in INVENTORY if not item.entries]
    if args.format == "json":
        missing = [
            ListedTable(None, None, None, (f"{item.paper}, {item.name}",), {}, {}, item.reason) for item in left_out
        ]
        write_output(args.output, PublishedTables((*entries.values(), *missing)).render("json"))
    else:
        write_output(args.output, _render_list(entries, left_out, args.format))
    return 0


def _render_list(entries: Mapping[str, ListedTable], left_out: Sequence[PrintedItem], form: str) -> str:
    """Format the published tables with available data and models, then those without an entry."""
    rows: list[list[Cell]] = []
    for name, entry in entries.items():
        table = PAPER_TABLES[name]
        data = _list_data(entry.data) or ("no public copy" if table.unavailable else "needs none")
        rows.append([name, data, f"{table.title}; {_models(table, entry.models)}; {'; '.join(entry.printed)}"])
    included = Table(["id", "data", "what; models; in print as"], rows)
    others: list[list[Cell]] = [[item.paper, item.name, item.reason] for item in left_out]
    missing = Table(["paper", "in print", "why"], others, "Published, but not included:")
    return f"{included.write(form, line=LINE)}\n{missing.write(form, line=LINE)}"


def _models(table: PaperTable, models: Mapping[str, bool]) -> str:
    """Describe how many published models are available, and whether their substitute is."""
    if not any(row.computed for row in table.rows):
        return "published values only"
    if not models:
        return "needs no model"
    printed = [models[model.name] for model in table.models]
    other = table.default_model
    downloaded = "downloaded" if models[other] else "not downloaded"
    stands_in = f"; else {other} ({downloaded})"
    if all(printed):
        stands_in = ""
    elif other == NO_MODEL:
        stands_in = "; else released scores"
    return f"models of the paper: {sum(printed)} of {len(printed)} downloaded{stands_in}"


def _list_data(data: Mapping[str, bool]) -> str:
    """List available and missing data sets, at most three of each."""
    parts = []
    for available, prefix in ((True, ""), (False, "not here: ")):
        names = [name for name, is_here in data.items() if is_here == available]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        parts += [f"{prefix}{', '.join(names[:3])}{more}"] if names else []
    return "; ".join(parts)


_CHANGE: dict[str, dict[str, Any]] = {
    "at": {"unset": "$NLGAUGE_DATA", "metavar": "PATH"},
    "model": {"kind": MODEL},
    "data": {"kind": Many(DATA_NAME)},
}
_PLOT = "figure (.png, .svg, .pdf), for entries such as repro-figure1 and disco-figure2"
_RANKINGS = "system rankings (bt-table1, ...); defaults as in the released code"

COMMANDS = {
    "study reproduce": Command(
        run=_reproduce,
        flags=(
            Flags(TableChoice),
            Flags(AllOptions, "all tables"),
            Flags(ReproduceOptions, change=_CHANGE),
            Flags(StudyInputs, "sensitivity studies (repro-table9 to 15, repro-figure1 to 9)"),
            Flags(RankingOptions, _RANKINGS),
            output_flags(None, plot=_PLOT),
            *run_flags(texts=True),
        ),
        description="Recompute a published table or figure and print both values side by side, or all tables on one "
        "page (--all -o FILE.md, .html, .json or .tsv). Exit status 1: no value could be recomputed.",
    )
}
