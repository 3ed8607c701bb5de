"""Which data set with human judgements a command works on."""

from __future__ import annotations

import argparse
import os
from typing import Any

from nlgauge.data import JudgementTable, find_data_card, load
from nlgauge.errors import RecipeError

__all__ = ["add_data_options", "load_data"]


def add_data_options(parser: argparse.ArgumentParser, *, title: str = "data", required: bool = True) -> Any:
    """Add the options; the group is returned for a command that has more of them."""
    data = parser.add_argument_group(title)
    data.add_argument("--data", required=required, metavar="NAME", help="as in 'nlgauge data list'")
    data.add_argument("--at", metavar="PATH", help="file, or folder that holds it ($NLGAUGE_DATA)")
    data.add_argument("--langpairs", nargs="+", metavar="PAIR", help="only these (default: all)")
    data.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="options of it; see nlgauge data info NAME",
    )
    return data


def load_data(args: argparse.Namespace, **more: Any) -> JudgementTable:
    """The table that the options name."""
    card = find_data_card(args.data)
    options = dict(more) | card.parse_options(args.set)
    at = args.at or os.environ.get("NLGAUGE_DATA")
    if not at:
        msg = f"say where {card.name} lies: --at PATH, or the environment variable NLGAUGE_DATA"
        raise RecipeError(msg)
    return load(card.name, at, langpairs=args.langpairs, **options)
