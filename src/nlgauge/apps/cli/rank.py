"""`nlgauge rank`: several candidates for each segment in, the best of each out."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_inputs,
    add_text_options,
    metric_options,
    run_options,
)
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.score import check_systems_first
from nlgauge.core.rank import rank
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.textfiles import read_candidates
from nlgauge.report.ranking import check_lines, render_ranking

_EXAMPLES = f"""\
examples:
  nlgauge rank sample1.txt sample2.txt sample3.txt > best.txt
  nlgauge rank samples.jsonl:candidates -m moverscore --format json
  nlgauge rank a.txt b.txt --refs reference.txt --format tsv
{METRIC_FLAGS}"""


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "rank",
        usage="nlgauge rank HYP ... [--refs REF ... | --source SRC] [options]",
        help="choose the best of several candidates for each segment",
        description="Choose the candidate of each segment that is nearest to all others (minimum Bayes risk),\n"
        "or best against references or a source. A value of FILE.jsonl:KEY may be a list of candidates.",
        epilog=_EXAMPLES,
    )
    add_text_inputs(parser)
    add_metric_options(parser)
    add_run_options(parser)
    add_text_options(parser)
    add_output_options(parser, formats=("text", "json", "tsv", "markdown"))
    parser.add_help_all()
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    check_metrics(args.metric, args, command="rank")
    _check(args)
    texts = read_candidates(args.hyps, args.refs or (), args.source, input_format=args.input_format)
    if all(len(group) == 1 for group in texts.candidates):
        msg = (
            "every segment has one candidate, so there is nothing to choose; give several files, or JSONL with lists"
        )
        raise InputError(msg)
    if args.format == "text":
        check_lines(texts.candidates)
    ranking = rank(
        texts.candidates,
        texts.references,
        sources=texts.sources,
        metric=args.metric[0],
        **metric_options(args),
        **run_options(args),
    )
    write_output(args.output, render_ranking(ranking, format=args.format, systems=texts.systems, width=args.width))
    if args.format == "text" and not args.quiet:
        print(f"signature: {ranking.signature}", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_systems_first(args, command="rank")
    if len(args.metric) != 1:
        msg = f"nlgauge rank takes one metric, got {len(args.metric)}"
        raise RecipeError(msg)
    if not args.hyps:
        msg = "nlgauge rank needs candidates (HYP ...); see 'nlgauge rank --help'"
        raise RecipeError(msg)
