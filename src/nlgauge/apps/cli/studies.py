"""Studies of metrics and texts: `nlgauge study stress`, `literal`, `sensitivity` and `discourse`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from nlgauge.apps.cli.common import (
    DocumentOptions,
    TextInputs,
    check_metrics,
    check_systems_first,
    metric_options,
    output_flags,
    read_columns,
    read_documented_texts,
    run_options,
    scoring_flags,
    scoring_options,
    write_figure,
    write_output,
)
from nlgauge.apps.cli.datasets import data_flags, data_folder, load_data, with_documents
from nlgauge.apps.cli.flags import Command, Flags, flag_of, given_options, read_options
from nlgauge.apps.cli.operations import run_operation
from nlgauge.apps.cli.score import ScoreOutput
from nlgauge.apps.operations import operations
from nlgauge.core.kinds import Choice, Flag, Folder, InputFile, Int, Many, OutputFile, TextColumn
from nlgauge.core.metric import base_metrics
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import recipes_and_run
from nlgauge.data.cards import find_data_card, load
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import save_figure
from nlgauge.io.textfiles import read_parallel
from nlgauge.studies.discourse import Discourse, FigureKind, check_discourse_figure
from nlgauge.studies.sensitivity.measure import SensitivityOptions, run_study, systems_table
from nlgauge.studies.sensitivity.results import Sensitivity
from nlgauge.studies.sensitivity.study import DEFAULT_METRICS, PRESETS, Study, load_study, preset, study_metrics
from nlgauge.studies.stress.suite import StressOptions, StressTest, stress
from nlgauge.studies.stress.translationese import Translationese, translationese
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
    from nlgauge.data.judgements import JudgementTable
    from nlgauge.text.annotation import Annotator


#: Data sets in the form of triples.
_KNOWN = ("freitag", "paws")


@dataclass(frozen=True, kw_only=True)
class StressTexts(OptionSet):
    """Texts to perturb."""

    system: str | None = option(None, TextColumn(), help="outputs to perturb", positional=True, metavar="SYSTEM")
    paraphrases: str | None = option(None, TextColumn(), help="paraphrases of the outputs, one per line")


@dataclass(frozen=True, kw_only=True)
class TripleOptions(OptionSet):
    """Adversarial triples."""

    triples: str | None = option(
        None,
        InputFile("a set of triples"),
        help="freitag, paws (both in $NLGAUGE_DATA), FILE.tsv, paws:FILE, or nouns (with SYSTEM and --paraphrases)",
        metavar="SET",
    )
    at: str | None = option(
        None, Folder(), help="data folder", unset="$NLGAUGE_DATA", needs="triples", metavar="PATH"
    )
    released: bool = option(False, Flag(), help="use the scores released with freitag and paws", needs="triples")
    save_triples: str | None = option(None, OutputFile(), help="write the triples to a .tsv file", needs="triples")


def _stress(args: argparse.Namespace) -> StressTest | TripleStudy:
    _check_stress(args)
    annotator = None if args.annotator is None else load_annotator(args.annotator)
    if args.triples:
        return _triples(args, annotator)
    texts = read_parallel([args.system], args.refs, args.source)
    ((name, outputs),) = texts.systems.items()
    paraphrases = None if args.paraphrases is None else read_columns([args.paraphrases])[0]
    options = given_options(args, StressOptions) | scoring_options(args) | {"annotator": annotator}
    options |= {"lang": options.get("lang"), "name": name, "paraphrases": paraphrases}
    return stress(outputs, texts.references, args.metric, sources=texts.sources, **options)


def _check_stress(args: argparse.Namespace) -> None:
    if args.metric is None:
        args.metric = [] if args.released else ["bertscore"]
    if not args.system and not args.triples:
        msg = "nlgauge study stress needs outputs (SYSTEM) or triples (--triples SET); see --help"
        raise RecipeError(msg)
    if args.released and args.triples not in _KNOWN:
        msg = f"--released works only with --triples {' or '.join(_KNOWN)}, got {args.triples!r}"
        raise RecipeError(msg)
    if args.released and args.metric:
        msg = "--released cannot be combined with --metric; leave one out"
        raise RecipeError(msg)
    if args.triples and args.perturbations:
        msg = "--perturbations cannot be combined with --triples; leave one out"
        raise RecipeError(msg)
    if args.metric and (args.lang is None or _reads_language(args)):
        check_metrics(args)


def _reads_language(args: argparse.Namespace) -> bool:
    """Whether a metric uses the language, as perturbations always do."""
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
            msg = "--triples nouns needs SYSTEM, --paraphrases FILE and --annotator spacy-en"
            raise RecipeError(msg)
        anchors, paraphrases = read_columns((args.system, args.paraphrases))
        return permute_nouns(anchors, paraphrases, annotator, seed=args.seed)
    if args.triples.startswith("paws:"):
        return paws_triples(load_paws_pairs(args.triples.removeprefix("paws:")))
    return load_triples(args.triples)


# study sensitivity


@dataclass(frozen=True, kw_only=True)
class StudyChoice(OptionSet):
    """A study file, a part of the data, and the state file."""

    study: str | None = option(None, InputFile(), help="study definition (TOML), instead of a preset")
    state: str | None = option(None, OutputFile(), help="file that lets an interrupted run be resumed", hidden=True)
    without_humans: bool = option(
        False, Flag(), help="leave out systems that are human translators", needs="data", hidden=True
    )
    rows: int | None = option(
        None, Int(2), help="first N rows of each language pair and system", unset="all", needs="data", hidden=True
    )


def change_sensitivity(command: Command) -> Command:
    """Add data sets and study files to the command."""
    unset = {"default": None, "unset": " ".join(DEFAULT_METRICS), "project": False}
    change: dict[str, Any] = {name: {"needs": "data"} for name in ("levels", "agreement", "criterion", "documents")}
    change |= {"preset": {"default": None}, "idf_corpus": {"needs": "preset"}, "metric": unset}
    change["documents"] |= {"help": "resample documents instead of segments", "hidden": True}
    change |= {
        "plot": {"help": "figure of the variation; a second file, FILE-ranks, shows scores under each setting"}
    }
    title = "data with human judgements instead of files"
    return command.with_flags(
        data_flags(title, required=False),
        Flags(StudyChoice, title, only=["without_humans", "rows"]),
        Flags(DocumentOptions, only=["document_ids"]),
        Flags(StudyChoice, SensitivityOptions.called, only=["study", "state"]),
        change=change,
        run=_sensitivity,
        usage="[HYP ... --refs REF] (--preset NAME | --study FILE)",
        description="Measure how stop words, idf, sub-words, punctuation and layers change scores.",
        examples="""\
  nlgauge study sensitivity a.txt b.txt --refs ref.txt --preset all
  nlgauge study sensitivity --preset stopwords --data wmt17-testset --at FOLDER
  nlgauge study sensitivity --study mine.toml --data tac2008 --at FOLDER
""",
    )


def _sensitivity(args: argparse.Namespace) -> Sensitivity:
    if args.metric:
        check_metrics(args)
    check_systems_first(args)
    if bool(args.hyps) == bool(args.data):
        msg = "nlgauge study sensitivity needs either HYP ... with --refs, or --data NAME --at PATH"
        if args.hyps:
            msg = "texts (HYP ...) and --data cannot be combined; leave out one of them"
            raise RecipeError(msg)
        if not args.preset and not args.study:
            msg += f"; and either --preset NAME ({', '.join(PRESETS)}) or --study FILE"
        raise RecipeError(msg)
    documents = args.documents or args.document_ids is not None
    options = read_options(args, SensitivityOptions, {"documents": documents, "lang": args.lang or ""}).measures()
    return run_study(_study(args), _study_table(args), options=options, state=args.state, **run_options(args))


def _study(args: argparse.Namespace) -> Study:
    if bool(args.preset) == bool(args.study):
        msg = (
            "--preset and --study cannot be combined; omit one of them"
            if args.preset
            else f"nlgauge study sensitivity needs either --preset NAME ({', '.join(PRESETS)}) or --study FILE"
        )
        raise RecipeError(msg)
    if args.study:
        study = load_study(args.study)
        return replace(study, metric=_metrics(args.metric or list(study.recipes), args))
    metrics = _metrics(args.metric or DEFAULT_METRICS, args)
    loading = RunOptions.of(run_options(args)).loading
    return preset(args.preset, metrics, idf_corpora=args.idf_corpus, loading=loading)


def _metrics(metrics: Sequence[str], args: argparse.Namespace) -> list[str]:
    """Write the metrics with the flags of the call, as a study stores them."""
    options = metric_options(args)
    texts = study_metrics(metrics, options)
    for name in options:
        if not any(name in metric_class(metric_name(metric)).options() for metric in metrics):
            msg = f"{flag_of(name)} is not an option of {', '.join(metrics)}; see 'nlgauge show NAME'"
            raise RecipeError(msg)
    return texts


def _study_table(args: argparse.Namespace) -> JudgementTable:
    if args.data:
        if args.refs or args.source:
            msg = f"--data {args.data} contains its own texts; leave out --refs and --source"
            raise RecipeError(msg)
        table = with_documents(load_data(args), args)
        table = table.without_humans() if args.without_humans else table
        return table if args.rows is None else table.first_rows(args.rows)
    if not (args.refs or args.source):
        msg = "HYP needs --refs or --source"
        raise RecipeError(msg)
    texts, documents = read_documented_texts(args)
    return systems_table(
        texts.systems, texts.references, sources=texts.sources, documents=documents, lang=args.lang or "en"
    )


# study discourse


@dataclass(frozen=True, kw_only=True)
class DiscourseFigure(OptionSet):
    """The figure of discourse features."""

    plot_kind: FigureKind = option("shares", Choice(*get_args(FigureKind)), help="figure type", needs="plot")


def change_discourse(command: Command) -> Command:
    """Add flags for joining lines to documents, and `--segments`."""
    ids = {"document_ids": {"help": "document of each line, one per line (with --unit document)"}}
    segments = {"segments": {"help": "print the features of each document"}}
    changed = command.with_flags(
        Flags(DocumentOptions, without=["documents"], change=ids),
        Flags(ScoreOutput, only=["segments"], change=segments),
        run=_discourse,
        description="Measure how often documents mention the same entities and words again, how this connects their "
        "sentences, and how well it separates hypotheses from references. Each line is a document.",
        usage="HYP ... [--refs REF ...]",
        examples="""\
  nlgauge study discourse summaries.txt
  nlgauge study discourse a.txt b.txt --refs ref.txt --plot discourse.png
  nlgauge study discourse a.txt b.txt --refs ref.txt --plot freq.png --plot-kind scatter
  nlgauge study discourse a.jsonl:text --vectors glove.txt --format tsv
  nlgauge study discourse lines.txt --document-ids docs.txt --unit document
  nlgauge study discourse a.txt --annotator parses.conllu --sentences annotator
""",
    )
    return replace(changed, flags=(*changed.flags, Flags(DiscourseFigure, "output")))


def _discourse(args: argparse.Namespace) -> int:
    if args.plot and args.hyps:
        check_discourse_figure(references=bool(args.refs), kind=args.plot_kind)
    result = run_operation(args, operation=operations()["discourse"], read=_read_discourse)
    assert isinstance(result, Discourse)
    if args.segments and args.format != "json":
        text = result.document_table().write(args.format, width=args.decimals, line=result.line)
    else:
        text = result.render(args.format, decimals=args.decimals)
    write_output(args.output, text)
    write_figure(args.plot, lambda path: save_figure(result.figure(kind=args.plot_kind), path))
    if args.plot and not args.quiet:
        print(f"figure: {args.plot}", file=sys.stderr)
    return 0


def _read_discourse(args: argparse.Namespace) -> Mapping[str, Any]:
    if args.document_ids is not None and not args.joined:
        msg = "--document-ids needs --unit document"
        raise RecipeError(msg)
    texts, _ = read_documented_texts(args)
    return {"systems": texts.systems, "refs": texts.references}


# study literal


@dataclass(frozen=True, kw_only=True)
class TranslationeseTexts(OptionSet):
    """Sources with human translations, and parallel text."""

    source: str = option("", TextColumn(), help="sources, one per line", positional=True, required=True)
    reference: str = option("", TextColumn(), help="their human translations", positional=True, required=True)
    lexicon_from: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=2, most=2),
        help="parallel text for the lexicon; pairs with a tested source are left out",
        required=True,
        metavar="SOURCE TARGET",
    )
    texts: int = option(0, Int(0), help="test only the first N texts, 0 for all")


def _translationese(args: argparse.Namespace) -> Translationese:
    sources, references, *parallel = read_columns([args.source, args.reference, *args.lexicon_from])
    if len(parallel[0]) != len(parallel[1]):
        msg = f"--lexicon-from takes translations line by line, got {len(parallel[0])} and {len(parallel[1])} lines"
        raise InputError(msg)
    check_metrics(args)
    most = args.texts or len(sources)
    drawing = given_options(args, DrawOptions)
    return translationese(
        sources[:most], references[:most], (parallel[0], parallel[1]), args.metric, **drawing, **scoring_options(args)
    )


COMMANDS = {
    "study literal": Command(
        run=_translationese,
        flags=(
            Flags(TranslationeseTexts, "texts"),
            *scoring_flags(metrics=("xmoverscore",)),
            Flags(DrawOptions, "intervals"),
            output_flags(3, plot="histograms of score differences: .png, .svg or .pdf"),
        ),
        description="Measure how often metrics prefer word-by-word, re-ordered and shuffled translations to human "
        "ones, compared with the source.",
        examples="""\
  nlgauge study literal src.de ref.en --lexicon-from train.de train.en -m xmoverscore:n=1
""",
    ),
    "study stress": Command(
        run=_stress,
        flags=(
            Flags(StressTexts, "texts", only=["system"]),
            Flags(TextInputs, only=["refs", "source"], change={"refs": {"unset": "the unperturbed outputs"}}),
            Flags(StressTexts, only=["paraphrases"]),
            Flags(StressOptions, "perturbations"),
            Flags(TripleOptions, "triples"),
            *scoring_flags("bertscore"),
            output_flags(3, plot="figure: .png, .svg or .pdf"),
        ),
        usage="SYSTEM --metric METRIC ...",
        description="Perturb system outputs and measure how far metrics drop, or score adversarial triples "
        "(text, paraphrase, lookalike).",
        examples="""\
  nlgauge study stress system.txt -m bertscore moverscore chrf
  nlgauge study stress system.txt --paraphrases ref2.txt --plot drops.png
  nlgauge study stress --triples freitag --released
  nlgauge study stress --triples paws -m bertscore moverscore --plot paws.png
  nlgauge study stress a.txt --paraphrases b.txt --triples nouns
  nlgauge study stress --triples paws:test.tsv --save-triples mine.tsv -m chrf
""",
    ),
}
