"""`nlgauge build norms` (means and deviations of metrics) and `nlgauge study ensemble` (the best pair to join)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    add_output_file,
    add_output_options,
    add_scoring_options,
    metric_options,
    run_options,
)
from nlgauge.apps.cli.compare_inputs import ScoreFiles, add_score_file_options, score_columns
from nlgauge.apps.cli.datasets import add_data_options, load_data
from nlgauge.apps.cli.flags import add_flags, given_options
from nlgauge.apps.cli.meta import MetaOptions
from nlgauge.apps.cli.operations import write_result
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score_table import load_scores
from nlgauge.errors import RecipeError
from nlgauge.io.storage import short_digest
from nlgauge.io.textfiles import file_label
from nlgauge.studies.ensembles import SearchOptions, fit_norms, norms_of_scores, search_ensembles
from nlgauge.studies.meta.metric_values import ScoredJudgements, imported_rows
from nlgauge.studies.meta.score_table import released_rows, score_table

_FIT = f"""\
examples:
  nlgauge build norms --data wmt17-testset --metric bertscore moverscore -o norms.json
  nlgauge score a.txt --refs r.txt --metric bertscore chrf -o a.json
  nlgauge build norms --scores a.json -o norms.json
  nlgauge score a.txt --refs r.txt --metric ensemble:bertscore+chrf,norms=norms.json
{METRIC_FLAGS}"""


def add_norms(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    fit = add_parser(
        description="Compute means and deviations of metrics over a data set, or over saved scores.", epilog=_FIT
    )
    add_data_options(fit, required=False)
    saved = {"scores": {"help": "saved by 'nlgauge score -o FILE.json'"}}
    add_flags(fit, ScoreFiles, only=["scores"], change=saved)
    add_scoring_options(fit, default="none", project=False)
    add_output_file(fit, "norms, a .json file; - for stdout")
    fit.add_help_all()
    fit.set_defaults(run=_fit)


def add_search(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    search = add_parser(
        description="All pairs of metrics, chosen on one half of the segments and judged on the other.",
        epilog="example:\n  nlgauge study ensemble --data wmt17-testset --metric bertscore moverscore chrf smd",
    )
    add_data_options(search)
    add_scoring_options(search, default="none", project=False)
    add_score_file_options(search)
    add_flags(search, MetaOptions, only=["released", "criterion"], change={"released": {"hidden": False}})
    add_flags(search, SearchOptions)
    add_output_options(search, width=3)
    search.add_help_all()
    search.set_defaults(run=_search)


def _fit(args: argparse.Namespace) -> int:
    if bool(args.data) == bool(args.scores):
        msg = "nlgauge build norms needs a data set with metrics (--data NAME --metric ...), or --scores FILE"
        raise RecipeError(msg)
    if args.scores:
        if args.metric:
            msg = "--metric is not read with --scores: the files say which metrics they hold; leave it out"
            raise RecipeError(msg)
        files = [(file, load_scores(Path(file))) for file in args.scores]
        data = ", ".join(file_label(file) for file, _ in files)
        norms = norms_of_scores([score for _, saved in files for score in saved], data=data)
    else:
        if not args.metric:
            msg = "nlgauge build norms --data needs the members: --metric bertscore moverscore"
            raise RecipeError(msg)
        check_metrics(args.metric, args, command="build norms")
        run = RunOptions.of(run_options(args))
        norms = fit_norms(load_data(args), args.metric, run=run, **metric_options(args))
    write_output(args.output, norms.text())
    if not args.quiet:
        what = f"norms of {len(norms.members)} metrics ({norms.data})"
        print(f"{args.output}: {what}, {short_digest(norms.digest)}", file=sys.stderr)
    return 0


def _search(args: argparse.Namespace) -> int:
    columns = score_columns(args)
    if args.metric:
        check_metrics(args.metric, args, command="study ensemble")
    table = load_data(args)
    others = [released_rows(table, name) for name in args.released]
    others += imported_rows(table, args.scores, columns=columns, lower_is_better=args.lower_is_better)
    run = RunOptions.of(run_options(args))
    scored = ScoredJudgements(table, ())
    if args.metric:
        scored = score_table(table, args.metric, run=run, undefined="raise", **metric_options(args))
    found = search_ensembles(
        scored.add(*others).metrics,
        table.gold(args.criterion),
        table.langpair,
        table.segment,
        data=table.name,
        **given_options(args, SearchOptions),
    )
    write_result(found, args)
    return 0
