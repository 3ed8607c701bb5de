"""`nlgauge signature show|diff`: signatures explained and compared."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from nlgauge.apps.cli.common import MetricText
from nlgauge.apps.cli.flags import add_flags
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.bert_score_hash import BertScoreHash, is_bert_score_hash
from nlgauge.core.composite import member_signatures
from nlgauge.core.options import OptionSet, did_you_mean, option
from nlgauge.core.registry import METRICS, check_signature_fields, metric_class, todays_signature
from nlgauge.core.signature import MEANINGS, VERSION_FIELDS, FieldDifference, Signature, plain_key
from nlgauge.encoders.base import signed_precision
from nlgauge.errors import SignatureError
from nlgauge.io.table import Table


@dataclass(frozen=True, kw_only=True)
class _Signatures(OptionSet):
    """Signatures to look at."""

    left: str = option("", MetricText(), help="signature", positional=True, required=True, metavar="SIGNATURE")
    right: str = option("", MetricText(), help="other one", positional=True, required=True, metavar="SIGNATURE")


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser()
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="explain each field; reads hash strings of bert-score too")
    add_flags(show, _Signatures, only=["left"])
    show.set_defaults(run=_show)
    diff = actions.add_parser(
        "diff", help="fields on which two differ; exit status 1 if their recipes do, versions aside"
    )
    add_flags(diff, _Signatures)
    diff.set_defaults(run=_diff)


def _show(args: argparse.Namespace) -> int:
    if is_bert_score_hash(args.left):
        foreign = BertScoreHash.parse(args.left)
        sys.stdout.write(Table(["field", "value", "meaning"], foreign.explain()).to_text())
        print(f"\nas a recipe: {foreign.recipe()}")
        print("not in the hash: " + ", ".join(foreign.missing()))
        return 0
    signature = todays_signature(_parse(args.left))
    check_signature_fields(signature)
    for one in {id(one): one for one in (signature, *member_signatures(signature))}.values():
        _check_options(one)
    for key in signature.run:
        if plain_key(key) not in MEANINGS:
            msg = f"the run part of a signature has no field {key!r}{did_you_mean(key, MEANINGS)}"
            raise SignatureError(msg)
    rows = [["recipe", "metric", signature.metric, MEANINGS["metric"]]]
    own = {name: option.help for name, option in metric_class(signature.metric).options().items()}
    meanings = {"recipe": MEANINGS | own, "run": MEANINGS}
    for part, fields in (("recipe", signature.recipe), ("run", signature.run)):
        rows += [[part, key, value, meanings[part].get(plain_key(key), "")] for key, value in fields.items()]
    sys.stdout.write(Table(["part", "field", "value", "meaning"], rows).to_text())
    print(f"\nshort: {signature.short()}")
    return 0


def _check_options(signature: Signature) -> None:
    """Refuse values that are none."""
    metric = metric_class(signature.metric)
    options = metric.options()
    for name, value in metric.options_from_signature(signature.recipe).items():
        if value != "file":  # named by its digest
            options[name].check(options[name].parse(value))


def _diff(args: argparse.Namespace) -> int:
    for text in (args.left, args.right):
        if is_bert_score_hash(text):
            msg = f"{text!r} is a hash string of bert-score; 'nlgauge signature show' says what it leaves open"
            raise SignatureError(msg)
    left, right = (_of_today(text) for text in (args.left, args.right))
    differences = left.difference(right)
    rows = [[d.part, d.key, d.left or "(absent)", d.right or "(absent)"] for d in differences]
    if rows:
        sys.stdout.write(Table(["part", "field", "left", "right"], rows).to_text())
    verdict, status = _verdict([d for d in differences if d.part == "recipe"])
    print(verdict, file=sys.stderr)
    return status


def _parse(text: str) -> Signature:
    """A signature with at least one field; a bare word is none."""
    signature = Signature.parse(text)
    if not signature.recipe and not signature.run:
        msg = f"{text!r} is not a signature: expected METRIC|key:value|..."
        raise SignatureError(msg)
    return signature


def _of_today(text: str) -> Signature:
    """A signature under today's names, so that an old one can be compared; an unknown metric's as it stands."""
    signature = _parse(text)
    return todays_signature(signature) if signature.metric in METRICS else signature


def _verdict(differences: list[FieldDifference]) -> tuple[str, int]:
    if not differences:
        return "the recipes are the same", 0
    precisions = [
        f"{d.key} {signed_precision(d.left or '')} and {signed_precision(d.right or '')}"
        for d in differences
        if d.of_precision
    ]
    if precisions:
        return f"scores of different precision do not compare: {', '.join(precisions)}", 1
    if all(d.field in VERSION_FIELDS and d.left and d.right for d in differences):
        return "made by different versions; the recipes are otherwise the same", 0
    loose = [d.key for d in differences if not (d.left and d.right) and d.field not in VERSION_FIELDS]
    if all(d.field in VERSION_FIELDS or d.key in loose for d in differences):
        return f"what both pin is the same, but only one of them pins {', '.join(loose)}", 1
    return "the recipes differ: the scores are not comparable", 1
