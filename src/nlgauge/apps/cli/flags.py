"""Flags of the command line, made from declared options.

    add_flags(parser, CompareSettings, title="tests and rankings")
    settings = read_options(args, CompareSettings)

A flag without a value in the command is None in the parsed arguments, so the library's defaults apply. Values are
parsed and checked by the options themselves: a message is the same on the command line, in Python and in a request.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from nlgauge.apps.cli.parsing import add_hidden
from nlgauge.core.kinds import Flag, Float, Folder, InputFile, Int, Kind, Many, OutputFile
from nlgauge.core.options import Option, OptionSet
from nlgauge.errors import RecipeError

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


def add_flags(
    target: Any, options: type[OptionSet], *, title: str = "", only: Iterable[str] = (), without: Iterable[str] = ()
) -> Any:
    """Add a flag for each option, in a group of their own where it has a title; the group is returned."""
    group = target.add_argument_group(title) if title else target
    for name, entry in options.options().items():
        if name not in set(without) and (not only or name in set(only)):
            _add_flag(group, entry, options)
    return group


def _add_flag(group: Any, entry: Option, options: type[OptionSet]) -> None:
    names = [*([entry.flag] if entry.flag else []), options.flag_of(entry.name)]
    settings: dict[str, Any] = {"dest": entry.name, "default": None, "help": flag_help(entry).replace("%", "%%")}
    if isinstance(entry.kind, Flag):
        settings |= {"action": "store_const", "const": True}
    else:
        settings["metavar"] = _value_name(entry)
    if isinstance(entry.kind, Many):
        settings["nargs"] = "+"
    if entry.required:
        settings["required"] = True
    action = add_hidden(group, *names, **settings) if entry.hidden else group.add_argument(*names, **settings)
    action.kind, action.option_set = entry.kind, options


def flag_help(entry: Option) -> str:
    """The help of a flag: what the option is, its values where they can be listed, and its default."""
    kind = entry.kind.kind if isinstance(entry.kind, Many) else entry.kind
    words = f": {', '.join(kind.words_of())}" if kind.words_of() else ""
    silent = entry.required or entry.default in (None, False, ())
    default = entry.unset if entry.unset else "" if silent else entry.default_text
    return f"{entry.help}{words}" + (f" (default: {default})" if default else "")


def _value_name(entry: Option) -> str:
    """The name of the value in help and messages."""
    if entry.metavar:
        return entry.metavar
    inner = entry.kind.kind if isinstance(entry.kind, Many) else entry.kind
    return next(name for known, name in _METAVARS if isinstance(inner, known))


def given_options(args: argparse.Namespace, options: type[OptionSet]) -> dict[str, Any]:
    """The options that the command sets; another flag of the command may have the name of an option."""
    flags = [name for name, owner in getattr(args, "declared", {}).items() if owner is options]
    return {name: getattr(args, name) for name in flags if getattr(args, name) is not None}


def read_options(
    args: argparse.Namespace, options: type[Options], changes: Mapping[str, Any] | None = None
) -> Options:
    """The options of a command; a flag that needs another one is refused without it."""
    given = given_options(args, options)
    for name in given:
        needed = options.options()[name].needs
        if needed and not getattr(args, needed, None):
            value = options.options()[needed]
            owner = " ".join([flag_of(needed), *([] if isinstance(value.kind, Flag) else [_value_name(value)])])
            msg = f"{flag_of(name)} belongs to {owner}, which was not given"
            raise RecipeError(msg)
    try:
        return options.of(given | dict(changes or {}))
    except RecipeError as error:  # it names the option: "alpha must be ..."
        name, _, rest = str(error).partition(" ")
        if name not in options.options():
            raise
        msg = f"{options.flag_of(name)} {rest}"
        raise RecipeError(msg) from error
