"""`nlgauge reproduce list` and `nlgauge reproduce NAME`: published tables and figures beside ours."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from nlgauge.cli.common import add_run_options, run_options, write_file
from nlgauge.plots import check_figure, check_plotted, plot_study
from nlgauge.published.catalog import PAPER_TABLES, find_paper_table
from nlgauge.published.data import data_at
from nlgauge.published.reproduce import reproduce
from nlgauge.published.reproduce_study import StudyInputs
from nlgauge.published.table import PaperTable
from nlgauge.report.reproduction import render_reproduction, render_tables

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "reproduce", help="a published table or figure: values in print, ours, and why they differ; 'list' shows all"
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
    parser.add_argument("--rows", nargs="+", metavar="METRIC", help="only these rows, by their names in the table")
    parser.add_argument("--langpairs", nargs="+", metavar="PAIR", help="only these language pairs, such as cs-en")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only columns of these data sets, such as wmt17")
    parser.add_argument("--levels", nargs="+", metavar="LEVEL", help="only columns of segment, topic or system level")
    studies = parser.add_argument_group("sensitivity studies (repro-table9 to 15, repro-figure1 and 2)")
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
    studies.add_argument("--ddof", type=int, choices=(0, 1), default=1, help="of the CV (%(default)s)")
    studies.add_argument("--plot", metavar="FILE", help="bars of what was computed (.png, .svg, .pdf)")
    parser.add_argument("--format", choices=("text", "json", "tsv", "latex"), default="text", help="(%(default)s)")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the result as JSON to FILE")
    add_run_options(parser)
    parser.set_defaults(run=_reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    at = args.at or os.environ.get("NLGAUGE_DATA") or None
    if args.name == "list":
        _list(at, as_json=args.format == "json")
        return 0
    table = find_paper_table(args.name)
    target = Path(args.plot) if args.plot else None
    if target is not None:
        check_plotted(table)
        check_figure(target)
    result = reproduce(
        table,
        at=at,
        model=args.model,
        layer=args.layer,
        langpairs=args.langpairs,
        rows=args.rows,
        data=args.data,
        levels=args.levels,
        study=StudyInputs(
            state=args.state,
            idf_corpora=tuple(args.idf_corpus),
            stopwords=tuple(args.stopwords),
            ddof=args.ddof,
        ),
        **run_options(args),
    )
    sys.stdout.write(render_reproduction(result, format=args.format))
    if args.output:
        write_file(args.output, render_reproduction(result, format="json"))
    if target is not None:
        plot_study(result, target)
    return 0


def _list(at: str | None, *, as_json: bool) -> None:
    found = [(table, data_at(table, at)) for table in PAPER_TABLES.values()]
    if as_json:
        print(json.dumps([_described(table, data) for table, data in found], ensure_ascii=False, indent=2))
    else:
        sys.stdout.write(render_tables(found))


def _described(table: PaperTable, data: dict[str, bool]) -> dict[str, Any]:
    return {"id": table.id, "title": table.title, "source": table.source, "data": data}
