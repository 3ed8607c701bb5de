"""The command line: parses, calls the library, prints. Numbers go to stdout, talk goes to stderr.

Exit status: 0 done, 1 the work failed (a text, a file, a model), 2 the command was wrong (an option, a
recipe), 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from nlgauge._version import __version__
from nlgauge.cli import models, score, signatures, tables
from nlgauge.errors import NlgaugeError, NlgaugeWarning, RecipeError

__all__ = ["build_parser", "main"]


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(
        prog="nlgauge",
        description="Measure generated text so that anyone can get the same number again.",
    )
    parser.add_argument("--version", action="version", version=f"nlgauge {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (score, models, tables, signatures):
        module.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    args = build_parser().parse_args(argv)
    quiet = getattr(args, "quiet", False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if quiet else "always", NlgaugeWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]  # its tail of arguments is not needed
            status: int = args.run(args)
            sys.stdout.flush()
    except NlgaugeError as error:
        print(f"nlgauge: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, RecipeError) else 1
    except KeyboardInterrupt:
        print("nlgauge: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) went away; nothing is left to say, and Python must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if issubclass(category, NlgaugeWarning):
        print(f"nlgauge: warning: {message}", file=sys.stderr)
