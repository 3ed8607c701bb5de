"""`nlgauge sentsim calibrate`: freeze the ranges of SentSim's parts, so that a pair can be scored alone."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nlgauge.cli.common import add_run_options, add_text_options, run_options, text_source, write_file
from nlgauge.cli.score import read_texts
from nlgauge.errors import RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.metrics.parts.bounds import Bounds
from nlgauge.metrics.sentsim import PARTS, SentSim
from nlgauge.registry import parse_metric
from nlgauge.scoring import score_systems

__all__ = ["add_commands"]

#: Options of the recipe that the values of the parts depend on.
_OPTIONS = ("model", "lang", "layer", "sentence", "casing", "cut", "unknown", "src_lang", "steps", "links")


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("sentsim", help="bounds for SentSim")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    calibrate = actions.add_parser(
        "calibrate", help="keep the lowest and highest value of each part over a corpus in a file"
    )
    calibrate.add_argument("hyps", nargs="+", type=text_source, metavar="HYP", help="outputs, as in score")
    calibrate.add_argument("-s", "--source", type=text_source, metavar="SRC", help="source texts (SRC-MT)")
    calibrate.add_argument("-r", "--refs", nargs="+", type=text_source, metavar="REF", help="references (MT-REF)")
    calibrate.add_argument("--input-format", choices=("text", "tsv", "jsonl"), help="of all inputs")
    calibrate.add_argument("-o", "--output", required=True, metavar="FILE", help="the bounds, a JSON file")
    calibrate.add_argument("--combine", default="all", help=f"parts, of {', '.join(PARTS)} (%(default)s)")
    for name in _OPTIONS:
        text = SentSim.options()[name].metadata["help"]
        calibrate.add_argument(f"--{name}", dest=f"option_{name}", metavar=name.upper(), help=text)
    add_run_options(calibrate)
    add_text_options(calibrate)
    calibrate.set_defaults(run=_calibrate)


def _calibrate(args: argparse.Namespace) -> int:
    if (args.source is None) == (args.refs is None):
        msg = "nlgauge sentsim calibrate needs either the source (--source SRC) or references (--refs REF)"
        raise RecipeError(msg)
    texts = read_texts(args)
    given = {name: value for name in _OPTIONS if (value := getattr(args, f"option_{name}")) is not None}
    against = "refs" if texts.sources is None else "source"
    scores = score_systems(
        texts.systems,
        texts.references,
        sources=texts.sources,
        metrics=[parse_metric("sentsim", combine=args.combine, against=against, **given)],
        long=args.long,
        empty=args.empty,
        **run_options(args),
    )
    bounds = Bounds.of_scores(scores)
    write_file(args.output, bounds.text())
    for name, (low, high) in bounds.ranges.items() if args.output != "-" else ():
        print(f"{name}\t{low:.6g}\t{high:.6g}")
    if not args.quiet:
        print(f"bounds of {bounds.pairs} pairs, {short_digest(bounds.digest)}: {args.output}", file=sys.stderr)
    return 0
