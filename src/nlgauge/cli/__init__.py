"""The command line: parses, calls the library, prints. Numbers go to stdout, talk goes to stderr.

Exit status: 0 done, 1 the work failed (a text, a file, a model), 2 the command was wrong (an option, a
recipe), 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from nlgauge._version import __version__
from nlgauge.cli.common import protect_stdin_columns
from nlgauge.errors import NlgaugeError, NlgaugeWarning, RecipeError

__all__ = ["build_parser", "main"]

#: The module of each command. Only that of the command at hand is imported, so that none waits for the others.
_MODULES = {
    "score": "score",
    "meta": "meta",
    "tune-layer": "meta",
    "sensitivity": "sensitivity",
    "reproduce": "reproduce",
    "models": "models",
    "data": "datasets",
    "idf": "tables",
    "baseline": "tables",
    "sentsim": "sentsim",
    "align": "align",
    "normalise": "normalise",
    "signature": "signatures",
}


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The command and its options; all commands where it is none of them."""
    parser = argparse.ArgumentParser(
        prog="nlgauge",
        allow_abbrev=False,
        description="Measure generated text so that anyone can get the same number again.",
    )
    parser.add_argument("--version", action="version", version=f"nlgauge {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = [_MODULES[command]] if command in _MODULES else dict.fromkeys(_MODULES.values())
    for name in wanted:
        importlib.import_module(f"nlgauge.cli.{name}").add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # the same bytes under any locale
    words = protect_stdin_columns(sys.argv[1:] if argv is None else argv)
    args = build_parser(words[0] if words else None).parse_args(words)
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
        _drop_stdout()  # the reader (head, less) went away; nothing is left to say
        return 0
    except OSError as error:  # such as a full disk under stdout
        print(f"nlgauge: error: {error}", file=sys.stderr)
        _drop_stdout()
        return 1
    return status


def _drop_stdout() -> None:
    """Nothing more can be written there, and Python must not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if issubclass(category, NlgaugeWarning):
        print(f"nlgauge: warning: {message}", file=sys.stderr)
