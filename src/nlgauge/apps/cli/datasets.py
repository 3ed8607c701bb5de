"""Data sets with human judgements: `nlgauge data list|info|check`, and the flags that choose one for a study."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import add_format, check_documents, read_documents
from nlgauge.apps.cli.flags import add_flags
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.kinds import Folder, Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.data.cards import DATA_CARDS, DataList, describe_card, find_data_card, load
from nlgauge.data.integrity import DataChecks, check, recognise
from nlgauge.errors import InputError, RecipeError

if TYPE_CHECKING:
    from nlgauge.data.judgements import JudgementTable


#: The name of a data set, as an option of a command.
DATA_NAME = Text("the name of a data set, see 'nlgauge data list'", known=lambda: DATA_CARDS)


@dataclass(frozen=True, kw_only=True)
class DataOptions(OptionSet):
    """A data set with human judgements, or a part of it."""

    data: str | None = option(None, DATA_NAME, help="data set, see 'nlgauge data list'")
    at: str | None = option(
        None,
        Folder("a file or a folder"),
        help="file or folder of the data",
        unset="$NLGAUGE_DATA",
        needs="data",
        metavar="PATH",
    )
    langpairs: tuple[str, ...] = option(
        (),
        Many(Text("a language pair")),
        help="language pairs, such as cs-en",
        unset="all",
        needs="data",
        metavar="PAIR",
    )
    set: tuple[str, ...] = option(
        (),
        Many(Text("KEY=VALUE"), again=True),
        help="options, see 'nlgauge data info NAME'",
        needs="data",
        metavar="KEY=VALUE",
    )
    limit: int | None = option(
        None, Int(1), help="first N rows of each language pair and system", unset="all", needs="data"
    )


def add_data_options(
    parser: argparse.ArgumentParser, *, title: str = "data", required: bool = True, limit: bool = False
) -> Any:
    """Add the options; the group is returned for a command that has more of them."""
    change = {"data": {"required": required}}
    return add_flags(parser, DataOptions, title=title, without=() if limit else ["limit"], change=change)


def load_data(args: argparse.Namespace, **more: Any) -> JudgementTable:
    """The table that the options name."""
    card = find_data_card(args.data)
    options = dict(more) | card.parse_options(args.set)
    at = args.at or os.environ.get("NLGAUGE_DATA")
    if not at:
        msg = f"say where {card.name} lies: --at PATH, or the environment variable NLGAUGE_DATA"
        raise RecipeError(msg)
    table = load(card.name, at, langpairs=args.langpairs or None, **options)
    return table if getattr(args, "limit", None) is None else table.first_rows(args.limit)


@dataclass(frozen=True, kw_only=True)
class _Lookup(OptionSet):
    """What is listed, described or checked."""

    name: str = option("", DATA_NAME, help="data set", positional=True, required=True)
    path: str = option(
        "",
        Folder("a file or a folder"),
        help="folder or file of a data set; or its name, looked up in the folder $NLGAUGE_DATA",
        positional=True,
        required=True,
        metavar="PATH",
    )


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the known data sets")
    listing.set_defaults(run=_list)
    info = actions.add_parser("info", help="show source, citation, files and pitfalls of a data set")
    add_flags(info, _Lookup, only=["name"])
    info.set_defaults(run=_info)
    checking = actions.add_parser("check", help="check whether the files are complete; exit status 1 if not")
    named = {
        "positional": False,
        "required": False,
        "help": "data set to check for",
        "unset": "recognised by its files",
    }
    add_flags(checking, _Lookup, change={"name": named})
    checking.set_defaults(run=_check)
    tables = ("text", "json", "markdown")
    for action, formats in ((listing, tables), (info, ("text", "json")), (checking, tables)):
        add_format(action, *formats)


def _list(args: argparse.Namespace) -> int:
    described = [describe_card(card, options=args.format == "json") for card in DATA_CARDS.values()]
    sys.stdout.write(DataList(tuple(described)).render(args.format))
    return 0


def _info(args: argparse.Namespace) -> int:
    sys.stdout.write(describe_card(find_data_card(args.name)).render(args.format))
    return 0


def _check(args: argparse.Namespace) -> int:
    path, names = args.path, [args.name] if args.name else []
    if not os.path.exists(path) and path in DATA_CARDS:
        names, path = [path], os.environ.get("NLGAUGE_DATA", "")
        if not path:
            msg = f"{args.path!r} is a data set's name; say where it lies: nlgauge data check PATH --name {args.path}"
            raise RecipeError(msg)
    names = names or list(recognise(path))
    if not names:
        msg = f"{path!r} looks like no known data set; name it with --name, one of {', '.join(DATA_CARDS)}"
        raise InputError(msg)
    result = DataChecks(tuple(check(name, path) for name in names))
    sys.stdout.write(result.render(args.format))
    return 0 if result.complete else 1


def with_documents(table: JudgementTable, args: argparse.Namespace) -> JudgementTable:
    """The data with the documents of `--document-ids`, a line for each of its rows."""
    documents = read_documents(args)
    if documents is None:
        return table
    if args.documents:
        msg = "--documents takes those of the data, --document-ids those of a file; give one of the two"
        raise RecipeError(msg)
    check_documents(documents, len(table), args, what=f"rows of {table.name}")
    return replace(table, document=documents)
