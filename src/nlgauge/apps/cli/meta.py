"""`nlgauge study meta` (correlation of metrics with human judgements) and `nlgauge study tune-layer`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    MODEL,
    DocumentOptions,
    add_output_options,
    add_run_options,
    add_scoring_options,
    metric_options,
    run_options,
)
from nlgauge.apps.cli.compare_inputs import add_score_file_options, score_columns
from nlgauge.apps.cli.datasets import add_data_options, load_data, with_documents
from nlgauge.apps.cli.flags import add_flags, given_options, read_options
from nlgauge.apps.cli.operations import write_result
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.kinds import Choice, Flag, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import find_data_card
from nlgauge.data.judgements import JudgementTable, document_table
from nlgauge.studies.meta.agreement import Agreements
from nlgauge.studies.meta.evaluation import evaluate
from nlgauge.studies.meta.metric_values import ScoredJudgements, imported_rows
from nlgauge.studies.meta.questions import AGREEMENTS, LEVELS, Question, Significance, check_question
from nlgauge.studies.meta.score_table import released_rows, score_table, sentinels_of
from nlgauge.studies.meta.tune_layer import TuneOptions, tune_layer

if TYPE_CHECKING:
    from nlgauge.data.card import DataCard

_EXAMPLES = f"""\
examples:
  nlgauge study meta --data wmt17 --at DATA --metric bertscore moverscore --plot wmt17.png
  nlgauge study meta --data tac2008 --at DATA --level topic --metric rouge1 rouge2
  nlgauge study meta --data mt-metrics-eval --at wmt20 --level document --agreement kendall
  nlgauge study meta --data custom --at mine.tsv --set human=adequacy hypothesis=mt
{METRIC_FLAGS}"""


@dataclass(frozen=True, kw_only=True)
class MetaOptions(OptionSet):
    """What metrics are compared with, and how."""

    level: str = option("segment", Choice(*LEVELS), help="level")
    agreement: tuple[str, ...] = option(
        ("pearson",), Many(Choice(*AGREEMENTS), least=1), help="measures of agreement"
    )
    criterion: str | None = option(None, Text("a criterion"), help="human rating", unset="set by the data set")
    aggregate: str = option(
        "mean", Choice("mean", "median"), help="score of a system, from its segments", hidden=True
    )
    released: tuple[str, ...] = option(
        (), Many(Text("a metric")), help="scores that came with the data, as rows", hidden=True
    )
    no_sentinels: bool = option(False, Flag(), help="leave out the rows of length, chance and copying", hidden=True)


def add_meta(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        description="Score a data set with human judgements, and say how well each metric agrees with people.",
        epilog=_EXAMPLES,
    )
    add_data_options(parser)
    add_scoring_options(parser, default="bertscore")
    add_score_file_options(parser)
    add_flags(parser, MetaOptions, title="agreement")
    tests = add_flags(parser, Significance, title="significance", without=["documents"])
    add_flags(tests, DocumentOptions, without=["unit"])
    add_output_options(parser, width=3, plot="bars with intervals: .png, .svg or .pdf")
    parser.add_help_all()
    parser.set_defaults(run=_meta)


def add_tune_layer(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    tune = add_parser(
        description="Score a data set with BERTScore (F, no idf) at every layer of a model; the layer with the best "
        "average correlation is the best."
    )
    add_data_options(tune)
    add_flags(tune, TuneOptions, change={"model": {"kind": MODEL, "project": True}})
    add_run_options(tune, texts=True)
    add_output_options(tune)
    tune.add_help_all()
    tune.set_defaults(run=_tune)


def _meta(args: argparse.Namespace) -> int:
    card = find_data_card(args.data)
    if args.metric is None:
        args.metric = ["bertscore"] if card.texts and not args.scores else []
    if args.metric:
        check_metrics(args.metric, args, command="study meta")
    columns = score_columns(args)
    args.data = card.name
    by_document = args.level == "document"
    # At the level of documents the ids say what is joined, and not what is drawn.
    documents = args.documents or (args.document_ids is not None and not by_document)
    significance = read_options(args, Significance, {"documents": documents})
    table = _table(args, card)
    asked = {"level": args.level, "criterion": args.criterion, "aggregate": args.aggregate}
    names = args.released or ([] if card.texts or args.scores else table.released)
    released = [released_rows(table, name) for name in names]
    released += imported_rows(table, args.scores, columns=columns, lower_is_better=args.lower_is_better)
    for agreement in args.agreement:  # what has no answer is an error before the work, not after
        question = Question(agreement=agreement, **asked)
        check_question(question, table, documents=significance.documents)
        significance.resolved(question)
    run = RunOptions.of(run_options(args))
    scored = ScoredJudgements(table, ())
    if args.metric:
        scored = score_table(table, args.metric, run=run, undefined="nan", **metric_options(args))
        _check_scored(scored, alone=not released)
    scored = scored.add(*released)
    asked_for = scored.names
    if card.texts and not args.no_sentinels:
        scored = scored.add(*sentinels_of(table))
    results = [
        evaluate(
            scored, agreement=agreement, significance=significance, undefined="nan", progress=run.progress, **asked
        )
        for agreement in args.agreement
    ]
    write_result(Agreements(tuple(results)), args)
    values = [cell.value for result in results for name in asked_for for cell in result.cells[name].values()]
    if values and not np.isfinite(values).any():
        print(
            f"nlgauge: no agreement could be computed for {table.name}; see the notes below the tables",
            file=sys.stderr,
        )
        return 1
    return 0


def _check_scored(scored: ScoredJudgements, *, alone: bool) -> None:
    """Raise what kept every metric from being computed, where nothing else was asked for."""
    errors = [error for metric in scored.metrics for error in metric.failed.values()]
    if alone and len(errors) == len(scored.metrics) * len(scored.table.langpairs):
        raise errors[0]


def _table(args: argparse.Namespace, card: DataCard) -> JudgementTable:
    """The data as the level has it: rows are documents at that of documents."""
    more = {"level": "system"} if args.level == "system" and "level" in card.options else {}
    joined = args.level == "document" and "unit" in card.options and args.document_ids is None
    table = with_documents(load_data(args, **more, **({"unit": "document"} if joined else {})), args)
    if args.level != "document" or joined or (table.document is None and card.whole_texts):
        return table
    return document_table(table)


def _tune(args: argparse.Namespace) -> int:
    options = given_options(args, TuneOptions)
    write_result(tune_layer(load_data(args), **options, **run_options(args)), args)
    return 0
