"""Data sets with human judgements: `nlgauge data list|info|check`, and the flags that choose one for a study."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import check_documents, read_documents
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.data.cards import DATA_CARDS, find_data_card, load
from nlgauge.data.integrity import DataChecks, check, recognise
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import Table

if TYPE_CHECKING:
    from nlgauge.data.card import DataCard
    from nlgauge.data.judgements import JudgementTable


def add_data_options(parser: argparse.ArgumentParser, *, title: str = "data", required: bool = True) -> Any:
    """Add the options; the group is returned for a command that has more of them."""
    data = parser.add_argument_group(title)
    data.add_argument("--data", required=required, metavar="NAME", help="as in 'nlgauge data list'")
    data.add_argument("--at", metavar="PATH", help="file, or folder that holds it ($NLGAUGE_DATA)")
    data.add_argument("--langpairs", nargs="+", metavar="PAIR", help="only these (default: all)")
    data.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="options of it; see nlgauge data info NAME",
    )
    return data


def load_data(args: argparse.Namespace, **more: Any) -> JudgementTable:
    """The table that the options name."""
    card = find_data_card(args.data)
    options = dict(more) | card.parse_options(args.set)
    at = args.at or os.environ.get("NLGAUGE_DATA")
    if not at:
        msg = f"say where {card.name} lies: --at PATH, or the environment variable NLGAUGE_DATA"
        raise RecipeError(msg)
    return load(card.name, at, langpairs=args.langpairs, **options)


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="data sets known by name")
    listing.set_defaults(run=_list)
    info = actions.add_parser("info", help="where a data set is published, its citation, its files and pitfalls")
    info.add_argument("name", metavar="NAME")
    info.set_defaults(run=_info)
    checking = actions.add_parser("check", help="whether the files are complete; exit status 1 if not")
    checking.add_argument(
        "path", metavar="PATH", help="a data set's folder or file; or a name, looked up in the folder $NLGAUGE_DATA"
    )
    checking.add_argument("--name", help="the data set to check for; default: what its files look like")
    checking.set_defaults(run=_check)
    tables = ("text", "json", "markdown")
    for action, formats in ((listing, tables), (info, ("text", "json")), (checking, tables)):
        action.add_argument("-f", "--format", choices=formats, default="text", help="(%(default)s)")


def _list(args: argparse.Namespace) -> int:
    if args.format == "json":
        _print_json([_described(card) for card in DATA_CARDS.values()])
        return 0
    rows = [[card.name, _rows(card), card.gold, card.title] for card in DATA_CARDS.values()]
    sys.stdout.write(Table(["name", "rows", "gold", "what"], rows).write(args.format, width=0))
    return 0


def _info(args: argparse.Namespace) -> int:
    card = find_data_card(args.name)
    described = _described(card)
    if args.format == "json":
        _print_json(described)
        return 0
    lines = [(key, value) for key, value in described.items() if isinstance(value, str) and value]
    options = [f"{name} ({kind})" for name, kind in card.options.items()]
    lines.append(("options", ", ".join(["langpairs (names)", *options])))
    if card.rows:
        lines.append(("rows", ", ".join(f"{pair} {count}" for pair, count in card.rows.items())))
    sys.stdout.write("".join(f"{key + ':':<10} {value}\n" for key, value in lines))
    if card.files:
        files = [
            [group.pattern, "any" if group.files is None else str(group.files), group.digest or "-"]
            for group in card.files
        ]
        sys.stdout.write("\n" + Table(["files", "number", "sha256"], files).to_text(width=0))
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


def _rows(card: DataCard) -> str:
    return str(sum(card.rows.values())) if card.rows else "-"


def _described(card: DataCard) -> dict[str, Any]:
    return {
        "name": card.name,
        "title": card.title,
        "gold": card.gold,
        "published": card.published,
        "citation": card.citation,
        "licence": card.licence,
        "pitfall": card.pitfall,
        "options": ["langpairs", *card.options],
        "rows": dict(card.rows),
        "files": [{"pattern": group.pattern, "files": group.files, "sha256": group.digest} for group in card.files],
    }


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


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
