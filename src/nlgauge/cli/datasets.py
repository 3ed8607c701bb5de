"""`nlgauge data list|info|check`: data sets with human judgements."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from nlgauge.data import DATA_CARDS, DataCard, DataCheck, check, find_data_card, recognise
from nlgauge.errors import InputError, RecipeError
from nlgauge.report.table import Table

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("data", help="data sets with human judgements: what is known, what is here")
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
    results = [check(name, path) for name in names]
    if args.format == "json":
        _print_json([result.to_dict() for result in results])
    else:
        sys.stdout.write("\n".join(_reported(result).write(args.format, width=0) for result in results))
    return 0 if all(result.complete for result in results) else 1


def _reported(result: DataCheck) -> Table:
    files = [[entry.pattern, _of(entry.found, entry.expected), entry.state] for entry in result.files]
    rows = [
        [entry.langpair, _of(entry.found, entry.expected), "same" if entry.expected == entry.found else "different"]
        if entry.expected is not None
        else [entry.langpair, str(entry.found), "present"]
        for entry in result.rows
    ]
    notes = [f"does not load: {result.problem}"] if result.problem else []
    notes += result.notes
    verdict = "complete" if result.complete else "NOT complete"
    caption = f"{result.name} at {result.path}: {verdict}"
    return Table(["files or rows", "found", "state"], [*files, *rows], caption=caption, notes=notes)


def _of(found: int, expected: int | None) -> str:
    return str(found) if expected is None else f"{found} of {expected}"


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
