"""`nlgauge explain factors`: linguistic factors of metrics, on a data set or in a table of scores."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_options,
    metric_options,
    run_options,
)
from nlgauge.apps.cli.datasets import add_data_options, load_data
from nlgauge.apps.cli.flags import flag_of
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.apps.cli.parsing import add_hidden
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import check_figure, save_figure
from nlgauge.studies.factors.columns import CLB, COMPUTED, FactorOptions
from nlgauge.studies.factors.surrogate import FactorStudy, Intervals

_EXAMPLES = f"""\
examples:
  nlgauge explain factors --data wmt17-testset --metric bertscore moverscore --factor SEM LEX
  nlgauge explain factors --data sts --metric bertscore --model mpnet --lexicon pairs.tsv --plot factors.png
  nlgauge explain factors --data factors-wmt --released bertscore bleurt --factor SEM syn lex mor
  nlgauge explain factors --table scored.tsv --metric-column comet --factor adequacy length
{METRIC_FLAGS}"""

#: Flags of what factors are made with, and which factors read them.
_MAKING = {
    "parser": ("SYN", "MOR"),
    "source_parser": ("SYN", "MOR"),
    "word_vectors": ("MOR",),
    "lexicon": ("MOR",),
    "translations": ("LEX", CLB),
}


def add_factors(actions: Any) -> None:
    """Add the command to the parser."""
    parser = actions.add_parser(
        "factors",
        usage="nlgauge explain factors (--data NAME | --table FILE --metric-column NAME ...) [options]",
        help="how much of a metric is meaning, syntax, shared words, forms of words",
        description="A linear surrogate of each metric: coefficients of linguistic factors of each pair, with\n"
        "intervals, and how much of the metric the factors explain together.",
        epilog=_EXAMPLES,
    )
    data = add_data_options(parser, required=False)
    data.add_argument("--limit", type=int, metavar="N", help="the first N rows of each language pair and system")
    data.add_argument("--criterion", metavar="NAME", help="of people: what is SEM (default: the data set's)")
    data.add_argument("--released", nargs="+", default=[], metavar="NAME", help="scores that came with the data, too")
    data.add_argument("--table", metavar="FILE", help="instead: .tsv, .csv or .jsonl with scores and factors")
    data.add_argument("--metric-column", nargs="+", default=[], metavar="NAME", help="columns of it that are metrics")
    data.add_argument("--lower-is-better", nargs="+", default=[], metavar="NAME", help="those that are distances")
    _add_making(parser)
    add_metric_options(parser, default=None, shown="bertscore")
    _add_intervals(parser)
    add_run_options(parser)
    add_text_options(parser)
    output = add_output_options(parser, width=3)
    output.add_argument("--plot", metavar="FILE", help="coefficients with intervals: .png, .svg or .pdf")
    output.add_argument("--plot-fit", metavar="FILE", help="each metric beside its surrogate")
    parser.add_help_all()
    parser.set_defaults(run=_factors)


def _add_making(parser: argparse.ArgumentParser) -> None:
    defaults = FactorOptions()
    group = parser.add_argument_group("factors")
    group.add_argument(
        "--factor",
        nargs="+",
        metavar="NAME",
        help=f"{', '.join(COMPUTED)}, CLB, or columns of the data ({' '.join(COMPUTED)})",
    )
    group.add_argument(
        "--parser",
        metavar="NAME",
        help=f"of trees: {defaults.parser}, a spaCy model, CoNLL-U files ({defaults.parser})",
    )
    add_hidden(group, "--source-parser", metavar="NAME", help="of sources, where they are in another language")
    group.add_argument("--lexicon", metavar="FILE", help="pairs of words with the same features, for MOR")
    group.add_argument(
        "--word-vectors", metavar="FILE", help="for MOR (default: trained on the texts as by fastText)"
    )
    group.add_argument(
        "--translations", metavar="FILE", help="of foreign sentences, for LEX and CLB across languages"
    )
    add_hidden(
        group, "--vector-seed", type=int, metavar="N", help=f"of the training of word vectors ({defaults.seed})"
    )


def _add_intervals(parser: argparse.ArgumentParser) -> None:
    defaults = Intervals()
    group = parser.add_argument_group("intervals")
    add_hidden(group, "--level", type=float, default=defaults.level, metavar="P", help="(%(default)s)")
    add_hidden(group, "--resamples", type=int, default=defaults.resamples, metavar="N", help="draws (%(default)s)")
    add_hidden(group, "--seed", type=int, default=defaults.seed, metavar="N", help="of the draws (%(default)s)")


def _factors(args: argparse.Namespace) -> int:
    if (args.table is None) == (args.data is None):
        msg = "nlgauge explain factors needs pairs to look at: --data NAME, or --table FILE, not both"
        raise RecipeError(msg)
    for path in (args.plot, args.plot_fit):
        if path:
            check_figure(Path(path))
    intervals = Intervals(level=args.level, resamples=args.resamples, seed=args.seed)
    study = _from_table(args, intervals) if args.table else _from_data(args, intervals)
    write_output(args.output, study.render(args.format, decimals=args.width))
    for name, draw in ((args.plot, study.figure), (args.plot_fit, study.fit_figure)):
        if name:
            with saving(name) as path:
                save_figure(draw(), path)
    return 0


def _from_table(args: argparse.Namespace, intervals: Intervals) -> FactorStudy:
    from nlgauge.studies.factors.surrogate import explain_columns  # loads what scores whole data sets

    of_data = ("at", "langpairs", "set", "limit", "criterion", "released", "metric", *_MAKING, "vector_seed")
    for name in of_data:
        if getattr(args, name) not in (None, []):
            msg = f"{flag_of(name)} belongs to --data NAME; with --table FILE leave it out"
            raise RecipeError(msg)
    for name in metric_options(args):
        msg = f"{flag_of(name)} belongs to metrics that are computed; with --table FILE leave it out"
        raise RecipeError(msg)
    if not args.metric_column or not args.factor:
        msg = "--table FILE needs the names of its columns: --metric-column NAME ... and --factor NAME ..."
        raise RecipeError(msg)
    return explain_columns(
        args.table, args.metric_column, args.factor, lower_is_better=args.lower_is_better, intervals=intervals
    )


def _from_data(args: argparse.Namespace, intervals: Intervals) -> FactorStudy:
    from nlgauge.studies.factors.surrogate import explain_factors  # loads what scores whole data sets

    for name in ("metric_column", "lower_is_better"):
        if getattr(args, name):
            msg = f"{flag_of(name)} belongs to --table FILE, which was not given"
            raise RecipeError(msg)
    metrics = args.metric if args.metric is not None else [] if args.released else ["bertscore"]
    if metrics:
        check_metrics(metrics, args, command="explain factors")
    given = {name: getattr(args, name) for name in _MAKING if getattr(args, name) is not None}
    _check_read(args.factor or COMPUTED, given)
    table = load_data(args)
    if args.vector_seed is not None:
        given["seed"] = args.vector_seed
    return explain_factors(
        table if args.limit is None else table.first_rows(args.limit),
        metrics,
        factors=args.factor or COMPUTED,
        released=args.released,
        criterion=args.criterion,
        making=FactorOptions(**given),
        intervals=intervals,
        run=RunOptions.of(run_options(args)),
        **metric_options(args),
    )


def _check_read(factors: Sequence[str], given: Iterable[str]) -> None:
    """Refuse a flag that no factor of the call reads."""
    wanted = {name.upper() for name in factors}
    for name in given:
        if not wanted & set(_MAKING[name]):
            readers = " and ".join(_MAKING[name])
            msg = f"{flag_of(name)} is read by {readers}, which --factor does not name; leave it out"
            raise RecipeError(msg)
