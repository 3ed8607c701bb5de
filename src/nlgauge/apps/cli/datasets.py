"""Data sets with human judgements: `nlgauge data list|info|check`, and the flags that choose one for a study."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import check_documents, format_flag, read_documents, write_result
from nlgauge.apps.cli.flags import Command, Flags
from nlgauge.core.kinds import Folder, Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.data.cards import DATA_CARDS, DataChecks, DataList, check, describe_card, find_data_card, load, recognise
from nlgauge.errors import InputError, RecipeError

if TYPE_CHECKING:
    from nlgauge.data.judgements import JudgementTable


#: The name of a data set, as an option of a command.
DATA_NAME = Text("the name of a data set, see 'nlgauge data list'", known=lambda: DATA_CARDS)


#: An option that `--data` reads.
_data_option = partial(option, needs="data")


@dataclass(frozen=True, kw_only=True)
class DataOptions(OptionSet):
    """A data set with human judgements, or a part of it."""

    data: str | None = option(None, DATA_NAME, help="data set, see 'nlgauge data list'")
    at: str | None = _data_option(
        None, Folder("a file or a folder"), help="data file or folder", unset="$NLGAUGE_DATA", metavar="PATH"
    )
    langpairs: tuple[str, ...] = _data_option(
        (), Many(Text("a language pair")), help="language pairs, such as cs-en", unset="all", metavar="PAIR"
    )
    set: tuple[str, ...] = _data_option(
        (),
        Many(Text("KEY=VALUE"), again=True),
        help="data set options, see 'nlgauge data info NAME'",
        metavar="KEY=VALUE",
    )
    limit: int | None = _data_option(None, Int(1), help="first N rows of each language pair and system", unset="all")


def data_flags(title: str = "data", *, required: bool = True, limit: bool = False) -> Flags:
    """Flags that choose the data of a study."""
    change = {"data": {"required": required}}
    return Flags(DataOptions, title, without=() if limit else ["limit"], change=change)


def load_data(args: argparse.Namespace, **more: Any) -> JudgementTable:
    """Load the data set that the options name."""
    card = find_data_card(args.data)
    options = dict(more) | card.parse_options(args.set)
    table = load(card.name, data_folder(args, card.name), langpairs=args.langpairs or None, **options)
    return table if getattr(args, "limit", None) is None else table.first_rows(args.limit)


def data_folder(args: argparse.Namespace, name: str) -> str:
    """Find the folder of a data set."""
    folder: str | None = args.at or os.environ.get("NLGAUGE_DATA")
    if not folder:
        msg = f"the path of data set {name!r} is not set: use --at PATH or NLGAUGE_DATA"
        raise RecipeError(msg)
    return folder


@dataclass(frozen=True, kw_only=True)
class _Lookup(OptionSet):
    """The data set to describe or check."""

    name: str = option("", DATA_NAME, help="data set", positional=True, required=True)
    path: str = option(
        "",
        Folder("a file or a folder"),
        help="folder or file of a data set, or its name to find it in $NLGAUGE_DATA",
        positional=True,
        required=True,
        metavar="PATH",
    )
    set: tuple[str, ...] = option(
        (),
        Many(Text("KEY=VALUE"), again=True),
        help="data set options, see 'nlgauge data info NAME'",
        metavar="KEY=VALUE",
    )


def _list(args: argparse.Namespace) -> DataList:
    return DataList(tuple(describe_card(card, options=args.format == "json") for card in DATA_CARDS.values()))


def _check(args: argparse.Namespace) -> int:
    path, names = args.path, [args.name] if args.name else []
    if not os.path.exists(path) and path in DATA_CARDS:
        names, path = [path], os.environ.get("NLGAUGE_DATA", "")
        if not path:
            msg = f"NLGAUGE_DATA is not set; to check {names[0]!r}, use: nlgauge data check PATH --name {names[0]}"
            raise RecipeError(msg)
    names = names or list(recognise(path))
    if not names:
        msg = f"no known data set found in {path!r}; name it with --name NAME, see 'nlgauge data list'"
        raise InputError(msg)
    result = DataChecks(tuple(check(name, path, args.set) for name in names))
    write_result(result, args)
    return 0 if result.complete else 1


def with_documents(table: JudgementTable, args: argparse.Namespace) -> JudgementTable:
    """Add the documents of `--document-ids`, one line per row, to the data."""
    documents = read_documents(args)
    if documents is None:
        return table
    if args.documents:
        msg = "--documents cannot be combined with --document-ids; leave one out"
        raise RecipeError(msg)
    check_documents(documents, len(table), args, what=f"rows of {table.name}")
    return replace(table, document=documents)


_TABLES = format_flag("text", "json", "markdown")
_NAMED = {"positional": False, "required": False, "help": "data set to check for", "unset": "detected from the files"}

COMMANDS = {
    "data list": Command(run=_list, flags=(_TABLES,), help="list the known data sets"),
    "data info": Command(
        run=lambda args: describe_card(find_data_card(args.name)),
        flags=(Flags(_Lookup, only=["name"]), format_flag("text", "json")),
        help="show source, citation, files and pitfalls of a data set",
    ),
    "data check": Command(
        run=_check,
        flags=(Flags(_Lookup, change={"name": _NAMED}), _TABLES),
        help="check that the files are complete; exit status 1 if not",
    ),
}
