"""`nlgauge study stress`: tests of metrics on perturbed texts and on adversarial triples."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nlgauge.apps.cli.common import (
    TextInputs,
    check_metrics,
    metric_options,
    output_flags,
    read_columns,
    scoring_flags,
    scoring_options,
)
from nlgauge.apps.cli.datasets import data_folder
from nlgauge.apps.cli.flags import Command, Flags, given_options
from nlgauge.core.kinds import Flag, Folder, InputFile, OutputFile, TextColumn
from nlgauge.core.metric import base_metrics
from nlgauge.core.options import OptionSet, option
from nlgauge.core.scoring import recipes_and_run
from nlgauge.data.cards import find_data_card, load
from nlgauge.errors import RecipeError
from nlgauge.io.textfiles import file_label, read_parallel
from nlgauge.studies.stress.perturbations import PERTURBATIONS
from nlgauge.studies.stress.suite import StressOptions, StressTest, stress
from nlgauge.studies.stress.triples import (
    DrawOptions,
    Triples,
    TripleStudy,
    load_paws_pairs,
    load_triples,
    paws_triples,
    permute_nouns,
    released_wins,
    save_triples,
    score_triples,
    triples_of_table,
)
from nlgauge.text.annotators import load_annotator

if TYPE_CHECKING:
    from nlgauge.text.annotation import Annotator

#: Data sets in the form of triples.
_KNOWN = ("freitag", "paws")


@dataclass(frozen=True, kw_only=True)
class StressTexts(OptionSet):
    """Texts to perturb."""

    system: str | None = option(None, TextColumn(), help="outputs to perturb", positional=True, metavar="SYSTEM")
    paraphrases: str | None = option(None, TextColumn(), help="a paraphrase of each output")


@dataclass(frozen=True, kw_only=True)
class TripleOptions(OptionSet):
    """Adversarial triples."""

    triples: str | None = option(
        None,
        InputFile("a set of triples"),
        help="freitag or paws (in $NLGAUGE_DATA), FILE.tsv, paws:FILE, or nouns (of SYSTEM, with --paraphrases)",
        metavar="SET",
    )
    at: str | None = option(
        None, Folder(), help="folder of the data", unset="$NLGAUGE_DATA", needs="triples", metavar="PATH"
    )
    released: bool = option(False, Flag(), help="scores that came with freitag and paws", needs="triples")
    save_triples: str | None = option(None, OutputFile(), help="write the triples to a .tsv file", needs="triples")


def _run(args: argparse.Namespace) -> StressTest | TripleStudy:
    _check(args)
    annotator = None if args.annotator is None else load_annotator(args.annotator)
    if args.triples:
        return _triples(args, annotator)
    texts = read_parallel([args.system], args.refs, args.source)
    (outputs,) = texts.systems.values()
    paraphrases = None if args.paraphrases is None else read_columns([args.paraphrases])[0]
    options = given_options(args, StressOptions) | scoring_options(args) | {"annotator": annotator}
    options |= {"lang": options.get("lang"), "name": file_label(args.system), "paraphrases": paraphrases}
    return stress(outputs, texts.references, args.metric, sources=texts.sources, **options)


def _check(args: argparse.Namespace) -> None:
    if args.metric is None:
        args.metric = [] if args.released else ["bertscore"]
    if not args.system and not args.triples:
        msg = "nlgauge study stress needs a system's outputs (SYSTEM), or triples (--triples freitag); see --help"
        raise RecipeError(msg)
    if args.released and args.triples not in _KNOWN:
        msg = f"--released belongs to --triples {' or '.join(_KNOWN)}, got {args.triples!r}"
        raise RecipeError(msg)
    if args.released and args.metric:
        msg = "--released and --metric are two tables; leave one out"
        raise RecipeError(msg)
    if args.triples and args.perturbations:
        msg = "--perturbations belongs to SYSTEM without --triples; leave one out"
        raise RecipeError(msg)
    if args.metric and (args.lang is None or _reads_language(args)):
        check_metrics(args)


def _reads_language(args: argparse.Namespace) -> bool:
    """Whether a metric has a use of the language; perturbations have one in any case."""
    options = {name: value for name, value in metric_options(args).items() if name != "lang"}
    recipes, _ = recipes_and_run(args.metric, options)
    return any("lang" in recipe.options() for recipe in base_metrics(recipes))


def _triples(args: argparse.Namespace, annotator: Annotator | None) -> TripleStudy:
    triples = _find_triples(args, annotator)
    options = given_options(args, StressOptions)
    drawing = {name: options[name] for name in DrawOptions.options() if name in options}
    if args.save_triples:
        save_triples(triples, args.save_triples)
    if args.released:
        return released_wins(triples, **drawing)
    return score_triples(triples, args.metric, **drawing, **scoring_options(args))


def _find_triples(args: argparse.Namespace, annotator: Annotator | None) -> Triples:
    if args.triples in _KNOWN:
        name = find_data_card(args.triples).name
        return triples_of_table(load(name, data_folder(args, args.triples)))
    if args.triples == "nouns":
        if args.system is None or args.paraphrases is None or annotator is None:
            msg = "--triples nouns takes SYSTEM, a paraphrase of each output (--paraphrases) and --annotator spacy-en"
            raise RecipeError(msg)
        anchors, paraphrases = read_columns((args.system, args.paraphrases))
        return permute_nouns(anchors, paraphrases, annotator, seed=args.seed)
    if args.triples.startswith("paws:"):
        return paws_triples(load_paws_pairs(args.triples.removeprefix("paws:")))
    return load_triples(args.triples)


COMMANDS = {
    "study stress": Command(
        run=_run,
        flags=(
            Flags(StressTexts, "texts", only=["system"]),
            Flags(TextInputs, only=["refs", "source"], change={"refs": {"unset": "the outputs themselves"}}),
            Flags(StressTexts, only=["paraphrases"]),
            Flags(StressOptions, "perturbations"),
            Flags(TripleOptions, "triples"),
            *scoring_flags("bertscore"),
            output_flags(3, plot="figure: .png, .svg or .pdf"),
        ),
        usage="SYSTEM --metric METRIC ...",
        description="Perturb the outputs of a system and see how far metrics fall; or score adversarial triples.",
        examples=f"""\
  nlgauge study stress system.txt --metric bertscore moverscore chrf
  nlgauge study stress system.txt --refs ref1.txt --paraphrases ref2.txt --metric bertscore --plot falls.png
  nlgauge study stress --triples freitag --released
  nlgauge study stress --triples paws --metric bertscore ensemble:bertscore+moverscore --plot paws.png
  nlgauge study stress a.txt --paraphrases b.txt --triples nouns --annotator spacy-en --metric bertscore
  nlgauge study stress --triples paws:test.tsv --save-triples mine.tsv --metric chrf
perturbations: {", ".join(PERTURBATIONS)}
""",
    )
}
