"""Metrics and human judgements: `nlgauge study meta`, `tune-layer` and `learn`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nlgauge.apps.cli.common import (
    METRIC,
    MODEL,
    DocumentOptions,
    check_metrics,
    metric_options,
    output_flags,
    report,
    run_flags,
    run_options,
    scoring_flags,
    write_figure,
    write_output,
    write_result,
)
from nlgauge.apps.cli.compare import score_columns, score_file_flags
from nlgauge.apps.cli.datasets import data_flags, data_folder, load_data, with_documents
from nlgauge.apps.cli.flags import Command, Flags, given_options, read_options, refuse_flags
from nlgauge.core.kinds import Choice, Flag, Many, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import find_data_card, locate
from nlgauge.data.judgements import JudgementTable, RankedPairs, document_table
from nlgauge.data.loaders.wmt import load_wmt_rankings
from nlgauge.errors import FileFormatError, InputError, RecipeError, did_you_mean
from nlgauge.io.storage import short_digest
from nlgauge.studies.learned import LearnOptions, learn_metric
from nlgauge.studies.meta.between import HUMAN, BetweenOptions, relate_metrics
from nlgauge.studies.meta.evaluation import Agreements, evaluate
from nlgauge.studies.meta.levels import AGGREGATES
from nlgauge.studies.meta.pairwise import derive_pairs, ranked_rows
from nlgauge.studies.meta.questions import AGREEMENTS, CORRELATIONS, LEVELS, Question, Significance, check_question
from nlgauge.studies.meta.row_scores import ScoredJudgements, imported_rows, released_rows, sentinels_of
from nlgauge.studies.meta.score_judgements import TuneOptions, score_judgements, tune_layer

if TYPE_CHECKING:
    from nlgauge.data.cards import DataCard


@dataclass(frozen=True, kw_only=True)
class MetaOptions(OptionSet):
    """How agreement with human judgements is measured."""

    level: str = option("segment", Choice(*LEVELS), help="level at which scores are compared")
    agreement: tuple[str, ...] = option(
        ("pearson",),
        Many(Choice(*AGREEMENTS), least=1),
        help="agreement; acc-eq, differences are of topics, spa of systems",
    )
    criterion: str | None = option(None, Text("a criterion"), help="human rating", unset="set by the data set")
    aggregate: str = option(
        "mean", Choice(*AGGREGATES), help="how segment scores become a system score (bt: Bradley-Terry)", hidden=True
    )
    released: tuple[str, ...] = option(
        (), Many(Text("a metric")), help="scores released with the data to include", hidden=True
    )
    between: bool = option(
        False,
        Flag(),
        help="also correlate metrics with each other",
    )
    report: str | None = option(
        None,
        OutputFile(),
        help="HTML report in one file, with all figures",
        needs="between",
        metavar="FILE",
        hidden=True,
    )
    no_sentinels: bool = option(
        False, Flag(), help="leave out the baseline rows: length, chance and copying", hidden=True
    )


def _meta(args: argparse.Namespace) -> int:
    card = find_data_card(args.data)
    if args.metric is None:
        args.metric = ["bertscore"] if card.texts and not args.scores else []
    args.data = card.name
    # At document level, the ids define what is joined, not what is resampled.
    documents = args.documents or (args.document_ids is not None and args.level != "document")
    significance = read_options(args, Significance, {"documents": documents})
    if args.metric:
        check_metrics(args)
    if args.between:
        return _relate(args, card)
    table, pairs = _table(args, card), None
    if "darr" in args.agreement:
        table, pairs = _ranked(args, card, table)
    question = {"level": args.level, "criterion": args.criterion, "aggregate": args.aggregate}
    for agreement in args.agreement:  # refuse unanswerable questions before scoring
        checked = Question(agreement=agreement, **question)
        check_question(checked, table, pairs=pairs, documents=significance.documents)
        significance.resolved(checked)
    names = args.released or ([] if card.texts or args.scores else table.released)
    scored = _score(args, table, names, undefined="nan")
    metrics = scored.names
    if card.texts and not args.no_sentinels:
        scored = scored.add(*sentinels_of(table))
    how: dict[str, Any] = {"significance": significance, "undefined": "nan", "progress": not args.quiet, **question}
    how["pairs"] = pairs
    results = [evaluate(scored, agreement=agreement, **how) for agreement in args.agreement]
    write_result(Agreements(tuple(results)), args)
    values = [cell.value for result in results for name in metrics for cell in result.cells[name].values()]
    if values and not np.isfinite(values).any():
        msg = f"nlgauge: no agreement could be computed for {table.name}; see the notes below the tables"
        print(msg, file=sys.stderr)
        return 1
    return 0


def _relate(args: argparse.Namespace, card: DataCard) -> int:
    """Compare metrics with each other and with human scores."""
    refuse_flags(
        args,
        (*Significance.options(), "document_ids"),
        "has no effect with --between, which tests nothing; leave it out",
    )
    options = {name: getattr(args, name) for name in BetweenOptions.options() if hasattr(args, name)}
    wrong = [kind for kind in args.agreement if kind not in CORRELATIONS]
    if wrong:
        msg = f"--between needs --agreement {', '.join(CORRELATIONS)}, got {wrong[0]!r}"
        raise RecipeError(msg)
    table = _table(args, card)
    check_question(Question(level=args.level, criterion=args.criterion, aggregate=args.aggregate), table)
    names = args.released or ([] if card.texts or args.scores else table.released)
    known = (HUMAN, *(args.metric or ()), *names)
    for name in () if args.scores else args.pair:  # refuse a misspelt name before scoring
        if name not in known:
            msg = f"--pair names {name!r}{did_you_mean(name, known)}; the scores are {', '.join(known)}"
            raise RecipeError(msg)
    scored = _score(args, table, names, undefined="nan")
    result = relate_metrics(scored, **options)
    write_result(result, args)
    if args.report:
        from nlgauge.report.relations import write_relations

        write_figure(args.report, lambda path: write_relations(path, result))
    return 0


def _score(
    args: argparse.Namespace, table: JudgementTable, released: Iterable[str], *, undefined: Literal["raise", "nan"]
) -> ScoredJudgements:
    """Add scores of the metrics, released scores and scores of files to the data."""
    others = [released_rows(table, name) for name in released]
    columns = score_columns(args)
    others += imported_rows(table, args.scores, columns=columns, lower_is_better=args.lower_is_better)
    if not args.metric:
        return ScoredJudgements(table, ()).add(*others)
    run = RunOptions.of(run_options(args))
    scored = score_judgements(table, args.metric, run=run, undefined=undefined, **metric_options(args))
    errors = [error for metric in scored.metrics for error in metric.failed.values()]
    if not others and len(errors) == len(scored.metrics) * len(table.langpairs):
        raise errors[0]  # no metric could be computed, and there are no other scores
    return scored.add(*others)


def _table(args: argparse.Namespace, card: DataCard) -> JudgementTable:
    """Load the data; at document level, rows are documents."""
    every_output = args.level == "system" or "darr" in getattr(args, "agreement", ())
    more = {"level": "system"} if every_output and "level" in card.options else {}
    joined = args.level == "document" and "unit" in card.options and args.document_ids is None
    table = with_documents(load_data(args, **more, **({"unit": "document"} if joined else {})), args)
    if args.level != "document" or joined or (table.document is None and card.whole_texts):
        return table
    return document_table(table)


def _ranked(args: argparse.Namespace, card: DataCard, table: JudgementTable) -> tuple[JudgementTable, RankedPairs]:
    """Human judgements of agreement `darr`: relative rankings of a WMT package, else pairs of raw assessments."""
    if "year" not in card.fixed or "level" not in card.options:
        return table, derive_pairs(table, args.criterion)
    folder = Path(data_folder(args, card.name))
    try:
        pairs = load_wmt_rankings(
            locate(card, folder) or folder, year=card.fixed["year"], langpairs=args.langpairs or None
        )
    except FileFormatError:
        raise
    except InputError as error:
        msg = (
            f"agreement 'darr' needs the relative rankings, RR-seglevel.csv, which are not in {str(folder)!r}. Get "
            f"the file from {card.published}. Direct assessments of this package cannot replace it, because they are "
            "standardised or averaged"
        )
        raise InputError(msg) from error
    return ranked_rows(table, pairs), pairs


@dataclass(frozen=True, kw_only=True)
class MemberOptions(OptionSet):
    """The metrics to combine, and what to do with a combination that does not pay."""

    members: tuple[str, ...] = option(
        (), Many(METRIC, least=2), help="metrics to combine", required=True, metavar="METRIC"
    )
    unproven: bool = option(False, Flag(), help="write the file even if the gain over the best member is not proven")


def _learn(args: argparse.Namespace) -> int:
    check_metrics(args, args.members)
    study = learn_metric(
        load_data(args), args.members, run=RunOptions.of(run_options(args)), **given_options(args, LearnOptions)
    )
    if args.output != "-":
        write_output("-", study.render(args.format, decimals=args.decimals))
    if not args.unproven:
        study.check()
    write_output(args.output, study.weights.text())
    size = f"learned metric of {len(study.weights.members)} members, {short_digest(study.digest)}"
    return report(args, f"{args.output}: {size}; use it with -m {args.output}")


#: Options of `--between`; the others are those of agreement.
_BETWEEN = ("show", "pair", "quality", "most")

COMMANDS = {
    "study meta": Command(
        run=_meta,
        flags=(
            data_flags(),
            *scoring_flags("bertscore"),
            score_file_flags(),
            Flags(MetaOptions, "agreement"),
            Flags(
                BetweenOptions,
                BetweenOptions.called,
                only=_BETWEEN,
                change={name: {"needs": "between", "hidden": True} for name in _BETWEEN},
            ),
            Flags(Significance, "significance", without=["documents"]),
            Flags(DocumentOptions, "significance", without=["unit"]),
            output_flags(3, plot="figure: .png, .svg or .pdf"),
        ),
        description="Correlate metrics with the human judgements of a data set.",
        examples="""\
  nlgauge study meta --data wmt17 --at DATA -m bertscore moverscore
  nlgauge study meta --data wmt17 -m bertscore bleu --between --plot matrix.png
  nlgauge study meta --data custom --at mine.tsv --set human=adequacy
""",
    ),
    "study tune-layer": Command(
        run=lambda args: tune_layer(load_data(args), **given_options(args, TuneOptions), **run_options(args)),
        flags=(
            data_flags(),
            Flags(TuneOptions, change={"model": {"kind": MODEL, "project": True}}),
            *run_flags(texts=True),
            output_flags(plot="figure of correlation by layer: .png, .svg or .pdf"),
        ),
        description="Score a data set with BERTScore (F1, without idf) at every layer of a model. The best layer has "
        "the highest average correlation with human judgements.",
    ),
    "study learn": Command(
        run=_learn,
        flags=(
            data_flags(limit=True),
            Flags(MemberOptions, "metrics"),
            Flags(LearnOptions, "learning"),
            *run_flags(texts=True),
            output_flags(3, formats=("text", "json", "tsv", "csv", "markdown")),
        ),
        description="Learn a combination of metrics from human ratings, measure its gain over the best of them on "
        "ratings that were left out, and write it to a file for -m. Without a proven gain nothing is written.",
        examples="""\
  nlgauge study learn --data wmt15 --members bertscore moverscore:idf=none eed -o mine.json
  nlgauge study learn --data custom --at ratings.tsv --set human=adequacy --members bertscore chrf -o mine.json
  nlgauge score a.txt --refs r.txt -m mine.json
""",
    ),
}
