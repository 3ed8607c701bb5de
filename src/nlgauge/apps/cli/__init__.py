"""The command line: parses arguments, calls the library and prints. Results go to stdout, messages to stderr.

Exit status: 0 success, 1 runtime error (a text, a file, a model), 2 usage error (an option, a recipe), 3 gate failed
(`nlgauge compare --gate`), 4 gate undecided (with `--strict`), 130 interrupted.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from nlgauge._startup import OUT_OF_MEMORY, is_out_of_memory, loading_is_over
from nlgauge._version import __version__
from nlgauge.apps.cli.parsing import CommandParser, protect_stdin_columns
from nlgauge.apps.operations import operations
from nlgauge.errors import NlgaugeError, NlgaugeWarning, RecipeError

__all__ = ["build_parser", "main"]


class _Command(NamedTuple):
    module: str
    help: str
    """The same as in the module's own parser, so that listing the commands imports no module."""
    add: str = "add_commands"
    """The function of the module that adds the command."""


#: Only the module of the command at hand is imported, so that none waits for the others.
_COMMANDS = {
    "score": _Command("score", "score one or more systems against references, or their source"),
    "compare": _Command("compare", "say which system is better, with intervals and tests"),
    "explain": _Command("explain", "why a text got its score; explanations beside marked errors"),
    "discourse": _Command("discourse", "discourse features of documents beside their references"),
    "stress": _Command("stress", "how far metrics fall when texts are perturbed, and whether triples fool them"),
    "meta": _Command("meta", "correlate metrics with human judgements"),
    "tune-layer": _Command("meta", "find the layer that agrees best with people"),
    "sensitivity": _Command("sensitivity", "how far scores, correlations and ranks move with preprocessing"),
    "reproduce": _Command(
        "reproduce", "a published table or figure: values in print, ours, and why they differ; 'list' shows all"
    ),
    "metrics": _Command("lists", "the metrics, their options, equations and citations"),
    "models": _Command("lists", "list, fetch, find or quantise models", "add_model_commands"),
    "data": _Command("datasets", "data sets with human judgements: what is known, what is here"),
    "idf": _Command("build", "freeze inverse document frequencies to a file"),
    "baseline": _Command("build", "make a baseline for rescaling"),
    "sentsim": _Command("build", "bounds for SentSim", "add_sentsim_commands"),
    "ensemble": _Command("ensemble", "join metrics: norms of members, and a search for the best pair"),
    "align": _Command("align", "bring the vectors of languages together"),
    "normalise": _Command(
        "build", "split contractions, change word order, remove punctuation", "add_normalise_commands"
    ),
    "signature": _Command("signatures", "explain a signature, or compare two"),
    "serve": _Command("serve", "the service over HTTP"),
    "completion": _Command("completion", "print a script for the shell that completes commands and flags"),
}

#: What is answered without any command.
_ALONE = {"-h", "--help", "--version"}


def build_parser(command: str | None = None) -> CommandParser:
    """The parser of one command with its options, or of all of them."""
    parser, commands = _front_parser()
    wanted = _COMMANDS if command is None else {command: _COMMANDS[command]} if command in _COMMANDS else {}
    for operation in operations().values():
        if operation.command and command in (None, operation.name):
            from nlgauge.apps.cli.operations import add_operation

            add_operation(commands, operation)
    for module, add in dict.fromkeys((known.module, known.add) for known in wanted.values()):
        getattr(importlib.import_module(f"nlgauge.apps.cli.{module}"), add)(commands)
    return parser


def _front_parser() -> tuple[CommandParser, Any]:
    """What is there before any command, and where commands are added."""
    parser = CommandParser(
        prog="nlgauge", description="Measure generated text so that anyone can get the same number again."
    )
    parser.add_argument("--version", action="version", version=f"nlgauge {__version__}")
    return parser, parser.add_subparsers(dest="command", metavar="COMMAND", required=True)


def _parser_for(words: Sequence[str]) -> CommandParser:
    """A parser that reads these words, with no more commands than they need."""
    first = words[0] if words else ""
    if first in _COMMANDS or first in operations():
        return build_parser(first)
    if first.startswith("-") and first not in _ALONE:
        return build_parser()  # such as `--`, after which a command may come
    parser, commands = _front_parser()
    for known in (_COMMANDS, operations()):  # to list them, or to say that the word is none of them
        for name, command in known.items():
            commands.add_parser(name, help=command.help)
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
        print(f"nlgauge: error: {_in_flags(str(error))}", file=sys.stderr)
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
    args = _parser_for(words).parse_args(words)
    from nlgauge.apps.cli.argument_checks import (
        check_arguments,  # which neither the version nor the list of commands waits for
    )
    from nlgauge.apps.cli.project_file import apply_settings

    loading_is_over()
    quiet = getattr(args, "quiet", False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "always", NlgaugeWarning)
        warnings.showwarning = _WarningsOnce().show  # type: ignore[assignment]  # its tail of arguments is not needed
        apply_settings(args)
        check_arguments(args)
        status: int = args.run(args)
    return status


def _in_flags(message: str) -> str:
    from nlgauge.apps.cli.argument_checks import in_flags

    return in_flags(message)


def _open_streams() -> None:
    """The same bytes under any locale; and streams that the shell has closed are no streams of others."""
    if sys.stdout is None or sys.stderr is None:
        # A file opened next would get the number of the closed stream, and messages of C libraries with it.
        while os.open(os.devnull, os.O_RDWR) < 2:
            pass
    if sys.stdout is None:
        from nlgauge.apps.cli.outputs import ClosedOutput

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
        text = _in_flags(str(message))
        if issubclass(category, NlgaugeWarning) and text not in self._shown:
            self._shown.add(text)
            print(f"nlgauge: warning: {text}", file=sys.stderr)
