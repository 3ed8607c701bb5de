"""`nlgauge study reproduce list` and `nlgauge study reproduce NAME`: published tables and figures next to ours."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nlgauge.apps.cli.common import add_output_options, add_run_options, add_text_options, run_options
from nlgauge.apps.cli.flags import flag_of
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import check_figure
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.published.entries import PAPER_TABLES, find_paper_table
from nlgauge.studies.published.figure import check_plotted
from nlgauge.studies.published.inventory import INVENTORY, PrintedItem
from nlgauge.studies.published.options import StudyInputs
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.published.runs import data_at, models_at
from nlgauge.studies.published.tables import PaperTable

#: Arguments that the list of tables has no use of, and what they are when nobody gives them.
_OF_A_TABLE = ("model", "layer", "rows", "langpairs", "data", "levels", "vectors", "state", "idf_corpus", "stopwords",
               "draws", "plot")  # fmt: skip


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        description="Published values beside ours. Exit status 1 if no value of ours could be computed.",
    )
    parser.add_argument("name", metavar="NAME", help="a table's or figure's id, or 'list'")
    parser.add_argument(
        "--at", metavar="PATH", help="folder under which the data sets lie (default: $NLGAUGE_DATA, if set)"
    )
    parser.add_argument(
        "--model",
        help="name, folder or hub id; 'none' computes only what needs no model (minilm; across languages muse)",
    )
    parser.add_argument(
        "--layer",
        type=int,
        metavar="N",
        help="BERTScore's, for another model than the published one (default: tuned)",
    )
    parser.add_argument("--rows", nargs="+", metavar="ROW", help="only these rows, by their names in the table")
    parser.add_argument("--langpairs", nargs="+", metavar="PAIR", help="only these language pairs, such as cs-en")
    parser.add_argument(
        "--data", nargs="+", metavar="NAME", help="only columns, or frames, of these data sets, such as wmt17"
    )
    parser.add_argument(
        "--levels", nargs="+", metavar="LEVEL", help="only columns of segment, document, topic or system level"
    )
    parser.add_argument(
        "--vectors",
        metavar="FILE",
        help="word vectors (GloVe, word2vec, Dep2Vec) for rows on entities: disco-table1, 8, 11, 12",
    )
    studies = parser.add_argument_group("sensitivity studies (repro-table9 to 15, repro-figure1 to 9)")
    studies.add_argument("--state", metavar="FILE", help="keeps what is finished, so that an interrupted run goes on")
    studies.add_argument(
        "--idf-corpus", nargs="+", default=[], metavar="FILE", help="text files to count idf on (repro-table13)"
    )
    studies.add_argument(
        "--stopwords",
        nargs="+",
        default=[],
        metavar="FILE",
        help="lists of English stop words, instead of iso",
    )
    studies.add_argument(
        "--ddof",
        type=int,
        choices=(0, 1),
        default=1,
        help="degrees of freedom that the coefficient of variation takes off (%(default)s)",
    )
    _add_rankings(parser)
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="a figure of what was computed, for studies and bt-figure2, 3, 4 (.png, .svg, .pdf)",
    )
    add_output_options(parser, width=None)
    add_text_options(parser)
    add_run_options(parser)
    parser.add_help_all()
    parser.set_defaults(run=_reproduce)


def _add_rankings(parser: argparse.ArgumentParser) -> None:
    defaults = RankingOptions()
    group = parser.add_argument_group(
        "rankings of systems (bt-table1, ...); the defaults are those of the released code"
    )
    group.add_argument(
        "--ties",
        choices=("second", "drop", "half"),
        default=defaults.ties,
        help="whose win a tie is in Bradley-Terry and Elo: the later system's, nobody's, half of each (%(default)s)",
    )
    group.add_argument(
        "--tie-tolerance",
        type=float,
        default=defaults.tie_tolerance,
        metavar="X",
        help="scores tie where they differ by at most this, relative to the larger (%(default)g)",
    )
    group.add_argument("--reverse", action="store_true", help="systems in reverse order, to see what depends on it")
    group.add_argument("--full", action="store_true", help="all rows of a frame where the paper draws some of them")
    group.add_argument("--draws", type=int, metavar="N", help="parts of the rows to draw (default: as in the paper)")
    group.add_argument("--seed", type=int, default=defaults.seed, metavar="N", help="of all draws (%(default)s)")
    group.add_argument(
        "--design",
        choices=("coded", "appendix"),
        default=defaults.design,
        help="bt-figure3: as the released code has it, or as the paper's appendix says (%(default)s)",
    )


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
        check_figure(Path(args.plot))
    result = reproduce(
        table,
        at=at,
        model=args.model,
        layer=args.layer,
        langpairs=args.langpairs,
        rows=args.rows,
        data=args.data,
        levels=args.levels,
        vectors=args.vectors,
        study=StudyInputs(
            state=args.state,
            idf_corpora=tuple(args.idf_corpus),
            stopwords=tuple(args.stopwords),
            ddof=args.ddof,
        ),
        rankings=RankingOptions(**{name: getattr(args, name) for name in RankingOptions.options()}),
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
    given = [flag_of(name) for name in _OF_A_TABLE if getattr(args, name) not in (None, [])]
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
        described = [*map(_described, found), *map(_without_entry, left_out)]
        write_output(args.output, json.dumps(described, ensure_ascii=False, indent=2) + "\n")
    else:
        write_output(args.output, _render_list(found, left_out, args.format))


def _described(one: _ListedTable) -> dict[str, Any]:
    return {
        "id": one.table.id,
        "title": one.table.title,
        "source": one.table.source,
        "printed": list(one.printed),
        "data": one.data,
        "models": one.models,
        "reason": None,
    }


def _without_entry(item: PrintedItem) -> dict[str, Any]:
    """A table in print that is not here, with the keys of one that is."""
    printed = [f"{item.paper}, {item.name}"]
    nothing: dict[str, Any] = {"id": None, "title": None, "source": None}
    return nothing | {"printed": printed, "data": {}, "models": {}, "reason": item.reason}


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
