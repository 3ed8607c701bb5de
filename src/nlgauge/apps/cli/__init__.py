"""The command line: parses arguments, calls the library and prints. Results go to stdout, messages to stderr.

Exit status: 0 success, 1 runtime error (a text, a file, a model), 2 usage error (an option, a recipe), 3 gate failed
(`nlgauge compare --gate`), 4 gate undecided (with `--strict`), 130 interrupted.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shutil
import sys
import warnings
from argparse import SUPPRESS, Namespace
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from nlgauge._startup import OUT_OF_MEMORY, is_out_of_memory, loading_is_over
from nlgauge._version import __version__
from nlgauge.apps.cli.flags import CommandParser, protect_stdin_columns
from nlgauge.errors import NlgaugeError, NlgaugeWarning, RecipeError

__all__ = ["build_parser", "command_groups", "main", "parser_for"]


class _Command(NamedTuple):
    module: str
    """The module, which has a table `COMMANDS`."""
    help: str
    """One line for the lists of commands, which do not import the module."""


#: Commands by their spelling, in the groups of `nlgauge --help`. Only the module of the one in use is imported.
_GROUPS = {
    "Score and compare": {
        "score": _Command("score", "score systems against references or sources"),
        "compare": _Command("compare", "test which system is better, with confidence intervals"),
        "explain": _Command("explain", "explain scores by words, parts of speech or factors"),
        "serve": _Command("serve", "run the web page and the HTTP service"),
    },
    "Study metrics": {
        "study meta": _Command("meta", "correlate metrics with human judgements"),
        "study tune-layer": _Command("meta", "find the layer that correlates best with human judgements"),
        "study stress": _Command("studies", "test metrics on perturbed texts and adversarial triples"),
        "study literal": _Command("studies", "test the preference for literal translations"),
        "study raters": _Command("raters", "measure how well raters agree: kappas and alpha"),
        "study learn": _Command("meta", "learn a combination of metrics from human ratings"),
        "study calibrate": _Command("calibrate", "fit how often raters prefer the same system as a metric"),
        "study reproduce": _Command("reproduce", "recompute published tables and figures; 'list' shows all"),
    },
    "Build resources": {
        "build idf": _Command("build", "count inverse document frequencies in a corpus"),
        "build baseline": _Command("build", "compute a baseline for rescaling"),
        "build bounds": _Command("build", "compute minimum and maximum of SentSim's parts, for scaling"),
        "build means": _Command("align", "compute the mean and variance of a language's vectors"),
        "build int8": _Command("lists", "calibrate a model for 8-bit inference (--precision int8)"),
        "align": _Command("align", "fit, train and evaluate cross-lingual mappings"),
    },
    "Look up and manage": {
        "list": _Command("lists", "list the metrics"),
        "show": _Command("lists", "show a metric's options, equation and citation"),
        "signature": _Command("lists", "explain a signature, or compare two"),
        "models": _Command("lists", "list, download or locate models"),
        "data": _Command("datasets", "list, describe or check data sets with human judgements"),
        "normalise": _Command("build", "split contractions, change word order, remove punctuation"),
        "completion": _Command("lists", "print a completion script for the shell"),
    },
}

#: Titles of the groups of operations, by the first word of their command; those of `explain` are its actions.
_TITLES = {"": "Score and compare", "study": "Study metrics", "build": "Build resources"}


@cache
def command_groups() -> dict[str, dict[str, _Command]]:
    """The groups, with the commands of operations and of installed packages."""
    from nlgauge.apps.operations import operations  # which most commands need not wait for

    groups = {title: dict(commands) for title, commands in _GROUPS.items()}
    written = {part for spelling in _commands(added=False) for part in (spelling, spelling.partition(" ")[0])}
    for operation in operations().values():
        if operation.command and operation.group in _TITLES:
            operation.check_command(written)
            groups[_TITLES[operation.group]][operation.spelling] = _Command("operations", operation.help)
    first = groups["Score and compare"]
    first |= {name: first.pop(name) for name in ("explain", "serve")}  # after the commands that score
    return groups


def _commands(*, added: bool = True) -> dict[str, _Command]:
    """Commands by their spelling; with `added`, also those of operations."""
    groups = command_groups() if added else _GROUPS
    return {spelling: command for commands in groups.values() for spelling, command in commands.items()}


#: Options that need no command.
_ALONE = {"-h", "--help", "--version"}


def build_parser(*spellings: str, options: bool = True) -> CommandParser:
    """Build the parser of these commands, or of all; without options, their modules are not imported."""
    summary = "Score generated text with BERTScore, chrF and more, and compare systems."
    listing = "" if spellings else f"\n\n{_format_groups()}"
    parser = CommandParser(prog="nlgauge", description=f"{summary}{listing}")
    parser.add_argument("--version", action="version", version=f"nlgauge {__version__}")
    # The description lists the commands, in their groups.
    listed: dict[str, Any] = {"metavar": "COMMAND", "required": True, "help": SUPPRESS}
    commands = parser.add_subparsers(**listed)
    groups = {"": commands}
    available = _commands(added=not set(spellings) <= set(_commands(added=False)) or not spellings)
    for spelling in spellings or available:
        first = spelling.rpartition(" ")[0]
        if first not in groups:
            group = commands.add_parser(first, description="" if spellings else _format_groups(first))
            groups[first] = group.add_subparsers(**listed)
        _add_command(groups[first], spelling, available[spelling], options=options)
    return parser


def _add_command(commands: Any, spelling: str, command: _Command, *, options: bool) -> None:
    parser = commands.add_parser(spelling.rpartition(" ")[2], description=_sentence(command.help))
    if not options:
        return
    module = importlib.import_module(f"nlgauge.apps.cli.{command.module}")
    if command.module == "operations":
        module.command_spelled(spelling).add_to(parser, spelling)
    elif spelling in module.COMMANDS:
        module.COMMANDS[spelling].add_to(parser, spelling)
    else:
        actions = parser.add_subparsers(metavar="ACTION", required=True)
        for name, action in module.COMMANDS.items():
            group, _, word = name.rpartition(" ")
            if group == spelling:
                action.add_to(actions.add_parser(word, help=action.help, description=_sentence(action.help)), name)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _format_groups(first: str = "") -> str:
    """Format one line per command, for all commands or those that start with a word."""
    width = max(map(len, _commands()))
    blocks = []
    for title, commands in command_groups().items():
        lines = [f"  {name:{width}}  {command.help}" for name, command in commands.items() if name.startswith(first)]
        blocks += ["\n".join([f"{title}:", *lines])] if lines else []
    return "\n\n".join(blocks)


def parser_for(words: Sequence[str]) -> CommandParser:
    """Build a parser with only the commands that these words need."""
    if list(words[:1]) == ["--version"]:
        return build_parser("completion", options=False)  # any one of them: it need not list the others
    for added in (False, True):
        for spelling in (" ".join(words[:1]), " ".join(words[:2])):
            if spelling in _commands(added=added):
                return build_parser(spelling)
    if words and words[0].startswith("-") and words[0] not in _ALONE:
        return build_parser()  # such as `--`, after which a command may come
    return build_parser(options=False)  # to list the commands, or to suggest one


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    _open_streams()
    status = 0
    args = Namespace()
    try:
        try:
            status = _run(protect_stdin_columns(sys.argv[1:] if argv is None else argv), args)
        except SystemExit as leaving:  # how argparse ends
            status = leaving.code if isinstance(leaving.code, int) else 0
        sys.stdout.flush()
    except NlgaugeError as error:
        print(f"nlgauge: error: {_in_flags(str(error), args)}", file=sys.stderr)
        return 2 if isinstance(error, RecipeError) else 1
    except KeyboardInterrupt:
        print("nlgauge: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_stdout()  # the reader (head, less) went away; a failed gate keeps its status
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


def _run(words: Sequence[str], args: Namespace) -> int:
    parser_for(words).parse_args(words, args)
    # Imported here, because the version and the list of commands do not need them.
    from nlgauge.apps.cli.common import check_arguments, showing_progress, write_result
    from nlgauge.apps.cli.project_file import apply_settings
    from nlgauge.core.short_signature import signature_form
    from nlgauge.io.table import fit_columns

    loading_is_over()
    quiet = getattr(args, "quiet", False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "always", NlgaugeWarning)
        warnings.showwarning = _WarningsOnce(args).show  # type: ignore[assignment]  # its tail of arguments is not needed
        apply_settings(args)
        check_arguments(args)
        # A file is read in an editor, which has no columns.
        columns = shutil.get_terminal_size().columns if getattr(args, "output", "-") == "-" else None
        form = signature_form(getattr(args, "signature", None))
        with showing_progress(args), form, fit_columns(columns):
            outcome = args.run(args)
            if isinstance(outcome, int):
                return outcome
            write_result(outcome, args)
    return 0


def _in_flags(message: str, args: Namespace) -> str:
    from nlgauge.apps.wording import in_flags

    return in_flags(message, vars(args))


def _open_streams() -> None:
    """Write UTF-8 under any locale, and replace streams that the shell has closed."""
    if sys.stdout is None or sys.stderr is None:
        # A file opened next would get the number of the closed stream, and messages of C libraries with it.
        while os.open(os.devnull, os.O_RDWR) < 2:
            pass
    if sys.stdout is None:
        from nlgauge.apps.cli.common import ClosedOutput

        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open for as long as the process runs
    # A message may quote a file name that is not UTF-8.
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _drop_stdout() -> None:
    """Redirect stdout to /dev/null, so that Python does not fail again when it flushes at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _WarningsOnce:
    """Prints each warning of a command once, however often it is given."""

    def __init__(self, args: Namespace) -> None:
        self._args = args
        self._shown: set[str] = set()

    def show(self, message: Warning | str, category: type[Warning], *_: Any) -> None:
        text = _in_flags(str(message), self._args)
        if issubclass(category, NlgaugeWarning) and text not in self._shown:
            self._shown.add(text)
            print(f"nlgauge: warning: {text}", file=sys.stderr)
