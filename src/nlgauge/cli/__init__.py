"""The command line: parses, calls the library, prints. Numbers go to stdout, talk goes to stderr.

Exit status: 0 done, 1 the work failed (a text, a file, a model), 2 the command was wrong (an option, a
recipe), 3 a gate failed (`nlgauge compare --gate`), 4 a gate is undecided (with `--strict`), 130 interrupted.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from nlgauge._startup import OUT_OF_MEMORY, is_out_of_memory, loading_is_over
from nlgauge._version import __version__
from nlgauge.cli.checks import check_arguments, in_flags
from nlgauge.cli.common import protect_stdin_columns
from nlgauge.cli.outputs import ClosedOutput
from nlgauge.cli.parsing import CommandParser
from nlgauge.cli.settings import apply_settings
from nlgauge.errors import NlgaugeError, NlgaugeWarning, RecipeError

__all__ = ["build_parser", "main"]

#: The module of each command. Only that of the command at hand is imported, so that none waits for the others.
_MODULES = {
    "score": "score",
    "compare": "compare",
    "rank": "rank",
    "explain": "explain",
    "discourse": "discourse",
    "stress": "stress",
    "meta": "meta",
    "tune-layer": "meta",
    "sensitivity": "sensitivity",
    "reproduce": "reproduce",
    "metrics": "metrics",
    "models": "models",
    "data": "datasets",
    "idf": "tables",
    "baseline": "tables",
    "sentsim": "sentsim",
    "ensemble": "ensemble",
    "align": "align",
    "normalise": "normalise",
    "signature": "signatures",
    "serve": "serve",
    "completion": "completion",
}


def build_parser(command: str | None = None) -> CommandParser:
    """The command and its options; all commands where it is none of them, none for the version."""
    parser = CommandParser(
        prog="nlgauge", description="Measure generated text so that anyone can get the same number again."
    )
    parser.add_argument("--version", action="version", version=f"nlgauge {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = [_MODULES[command]] if command in _MODULES else dict.fromkeys(_MODULES.values())
    for name in wanted if command != "--version" else ():
        importlib.import_module(f"nlgauge.cli.{name}").add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    _open_streams()
    status = 0
    try:
        try:
            status = _run(protect_stdin_columns(sys.argv[1:] if argv is None else argv))
        except SystemExit as leaving:  # how argparse ends
            status = leaving.code if isinstance(leaving.code, int) else 0
        sys.stdout.flush()
    except NlgaugeError as error:
        print(f"nlgauge: error: {in_flags(str(error))}", file=sys.stderr)
        return 2 if isinstance(error, RecipeError) else 1
    except KeyboardInterrupt:
        print("nlgauge: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_stdout()  # the reader (head, less) went away; nothing is left to say, but a gate that failed has failed
        return status
    except OSError as error:  # such as a full disk under stdout
        print(f"nlgauge: error: {error if error.filename else error.strerror or error}", file=sys.stderr)
        _drop_stdout()
        return 1
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        print(f"nlgauge: error: {OUT_OF_MEMORY}", file=sys.stderr)
        return 1
    return status


def _run(words: Sequence[str]) -> int:
    args = build_parser(words[0] if words else None).parse_args(words)
    loading_is_over()
    quiet = getattr(args, "quiet", False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "always", NlgaugeWarning)
        warnings.showwarning = _WarningsOnce().show  # type: ignore[assignment]  # its tail of arguments is not needed
        apply_settings(args)
        check_arguments(args)
        status: int = args.run(args)
    return status


def _open_streams() -> None:
    """The same bytes under any locale; and streams that the shell has closed are no streams of others."""
    if sys.stdout is None or sys.stderr is None:
        # A file opened next would get the number of the closed stream, and messages of C libraries with it.
        while os.open(os.devnull, os.O_RDWR) < 2:
            pass
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open for as long as the process runs
    # A message may quote a file name that is not UTF-8; the message must not get lost for it.
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _drop_stdout() -> None:
    """Nothing more can be written there, and Python must not try again at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _WarningsOnce:
    """Prints each warning of a command once, however often it is given."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def show(self, message: Warning | str, category: type[Warning], *_: Any) -> None:
        text = in_flags(str(message))
        if issubclass(category, NlgaugeWarning) and text not in self._shown:
            self._shown.add(text)
            print(f"nlgauge: warning: {text}", file=sys.stderr)
