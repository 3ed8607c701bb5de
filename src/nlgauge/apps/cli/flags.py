"""The shared parser, and commands with flags that are built from declared options.

    COMMANDS = {
        "study tune-layer": Command(
            run=tune,
            flags=(*data_flags(), Flags(TuneOptions, "layers"), output_flags()),
            description="Find the layer that correlates best with human judgements.",
        )
    }

`run` takes the parsed arguments and returns a `Result`, which is written as the command asks for it, or an exit
status. After parsing, `args.given` holds the values that are set on the command line; all other options have their
default in `args`. `check_options` parses and checks the values by the options themselves: a message is the same on
the command line, in Python and in a request. No flag can be abbreviated, usage errors are short, and a flag that few
need is hidden from `--help` and shown by `--help-all`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from nlgauge.core.kinds import Flag, Many
from nlgauge.core.options import Option, OptionSet
from nlgauge.errors import RecipeError, closest_name, did_you_mean

if TYPE_CHECKING:
    from nlgauge.core.result import Result

Options = TypeVar("Options", bound=OptionSet)

#: Widest line of help; wider ones are hard to read.
_WIDEST = 100

#: Longest line of a description, which does not adapt to the terminal.
_LINE = 79


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps examples as written, and puts flags and their help on one line."""

    def __init__(self, prog: str) -> None:
        width = min(shutil.get_terminal_size().columns, _WIDEST) - 2
        super().__init__(prog, max_help_position=27, width=width)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Wrap help without breaking names such as `name-swap`."""
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs in {"+", "*"}:
            name = self._metavar_formatter(action, default_metavar)(1)[0]
            kind = getattr(getattr(action, "option", None), "kind", None)
            return name if getattr(kind, "most", None) == 1 else f"{name} ..."
        return super()._format_args(action, default_metavar)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Format `-r, --refs REF ...`, with the value named once."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        values = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {values}"


class CommandParser(argparse.ArgumentParser):
    """The parser of a command or sub-command."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _Formatter)
        super().__init__(*args, **options)

    def short_usage(self) -> str:
        """Format one line with the required arguments."""
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

    def format_help(self, *, full: bool = False) -> str:
        """Format the help; `full` includes advanced flags. Texts are built only here, to save time."""
        self.usage = self.short_usage().replace("%", "%%")
        for action in self._actions:
            if (entry := getattr(action, "option", None)) is not None:
                action.help = argparse.SUPPRESS if entry.hidden and not full else flag_help(entry).replace("%", "%%")
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.format_usage()}{self.prog}: error: {self._reword(message)}\n")

    def _reword(self, message: str) -> str:
        """A message of argparse in the words of the other messages."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and message.endswith(f"required: {action.metavar}"):
                message = f"{action.metavar} is missing; see '{self.prog} --help'"
        names = [str(action.metavar) for action in self._actions if not action.option_strings]
        if len(names) > len(set(names)) and message.endswith(f"required: {names[-1]}"):
            message = f"needs {len(names)} arguments: {' '.join(names)}"
        words = re.sub(r"^argument (\S+): expected (at least )?one argument$", r"\1 needs \2one value", message)
        flag = words.removesuffix(" needs at least one value")
        kind = getattr(getattr(self._option_string_actions.get(flag), "option", None), "kind", None)
        return f"{words}: {kind.kind.values}" if flag != words and isinstance(kind, Many) else words

    def parse_known_args(  # type: ignore[override]  # one of the overloads is enough here
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse, but report unknown flags with the usage of the sub-command.

        Without arguments, a command that has sub-commands lists them.
        """
        if not args and args is not None and self._subparsers is not None:
            self.print_help()
            self.exit()
        if self._subparsers is not None and args and args[0].startswith("--"):
            known = args[0].partition("=")[0] in self._option_string_actions
            if not known and all(argument.startswith("-") for argument in args):
                self.error(self._about_unknown(args, args, ()))  # argparse would ask for a command
        parsed, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(self._about_unknown(extra, list(args or ()), getattr(parsed, "metric", None) or ()))
        _note_options(parsed, self._actions)
        return parsed, []

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            spellings = _spellings(action)
            hint = did_you_mean(value, spellings)
            for name, spelling in spellings.items():
                hint = hint.replace(f"'{name}'", f"'{self.prog} {spelling}'")
            hint = hint or f"; see '{self.prog} --help'"
            raise argparse.ArgumentError(None, f"unknown command {value!r}{hint}")
        super()._check_value(action, value)

    def _about_unknown(self, extra: Sequence[str], args: Sequence[str], metrics: Sequence[str]) -> str:
        """The message about arguments that the command does not take."""
        text = extra[0].lstrip("\0")
        if text.startswith("-") and not text.startswith("-:"):
            flag = text.partition("=")[0]
            name = flag.lstrip("-")
            hint = _metric_option_hint(name, extra, metrics) if "--metric" in self._option_string_actions else ""
            names = [own.removeprefix("--") for own in self._option_string_actions if own.startswith("--")]
            spellings = {word: own for word, own in _OTHER_WORDS.items() if own in names}
            spellings |= {own: own for own in names}
            closest = closest_name(name, spellings)
            if not hint or (name in spellings and not _has_option(metrics, name)):
                hint = f"; did you mean '--{spellings[closest]}'?" if closest else f"; see '{self.prog} --help'"
            return f"unknown option {flag!r}{hint}"
        takes_files = any(not action.option_strings and action.nargs in {"*", "+"} for action in self._actions)
        hint = f"; files come first, right after '{self.prog}'" if takes_files and not _is_number(text) else ""
        before = args[args.index(extra[0]) - 1] if extra[0] in args[1:] else ""
        action = self._option_string_actions.get(before)
        if action is not None and action.nargs == 0:
            return f"{before} takes no value, got {text!r}{hint or '; remove the value'}"
        return f"unexpected argument {text!r}{hint}"

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse ignores errors here, so that help that could not be written would exit with status 0.
        if message:
            (file or sys.stderr).write(message)


#: Words for a flag in other tools.
_OTHER_WORDS = {
    "references": "refs",
    "sources": "source",
    "out": "output",
    "language": "lang",
    "alpha": "confidence-level",
}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _spellings(commands: argparse.Action) -> dict[str, str]:
    """The full spelling of each command or sub-command, by its name."""
    parsers: dict[str, argparse.ArgumentParser] = dict(commands.choices or {})
    deeper = {
        name: f"{first} {name}"
        for first, parser in parsers.items()
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    }
    return deeper | {name: name for name in parsers}


def _has_option(metrics: Sequence[str], name: str) -> bool:
    """Whether one of the metrics of the command has an option."""
    from nlgauge.core.registry import METRICS, metric_name  # not needed by a correct command

    known = [metric_name(text).casefold() for text in metrics]
    return any(name.replace("-", "_") in METRICS[metric].options() for metric in known if metric in METRICS)


def _metric_option_hint(name: str, extra: Sequence[str], metrics: Sequence[str]) -> str:
    """Explain how to write a metric option that was given as a flag."""
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
    """Add `actions`, `declared` and `given` to the parsed arguments, and fill in the defaults."""
    declared = {action.dest: action for action in actions if hasattr(action, "option")}
    if not declared:
        return
    args.actions, args.declared, args.given = declared, {}, {}
    for name, action in declared.items():
        args.declared[name] = action.option
        value = getattr(args, name)
        # argparse uses an empty list for missing positional arguments.
        if value is None or (value == [] and not action.option_strings):
            setattr(args, name, action.option.default)
        else:
            args.given[name] = value


class _HelpAll(argparse.Action):
    def __call__(self, parser: Any, *_: Any) -> None:
        parser._print_message(parser.format_help(full=True), sys.stdout)
        parser.exit()


def is_shown(action: argparse.Action) -> bool:
    """Whether `--help-all` shows a flag, or help mentions it."""
    return action.help is not argparse.SUPPRESS or hasattr(action, "option") or isinstance(action, _HelpAll)


def protect_stdin_columns(argv: Sequence[str]) -> list[str]:
    """Let `-:COLUMN` pass argparse, which would take it for an option; `_unprotect` undoes this."""
    return [f"\0{text}" if text.startswith("-:") else text for text in argv]


def flag_of(name: str) -> str:
    """The flag of an option.

    >>> flag_of("src_lang")
    '--src-lang'
    """
    return f"--{name.replace('_', '-')}"


class Flags(NamedTuple):
    """Options that a command takes as flags or positional arguments."""

    options: Any
    """An `OptionSet`, or the recipe of a metric."""
    title: str = ""
    """Title of their group in help."""
    only: Collection[str] = ()
    without: Collection[str] = ()
    change: Mapping[str, Mapping[str, Any]] | None = None
    """Changes to options in this command: `{"decimals": {"default": 3}}`."""
    exclusive: bool = False
    """Whether exactly one of them must be given."""


def add_flags(parser: CommandParser, *flags: Flags) -> None:
    """Add flags to a parser, grouped by title."""
    groups: dict[str, Any] = {"": parser}
    hidden = False
    for options, title, only, without, change, exclusive in flags:
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        target = parser.add_mutually_exclusive_group(required=True) if exclusive else groups[title]
        for name, declared in options.options().items():
            if name not in without and (not only or name in only):
                changes = (change or {}).get(name)
                entry = replace(declared, **changes) if changes else declared
                _add_flag(target, entry, options)
                hidden = hidden or entry.hidden
    if hidden:
        parser.add_argument("--help-all", action=_HelpAll, nargs=0, help=argparse.SUPPRESS)
        parser._option_string_actions["--help"].help = "show this help (--help-all: all options)"


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: its function, flags and help."""

    run: Callable[[argparse.Namespace], Result | int]
    flags: tuple[Flags, ...] = ()
    help: str = ""
    """One line for the list of a group such as `nlgauge align`; the main list has its own lines."""
    description: str = ""
    usage: str = ""
    """Arguments in the first line of help, without `[options]`."""
    examples: str = ""

    def with_flags(self, *flags: Flags, change: Mapping[str, Mapping[str, Any]] = {}, **fields: Any) -> Command:
        """Copy the command with further flags and changed fields; `change` is that of `Flags`."""

        def change_flags(own: Flags) -> Flags:
            names = own.options.options()
            return own._replace(
                change={name: {**(own.change or {}).get(name, {}), **change.get(name, {})} for name in names}
            )

        first, *rest = map(change_flags, self.flags)
        return replace(self, flags=(first, *flags, *rest), **fields)

    def add_to(self, parser: CommandParser, spelling: str) -> None:
        """Set up the parser of this command."""
        parser.description = textwrap.fill(
            " ".join((self.description or parser.description or "").split()), _LINE, break_on_hyphens=False
        )
        parser.usage = f"nlgauge {spelling} {self.usage} [options]" if self.usage else None
        heading = "example" if self.examples.count("\n") < 2 else "examples"
        parser.epilog = f"{heading}:\n{self.examples}" if self.examples else ""
        add_flags(parser, *self.flags)
        if "--metric" in parser._option_string_actions:
            parser.epilog += "metric options: -m NAME:option=value (nlgauge show NAME lists them)\n"
        parser.set_defaults(run=self.run, command=spelling)


def _add_flag(group: Any, entry: Option, owner: Any) -> None:
    kind = entry.kind
    # Help texts are built in `CommandParser.format_help`.
    settings: dict[str, Any] = {"default": None, "help": argparse.SUPPRESS if entry.hidden else None}
    if isinstance(kind, Flag):
        settings |= {"action": "store_const", "const": True}
    else:
        names = entry.metavar.split()
        settings |= {
            "type": _unprotect,
            "metavar": tuple(names) if len(names) > 1 else entry.metavar or kind.metavar,
        }
    if not isinstance(kind, Many):
        settings |= {"nargs": "?"} if entry.positional and not entry.required else {}
    elif isinstance(kind.kind, Many):  # a list for each time that the flag is given
        settings |= {"action": "append", "nargs": kind.kind.most}
    elif kind.most is not None and kind.most == kind.least > 1:
        settings["nargs"] = kind.most
    else:
        settings["nargs"] = "*" if kind.empty or (entry.positional and not kind.least) else "+"
        settings |= {"action": "extend"} if kind.again else {}
    flags = [entry.name]
    if not entry.positional:
        settings |= {"dest": entry.name, "required": entry.required}
        # Metric recipes do not define flag names.
        name = getattr(owner, "flag_names", {}).get(entry.name, entry.name)
        flags = [*([entry.flag] if entry.flag else []), f"--{name.replace('_', '-')}"]
    try:
        action = group.add_argument(*flags, **settings)
    except argparse.ArgumentError as error:
        msg = (
            f"option {entry.name!r} of {owner.__name__} has the same flag as another option of the command; rename it"
        )
        raise RecipeError(msg) from error
    action.option, action.owner = entry, owner


def _unprotect(text: str) -> str:
    """Undo `protect_stdin_columns`."""
    return text.removeprefix("\0")


def flag_help(entry: Option) -> str:
    """Format the help of a flag with its values and its default."""
    kind = entry.kind.kind if isinstance(entry.kind, Many) else entry.kind
    words = f": {', '.join(kind.words_of())}" if kind.words_of() else ""
    what, semicolon, more = entry.help.partition(";")
    silent = entry.required or entry.default is None or entry.default is False or entry.default in ((), "")
    default = entry.unset if entry.unset else "" if silent else entry.default_text
    return f"{what}{words}{semicolon}{more}" + (f" (default: {default})" if default else "")


def set_option(args: argparse.Namespace, name: str, value: Any) -> None:
    """Set an option as if it were given on the command line."""
    args.given[name] = value
    setattr(args, name, value)


def check_options(args: argparse.Namespace) -> None:
    """Replace texts by the values of options; refuse invalid values, and flags without the flag they need."""
    given = getattr(args, "given", {})
    for name, value in list(given.items()):
        entry = args.declared[name]
        try:
            set_option(args, name, entry.check(value))
        except RecipeError as error:
            is_empty = not any(value) if isinstance(value, list) else not value
            problem = "is empty (unset shell variable?)" if is_empty else entry.problem(value)
            msg = f"{_shown(args, name)} {problem}{_suggest_word(value, entry)}"
            raise RecipeError(msg) from error
    for name in given:
        needed = args.declared[name].needs
        if needed in args.declared and needed not in given:
            msg = f"{_shown(args, name)} works only with {_shown(args, needed, value=True)}, which was not given"
            raise RecipeError(msg)


def _suggest_word(value: Any, entry: Option) -> str:
    """Suggest the closest word; a list names its own."""
    words = entry.kind.words_of()
    is_word = isinstance(value, str) and not isinstance(entry.kind, Many)
    return did_you_mean(value, words) if words and is_word else ""


def _shown(args: argparse.Namespace, name: str, *, value: bool = False) -> str:
    """Name an option in a message: its flag, or its positional argument."""
    action = args.actions[name]
    metavar = " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar
    if not action.option_strings:
        return f"argument {metavar}"
    flag: str = action.option_strings[-1]
    return f"{flag} {metavar}" if value and metavar else flag


def given_options(args: argparse.Namespace, options: Any) -> dict[str, Any]:
    """Return the options of a set that the command line sets."""
    return {name: value for name, value in getattr(args, "given", {}).items() if args.actions[name].owner is options}


def refuse_flags(args: argparse.Namespace, names: Iterable[str], reason: str) -> None:
    """Refuse the first of these flags that is set."""
    for name in names:
        if name in args.given:
            msg = f"{_shown(args, name)} {reason}"
            raise RecipeError(msg)


def read_options(
    args: argparse.Namespace, options: type[Options], changes: Mapping[str, Any] | None = None
) -> Options:
    """Build the options of the library from the arguments."""
    check_options(args)
    try:
        return options.of(given_options(args, options) | dict(changes or {}))
    except RecipeError as error:  # it names the option: "alpha must be ..."
        name, _, rest = str(error).partition(" ")
        if name not in options.options():
            raise
        msg = f"{options.flag_of(name)} {rest}"
        raise RecipeError(msg) from error
