"""`nlgauge align fit`: a map between the vectors of two languages, fitted with parallel text or without.

The methods flow, gan-flow, adversarial and fcnn are trained and can write their curves. Options that all actions
of `nlgauge align` share come first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import (
    MODEL,
    check_has_name,
    output_file,
    read_columns,
    report,
    run_flags,
    run_options,
    saving,
    write_figure,
    write_output,
)
from nlgauge.apps.cli.flags import Command, Flags, given_options, read_options, refuse_flags
from nlgauge.core.kinds import Choice, FigureFile, Folder, InputFile, Int, Many, OutputFile, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.core.vector_metric import default_layer
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.sentences import load_sentence_encoder
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.packages import require
from nlgauge.io.storage import short_digest
from nlgauge.io.tables import read_lines
from nlgauge.io.textfiles import file_label
from nlgauge.studies.alignment.epoch_tasks import EpochFolder
from nlgauge.studies.alignment.from_texts import (
    FittedMap,
    LinearMethod,
    check_layer,
    fit_sentences,
    fit_words,
    origin_of,
    words_of_texts,
)
from nlgauge.studies.alignment.training_loop import (
    ADVERSARIAL,
    FCNN_HIDDEN,
    GAN_DEFAULTS,
    FitCurves,
    FitRun,
    Fitted,
    FlowOptions,
    plot_curves,
)
from nlgauge.studies.alignment.unsupervised import (
    SearchOptions,
    fit_unsupervised,
    vocabularies_of_texts,
)
from nlgauge.studies.alignment.word_aligner import read_alignments, write_alignments
from nlgauge.studies.alignment.word_spaces import (
    AlignmentInputs,
    ModelLayer,
    Pairs,
)
from nlgauge.text.languages import warn_if_unsupported
from nlgauge.vectors.remap import METHODS, UMD_FORMS, Origin

if TYPE_CHECKING:
    from nlgauge.encoders.base import Encoder


@dataclass(frozen=True, kw_only=True)
class ModelOptions(OptionSet):
    """The model whose vectors are aligned."""

    model: str = option("muse", MODEL, help="model whose vectors are aligned")
    layer: int | None = option(None, Int(0), help="model layer", unset="tuned per model")


#: Options of the model and of a run.
MODEL_FLAGS = (Flags(ModelOptions), *run_flags(cache=False))


def resolve_layer(layer: int | None, encoder: Encoder) -> int:
    """Return the chosen layer, or the default of the model."""
    return check_layer(encoder, default_layer(encoder) if layer is None else layer)


def warn_of_languages(model: str, languages: Iterable[str]) -> None:
    """Warn of languages that the model was not trained on."""
    for language in languages:
        warn_if_unsupported(model, language)


def parallel_texts(specs: Sequence[str], *, most: int = 0) -> tuple[list[str], list[str]]:
    """Read two files with the same number of lines; only the first `most`, 0 for all."""
    source, target = read_columns(specs)
    if len(source) != len(target):
        names = " and ".join(file_label(spec) for spec in specs)
        msg = f"parallel texts must have the same number of lines, but {names} have {len(source)} and {len(target)}"
        raise InputError(msg)
    most = most or len(source)
    return source[:most], target[:most]


NETWORK_METHODS = ("flow", "gan-flow", "adversarial", "fcnn")

#: Options of a network that the method fcnn uses.
_OF_FCNN = ("epochs", "patience", "batch", "hidden", "learning_rate", "validation")

#: Options of a network without a flag of their own; the seed is shared with the search for pairs.
_WITHOUT_FLAG = ("critic_steps", "critic_rate", "penalty", "averaging", "seed")


@dataclass(frozen=True, kw_only=True)
class FitFiles(OptionSet):
    """Files written in addition to the mapping."""

    state: str | None = option(None, OutputFile(), help="file that lets an interrupted fit be resumed")
    curves: str | None = option(None, OutputFile(), help="write loss and criterion of each epoch as JSON")
    plot: str | None = option(None, FigureFile(), help="figure of loss and criterion: .png, .svg or .pdf")
    epoch_maps: str | None = option(
        None, Folder(), help="folder for the mapping of each epoch, for 'align evaluate --epoch-maps'"
    )


def _check_method(args: argparse.Namespace) -> None:
    """Refuse methods for the other kind of texts, and options that the method does not use."""
    if args.unsupervised and args.method not in {None, *ADVERSARIAL}:
        msg = f"--unsupervised takes only --method {' or '.join(ADVERSARIAL)}, got {args.method}"
        raise RecipeError(msg)
    if args.parallel and args.method in ADVERSARIAL:
        msg = f"--method {args.method} needs --unsupervised; for parallel texts use --method flow"
        raise RecipeError(msg)
    useless: Iterable[str] = ()
    if args.method == "fcnn":
        useless = [name for name in FlowOptions.options() if name not in _OF_FCNN]
    elif args.method == "adversarial":
        useless = ("couplings", "hidden", "likelihood")
    elif args.method not in NETWORK_METHODS:
        useless = [*FlowOptions.options(), *FitFiles.options()]
    refuse_flags(args, [name for name in useless if name != "seed"], "is not used by this method; leave it out")
    if args.method in NETWORK_METHODS:
        _flow_options(args).check_method(args.method)


def _flow_options(args: argparse.Namespace) -> FlowOptions:
    """Combine the given options with the defaults of the method."""
    defaults: dict[str, Any] = {"seed": args.seed}
    if args.method in ADVERSARIAL:
        constrained = args.constraint != "none"
        defaults |= GAN_DEFAULTS | ({"rounds": 3, "epochs": 30} if constrained else {})
        defaults["patience"] = args.epochs if "epochs" in args.given else defaults["epochs"]
    if args.method == "fcnn":
        defaults |= {"hidden": FCNN_HIDDEN}
    options = given_options(args, FlowOptions)
    return read_options(args, FlowOptions, {name: value for name, value in defaults.items() if name not in options})


@dataclass(frozen=True, kw_only=True)
class FitTexts(OptionSet):
    """Texts of two languages, one text per line."""

    parallel: tuple[str, ...] = option(
        (), Many(TextColumn(), least=2, most=2), help="translations, line by line", metavar="SOURCE TARGET"
    )
    unsupervised: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=2, most=2),
        help="texts in two languages, not necessarily translations",
        metavar="SOURCE TARGET",
    )
    known: str | None = option(
        None,
        InputFile(),
        help="known translations (word, tab, word), only to accept or refuse the mapping",
        needs="unsupervised",
    )


@dataclass(frozen=True, kw_only=True)
class FitSides(OptionSet):
    """Languages and models of the two sides."""

    source_lang: str = option("", Text("a language"), help="source language, stored in the file", metavar="LANG")
    target_lang: str = option("", Text("a language"), help="target language, stored in the file", metavar="LANG")
    source_model: str | None = option(None, MODEL, help="source model", unset="--model")
    target_model: str | None = option(None, MODEL, help="target model", unset="--model")
    target_layer: int | None = option(None, Int(0), help="target model layer", unset="--layer")


def links_option(*, needs: str = "") -> Any:
    """Where links between words come from without a file."""
    return option(
        "aligner",
        Choice("aligner", "nearest"),
        help="source of word pairs: word aligner, or mutual nearest neighbours",
        needs=needs,
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions(OptionSet):
    """How to fit to parallel texts."""

    method: str | None = option(
        None,
        Choice(*METHODS, *NETWORK_METHODS),
        help="method; combined methods are applied in the order named",
        unset="clp",
    )
    level: str = option("word", Choice("word", "sentence"), help="vectors to map", needs="parallel")
    alignments: str | None = option(
        None, InputFile(), help="word alignments (links i-j)", unset="--links", needs="parallel"
    )
    links: str = links_option(needs="parallel")
    save_alignments: str | None = option(
        None, OutputFile(), help="write the alignments that were used", needs="parallel"
    )
    # Published: two thousand pairs of sentences, as in the released matrices of XMoverScore (`.2k.`).
    sentences: int = option(2000, Int(0), help="number of pairs to use, 0 for all", needs="parallel")
    directions: int = option(1, Int(1), help="number of directions that UMD removes", needs="parallel")
    umd_sides: str = option(
        "both",
        Choice("both", "source"),
        help="sides that UMD changes: both (paper) or source (released code)",
        needs="parallel",
    )
    umd_form: str = option(
        "projection",
        Choice(*UMD_FORMS),
        help="what UMD removes: the projection (released code) or the cosine times the direction (paper)",
        needs="parallel",
    )


def _fit(args: argparse.Namespace) -> int:
    check_has_name(args.output, "the re-mapping")
    _check_method(args)
    if args.parallel:
        if args.method not in NETWORK_METHODS:
            refuse_flags(args, ["seed"], "is not used with --parallel by a deterministic method; leave it out")
        args.method = args.method or "clp"
        _check_fit(args)
        if args.alignments:
            refuse_flags(args, ["links"], "is not used with --alignments; leave it out")
    for model, language in zip(_models(args), (args.source_lang, args.target_lang), strict=True):
        warn_of_languages(model, filter(None, (language,)))
    if args.method in NETWORK_METHODS:
        require("torch", "torch")  # report a missing package before texts are encoded
    if args.unsupervised:
        return _fit_unsupervised(args)
    source, target = parallel_texts(args.parallel, most=args.sentences)
    if args.method in NETWORK_METHODS:
        return _fit_network(args, source, target)
    fitted = _fit_map(args, source, target)
    _save_links(args, fitted.links)
    with saving(args.output) as path:
        fitted.remapping.save(path)
    digest = short_digest(fitted.remapping.digest)
    return report(args, f"{args.output}: {args.method} of {fitted.fitted_on}, {digest}")


def _check_fit(args: argparse.Namespace) -> None:
    """Refuse options that the fit does not use."""
    if "umd" not in args.method:
        refuse_flags(
            args,
            ("directions", "umd_sides", "umd_form"),
            f"works only with methods with umd, got --method {args.method}",
        )
    if args.level == "sentence":
        if args.method in NETWORK_METHODS:
            msg = f"--method {args.method} does not support --level sentence; use another method"
            raise RecipeError(msg)
        of_words = ("source_model", "target_model", "alignments", "links", "save_alignments", "layer", "target_layer")
        refuse_flags(args, of_words, "is not used with --level sentence; leave it out")


def _fit_map(args: argparse.Namespace, source: list[str], target: list[str]) -> FittedMap:
    options = RunOptions.of(run_options(args))
    method, origin = (
        LinearMethod(args.method, args.directions, args.umd_sides, args.umd_form),
        _origin(args, args.parallel),
    )
    bar = partial(Progress, len(source), show=options.progress, what=f"fitting {args.method}", unit="pair")
    if args.level == "sentence":
        sentences = load_sentence_encoder(args.model, **options.loading)
        with bar() as advance:
            return fit_sentences(sentences, source, target, method, origin=origin, advance=advance)
    with bar() as advance:
        return fit_words(_alignment_inputs(args, source, target, options, advance), method, origin=origin)


def _alignment_inputs(
    args: argparse.Namespace,
    source: list[str],
    target: list[str],
    options: RunOptions,
    advance: Callable[[int], None],
) -> AlignmentInputs:
    source_side, target_side = _sides(args, options)
    return AlignmentInputs(
        *(source_side.encoder, source, target, source_side.layer),
        other=None if target_side == source_side else target_side,
        alignments=read_alignments(Path(args.alignments))[: len(source)] if args.alignments else None,
        alignments_name=file_label(args.alignments or ""),
        nearest=args.links == "nearest",
        batch_tokens=options.batch_tokens,
        advance=advance,
    )


def _save_links(args: argparse.Namespace, links: Sequence[Any]) -> None:
    if args.save_alignments:
        with saving(args.save_alignments) as path:
            write_alignments(path, links)


def _origin(args: argparse.Namespace, specs: Sequence[str]) -> Origin:
    note = ", ".join(file_label(spec) for spec in specs)
    return Origin(source=args.source_lang, target=args.target_lang, note=note)


def _fit_network(args: argparse.Namespace, source: list[str], target: list[str]) -> int:
    options = RunOptions.of(run_options(args))
    with Progress(len(source), show=options.progress, what="reading texts", unit="pair") as advance:
        inputs = _alignment_inputs(args, source, target, options, advance)
        words = words_of_texts(inputs, origin=_origin(args, args.parallel))
    _save_links(args, words.links)
    # Imported here, because the other methods do not need torch.
    from nlgauge.studies.alignment.flow_fit import fit_fcnn, fit_flow

    fit: Callable[..., Fitted[Any]] = fit_fcnn if args.method == "fcnn" else fit_flow
    return _train(args, partial(fit, words.source, words.target), words.description, words.origin)


def _train(args: argparse.Namespace, fit: Callable[..., Fitted[Any]], what: str, origin: Origin) -> int:
    """Train a network, and write the mapping with its curves."""
    options = _flow_options(args)
    state = Path(args.state) if args.state else None
    with Progress(options.total_epochs, show=not args.quiet, what=f"fitting {args.method}", unit="epoch") as advance:
        observe = EpochFolder(Path(args.epoch_maps)) if args.epoch_maps else None
        fitted = fit(options=options, run=FitRun(origin, state, advance, observe))
    with saving(args.output) as path:
        fitted.map.save(path)
    if args.curves:
        write_output(args.curves, FitCurves.of(fitted).render("json"))
    write_figure(args.plot, partial(plot_curves, fitted))
    first, best = fitted.curve[0], next(point for point in fitted.curve if point.epoch == fitted.best)
    way = f"epoch {fitted.best} of {fitted.curve[-1].epoch} ({fitted.ended}), "
    way += f"criterion {first.criterion:.4f} to {best.criterion:.4f}, {short_digest(fitted.map.digest)}"
    return report(args, f"{args.output}: {args.method} of {what}, {way}")


def _fit_unsupervised(args: argparse.Namespace) -> int:
    options = RunOptions.of(run_options(args))
    source, target = read_columns(args.unsupervised)
    known = _read_known(args.known) if args.known else None
    origin = _origin(args, args.unsupervised)
    sides = _sides(args, options)
    # Two models have no identity: refuse it before texts are encoded.
    SearchOptions.of(given_options(args, SearchOptions)).start_for(origin_of(*sides[0], sides[1], origin))
    with Progress(len(source) + len(target), show=options.progress, what="reading texts", unit="text") as advance:
        words, others, origin = vocabularies_of_texts(
            sides, (source, target), origin=origin, batch_tokens=options.batch_tokens, advance=advance
        )
    with Progress(args.restarts, show=options.progress, what="learning", unit="run") as advance:
        search = given_options(args, SearchOptions)
        fitted = fit_unsupervised(words, others, origin=origin, known=known, advance=advance, **search)
    if args.method in ADVERSARIAL:
        from nlgauge.studies.alignment.adversarial_fit import fit_adversarial, fit_gan_flow

        best = max(fitted.attempts, key=lambda attempt: attempt.criterion).pairs
        pairs = Pairs(best.source, best.target)
        method: Callable[..., Fitted[Any]] = fit_gan_flow if args.method == "gan-flow" else fit_adversarial
        fit = partial(method, words.vectors, others.vectors, pairs)
        origin = origin._replace(note=fitted.remapping.origin.note)
        return _train(args, fit, f"{len(fitted.pairs)} pairs of words found", origin)
    with saving(args.output) as path:
        fitted.remapping.save(path)
    runs = ", ".join(f"{attempt.criterion:.3f}" for attempt in fitted.attempts)
    what = f"{len(fitted.pairs)} pairs of words found, criterion {fitted.criterion:.3f} (runs: {runs})"
    return report(args, f"{args.output}: {what}, {short_digest(fitted.remapping.digest)}")


def _read_known(path: str) -> list[tuple[str, str]]:
    """Read known translations, a word and its translation per line."""
    pairs = []
    for number, line in enumerate(read_lines(Path(path)), 1):
        fields = line.split("\t")
        if len(fields) != 2 or not all(map(str.strip, fields)):
            msg = f"{file_label(path)}, line {number}: expected a word, a tab and its translation, got {line!r}"
            raise FileFormatError(msg)
        pairs.append((fields[0].strip(), fields[1].strip()))
    return pairs


def _models(args: argparse.Namespace) -> tuple[str, str]:
    """Names of the source and target models."""
    return args.source_model or args.model, args.target_model or args.model


def _sides(args: argparse.Namespace, options: RunOptions) -> tuple[ModelLayer, ModelLayer]:
    """Load models and layers of source and target; a shared model is loaded once."""
    models = _models(args)
    loaded = {model: load_encoder(model, **options.loading) for model in dict.fromkeys(models)}
    same = models[0] == models[1] and args.target_layer is None
    layers = (args.layer, args.layer if same else args.target_layer)
    source, target = (
        ModelLayer(loaded[model], resolve_layer(layer, loaded[model]))
        for model, layer in zip(models, layers, strict=True)
    )
    return source, target


_NETWORKS = "with --method flow, gan-flow, adversarial or fcnn (need nlgauge[torch])"
_SEARCH = {name: {"needs": "unsupervised"} for name in SearchOptions.options() if name != "seed"}
_SEARCH["least_precision"] = {"needs": "known"}

FIT = Command(
    run=_fit,
    flags=(
        Flags(FitTexts, exclusive=True, without=["known"]),
        Flags(FitTexts, "with --unsupervised", only=("known",)),
        output_file("mapping (.npz)"),
        Flags(FitSides),
        Flags(FitOptions, "with --parallel"),
        Flags(SearchOptions, "with --unsupervised", change=_SEARCH),
        Flags(FlowOptions, _NETWORKS, without=_WITHOUT_FLAG),
        Flags(FitFiles, _NETWORKS),
        *MODEL_FLAGS,
    ),
    help="fit a mapping (CLP, UMD and others) to parallel or other texts",
)
