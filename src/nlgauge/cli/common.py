"""Options that several commands share, and small helpers for them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlgauge.encoders import engine_names
from nlgauge.errors import InputError
from nlgauge.files.atomic import write_whole
from nlgauge.recipes.run_options import RunOptions
from nlgauge.registry import METRICS

__all__ = [
    "add_metric_options",
    "add_run_options",
    "add_text_options",
    "file_label",
    "metric_options",
    "protect_stdin_columns",
    "run_options",
    "text_source",
    "write_file",
]


def add_run_options(parser: argparse.ArgumentParser, *, cache: bool = True) -> None:
    """How to compute; only the engine and its device move a score, within 1e-5. Not all need a cache."""
    defaults = RunOptions()
    group = parser.add_argument_group("run")
    group.add_argument("--engine", choices=engine_names(), default=None, help=f"default: {defaults.engine}")
    group.add_argument("--device", default=defaults.device, help="auto, cpu or cuda; engine torch only (%(default)s)")
    group.add_argument("--threads", type=int, metavar="N", help="default: the processors at hand")
    group.add_argument(
        "--batch-tokens", type=int, default=defaults.batch_tokens, metavar="N", help="tokens per batch (%(default)s)"
    )
    if cache:
        group.add_argument(
            "--cache", metavar="FOLDER", help="keep layer vectors there for the next run (default: no)"
        )
        group.add_argument(
            "--cache-size",
            type=float,
            default=defaults.cache_size,
            metavar="GB",
            help="most it may hold (%(default)s)",
        )
    group.add_argument("-q", "--quiet", action="store_true", help="no progress bar and no warnings on stderr")


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """What to do with texts that cannot be scored as they are."""
    texts = parser.add_argument_group("texts")
    texts.add_argument(
        "--long", choices=("truncate", "error"), default="truncate", help="over-long text: %(default)s (counted)"
    )
    texts.add_argument(
        "--empty", choices=("error", "zero"), default="error", help="both sides of a pair empty: %(default)s"
    )


def run_options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_run_options` as keywords of a run."""
    values = {
        "device": args.device,
        "threads": args.threads,
        "batch_tokens": args.batch_tokens,
        "progress": not args.quiet,
    }
    values |= {name: getattr(args, name) for name in ("cache", "cache_size") if hasattr(args, name)}
    return values | ({"engine": args.engine} if args.engine else {})


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """Which metrics, and a flag for each of their options."""
    group = parser.add_argument_group(
        "metrics", "A flag applies to every metric of the call that knows it; NAME:option=value sets it for one."
    )
    group.add_argument(
        "-m",
        "--metric",
        nargs="+",
        default=["bertscore"],
        metavar="METRIC",
        help=f"NAME, NAME:option=value,... or a signature in quotes; {', '.join(METRICS)} (default: bertscore)",
    )
    seen: set[str] = set()
    for metric in METRICS.values():
        for name, field in metric.options().items():
            if name not in seen:
                seen.add(name)
                default = field.default if field.default not in (None, "") else "by table"
                text = f"{field.metadata['help']} (default: {default})"
                group.add_argument(f"--{name}", dest=f"option_{name}", metavar=name.upper(), help=text)


def metric_options(args: argparse.Namespace) -> dict[str, str]:
    """The flags of `add_metric_options` that were given."""
    given = {key.removeprefix("option_"): value for key, value in vars(args).items() if key.startswith("option_")}
    return {name: value for name, value in given.items() if value is not None}


def protect_stdin_columns(argv: Sequence[str]) -> list[str]:
    """Let `-:COLUMN` through argparse, which would take it for an option; `text_source` undoes it."""
    return [f"\0{text}" if text.startswith("-:") else text for text in argv]


def text_source(text: str) -> str:
    """An argument that names a column of texts."""
    return text.removeprefix("\0")


def file_label(spec: str) -> str:
    """How a file shows in a table: without its folder."""
    return "stdin" if spec == "-" else os.path.basename(spec) or spec


def write_file(path: str, text: str) -> None:
    """Write a result in one step, or to stdout for `-`."""
    if path == "-":
        sys.stdout.write(text)
        return
    target = Path(path)
    if not target.name or target.is_dir():
        msg = f"cannot write {path!r}: that is a folder; give a file's name"
        raise InputError(msg)
    try:
        write_whole(target, text.encode())
    except OSError as error:
        msg = f"cannot write {path!r}: {error.strerror}"
        raise InputError(msg) from error
