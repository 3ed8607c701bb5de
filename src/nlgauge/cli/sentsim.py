"""`nlgauge sentsim calibrate`: freeze the ranges of SentSim's parts, so that a pair can be scored alone."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nlgauge.cli.common import (
    add_option_flag,
    add_run_options,
    add_text_inputs,
    add_text_options,
    metric_options,
    read_texts,
    run_options,
)
from nlgauge.cli.outputs import write_output
from nlgauge.errors import RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.metrics.parts.bounds import Bounds
from nlgauge.metrics.parts.sentsim_options import PARTS
from nlgauge.metrics.sentsim import SentSim
from nlgauge.scoring import score_systems

__all__ = ["add_commands"]

#: Options of the recipe that the values of the parts depend on.
_OPTIONS = (
    *("model", "lang", "layer", "sentence", "lowercase", "max_tokens", "prefix_space"),
    *("src_lang", "transforms", "wmdo_matches"),
)


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("sentsim", help="bounds for SentSim")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    calibrate = actions.add_parser(
        "calibrate", help="keep the lowest and highest value of each part over a corpus in a file"
    )
    add_text_inputs(calibrate, systems="+")
    calibrate.add_argument("-o", "--output", required=True, metavar="FILE", help="the bounds, a JSON file")
    calibrate.add_argument("--combine", default="all", help=f"parts, of {', '.join(PARTS)} (%(default)s)")
    recipe = SentSim.options()
    for name in _OPTIONS:
        add_option_flag(calibrate, name, help=recipe[name].help)
    add_run_options(calibrate)
    add_text_options(calibrate)
    calibrate.add_help_all()
    calibrate.set_defaults(run=_calibrate)


def _calibrate(args: argparse.Namespace) -> int:
    if (args.source is None) == (args.refs is None):
        msg = "nlgauge sentsim calibrate needs either the source (--source SRC) or references (--refs REF)"
        raise RecipeError(msg)
    texts = read_texts(args)
    against = "refs" if texts.sources is None else "source"
    scores = score_systems(
        texts.systems,
        texts.references,
        sources=texts.sources,
        metrics=[SentSim.from_options({"combine": args.combine, "against": against} | metric_options(args))],
        **run_options(args),
    )
    bounds = Bounds.of_scores(scores)
    write_output(args.output, bounds.text())
    for name, (low, high) in bounds.ranges.items() if args.output != "-" else ():
        print(f"{name}\t{low:.6g}\t{high:.6g}")
    if not args.quiet:
        print(f"bounds of {bounds.pairs} pairs, {short_digest(bounds.digest)}: {args.output}", file=sys.stderr)
    return 0
