"""`nlgauge explain`: why a pair got its score, and how well explanations find errors."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from nlgauge.cli.checks import check_metrics
from nlgauge.cli.common import (
    METRIC_FLAGS,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_options,
    metric_options,
    run_options,
)
from nlgauge.cli.explain_checks import check_left_out, check_pair
from nlgauge.cli.explain_corpus import add_corpus
from nlgauge.cli.explain_evaluate import add_evaluate
from nlgauge.cli.explain_factors import add_factors
from nlgauge.cli.outputs import saving, write_output
from nlgauge.cli.word_options import add_word_options, word_options
from nlgauge.errors import RecipeError

__all__ = ["add_commands"]

_EXAMPLES = f"""\
examples:
  nlgauge explain pair --hyp-text "A cat sat." --ref-text "The cat was sitting." --metric moverscore --side-by-side
  nlgauge explain pair --hyp-text "Eine Katze." --source-text "A cat." --metric bertscore:against=source
  nlgauge explain pair --hyp-text "A cat sat." --ref-text "A dog ran." --plot pair.png
{METRIC_FLAGS}"""


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("explain", help="why a text got its score; explanations beside marked errors")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_pair(actions)
    add_evaluate(actions)
    add_factors(actions)
    add_corpus(actions)


def _add_pair(actions: Any) -> None:
    parser = actions.add_parser(
        "pair",
        usage="nlgauge explain pair --hyp-text TEXT (--ref-text TEXT ... | --source-text TEXT) [options]",
        help="explain the score of one pair",
        description="What matched what in one pair of texts, and what each word contributes to the score.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--hyp-text", required=True, metavar="TEXT", help="the hypothesis")
    parser.add_argument("--ref-text", nargs="+", metavar="TEXT", help="the reference; of several the best is shown")
    parser.add_argument("--source-text", metavar="TEXT", help="what was translated, for metrics that compare with it")
    parser.add_argument(
        "--side-by-side",
        action="store_true",
        help="also the other kind of alignment: transport (soft) beside greedy matches (hard), or the reverse",
    )
    parser.add_argument("--shapley", action="store_true", help="Shapley values of the words, for any score")
    parser.add_argument("--leave-one-out", action="store_true", help="what the score loses without each word")
    add_word_options(parser)
    add_metric_options(parser)
    add_run_options(parser)
    add_text_options(parser)
    output = add_output_options(parser, formats=("text", "json", "markdown"))
    output.add_argument("--plot", metavar="FILE", help="a figure: .png, .svg or .pdf")
    output.add_argument("--plot-kind", choices=("flow", "heat-map"), metavar="NAME", help="flow or heat-map (flow)")
    parser.add_help_all()
    parser.set_defaults(run=_pair)


def _pair(args: argparse.Namespace) -> int:
    from nlgauge.explain.pairs import explain_pair
    from nlgauge.report.explanation import render_explanation, wants_colour

    check_metrics(args.metric, args, command="explain pair")
    if len(args.metric) != 1:
        msg = f"nlgauge explain pair takes one metric, got {len(args.metric)}"
        raise RecipeError(msg)
    check_pair(args)
    if args.plot:
        from nlgauge.plots.canvas import check_figure

        check_figure(Path(args.plot))
    found = explain_pair(
        args.hyp_text,
        args.ref_text,
        source=args.source_text,
        metric=args.metric[0],
        shapley=True if args.shapley else None,
        leave_one_out=args.leave_one_out,
        beside=args.side_by_side,
        **word_options(args),
        **metric_options(args),
        **(run_options(args) | {"progress": False}),
    )
    check_left_out(args, found)
    colour = args.output == "-" and wants_colour(sys.stdout)
    write_output(args.output, render_explanation(found, format=args.format, colour=colour, width=args.width))
    if args.plot:
        from nlgauge.plots.explanation import plot_flow, plot_heat_map

        with saving(args.plot) as path:
            (plot_heat_map if args.plot_kind == "heat-map" else plot_flow)(found, path)
    if args.format == "text" and not args.quiet:
        print(f"signature: {found.signature}", file=sys.stderr)
    return 0
