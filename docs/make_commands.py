"""The reference page of commands, docs/commands.md, made from the declarations of their options.

python -m docs.make_commands            writes the page
python -m docs.make_commands --check    ends with 1 where it is not up to date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docs.generated import TABLE_HEAD, option_row, write_or_check

from nlgauge.apps.cli import build_parser, command_groups
from nlgauge.apps.cli.common import MetricOptions, OutputOptions
from nlgauge.apps.cli.flags import CommandParser, Flags, add_flags
from nlgauge.core.kinds import Flag
from nlgauge.core.operations import added_operations
from nlgauge.core.options import Option
from nlgauge.core.run_options import RunOptions

PAGE = Path(__file__).parent / "commands.md"

HEAD = """\
# Commands

All commands with their options. The [quick start](quickstart.md) shows the most important ones at work; `nlgauge
COMMAND --help` shows the options that most people need, and `--help-all` all of them. Options of metrics are on
[their pages](metrics.md). This page is made from the declarations of the options by `python -m docs.make_commands`.
"""

SHARED = """\
## Options of many commands

Commands that score texts take those of metrics and of a run; commands with a result say where it goes. Below each
command are only the options that are its own, or have another default there.
"""

#: Options that are described once.
_SHARED = {"Metrics": MetricOptions, "Run": RunOptions, "Output": OutputOptions}


def page() -> str:
    """The page as it should be."""
    commands = dict(_leaves(build_parser()))
    added = {operation.spelling for operation in added_operations()}
    shared = _shared_rows()
    parts = [HEAD, SHARED]
    parts += ["\n".join([f"### {title}", "", *TABLE_HEAD, *rows, ""]) for title, rows in shared.items()]
    known = {row for rows in shared.values() for row in rows}
    for title, entries in command_groups().items():
        parts.append(f"## {title}\n")
        for spelling, command in entries.items():
            below = [name for name in commands if name == spelling or name.startswith(f"{spelling} ")]
            parts += [_section(name, commands[name], command.help, known) for name in below if name not in added]
    return "\n".join(parts)


def _leaves(parser: CommandParser) -> Iterator[tuple[str, CommandParser]]:
    """Commands by their words behind `nlgauge`."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in groups:
        for child in action.choices.values():
            yield from _leaves(child)
    if not groups:
        yield parser.prog.partition(" ")[2], parser


def _shared_rows() -> dict[str, list[str]]:
    rows = {}
    for title, options in _SHARED.items():
        parser = CommandParser()
        add_flags(parser, Flags(options, without=("alignments", "progress")))
        rows[title] = list(_rows(parser).values())
    return rows


def _rows(parser: CommandParser) -> dict[str, str]:
    """By the name of an option of a command, a line of a table."""
    actions: list[Any] = [action for action in parser._actions if hasattr(action, "option")]
    return {_name(action): _row(action.option, _name(action)) for action in actions}


def _row(entry: Option, name: str) -> str:
    return f"| {name} | flag | | {entry.help} |" if isinstance(entry.kind, Flag) else option_row(entry, name)


def _name(action: argparse.Action) -> str:
    """Flags, or the name of a positional argument."""
    metavar = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ())
    return ", ".join(f"`{flag}`" for flag in action.option_strings) or f"`{metavar}`"


def _section(name: str, parser: CommandParser, line: str, shared: set[str]) -> str:
    """A command: its usage, one line of help, and its options."""
    described = " ".join((parser.description or f"{line[0].upper()}{line[1:]}.").split())
    rows = _rows(parser)
    own = [row for row in rows.values() if row not in shared]
    others = [option for option, row in rows.items() if row in shared]
    lines = [f"### nlgauge {name}", "", described, "", f"`{parser.short_usage()}`", ""]
    lines += [*TABLE_HEAD, *own, ""] if own else []
    lines += [f"Options of many commands: {'; '.join(others)}.", ""] if others else []
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it."""
    return write_or_check(arguments, {PAGE: page()}, "python -m docs.make_commands")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
