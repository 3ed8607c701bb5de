"""The parser that all commands share: no abbreviated flags, short usage errors, help that fits a screen.

A flag that few need is hidden from `--help` (`add_hidden`) and shown by `--help-all`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from nlgauge.core.options import did_you_mean

#: Where the real help of a hidden flag is kept on its action.
FULL_HELP = "full_help"

#: Widest line of help; wider ones are hard to read.
_WIDEST = 100


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Examples as they are written, and flags and their help side by side."""

    def __init__(self, prog: str) -> None:
        width = min(shutil.get_terminal_size().columns, _WIDEST) - 2
        super().__init__(prog, max_help_position=27, width=width)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs in {"+", "*"}:
            return f"{self._metavar_formatter(action, default_metavar)(1)[0]} ..."
        return super()._format_args(action, default_metavar)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """`-r, --refs REF ...`, the value named once."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        values = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {values}"


class CommandParser(argparse.ArgumentParser):
    """A command or sub-command; its sub-commands are of this class too."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _Formatter)
        super().__init__(*args, **options)

    def short_usage(self) -> str:
        """One line: what must be there."""
        if self.usage:
            return self.usage
        words = [self.prog]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return f"{self.prog} {action.metavar or 'COMMAND'} ..."
            name = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ())
            name = name or action.dest.upper()
            if action.nargs in {"*", "+"}:
                name += " ..."
            if not action.option_strings:
                words.append(name)
            elif action.required:
                words.append(f"{action.option_strings[-1]} {name}")
        return " ".join([*words, "[options]"])

    def format_usage(self) -> str:
        return f"usage: {self.short_usage()}\n"

    def format_help(self) -> str:
        self.usage = self.short_usage().replace("%", "%%")
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and message.endswith(f"required: {action.metavar}"):
                message = f"{action.metavar} is missing; see '{self.prog} --help'"
        self.exit(2, f"{self.format_usage()}{self.prog}: error: {message}\n")

    def parse_known_args(  # type: ignore[override]  # one of the overloads is enough here
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As argparse has it, but a sub-command complains of unknown flags itself, with its own usage.

        Without any words, a command that has sub-commands lists them.
        """
        if not args and args is not None and self._subparsers is not None:
            self.print_help()
            self.exit()
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            hint = self._hint(extra, getattr(found, "metric", None) or ())
            self.error(f"unrecognized arguments: {' '.join(extra)}{hint}")
        _note_options(found, self._actions)
        return found, []

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            known = _spellings(action)
            hint = did_you_mean(value, known)
            for name in known:
                hint = hint.replace(f"'{name}'", f"'{self.prog} {known[name]}'")
            hint = hint or f"; see '{self.prog} --help'"
            raise argparse.ArgumentError(None, f"unknown command {value!r}{hint}")
        super()._check_value(action, value)

    def _hint(self, extra: Sequence[str], metrics: Sequence[str]) -> str:
        text = extra[0]
        if text.startswith("-"):
            name = text.partition("=")[0].lstrip("-")
            if "--metric" in self._option_string_actions and (hint := _metric_option_hint(name, extra, metrics)):
                return hint
            names = [flag.removeprefix("--") for flag in self._option_string_actions if flag.startswith("--")]
            return did_you_mean(name, names).replace(" '", " '--")
        takes_files = any(not action.option_strings and action.nargs in {"*", "+"} for action in self._actions)
        return f"; files come first, right after '{self.prog}'" if takes_files else ""

    def add_help_all(self) -> None:
        """Add the flag that also shows what `--help` hides."""
        self.add_argument("--help-all", action=_HelpAll, nargs=0, help="all flags, also those that few need")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse ignores an error here, and a help that could not be written would end with status 0.
        if message:
            (file or sys.stderr).write(message)


def _spellings(commands: argparse.Action) -> dict[str, str]:
    """How to call a command or sub-command, by its name."""
    parsers: dict[str, argparse.ArgumentParser] = dict(commands.choices or {})
    deeper = {
        name: f"{first} {name}"
        for first, parser in parsers.items()
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    }
    return deeper | {name: name for name in parsers}


def _metric_option_hint(name: str, extra: Sequence[str], metrics: Sequence[str]) -> str:
    """How an option of a metric is written, where a flag has its name; a metric of the command is the example."""
    from nlgauge.core.registry import METRICS, metric_name  # not needed by a correct command

    option = name.replace("-", "_")
    owners = [metric.name for metric in METRICS.values() if option in metric.options()]
    if not owners:
        return ""
    recipe = next((text for text in metrics if "|" not in text and metric_name(text) in owners), "")
    recipe = recipe or ("bertscore" if "bertscore" in owners else owners[0])
    value = extra[0].partition("=")[2] or (extra[1] if len(extra) > 1 else "VALUE")
    return f"; an option of a metric is written -m {recipe}{',' if ':' in recipe else ':'}{option}={value}"


def _note_options(args: argparse.Namespace, actions: Iterable[Any]) -> None:
    """Note in the parsed arguments which options the command has and which values it sets; fill in the defaults."""
    declared = {action.dest: action for action in actions if hasattr(action, "option")}
    if not declared:
        return
    args.declared = {name: action.option for name, action in declared.items()}
    args.owners = {name: action.owner for name, action in declared.items()}
    # argparse has an empty list for positional arguments that are not there.
    unset: dict[str, Any] = {name: [] if not action.option_strings else None for name, action in declared.items()}
    args.given = {name: getattr(args, name) for name in declared if getattr(args, name) not in (None, unset[name])}
    for name, entry in args.declared.items():
        setattr(args, name, args.given.get(name, entry.default))


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        for action in parser._actions:
            action.help = vars(action).get(FULL_HELP, action.help)
        parser.print_help()
        parser.exit()


def add_hidden(target: Any, *flags: str, help: str, **options: Any) -> Any:  # noqa: A002 - as argparse has it
    """Add a flag to a parser or group that only `--help-all` shows."""
    action = target.add_argument(*flags, help=argparse.SUPPRESS, **options)
    vars(action)[FULL_HELP] = help
    return action


def is_shown(action: argparse.Action) -> bool:
    """Whether `--help-all` shows a flag."""
    return action.help is not argparse.SUPPRESS or FULL_HELP in vars(action)


def protect_stdin_columns(argv: Sequence[str]) -> list[str]:
    """Let `-:COLUMN` through argparse, which would take it for an option; flags.py undoes it."""
    return [f"\0{text}" if text.startswith("-:") else text for text in argv]
