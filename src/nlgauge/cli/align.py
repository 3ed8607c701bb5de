"""`nlgauge align fit`, `means` and `centroids`: learn from texts how to bring the vectors of languages together."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from nlgauge.cli.common import add_run_options, file_label, run_options, text_source
from nlgauge.cli.outputs import saving
from nlgauge.cli.parsing import add_renamed
from nlgauge.encoders import Encoder, load_encoder
from nlgauge.encoders.languages import warn_if_unsupported
from nlgauge.encoders.precision import vectors_digest
from nlgauge.encoders.whole_text.sentences import load_sentence_encoder
from nlgauge.engine.progress import Progress
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.recipes.defaults import default_layer
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text.word_alignment import read_alignments, write_alignments
from nlgauge.transforms.fit.from_texts import (
    FittedMap,
    centroids_of_texts,
    check_layer,
    fit_sentences,
    fit_words,
    moments_of_texts,
)
from nlgauge.transforms.language_means import NORM_MODES, LanguageMeans
from nlgauge.transforms.remap import METHODS, Origin

__all__ = ["add_commands"]

#: Published: two thousand pairs of sentences, as the released matrices of XMoverScore (`.2k.`) say.
_SENTENCES = 2000


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("align", help="bring the vectors of languages together")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_means(actions)
    _add_centroids(actions)
    _add_fit(actions)


def _add_means(actions: Any) -> None:
    means = actions.add_parser("means", help="freeze the mean and variance of each language's vectors to a file")
    _add_texts(means)
    means.add_argument("-o", "--output", required=True, metavar="FILE", help="the means, an .npz file")
    means.add_argument("--mode", choices=NORM_MODES, default="centre", help="(%(default)s)")
    _add_model(means)
    means.set_defaults(run=_means)


def _add_centroids(actions: Any) -> None:
    centroids = actions.add_parser("centroids", help="how far languages sit from each other, before and after steps")
    _add_texts(centroids)
    centroids.add_argument(
        "--transforms", default="none", help="files of 'align fit' or 'align means', joined by + (%(default)s)"
    )
    add_renamed(centroids, "--steps", "--transforms", dest="transforms", metavar="FILES")
    centroids.add_argument("--source-lang", metavar="LANG", help="that a re-mapping moves (the first)")
    _add_model(centroids)
    centroids.set_defaults(run=_centroids)


def _add_fit(actions: Any) -> None:
    fit = actions.add_parser("fit", help="fit a re-mapping (CLP, UMD) to parallel texts")
    fit.add_argument(
        "--parallel",
        nargs=2,
        type=text_source,
        required=True,
        metavar=("SOURCE", "TARGET"),
        help="texts by line",
    )
    fit.add_argument("-o", "--output", required=True, metavar="FILE", help="the re-mapping, an .npz file")
    fit.add_argument(
        "--method", choices=METHODS, default="clp", help="two are named in the order they work (%(default)s)"
    )
    fit.add_argument("--level", choices=("word", "sentence"), default="word", help="what is mapped (%(default)s)")
    fit.add_argument("--alignments", metavar="FILE", help="links i-j of a word aligner (default: nearest neighbours)")
    fit.add_argument("--save-alignments", metavar="FILE", help="write the links that were used")
    fit.add_argument(
        "--sentences", type=int, default=_SENTENCES, metavar="N", help="first pairs to use, 0 for all (%(default)s)"
    )
    fit.add_argument("--directions", type=int, default=1, metavar="N", help="directions UMD removes (%(default)s)")
    fit.add_argument(
        "--umd-sides", choices=("both", "source"), default="both", help="as the paper, or its code (%(default)s)"
    )
    fit.add_argument("--source-lang", metavar="LANG", help="for the file's header")
    fit.add_argument("--target-lang", metavar="LANG", help="for the file's header")
    _add_model(fit)
    fit.set_defaults(run=_fit)


def _add_texts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--texts", nargs="+", type=text_source, required=True, metavar="LANG=FILE", help="texts of a language by line"
    )


def _add_model(parser: Any) -> None:
    parser.add_argument("--model", default="muse", help="model whose vectors are meant (%(default)s)")
    parser.add_argument("--layer", type=int, metavar="N", help="default: the model's tuned one")
    add_run_options(parser, cache=False)
    parser.add_help_all()


def _fit(args: argparse.Namespace) -> int:
    _warn_of_languages(args, filter(None, (args.source_lang, args.target_lang)))
    _check_fit(args)
    source, target = _parallel_texts(args)
    fitted = _fitted(args, source, target)
    if args.save_alignments:
        with saving(args.save_alignments) as path:
            write_alignments(path, fitted.links)
    with saving(args.output) as path:
        fitted.remapping.save(path)
    if not args.quiet:
        digest = short_digest(fitted.remapping.digest)
        print(f"{args.output}: {args.method} of {fitted.fitted_on}, {digest}", file=sys.stderr)
    return 0


def _fitted(args: argparse.Namespace, source: list[str], target: list[str]) -> FittedMap:
    options = RunOptions.of(run_options(args))
    note = ", ".join(file_label(spec) for spec in args.parallel)
    how: dict[str, Any] = {
        "method": args.method,
        "directions": args.directions,
        "umd_sides": args.umd_sides,
        "origin": Origin(source=args.source_lang or "", target=args.target_lang or "", note=note),
    }
    bar = partial(Progress, len(source), show=options.progress, what=f"fitting {args.method}", unit="pair")
    if args.level == "sentence":
        sentences = load_sentence_encoder(args.model, **options.loading)
        with bar() as advance:
            return fit_sentences(sentences, source, target, advance=advance, **how)
    encoder = load_encoder(args.model, **options.loading)
    links = read_alignments(Path(args.alignments))[: len(source)] if args.alignments else None
    with bar() as advance:
        return fit_words(
            encoder,
            source,
            target,
            layer=_layer(args, encoder),
            alignments=links,
            alignments_name=file_label(args.alignments or ""),
            batch_tokens=options.batch_tokens,
            advance=advance,
            **how,
        )


def _check_fit(args: argparse.Namespace) -> None:
    """Refuse options that what is fitted has no use of."""
    if "umd" not in args.method and (args.directions != 1 or args.umd_sides != "both"):
        msg = f"--directions and --umd-sides belong to methods with umd, got --method {args.method}"
        raise RecipeError(msg)
    if args.level == "sentence" and (args.alignments or args.save_alignments or args.layer is not None):
        msg = "--alignments, --save-alignments and --layer are about words, got --level sentence; leave them out"
        raise RecipeError(msg)


def _parallel_texts(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    inputs = Inputs()
    source, target = (inputs.texts(parse_source(spec)) for spec in args.parallel)
    if len(source) != len(target):
        names = " and ".join(file_label(spec) for spec in args.parallel)
        msg = f"parallel texts come in pairs, but {names} have {len(source)} and {len(target)} lines"
        raise InputError(msg)
    most = args.sentences or len(source)
    return source[:most], target[:most]


def _layer(args: argparse.Namespace, encoder: Encoder) -> int:
    return check_layer(encoder, default_layer(encoder) if args.layer is None else args.layer)


def _warn_of_languages(args: argparse.Namespace, languages: Iterable[str]) -> None:
    for language in languages:
        warn_if_unsupported(args.model, language)


def _texts_by_language(args: argparse.Namespace) -> dict[str, list[str]]:
    inputs = Inputs()
    texts: dict[str, list[str]] = {}
    for entry in args.texts:
        language, equals, spec = entry.partition("=")
        if not (language and equals and spec) or language in texts:
            msg = f"--texts takes LANG=FILE, each language once, got {entry!r}"
            raise RecipeError(msg)
        texts[language] = inputs.texts(parse_source(spec))
    _warn_of_languages(args, texts)
    return texts


def _centroids(args: argparse.Namespace) -> int:
    texts = _texts_by_language(args)
    if args.source_lang and args.source_lang not in texts:
        msg = f"--source-lang must be one of {', '.join(texts)}, got {args.source_lang!r}"
        raise RecipeError(msg)
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(args.model, **options.loading)
    found = centroids_of_texts(
        encoder,
        texts,
        layer=_layer(args, encoder),
        transforms=args.transforms,
        source_language=args.source_lang or "",
        batch_tokens=options.batch_tokens,
    )
    print("languages\tbefore\tafter\tcosine before\tcosine after")
    for first, second in itertools.combinations(range(len(texts)), 2):
        names = "-".join(found.before.languages[place] for place in (first, second))
        numbers = [found.before.relative, found.after.relative, found.before.cosine, found.after.cosine]
        print("\t".join([names, *(f"{matrix[first, second]:.4f}" for matrix in numbers)]))
    if not args.quiet:
        counts = ", ".join(f"{name} {count}" for name, count in zip(texts, found.before.counts, strict=True))
        print(f"distances of means in units of the spread within languages; tokens: {counts}", file=sys.stderr)
    return 0


def _means(args: argparse.Namespace) -> int:
    texts = _texts_by_language(args)
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(args.model, **options.loading)
    layer = _layer(args, encoder)
    moments = moments_of_texts(encoder, texts, layer=layer, batch_tokens=options.batch_tokens)
    note = ", ".join(file_label(entry.partition("=")[2]) for entry in args.texts)
    norm = LanguageMeans(moments, args.mode, vectors_digest(encoder), layer, note)
    with saving(args.output) as path:
        norm.save(path)
    if not args.quiet:
        counts = ", ".join(f"{language} {found.count}" for language, found in moments.items())
        print(f"{args.output}: {args.mode} of {counts} tokens, {short_digest(norm.digest)}", file=sys.stderr)
    return 0
