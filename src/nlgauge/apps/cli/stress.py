"""`nlgauge study stress`: tests of metrics on perturbed texts and on adversarial triples."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    TextInputs,
    add_output_options,
    add_scoring_options,
    metric_options,
    scoring_options,
)
from nlgauge.apps.cli.flags import add_flags, given_options
from nlgauge.apps.cli.operations import write_result
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.composite import leaves
from nlgauge.core.kinds import Flag, Folder, InputFile, OutputFile, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.scoring import recipes_and_run
from nlgauge.data.cards import find_data_card, load
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.textfiles import Inputs, file_label, parse_source
from nlgauge.studies.stress.suite import PERTURBATIONS, StressOptions, stress
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

_EXAMPLES = f"""\
examples:
  nlgauge study stress system.txt --metric bertscore moverscore chrf
  nlgauge study stress system.txt --refs ref1.txt --paraphrases ref2.txt --metric bertscore --plot falls.png
  nlgauge study stress --triples freitag --released
  nlgauge study stress --triples paws --metric bertscore ensemble:bertscore+moverscore --plot paws.png
  nlgauge study stress a.txt --paraphrases b.txt --triples nouns --annotator spacy-en --metric bertscore
  nlgauge study stress --triples paws:test.tsv --save-triples mine.tsv --metric chrf
perturbations: {", ".join(PERTURBATIONS)}
{METRIC_FLAGS}"""

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


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        usage="nlgauge study stress SYSTEM --metric METRIC ... [options]",
        description="Perturb the outputs of a system and see how far metrics fall; or score adversarial triples.",
        epilog=_EXAMPLES,
    )
    add_flags(parser, StressTexts, title="texts", only=["system"])
    refs = {"unset": "the outputs themselves"}
    add_flags(parser, TextInputs, only=["refs", "source"], change={"refs": refs})
    add_flags(parser, StressTexts, only=["paraphrases"])
    add_flags(parser, StressOptions, title="perturbations")
    add_flags(parser, TripleOptions, title="triples")
    add_scoring_options(parser, default="bertscore")
    add_output_options(parser, width=3, plot="figure: .png, .svg or .pdf")
    parser.add_help_all()
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    _check(args)
    annotator = None if args.annotator is None else load_annotator(args.annotator)
    if args.triples:
        write_result(_triples(args, annotator), args)
        return 0
    inputs = Inputs()
    options = given_options(args, StressOptions) | scoring_options(args) | {"annotator": annotator}
    test = stress(
        inputs.texts(parse_source(args.system)),
        _references(inputs, args.refs),
        args.metric,
        sources=None if args.source is None else inputs.texts(parse_source(args.source)),
        paraphrases=None if args.paraphrases is None else inputs.texts(parse_source(args.paraphrases)),
        lang=options.pop("lang", None),
        name=file_label(args.system),
        **options,
    )
    write_result(test, args)
    return 0


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
        check_metrics(args.metric, args, command="study stress")


def _reads_language(args: argparse.Namespace) -> bool:
    """Whether a metric has a use of the language; perturbations have one in any case."""
    options = {name: value for name, value in metric_options(args).items() if name != "lang"}
    recipes, _ = recipes_and_run(args.metric, options)
    return any("lang" in one.options() for one in leaves(recipes))


def _references(inputs: Inputs, specs: Sequence[str]) -> list[tuple[str, ...]] | None:
    if not specs:
        return None
    columns = [inputs.references(parse_source(spec)) for spec in specs]
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{file_label(spec)}: {len(column)}" for spec, column in zip(specs, columns, strict=True))
        msg = f"the files of references have different numbers of lines ({counts})"
        raise InputError(msg)
    return [tuple(text for group in row for text in group) for row in zip(*columns, strict=True)]


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
        at = args.at or os.environ.get("NLGAUGE_DATA")
        if not at:
            msg = f"say where {args.triples} lies: --at PATH, or the environment variable NLGAUGE_DATA"
            raise RecipeError(msg)
        return triples_of_table(load(find_data_card(args.triples).name, at))
    if args.triples == "nouns":
        if args.system is None or args.paraphrases is None or annotator is None:
            msg = "--triples nouns takes SYSTEM, a paraphrase of each output (--paraphrases) and --annotator spacy-en"
            raise RecipeError(msg)
        inputs = Inputs()
        anchors, paraphrases = (inputs.texts(parse_source(spec)) for spec in (args.system, args.paraphrases))
        return permute_nouns(anchors, paraphrases, annotator, seed=args.seed)
    if args.triples.startswith("paws:"):
        return paws_triples(load_paws_pairs(args.triples.removeprefix("paws:")))
    return load_triples(args.triples)
