"""Which files with scores of other tools a command reads."""

from __future__ import annotations

import argparse
from typing import Any

from nlgauge.cli.parsing import add_hidden
from nlgauge.errors import RecipeError

__all__ = ["add_score_file_options", "score_columns"]


def add_score_file_options(parser: argparse.ArgumentParser) -> Any:
    """Add `--scores` and what goes with it; the group is returned for a command that has more."""
    files = parser.add_argument_group("scores of other tools")
    files.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="FILE",
        help="[METRIC=]FILE[:COLUMN,...]: .tsv, .csv, .jsonl, or the .json of COMET",
    )
    files.add_argument(
        "--lower-is-better", nargs="+", default=[], metavar="METRIC", help="metrics of these files that are distances"
    )
    add_hidden(
        files,
        "--score-columns",
        nargs="+",
        default=[],
        metavar="KEY=COLUMN",
        help="names of the columns system, segment, document, metric, langpair, where they are others",
    )
    return files


def score_columns(args: argparse.Namespace) -> dict[str, str]:
    """The columns that `--score-columns` names."""
    if args.lower_is_better and not args.scores:
        msg = "--lower-is-better belongs to --scores FILE, which was not given"
        raise RecipeError(msg)
    found: dict[str, str] = {}
    for text in args.score_columns:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            msg = f"--score-columns takes KEY=COLUMN, got {text!r}"
            raise RecipeError(msg)
        found[key] = value
    return found
