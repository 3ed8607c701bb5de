"""All of `nlgauge align` but `fit`, which is in align_fit.py, and `build means`."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nlgauge.apps.cli.align_fit import (
    FIT,
    MODEL_FLAGS,
    links_option,
    parallel_texts,
    resolve_layer,
    warn_of_languages,
)
from nlgauge.apps.cli.align_lexicon import LEXICON
from nlgauge.apps.cli.common import (
    MESSAGES,
    MODEL,
    check_has_name,
    output_file,
    read_columns,
    report,
    run_options,
    saving,
    write_figure,
    write_output,
)
from nlgauge.apps.cli.flags import Command, Flags, read_options, refuse_flags
from nlgauge.core.kinds import Choice, FigureFile, Flag, Folder, InputFile, Int, Many, OutputFile, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.encoders.base import Encoder, vectors_digest
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import DataWarning, FileFormatError, RecipeError, user_stacklevel
from nlgauge.io.canvas import save_figure
from nlgauge.io.storage import short_digest
from nlgauge.io.textfiles import Inputs, file_label, parse_source
from nlgauge.studies.alignment.epoch_tasks import evaluate_epochs
from nlgauge.studies.alignment.evaluation import (
    MEASURES,
    Compared,
    Rated,
    draw_evaluation,
    evaluate_alignment,
)
from nlgauge.studies.alignment.from_texts import centroids_of_texts, moments_of_texts
from nlgauge.studies.alignment.joint_texts import Bitext, JointOptions, JointReport
from nlgauge.studies.alignment.static_spaces import join_spaces
from nlgauge.studies.alignment.word_aligner import (
    AlignerOptions,
    Links,
    align_words,
    format_links,
    read_alignments,
)
from nlgauge.studies.alignment.word_cosines import (
    PAIRS,
    check_pairs,
    correlate_with_typology,
    draw_centroids,
    draw_cosines,
    word_pair_cosines,
)
from nlgauge.studies.alignment.word_spaces import AlignmentInputs
from nlgauge.text.typology import load_typology
from nlgauge.text.words import bare_words
from nlgauge.vectors.remap import METHODS, Remapping
from nlgauge.vectors.transforms import NORM_MODES, LanguageMeans, load_map


@dataclass(frozen=True, kw_only=True)
class TrainOptions(OptionSet):
    """An encoder and parallel texts to train it."""

    model: str = option("", MODEL, help="folder or hub id, such as xlm-roberta-base", required=True)
    parallel: tuple[tuple[str, ...], ...] = option(
        (),
        Many(Many(TextColumn(), least=2, most=2)),
        help="translations, line by line, with the pivot language second; repeat for each language",
        required=True,
        metavar="SOURCE TARGET",
    )
    alignments: tuple[str, ...] = option(
        (),
        Many(InputFile(), again=True),
        help="word alignments (links i-j), one file for each --parallel",
        unset="nearest neighbours",
    )
    output: str = option("", Folder(), help="folder for the trained model", required=True, flag="-o")
    sentences: int = option(0, Int(0), help="number of pairs to use of each text, 0 for all")


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(OptionSet):
    """Mappings and held-out texts."""

    parallel: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=2, most=2),
        help="held-out translations, line by line",
        required=True,
        metavar="SOURCE TARGET",
    )
    maps: tuple[str, ...] = option((), Many(InputFile()), help="mappings from 'align fit'")
    epoch_maps: str | None = option(
        None, Folder(), help="folder from 'align fit --epoch-maps': criteria and tasks over epochs"
    )
    fit_on: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=2, most=2),
        help="other parallel texts to fit the methods on",
        metavar="SOURCE TARGET",
    )
    methods: tuple[str, ...] = option(
        ("clp", "centred", "umd", "lsq"), Many(Choice(*METHODS)), help="methods to fit", needs="fit_on"
    )
    sizes: tuple[int, ...] = option(
        (), Many(Int(1)), help="fit to the first N pairs, for each N", unset="all pairs", needs="fit_on", metavar="N"
    )
    fit_alignments: str | None = option(
        None, InputFile(), help="word alignments (links i-j) of --fit-on", unset="--links", needs="fit_on"
    )
    alignments: str | None = option(None, InputFile(), help="gold word alignments (links i-j) of the held-out texts")
    links: str = links_option()
    norms: tuple[str, ...] = option(
        (),
        Many(Text("a normalisation such as layer-norm")),
        help="normalisations to compare: position-norm, position-norm-N, layer-norm, sequence-norm; with --fit-on "
        "also centre and standardise",
        metavar="NORM",
    )
    layers: tuple[int, ...] = option((), Many(Int(0)), help="model layers to compare", unset="--layer", metavar="N")
    plot: str | None = option(
        None, FigureFile(), help="figure of the curves over layers, sizes or epochs: .png, .svg or .pdf"
    )
    rated: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=3, most=3),
        help="translations with human scores, to correlate with XMoverScore (without its language model)",
        metavar="SOURCES OUTPUTS SCORES",
    )


@dataclass(frozen=True, kw_only=True)
class WordOptions(OptionSet):
    """Parallel texts whose words are aligned."""

    source: str = option(
        "", TextColumn(), help="texts, one per line, words separated by spaces", required=True, positional=True
    )
    target: str = option("", TextColumn(), help="their translations, line by line", required=True, positional=True)
    output: str = option("-", OutputFile(), help="file for the links, - for standard output", flag="-o")


@dataclass(frozen=True, kw_only=True)
class LanguageOptions(OptionSet):
    """Texts by language, and how their vectors are used."""

    texts: tuple[str, ...] = option(
        (), Many(TextColumn()), help="texts in each language, one per line", required=True, metavar="LANG=FILE"
    )
    mode: str = option("centre", Choice(*NORM_MODES), help="normalisation")
    transforms: str = option(
        "none", InputFile("files joined by +"), help="files from 'align fit' or 'build means', joined by +"
    )
    source_lang: str = option(
        "", Text("a language"), help="language that a mapping is applied to", unset="the first", metavar="LANG"
    )
    plot: str | None = option(None, FigureFile(), help="plane with the mean vectors: .png, .svg or .pdf")
    wals: bool = option(
        False, Flag(), help="correlate cosines with the similarity of languages by the features of WALS"
    )
    pivot: str = option(
        "",
        Text("a language"),
        help="correlate pairs with this language only",
        unset="all",
        metavar="LANG",
        needs="wals",
    )


@dataclass(frozen=True, kw_only=True)
class CosineOptions(OptionSet):
    """Parallel texts, and the vectors whose cosines are compared."""

    parallel: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=2, most=2),
        help="translations, line by line",
        required=True,
        metavar="SOURCE TARGET",
    )
    transforms: tuple[str, ...] = option(
        (),
        Many(InputFile("files joined by +")),
        help="transforms to compare with unchanged vectors, such as map.npz+layer-norm",
    )
    alignments: str | None = option(None, InputFile(), help="word alignments (links i-j)", unset="--links")
    links: str = links_option()
    pairs: int = option(PAIRS, Int(2), help="number of matched and of random pairs", metavar="N")
    seed: int = option(12345, Int(0), help="random seed of the pairs")
    source_lang: str = option("", Text("a language"), help="source language, for files of means", metavar="LANG")
    target_lang: str = option("en", Text("a language"), help="target language, for files of means", metavar="LANG")
    plot: str | None = option(None, FigureFile(), help="histograms of the cosines: .png, .svg or .pdf")


@dataclass(frozen=True, kw_only=True)
class JoinOptions(OptionSet):
    """Two files of word vectors, and the map between them."""

    map: str = option("", InputFile(), help="map from 'align fit'", required=True, positional=True)
    source_model: str = option("", InputFile(), help="word vectors of the source language", required=True)
    target_model: str = option("", InputFile(), help="word vectors of the target language", required=True)
    output: str = option(
        "", OutputFile(), help="name of the two files, without .vec and .npz", required=True, flag="-o"
    )


def _join(args: argparse.Namespace) -> int:
    fitted = load_map(Path(args.map))
    if not isinstance(fitted, Remapping):
        msg = f"{file_label(args.map)} is not a linear map; fit one with --method rcsls or clp"
        raise RecipeError(msg)
    joined = join_spaces(args.source_model, args.target_model, fitted, args.output)
    counts = f"{joined.words} words, {joined.shared} in both languages, {short_digest(joined.remapping.digest)}"
    return report(args, f"{joined.vectors}, {joined.map}: {counts}")


def _train(args: argparse.Namespace) -> int:
    options = read_options(args, JointOptions)
    if args.alignments and len(args.alignments) != len(args.parallel):
        msg = f"--alignments needs one file for each --parallel, got {len(args.alignments)} for {len(args.parallel)}"
        raise RecipeError(msg)
    bitexts = []
    for number, specs in enumerate(args.parallel):
        source, target = parallel_texts(specs, most=args.sentences)
        file = args.alignments[number] if args.alignments else None
        links = read_alignments(Path(file))[: len(source)] if file else None
        bitexts.append(Bitext(source, target, links, file_label(file or "alignments")))
    trained = _train_with_progress(args, bitexts, options)
    first, last = trained.epochs[0], trained.epochs[-1]
    return report(
        args,
        f"{args.output}: {trained.links} links of {trained.pairs} pairs of texts ({trained.left_out} left out), "
        f"{last.epoch} epochs ({trained.ended}), {short_digest(trained.weights_digest)}\n"
        f"in texts kept apart, cosine of linked words {first.linked:.3f} to {last.linked:.3f}, of others "
        f"{first.unlinked:.3f} to {last.unlinked:.3f}; translations found {first.found:.3f} to {last.found:.3f}",
    )


def _train_with_progress(args: argparse.Namespace, bitexts: list[Bitext], options: JointOptions) -> JointReport:
    from nlgauge.studies.alignment.joint_training import train_joint_alignment

    show = not args.quiet
    total = sum(len(bitext.source) for bitext in bitexts if bitext.links is None)
    with ExitStack() as bars:
        reading = bars.enter_context(Progress(total, show=show and total > 0, what="linking words", unit="pair"))
        advance = []

        def start(steps: int) -> None:
            advance.append(bars.enter_context(Progress(steps, show=show, what="training", unit="step")))

        return train_joint_alignment(
            args.model,
            bitexts,
            Path(args.output),
            options=options,
            threads=args.threads,
            device=args.device,
            reading=reading,
            start=start,
            advance=lambda count: advance[0](count),
        )


def _evaluate(args: argparse.Namespace) -> int:
    if not (args.maps or args.fit_on or args.norms or args.layers or args.epoch_maps):
        msg = (
            "nothing to evaluate; add --maps FILE, --fit-on SOURCE TARGET, --norms NORM, --layers N, "
            "or --epoch-maps FOLDER"
        )
        raise RecipeError(msg)
    if args.epoch_maps:
        others = ("maps", "fit_on", "norms", "layers")
        refuse_flags(args, others, "is not used with --epoch-maps; evaluate it in another run")
    if args.layers:
        refuse_flags(args, ["layer"], "is not used with --layers; leave it out")
        args.layer = args.layers[0]  # the default is unknown for trained models
    source, target = parallel_texts(args.parallel)
    rated = _read_rated(args.rated) if args.rated else None
    fitting = _read_fit_on(args, (source, target)) if args.fit_on else None
    options, encoder, layer = _load_encoder(args)
    links = read_alignments(Path(args.alignments)) if args.alignments else None
    compared = Compared(
        maps=_name_files(args.maps),
        norms=args.norms,
        fit_on=None if fitting is None else _fitting_inputs(args, fitting, encoder, layer, options),
        methods=args.methods if args.fit_on else (),
        sizes=args.sizes,
        layers=tuple(dict.fromkeys(args.layers)),
    )
    compared.check()
    scoring = {name: value for name, value in run_options(args).items() if name != "progress"}
    passes = len(compared.layers or (layer,)) * (1 + len(set(compared.norms)))
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(passes * len(source), show=options.progress, what="reading texts", unit="pair") as advance,
    ):
        inputs = AlignmentInputs(
            *(encoder, source, target, layer),
            alignments=links,
            alignments_name=file_label(args.alignments or ""),
            nearest=args.links == "nearest",
            batch_tokens=options.batch_tokens,
            advance=advance,
        )
        if args.epoch_maps:
            tasks = evaluate_epochs(Path(args.epoch_maps), inputs, rated=rated, run=scoring)
            sys.stdout.write(tasks.render("text"))
            write_figure(args.plot, tasks.save_figure)
            return report(args, f"{len(source)} pairs of texts; {len(tasks.epochs)} epochs of {tasks.method}")
        rows, words = evaluate_alignment(inputs, compared, folder=Path(folder), rated=rated, run=scoring)
    print("\t".join([*(["layer"] if args.layers else []), "map", *MEASURES]))
    for row in rows:
        numbers = ("-" if math.isnan(share) else f"{share:.4f}" for share in row.values().values())
        print("\t".join([*([str(row.layer)] if args.layers else []), row.label, *numbers]))
    if args.plot:
        write_figure(args.plot, partial(save_figure, draw_evaluation(rows)))
    where = "from --alignments" if words.gold else "word aligner"
    if not words.gold and args.links == "nearest":
        where = "nearest neighbours without a map; this favours no map"
    counts = f"{rows[-1].quality.links} linked words of {rows[-1].quality.texts} pairs of texts"
    return report(args, f"{counts} ({words.left_out} left out); links: {where}")


def _load_encoder(args: argparse.Namespace) -> tuple[RunOptions, Encoder, int]:
    """Load the model; return the run options, the encoder and the layer."""
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(args.model, **options.loading)
    return options, encoder, resolve_layer(args.layer, encoder)


def _name_files(files: Sequence[str]) -> list[tuple[str, Path]]:
    """Name each file once; files of one name in several folders keep their folders."""
    names = [file_label(file) for file in dict.fromkeys(files)]
    return [
        (file if names.count(name) > 1 else name, Path(file))
        for file, name in zip(dict.fromkeys(files), names, strict=True)
    ]


def _read_fit_on(
    args: argparse.Namespace, held_out: tuple[list[str], list[str]]
) -> tuple[list[str], list[str], list[Links] | None]:
    """Read the texts of --fit-on and their links; warn if they contain held-out pairs."""
    source, target = parallel_texts(args.fit_on)
    shared = len(set(zip(source, target, strict=True)) & set(zip(*held_out, strict=True)))
    if shared:
        msg = (
            f"{shared} pairs of the held-out texts are also in --fit-on, which makes the methods look better; "
            "leave them out"
        )
        warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    if args.sizes and max(args.sizes) > len(source):
        msg = f"--sizes has {max(args.sizes)}, but --fit-on has {len(source)} pairs of texts"
        raise RecipeError(msg)
    return source, target, read_alignments(Path(args.fit_alignments)) if args.fit_alignments else None


def _fitting_inputs(
    args: argparse.Namespace,
    texts: tuple[list[str], list[str], list[Links] | None],
    encoder: Encoder,
    layer: int,
    options: RunOptions,
) -> AlignmentInputs:
    source, target, links = texts
    return AlignmentInputs(
        *(encoder, source, target, layer),
        alignments=links,
        alignments_name=file_label(args.fit_alignments or ""),
        nearest=args.links == "nearest",
        batch_tokens=options.batch_tokens,
    )


def _cosines(args: argparse.Namespace) -> int:
    if args.alignments:
        refuse_flags(args, ["links"], "is not used with --alignments; leave it out")
    source, target = parallel_texts(args.parallel)
    options, encoder, layer = _load_encoder(args)
    passes = 1 + len(set(args.transforms))
    with Progress(passes * len(source), show=options.progress, what="reading texts", unit="pair") as advance:
        inputs = AlignmentInputs(
            *(encoder, source, target, layer),
            alignments=read_alignments(Path(args.alignments)) if args.alignments else None,
            alignments_name=file_label(args.alignments or ""),
            nearest=args.links == "nearest",
            batch_tokens=options.batch_tokens,
            advance=advance,
        )
        languages = (args.source_lang, args.target_lang)
        results = word_pair_cosines(inputs, args.transforms, languages=languages, pairs=args.pairs, seed=args.seed)
    print("vectors\tmatched\trandom\tsd matched\tsd random\tseparation")
    for result in results:
        numbers = (result.matched.mean(), result.random.mean(), result.matched.std(), result.random.std())
        print("\t".join([result.name, *(f"{number:.4f}" for number in (*numbers, result.separation))]))
    if args.plot:
        write_figure(args.plot, partial(save_figure, draw_cosines(results)))
    return report(args, f"mean cosines of {len(results[0].matched)} matched and as many random pairs of words")


def _words(args: argparse.Namespace) -> int:
    """Align words, and write the links."""
    source, target = ([bare_words(text) for text in texts] for texts in parallel_texts([args.source, args.target]))
    for spec, texts in ((args.source, source), (args.target, target)):
        if sum(map(len, texts)) < 2 * sum(map(bool, texts)):
            msg = f"{file_label(spec)} has fewer than two words per line; separate the words by spaces"
            warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    links = align_words(source, target, options=read_options(args, AlignerOptions))
    write_output(args.output, format_links(links))
    return report(args, f"{sum(map(len, links))} links in {len(links)} pairs of texts")


def _read_rated(specs: Sequence[str]) -> Rated:
    sources, outputs, scores = read_columns(specs)
    numbers = []
    for line, value in enumerate(scores, 1):
        try:
            numbers.append(float(value))
        except ValueError as error:
            msg = f"{file_label(specs[2])}, line {line}: expected a score, got {value!r}"
            raise FileFormatError(msg) from error
    rated = Rated(sources, outputs, numbers)
    rated.check()
    return rated


def _texts_by_language(args: argparse.Namespace) -> dict[str, list[str]]:
    inputs = Inputs()
    texts: dict[str, list[str]] = {}
    for entry in args.texts:
        language, equals, spec = entry.partition("=")
        if not (language and equals and spec) or language in texts:
            msg = f"--texts takes LANG=FILE, each language once, got {entry!r}"
            raise RecipeError(msg)
        texts[language] = inputs.texts(parse_source(spec))
    warn_of_languages(args.model, texts)
    return texts


def _centroids(args: argparse.Namespace) -> int:
    texts = _texts_by_language(args)
    if args.source_lang and args.source_lang not in texts:
        msg = f"--source-lang must be one of {', '.join(texts)}, got {args.source_lang!r}"
        raise RecipeError(msg)
    typology = load_typology() if args.wals else None
    if typology is not None:
        check_pairs(tuple(texts), args.pivot)
    options, encoder, layer = _load_encoder(args)
    centroids = centroids_of_texts(
        encoder,
        texts,
        layer=layer,
        transforms=args.transforms,
        source_language=args.source_lang,
        batch_tokens=options.batch_tokens,
    )
    before, after = centroids.before, centroids.after
    print("languages\tbefore\tafter\tcosine before\tcosine after")
    for pair in itertools.combinations(range(len(texts)), 2):
        numbers = [matrix[pair] for matrix in (before.relative, after.relative, before.cosine, after.cosine)]
        names = "-".join(before.languages[i] for i in pair)
        print("\t".join([names, *(f"{number:.4f}" for number in numbers)]))
    if typology is not None:
        print("\nvectors\tpairs\tKendall\tPearson\tSpearman")
        for name, state in zip(("before", "after"), centroids, strict=True):
            pairs, *numbers = correlate_with_typology(state, typology, pivot=args.pivot)
            print("\t".join([name, str(pairs), *(f"{number:.4f}" for number in numbers)]))
    if args.plot:
        write_figure(args.plot, partial(save_figure, draw_centroids(centroids, transforms=args.transforms)))
    counts = ", ".join(f"{name} {count}" for name, count in zip(texts, before.counts, strict=True))
    return report(args, f"distances of means in units of the spread within languages; tokens: {counts}")


def _means(args: argparse.Namespace) -> int:
    check_has_name(args.output, "the table of means")
    texts = _texts_by_language(args)
    options, encoder, layer = _load_encoder(args)
    moments = moments_of_texts(encoder, texts, layer=layer, batch_tokens=options.batch_tokens)
    note = ", ".join(file_label(entry.partition("=")[2]) for entry in args.texts)
    norm = LanguageMeans(moments, args.mode, vectors_digest(encoder), layer, note)
    with saving(args.output) as path:
        norm.save(path)
    counts = ", ".join(f"{language} {moment.count}" for language, moment in moments.items())
    return report(args, f"{args.output}: {args.mode} from the means of {counts} tokens, {short_digest(norm.digest)}")


COMMANDS = {
    "align centroids": Command(
        run=_centroids,
        flags=(Flags(LanguageOptions, without=["mode"]), *MODEL_FLAGS),
        help="measure distances between languages before and after transforms",
    ),
    "align cosines": Command(
        run=_cosines,
        flags=(Flags(CosineOptions), *MODEL_FLAGS),
        help="compare cosines of matched and random pairs of words",
        description="Compare cosines of translated words with those of random words of the same texts, for unchanged "
        "vectors and under transforms. Separation: probability that a matched pair has the higher cosine.",
        examples="""\
  nlgauge align cosines --parallel src.de tgt.en --transforms clp.npz clp.npz+layer-norm --plot cosines.png
""",
    ),
    "align fit": FIT,
    "align evaluate": Command(
        run=_evaluate,
        flags=(Flags(EvaluateOptions), *MODEL_FLAGS),
        help="evaluate mappings on held-out texts",
    ),
    "align join": Command(
        run=_join,
        flags=(Flags(JoinOptions), MESSAGES._replace(title="run")),
        help="join the word vectors of two languages in one model",
        description="Join two files of word vectors and the map between them in one model. Writes OUTPUT.vec, the "
        "model, and OUTPUT.npz, its transform.",
        examples="""\
  nlgauge align fit --parallel train.de train.en --source-model de.vec --target-model en.vec --method rcsls -o m.npz
  nlgauge align join m.npz --source-model de.vec --target-model en.vec -o joined
  nlgauge score out.en -s src.de -m xmoverscore:n=1,transforms=joined.npz --model joined.vec
""",
    ),
    "align lexicon": LEXICON,
    "align train": Command(
        run=_train,
        flags=(
            Flags(TrainOptions),
            Flags(JointOptions, "training"),
            Flags(RunOptions, "run", only=("threads", "device")),
            MESSAGES._replace(title="run"),
        ),
        help="fine-tune an encoder on parallel texts",
        usage="--model NAME --parallel SRC TGT -o FOLDER",
        description="Fine-tune a Hugging Face encoder on parallel texts with JOINT-ALIGN. To resume an interrupted "
        "run, repeat the command. Needs nlgauge[torch].",
        examples="""\
  nlgauge align train --model xlm-roberta-base --parallel a.de a.en -o xlmr-de
  nlgauge align train --model xlm-roberta-base --parallel a.de a.en \\
      --alignments a.links --parallel b.fr b.en --alignments b.links -o xlmr-fr
  nlgauge score a.en -s a.de -m xmoverscore:aggregation=last --model ./xlmr-de
""",
    ),
    "align words": Command(
        run=_words,
        flags=(Flags(WordOptions), Flags(AlignerOptions, "aligner"), MESSAGES._replace(title="run")),
        help="link the words of parallel texts",
        description="Link the words of parallel texts with the model of fast_align. Words are separated by spaces; "
        "letter case and punctuation around a word are ignored. Writes one line per pair of texts with links i-j.",
        examples="""\
  nlgauge align words train.de train.en -o links.txt
  nlgauge align fit --parallel train.de train.en --alignments links.txt -o clp.npz
""",
    ),
    "build means": Command(
        run=_means,
        flags=(
            Flags(LanguageOptions, only=("texts", "mode")),
            output_file("means (.npz)"),
            *MODEL_FLAGS,
        ),
        description="Compute mean and variance of each language's vectors, to centre or standardise the vectors.",
    ),
}
