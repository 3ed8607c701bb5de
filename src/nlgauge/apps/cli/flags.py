"""Commands and their flags, made from declared options.

    COMMANDS = {
        "study tune-layer": Command(
            run=tune,
            flags=(*data_flags(), Flags(TuneOptions, "layers"), output_flags()),
            description="Find the layer that correlates best with human judgements.",
        )
    }

`run` takes the parsed arguments and returns a `Result`, which is written as the command asks for it, or an exit
status. After parsing, `args.given` holds the values that the command sets, and every option without one has its
default in `args`. `check_options` parses and checks the values by the options themselves: a message is the same on
the command line, in Python and in a request.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nlgauge.apps.cli.parsing import FULL_HELP, CommandParser, add_hidden
from nlgauge.core.kinds import Flag, Float, Folder, InputFile, Int, Kind, Many, OutputFile
from nlgauge.core.options import Option, OptionSet
from nlgauge.errors import RecipeError

if TYPE_CHECKING:
    from nlgauge.core.result import Result

Options = TypeVar("Options", bound=OptionSet)

#: Names of values in help, by kind.
_METAVARS: tuple[tuple[type[Kind], str], ...] = (
    (Int, "N"),
    (Float, "X"),
    (InputFile, "FILE"),
    (OutputFile, "FILE"),
    (Folder, "FOLDER"),
    (Kind, "NAME"),
)


def flag_of(name: str) -> str:
    """The flag of an option.

    >>> flag_of("src_lang")
    '--src-lang'
    """
    return f"--{name.replace('_', '-')}"


def _flag_by(owner: Any, name: str) -> str:
    """The flag as the set of options calls it; recipes of metrics have no names of their own for flags."""
    return owner.flag_of(name) if issubclass(owner, OptionSet) else flag_of(name)


class Flags(NamedTuple):
    """Options that a command takes as flags or positional arguments."""

    options: Any
    """An `OptionSet`, or the recipe of a metric."""
    title: str = ""
    """The group of help that they belong to."""
    only: Collection[str] = ()
    without: Collection[str] = ()
    change: Mapping[str, Mapping[str, Any]] | None = None
    """By option what is different in this command: `{"width": {"default": 3}}`."""
    exclusive: bool = False
    """Whether exactly one of them must be given."""


def add_flags(parser: CommandParser, *flags: Flags) -> None:
    """Add flags to a parser; those with one title are in one group."""
    groups: dict[str, Any] = {"": parser}
    for options, title, only, without, change, exclusive in flags:
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        target = parser.add_mutually_exclusive_group(required=True) if exclusive else groups[title]
        for name, entry in options.options().items():
            if name not in without and (not only or name in only):
                _add_flag(target, replace(entry, **(change or {}).get(name, {})), options)
    if any(hasattr(action, FULL_HELP) for action in parser._actions):
        parser.add_help_all()


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: its flags, its help, and the function that carries it out."""

    run: Callable[[argparse.Namespace], Result | int]
    flags: tuple[Flags, ...] = ()
    help: str = ""
    """One line for the list of a group such as `nlgauge align`; commands of the main list have theirs there."""
    description: str = ""
    usage: str = ""
    """Arguments in the first line of help, without `[options]`."""
    examples: str = ""

    def varied(self, *flags: Flags, change: Mapping[str, Mapping[str, Any]] = {}, **fields: Any) -> Command:
        """The command with further flags after its first ones, and other fields; `change` is that of `Flags`."""

        def changed(own: Flags) -> Flags:
            names = own.options.options()
            return own._replace(
                change={name: {**(own.change or {}).get(name, {}), **change.get(name, {})} for name in names}
            )

        first, *rest = map(changed, self.flags)
        return replace(self, flags=(first, *flags, *rest), **fields)

    def add_to(self, parser: CommandParser, spelling: str) -> None:
        """Set up the parser of this command."""
        parser.description = self.description or parser.description
        parser.usage = f"nlgauge {spelling} {self.usage} [options]" if self.usage else None
        heading = "example" if self.examples.count("\n") < 2 else "examples"
        parser.epilog = f"{heading}:\n{self.examples}" if self.examples else ""
        add_flags(parser, *self.flags)
        if "--metric" in parser._option_string_actions:
            parser.epilog += "other options of a metric: -m NAME:option=value; nlgauge show NAME lists them\n"
        parser.set_defaults(run=self.run, command=spelling)


def _add_flag(group: Any, entry: Option, owner: Any) -> None:
    flags = [*([entry.flag] if entry.flag else []), _flag_by(owner, entry.name)]
    names = [entry.name] if entry.positional else flags
    settings: dict[str, Any] = {"default": None, "help": flag_help(entry).replace("%", "%%")}
    if isinstance(entry.kind, Flag):
        settings |= {"action": "store_const", "const": True}
    else:
        settings |= {"metavar": _value_names(entry), "type": _unprotected}
    settings |= _number_of_values(entry)
    if not entry.positional:
        settings |= {"dest": entry.name, "required": entry.required}
    try:
        action = add_hidden(group, *names, **settings) if entry.hidden else group.add_argument(*names, **settings)
    except argparse.ArgumentError as error:
        msg = f"option {entry.name!r} of {owner.__name__} has the flag of another option of the command; rename it"
        raise RecipeError(msg) from error
    action.option, action.owner = entry, owner


def _number_of_values(entry: Option) -> dict[str, Any]:
    """How argparse reads the values of a list."""
    kind = entry.kind
    if not isinstance(kind, Many):
        return {"nargs": "?"} if entry.positional and not entry.required else {}
    if isinstance(kind.kind, Many):  # a list for each time that the flag is given
        return {"action": "append", "nargs": kind.kind.most}
    if kind.most is not None and kind.most == kind.least > 1:
        return {"nargs": kind.most}
    count = "*" if kind.empty or (entry.positional and not kind.least) else "+"
    return {"nargs": count} | ({"action": "extend"} if kind.again else {})


def _unprotected(text: str) -> str:
    """A value as the user wrote it (see `protect_stdin_columns` of parsing.py)."""
    return text.removeprefix("\0")


def flag_help(entry: Option) -> str:
    """The help of a flag: what the option is, its values where they can be listed, and its default."""
    kind = entry.kind.kind if isinstance(entry.kind, Many) else entry.kind
    words = f": {', '.join(kind.words_of())}" if kind.words_of() else ""
    silent = entry.required or entry.default is None or entry.default is False or entry.default in ((), "")
    default = entry.unset if entry.unset else "" if silent else entry.default_text
    return f"{entry.help}{words}" + (f" (default: {default})" if default else "")


def _value_names(entry: Option) -> str | tuple[str, ...]:
    """The name of the value in help and messages, or of each of a fixed number of values."""
    if entry.metavar:
        names = tuple(entry.metavar.split())
        return names if len(names) > 1 else entry.metavar
    inner = innermost(entry.kind)
    return next(name for known, name in _METAVARS if isinstance(inner, known))


def innermost(kind: Kind) -> Kind:
    """The kind of a single value."""
    return innermost(kind.kind) if isinstance(kind, Many) else kind


def set_option(args: argparse.Namespace, name: str, value: Any) -> None:
    """Set an option as if the command had."""
    args.given[name] = value
    setattr(args, name, value)


def check_options(args: argparse.Namespace) -> None:
    """Replace texts by the values of options; refuse values that are none, and flags without the one they need."""
    given = getattr(args, "given", {})
    for name, value in list(given.items()):
        entry = args.declared[name]
        try:
            set_option(args, name, entry.check(value))
        except RecipeError as error:
            text = " ".join(map(str, value)) if isinstance(value, list) else value
            must = f"must be {entry.values}, got {text!r}" if text else "is empty (is a variable of the shell unset?)"
            msg = f"{_shown(args, name)} {must}"
            raise RecipeError(msg) from error
    for name in given:
        needed = args.declared[name].needs
        if needed in args.declared and needed not in given:
            msg = f"{_shown(args, name)} belongs to {_shown(args, needed, value=True)}, which was not given"
            raise RecipeError(msg)


def _shown(args: argparse.Namespace, name: str, *, value: bool = False) -> str:
    """An option in messages: its flag, or the name of a positional argument."""
    entry = args.declared[name]
    names = _value_names(entry)
    metavar = names if isinstance(names, str) else " ".join(names)
    if entry.positional:
        return metavar
    flag = _flag_by(args.owners[name], name)
    return f"{flag} {metavar}" if value and not isinstance(entry.kind, Flag) else flag


def given_options(args: argparse.Namespace, options: Any) -> dict[str, Any]:
    """The options that the command sets; another flag of the command may have the name of an option."""
    return {name: value for name, value in getattr(args, "given", {}).items() if args.owners[name] is options}


def refuse_flags(args: argparse.Namespace, names: Iterable[str], reason: str) -> None:
    """Refuse the first of these flags that the command sets."""
    for name in names:
        if name in args.given:
            msg = f"{_shown(args, name)} {reason}"
            raise RecipeError(msg)


def read_options(
    args: argparse.Namespace, options: type[Options], changes: Mapping[str, Any] | None = None
) -> Options:
    """The options of a command as the library takes them."""
    check_options(args)
    try:
        return options.of(given_options(args, options) | dict(changes or {}))
    except RecipeError as error:  # it names the option: "alpha must be ..."
        name, _, rest = str(error).partition(" ")
        if name not in options.options():
            raise
        msg = f"{options.flag_of(name)} {rest}"
        raise RecipeError(msg) from error
