"""Which data set with human judgements a command works on."""

from __future__ import annotations

import argparse
import os
from typing import Any

from nlgauge.data import JudgementTable, load
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
        default=[],
        metavar="KEY=VALUE",
        help="options of it; see nlgauge data info NAME",
    )
    return data


def load_data(args: argparse.Namespace, **more: Any) -> JudgementTable:
    """The table that the options name."""
    options: dict[str, Any] = {}
    for text in args.set:
        key, equals, value = text.partition("=")
        if not equals or not key:
            msg = f"--set takes KEY=VALUE, got {text!r}"
            raise RecipeError(msg)
        if key in options:
            msg = f"--set has {key} twice; several values are joined by commas: {key}=A,B"
            raise RecipeError(msg)
        options[key] = _value(value)
    at = args.at or os.environ.get("NLGAUGE_DATA")
    if not at:
        msg = f"say where {args.data} lies: --at PATH, or the environment variable NLGAUGE_DATA"
        raise RecipeError(msg)
    return load(args.data, at, langpairs=args.langpairs, **more | options)


def _value(text: str) -> Any:
    if "," in text:
        return tuple(text.split(","))
    return {"true": True, "false": False}.get(text.lower(), int(text) if text.isdigit() else text)
