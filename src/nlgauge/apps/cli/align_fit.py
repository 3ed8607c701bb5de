"""`nlgauge align fit`: a map between the vectors of two languages, fitted with parallel text or without.

The methods flow, gan-flow and fcnn train a network and can write their curves. Options that all actions of
`nlgauge align` share come first.
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
from nlgauge.core.kinds import Choice, FigureFile, InputFile, Int, Many, OutputFile, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.core.vector_metric import default_layer
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.sentences import load_sentence_encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.packages import require
from nlgauge.io.storage import short_digest
from nlgauge.io.textfiles import file_label
from nlgauge.studies.alignment.from_texts import (
    FittedMap,
    LinearMethod,
    check_layer,
    fit_sentences,
    fit_words,
    words_of_texts,
)
from nlgauge.studies.alignment.training_loop import FCNN_HIDDEN, FitCurves, FitRun, Fitted, FlowOptions, plot_curves
from nlgauge.studies.alignment.unsupervised import (
    SearchOptions,
    fit_unsupervised,
    vocabularies_of_texts,
)
from nlgauge.studies.alignment.word_spaces import (
    AlignmentInputs,
    ModelLayer,
    Pairs,
    read_alignments,
    write_alignments,
)
from nlgauge.text.languages import warn_if_unsupported
from nlgauge.vectors.remap import METHODS, Origin

if TYPE_CHECKING:
    from nlgauge.encoders.base import Encoder


@dataclass(frozen=True, kw_only=True)
class ModelOptions(OptionSet):
    """The model whose vectors are aligned."""

    model: str = option("muse", MODEL, help="model whose vectors are aligned")
    layer: int | None = option(None, Int(0), help="model layer", unset="tuned per model")


#: The options of the model, and how to compute.
MODEL_FLAGS = (Flags(ModelOptions), *run_flags(cache=False))


def chosen_layer(layer: int | None, encoder: Encoder) -> int:
    """The layer that was asked for, or the model's own."""
    return check_layer(encoder, default_layer(encoder) if layer is None else layer)


def warn_of_languages(model: str, languages: Iterable[str]) -> None:
    """Say which of the languages the model was not trained on."""
    for language in languages:
        warn_if_unsupported(model, language)


def parallel_texts(specs: Sequence[str], *, most: int = 0) -> tuple[list[str], list[str]]:
    """The texts of two files, which must be as many; the first `most` of them, 0 for all."""
    source, target = read_columns(specs)
    if len(source) != len(target):
        names = " and ".join(file_label(spec) for spec in specs)
        msg = f"parallel texts come in pairs, but {names} have {len(source)} and {len(target)} lines"
        raise InputError(msg)
    most = most or len(source)
    return source[:most], target[:most]


NETWORK_METHODS = ("flow", "gan-flow", "fcnn")

#: Options of a fit that the method fcnn has too.
_OF_FCNN = ("epochs", "patience", "batch", "hidden", "learning_rate", "validation")

#: Options of a fit that are no flags; the seed is that of the search for pairs too.
_WITHOUT_FLAG = ("critic_steps", "penalty", "seed")


@dataclass(frozen=True, kw_only=True)
class FitFiles(OptionSet):
    """Files next to the map."""

    state: str | None = option(None, OutputFile(), help="keeps what is done, so that an interrupted fit goes on")
    curves: str | None = option(None, OutputFile(), help="loss and criterion of each epoch, as JSON")
    plot: str | None = option(None, FigureFile(), help="the same as a figure: .png, .svg or .pdf")


def _check_method(args: argparse.Namespace) -> None:
    """Refuse methods for the other kind of texts, and options that a method has no use of."""
    if args.unsupervised and args.method not in {None, "gan-flow"}:
        msg = f"--method has no meaning with --unsupervised unless it is gan-flow, got {args.method}"
        raise RecipeError(msg)
    if args.parallel and args.method == "gan-flow":
        msg = "--method gan-flow is for texts that are not parallel; give --unsupervised, or take --method flow"
        raise RecipeError(msg)
    useless: Iterable[str] = ()
    if args.method == "fcnn":
        useless = [name for name in FlowOptions.options() if name not in _OF_FCNN]
    elif args.method not in NETWORK_METHODS:
        useless = [*FlowOptions.options(), *FitFiles.options()]
    refuse_flags(args, [name for name in useless if name != "seed"], "has no meaning with this method; leave it out")
    if args.method in NETWORK_METHODS:
        _flow_options(args).check_method(args.method)


def _flow_options(args: argparse.Namespace) -> FlowOptions:
    """The options that were given, and the method's own."""
    own: dict[str, Any] = {"seed": args.seed}
    if args.method == "gan-flow":
        constrained = args.constraint != "none"
        own |= {"learning_rate": 5e-5, "rounds": 3 if constrained else 1}
    if args.method == "fcnn":
        own |= {"hidden": FCNN_HIDDEN}
    given = given_options(args, FlowOptions)
    return read_options(args, FlowOptions, {name: value for name, value in own.items() if name not in given})


@dataclass(frozen=True, kw_only=True)
class FitTexts(OptionSet):
    """Texts of two languages, one text per line."""

    parallel: tuple[str, ...] = option(
        (), Many(TextColumn(), least=2, most=2), help="translations, line by line", metavar="SOURCE TARGET"
    )
    unsupervised: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=2, most=2),
        help="texts of two languages that need not be translations",
        metavar="SOURCE TARGET",
    )


@dataclass(frozen=True, kw_only=True)
class FitSides(OptionSet):
    """Languages and models of the two sides."""

    source_lang: str = option("", Text("a language"), help="source language, for the file's header", metavar="LANG")
    target_lang: str = option("", Text("a language"), help="target language, for the file's header", metavar="LANG")
    source_model: str | None = option(None, MODEL, help="model of the source", unset="--model")
    target_model: str | None = option(None, MODEL, help="model of the target", unset="--model")
    target_layer: int | None = option(None, Int(0), help="model layer of the target, if it is another one")


@dataclass(frozen=True, kw_only=True)
class FitOptions(OptionSet):
    """A fit to parallel texts."""

    method: str | None = option(
        None,
        Choice(*METHODS, *NETWORK_METHODS),
        help="method; two are named in the order they are applied",
        unset="clp",
    )
    level: str = option("word", Choice("word", "sentence"), help="vectors that are mapped", needs="parallel")
    alignments: str | None = option(
        None, InputFile(), help="links i-j of a word aligner", unset="nearest neighbours", needs="parallel"
    )
    save_alignments: str | None = option(None, OutputFile(), help="write the links that were used", needs="parallel")
    # Published: two thousand pairs of sentences, as the released matrices of XMoverScore (`.2k.`) say.
    sentences: int = option(2000, Int(0), help="first pairs to use, 0 for all", needs="parallel")
    directions: int = option(1, Int(1), help="number of directions that UMD removes", needs="parallel")
    umd_sides: str = option(
        "both",
        Choice("both", "source"),
        help="sides that UMD changes: as in the paper, or as in its code",
        needs="parallel",
    )


def _fit(args: argparse.Namespace) -> int:
    check_has_name(args.output, "the re-mapping")
    _check_method(args)
    if args.parallel:
        if args.method not in NETWORK_METHODS:
            refuse_flags(args, ["seed"], "has no meaning with --parallel and a method without chance; leave it out")
        args.method = args.method or "clp"
        _check_fit(args)
    for model, language in zip(_models(args), (args.source_lang, args.target_lang), strict=True):
        warn_of_languages(model, filter(None, (language,)))
    if args.method in NETWORK_METHODS:
        require("torch", "torch")  # said before texts are encoded, not after
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
    """Refuse options that what is fitted has no use of."""
    if "umd" not in args.method:
        refuse_flags(args, ("directions", "umd_sides"), f"belongs to methods with umd, got --method {args.method}")
    if args.level == "sentence":
        if args.method in NETWORK_METHODS:
            msg = f"--method {args.method} is fitted to words, got --level sentence; take another method"
            raise RecipeError(msg)
        of_words = ("source_model", "target_model", "alignments", "save_alignments", "layer", "target_layer")
        refuse_flags(args, of_words, "is about words, got --level sentence; leave it out")


def _fit_map(args: argparse.Namespace, source: list[str], target: list[str]) -> FittedMap:
    options = RunOptions.of(run_options(args))
    method, origin = LinearMethod(args.method, args.directions, args.umd_sides), _origin(args, args.parallel)
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
    own, other = _sides(args, options)
    return AlignmentInputs(
        *(own.encoder, source, target, own.layer),
        other=None if other == own else other,
        alignments=read_alignments(Path(args.alignments))[: len(source)] if args.alignments else None,
        alignments_name=file_label(args.alignments or ""),
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
        words, what, origin = words_of_texts(inputs, origin=_origin(args, args.parallel))
    _save_links(args, words.links)
    # Here, so that the other methods do without torch.
    from nlgauge.studies.alignment.flow_fit import fit_fcnn, fit_flow

    fit: Callable[..., Fitted[Any]] = fit_fcnn if args.method == "fcnn" else fit_flow
    return _train(args, partial(fit, words.source, words.target), what, origin)


def _train(args: argparse.Namespace, fit: Callable[..., Fitted[Any]], what: str, origin: Origin) -> int:
    """Train a network, and write the map with its curves."""
    options = _flow_options(args)
    state = Path(args.state) if args.state else None
    with Progress(options.total_epochs, show=not args.quiet, what=f"fitting {args.method}", unit="epoch") as advance:
        fitted = fit(options=options, run=FitRun(origin, state, advance))
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
    origin = _origin(args, args.unsupervised)
    sides = _sides(args, options)
    with Progress(len(source) + len(target), show=options.progress, what="reading texts", unit="text") as advance:
        words, others, origin = vocabularies_of_texts(
            sides, (source, target), origin=origin, batch_tokens=options.batch_tokens, advance=advance
        )
    with Progress(args.restarts, show=options.progress, what="learning", unit="run") as advance:
        fitted = fit_unsupervised(words, others, origin=origin, advance=advance, **given_options(args, SearchOptions))
    if args.method == "gan-flow":
        from nlgauge.studies.alignment.flow_fit import fit_gan_flow

        best = max(fitted.attempts, key=lambda attempt: attempt.criterion).pairs
        pairs = Pairs(best.source, best.target)
        fit = partial(fit_gan_flow, words.vectors, others.vectors, pairs)
        return _train(args, fit, f"{len(fitted.pairs)} pairs of words found", origin)
    with saving(args.output) as path:
        fitted.remapping.save(path)
    runs = ", ".join(f"{attempt.criterion:.3f}" for attempt in fitted.attempts)
    what = f"{len(fitted.pairs)} pairs of words found, criterion {fitted.criterion:.3f} (runs: {runs})"
    return report(args, f"{args.output}: {what}, {short_digest(fitted.remapping.digest)}")


def _models(args: argparse.Namespace) -> tuple[str, str]:
    """Of the source and of the target."""
    return args.source_model or args.model, args.target_model or args.model


def _sides(args: argparse.Namespace, options: RunOptions) -> tuple[ModelLayer, ModelLayer]:
    """Models and layers of the source and of the target; a model is loaded once."""
    models = _models(args)
    loaded = {model: load_encoder(model, **options.loading) for model in dict.fromkeys(models)}
    same = models[0] == models[1] and args.target_layer is None
    layers = (args.layer, args.layer if same else args.target_layer)
    source, target = (
        ModelLayer(loaded[model], chosen_layer(layer, loaded[model]))
        for model, layer in zip(models, layers, strict=True)
    )
    return source, target


_NETWORKS = "with --method flow, gan-flow (--unsupervised) or fcnn; needs nlgauge[torch]"
_SEARCH = {name: {"needs": "unsupervised"} for name in SearchOptions.options() if name != "seed"}

FIT = Command(
    run=_fit,
    flags=(
        Flags(FitTexts, exclusive=True),
        output_file("re-mapping, an .npz file"),
        Flags(FitSides),
        Flags(FitOptions, "with --parallel"),
        Flags(SearchOptions, "with --unsupervised", change=_SEARCH),
        Flags(FlowOptions, _NETWORKS, without=_WITHOUT_FLAG),
        Flags(FitFiles, _NETWORKS),
        *MODEL_FLAGS,
    ),
    help="fit a re-mapping to parallel texts (CLP, UMD), or to any texts",
)
