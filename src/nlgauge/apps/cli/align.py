"""`nlgauge align`: `centroids`, `evaluate`, `train` and `words`, and `build means` (`fit` is in align_fit.py)."""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from nlgauge.apps.cli.align_fit import (
    FIT,
    MODEL_FLAGS,
    links_option,
    parallel_texts,
    resolve_layer,
    warn_of_languages,
)
from nlgauge.apps.cli.common import (
    MESSAGES,
    MODEL,
    check_has_name,
    output_file,
    read_columns,
    report,
    run_options,
    saving,
    write_output,
)
from nlgauge.apps.cli.flags import Command, Flags, read_options
from nlgauge.core.kinds import Choice, Folder, InputFile, Int, Many, OutputFile, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.encoders.base import Encoder, vectors_digest
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import DataWarning, FileFormatError, RecipeError, user_stacklevel
from nlgauge.io.storage import short_digest
from nlgauge.io.textfiles import Inputs, file_label, parse_source
from nlgauge.studies.alignment.from_texts import (
    centroids_of_texts,
    check_enough,
    check_rated,
    evaluate_map,
    held_out_words,
    moments_of_texts,
    words_of_texts,
    xmoverscore_correlation,
)
from nlgauge.studies.alignment.joint_texts import Bitext, JointOptions, JointReport
from nlgauge.studies.alignment.word_aligner import (
    AlignerOptions,
    align_words,
    format_links,
    read_alignments,
    split_words,
)
from nlgauge.studies.alignment.word_spaces import AlignmentInputs
from nlgauge.vectors.remap import METHODS, fit_remapping
from nlgauge.vectors.transforms import NORM_MODES, FittedTransform, LanguageMeans, load_map


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


_COLUMNS = ("map", "induction cosine", "induction CSLS", "retrieval", "alignment F1", "XMoverScore r")


def _evaluate(args: argparse.Namespace) -> int:
    if not args.maps and not args.fit_on:
        msg = "nothing to evaluate; use --maps FILE or --fit-on SOURCE TARGET"
        raise RecipeError(msg)
    source, target = parallel_texts(args.parallel)
    rated = _read_rated(args.rated) if args.rated else None
    options, encoder, layer = _load_encoder(args)
    links = read_alignments(Path(args.alignments)) if args.alignments else None
    with tempfile.TemporaryDirectory() as folder:
        rows: list[tuple[str, Path | None]] = [("none", None), *_name_files(args.maps)]
        maps = [_load_map(path, encoder, layer) for _, path in rows]
        fitted = _fit_methods(args, (source, target), encoder, layer, Path(folder), options)
        rows += fitted
        maps += [_load_map(path, encoder, layer) for _, path in fitted]
        with Progress(len(source), show=options.progress, what="reading texts", unit="pair") as advance:
            inputs = AlignmentInputs(
                *(encoder, source, target, layer),
                alignments=links,
                alignments_name=file_label(args.alignments or ""),
                nearest=args.links == "nearest",
                batch_tokens=options.batch_tokens,
                advance=advance,
            )
            words = held_out_words(inputs)
        print("\t".join(_COLUMNS))
        for (name, path), map_ in zip(rows, maps, strict=True):
            quality = evaluate_map(words, map_)
            shares = [quality.induction_cosine, quality.induction_csls, quality.retrieval, quality.alignment_f1]
            shares.append(_correlate(args, rated, path, layer) if rated else math.nan)
            print("\t".join([name, *("-" if math.isnan(share) else f"{share:.4f}" for share in shares)]))
    where = "from --alignments" if words.gold else "word aligner"
    if not words.gold and args.links == "nearest":
        where = "nearest neighbours without a map; this favours no map"
    counts = f"{quality.links} linked words of {quality.texts} pairs of texts ({words.left_out} left out)"
    return report(args, f"{counts}; links: {where}")


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


def _load_map(path: Path | None, encoder: Encoder, layer: int) -> FittedTransform | None:
    if path is None:
        return None
    loaded = load_map(path)
    loaded.check_model(vectors_digest(encoder), layer=layer, width=encoder.hidden_size)
    return loaded


def _fit_methods(
    args: argparse.Namespace,
    held_out: tuple[list[str], list[str]],
    encoder: Encoder,
    layer: int,
    folder: Path,
    options: RunOptions,
) -> list[tuple[str, Path]]:
    """Fit the methods to the texts of --fit-on, and return their files."""
    if not args.fit_on:
        return []
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
    links = read_alignments(Path(args.fit_alignments)) if args.fit_alignments else None
    files = []
    for size in dict.fromkeys(args.sizes) or [len(source)]:
        inputs = AlignmentInputs(
            *(encoder, source[:size], target[:size], layer),
            alignments=links if links is None or len(links) < size else links[:size],
            alignments_name=file_label(args.fit_alignments or ""),
            nearest=args.links == "nearest",
            batch_tokens=options.batch_tokens,
        )
        words = words_of_texts(inputs)
        for method in dict.fromkeys(args.methods):
            check_enough(len(words.source), encoder.hidden_size, method)
            name = f"{method}, {size} pairs" if args.sizes else method
            files.append((name, folder / f"{method}-{size}.npz"))
            fitted = fit_remapping(words.source, words.target, method=method, origin=words.origin)
            fitted.save(files[-1][1])
    return files


def _words(args: argparse.Namespace) -> int:
    """Align words, and write the links."""
    source, target = ([split_words(text) for text in texts] for texts in parallel_texts([args.source, args.target]))
    for spec, texts in ((args.source, source), (args.target, target)):
        if sum(map(len, texts)) < 2 * sum(map(bool, texts)):
            msg = f"{file_label(spec)} has fewer than two words per line; separate the words by spaces"
            warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    links = align_words(source, target, options=read_options(args, AlignerOptions))
    write_output(args.output, format_links(links))
    return report(args, f"{sum(map(len, links))} links in {len(links)} pairs of texts")


def _read_rated(specs: Sequence[str]) -> tuple[list[str], list[str], list[float]]:
    sources, outputs, scores = read_columns(specs)
    numbers = []
    for line, value in enumerate(scores, 1):
        try:
            numbers.append(float(value))
        except ValueError as error:
            msg = f"{file_label(specs[2])}, line {line}: expected a score, got {value!r}"
            raise FileFormatError(msg) from error
    check_rated(sources, outputs, numbers)
    return sources, outputs, numbers


def _correlate(
    args: argparse.Namespace, rated: tuple[list[str], list[str], list[float]], path: Path | None, layer: int
) -> float:
    """Correlate XMoverScore with the ratings, on the layer of the map."""
    options = {name: value for name, value in run_options(args).items() if name != "progress"}
    chosen = "none" if path is None else str(path)
    return xmoverscore_correlation(
        *rated, transforms=chosen, aggregation=f"layer-{layer}", model=args.model, **options
    )


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
    "align fit": FIT,
    "align evaluate": Command(
        run=_evaluate,
        flags=(Flags(EvaluateOptions), *MODEL_FLAGS),
        help="evaluate mappings on held-out texts",
    ),
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
