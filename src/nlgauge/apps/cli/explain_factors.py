"""`nlgauge explain factors`: linguistic factors of metrics, on a data set or in a table of scores."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    MetricOptions,
    add_output_options,
    add_scoring_options,
    metric_options,
    run_options,
)
from nlgauge.apps.cli.datasets import add_data_options, load_data
from nlgauge.apps.cli.flags import add_flags, flag_of, given_options, read_options, refuse_flags
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.core.kinds import FigureFile, InputFile, Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import save_figure
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


@dataclass(frozen=True, kw_only=True)
class FactorInputs(OptionSet):
    """Scores to explain, of a data set or in a table."""

    criterion: str | None = option(
        None, Text("a criterion"), help="human rating that is SEM", unset="set by the data set", needs="data"
    )
    released: tuple[str, ...] = option(
        (), Many(Text("a metric")), help="scores that came with the data, too", needs="data"
    )
    table: str | None = option(
        None, InputFile(), help="instead of a data set: .tsv, .csv or .jsonl with scores and factors"
    )
    metric_column: tuple[str, ...] = option(
        (), Many(Text("a column")), help="columns that are metrics", needs="table"
    )
    lower_is_better: tuple[str, ...] = option(
        (), Many(Text("a column")), help="metrics that are distances", needs="table"
    )
    factor: tuple[str, ...] = option(
        (),
        Many(Text("a factor")),
        help=f"{', '.join(COMPUTED)}, {CLB}, or columns of the data",
        unset=" ".join(COMPUTED),
    )
    vector_seed: int | None = option(
        None,
        Int(0),
        help="seed of the training of word vectors",
        unset=str(FactorOptions().seed),
        needs="data",
        hidden=True,
    )
    plot_fit: str | None = option(None, FigureFile(), help="figure of each metric next to its surrogate")


def add_factors(actions: Any) -> None:
    """Add the command to the parser."""
    parser = actions.add_parser(
        "factors",
        usage="nlgauge explain factors (--data NAME | --table FILE --metric-column NAME ...) [options]",
        help="measure how much of a metric is meaning, syntax, shared words or word forms",
        description="A linear surrogate of each metric: coefficients of linguistic factors of each pair, with\n"
        "intervals, and how much of the metric the factors explain together.",
        epilog=_EXAMPLES,
    )
    data = add_data_options(parser, required=False, limit=True)
    add_flags(data, FactorInputs, without=["factor", "vector_seed", "plot_fit"])
    factors = add_flags(parser, FactorInputs, title="factors", only=["factor", "vector_seed"])
    add_flags(factors, FactorOptions, without=["seed"], change={name: {"needs": "data"} for name in _MAKING})
    add_scoring_options(parser, default="bertscore")
    add_flags(parser, Intervals, title="intervals")
    output = add_output_options(parser, width=3, plot="coefficients with intervals: .png, .svg or .pdf")
    add_flags(output, FactorInputs, only=["plot_fit"])
    parser.add_help_all()
    parser.set_defaults(run=_factors)


def _factors(args: argparse.Namespace) -> int:
    if (args.table is None) == (args.data is None):
        msg = "nlgauge explain factors needs pairs to look at: --data NAME, or --table FILE, not both"
        raise RecipeError(msg)
    intervals = read_options(args, Intervals)
    study = _from_table(args, intervals) if args.table else _from_data(args, intervals)
    write_output(args.output, study.render(args.format, decimals=args.width))
    for name, draw in ((args.plot, study.figure), (args.plot_fit, study.fit_figure)):
        if name:
            with saving(name) as path:
                save_figure(draw(), path)
    return 0


def _from_table(args: argparse.Namespace, intervals: Intervals) -> FactorStudy:
    from nlgauge.studies.factors.surrogate import explain_columns  # loads what scores whole data sets

    refuse_flags(
        args, MetricOptions.options(), "belongs to metrics that are computed; with --table FILE leave it out"
    )
    if not args.metric_column or not args.factor:
        msg = "--table FILE needs the names of its columns: --metric-column NAME ... and --factor NAME ..."
        raise RecipeError(msg)
    return explain_columns(
        args.table, args.metric_column, args.factor, lower_is_better=args.lower_is_better, intervals=intervals
    )


def _from_data(args: argparse.Namespace, intervals: Intervals) -> FactorStudy:
    from nlgauge.studies.factors.surrogate import explain_factors  # loads what scores whole data sets

    metrics = args.metric if args.metric is not None else [] if args.released else ["bertscore"]
    if metrics:
        check_metrics(metrics, args, command="explain factors")
    making = given_options(args, FactorOptions)
    _check_read(args.factor or COMPUTED, making)
    table = load_data(args)
    if args.vector_seed is not None:
        making["seed"] = args.vector_seed
    return explain_factors(
        table,
        metrics,
        factors=args.factor or COMPUTED,
        released=args.released,
        criterion=args.criterion,
        making=FactorOptions.of(making),
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
