"""`nlgauge align fit` and `align means`: learn from texts how to bring the vectors of languages together."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.cli.common import add_run_options, file_label, run_options, text_source
from nlgauge.encoders import Encoder, encode_texts, load_encoder
from nlgauge.encoders.languages import warn_if_unsupported
from nlgauge.encoders.whole_text.sentences import load_sentence_encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.recipes.defaults import default_layer
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text.word_alignment import check_links, read_alignments, write_alignments
from nlgauge.transforms.base import load_steps
from nlgauge.transforms.fit.centroids import centroid_change
from nlgauge.transforms.fit.parallel_words import paired_words
from nlgauge.transforms.language_means import NORM_MODES, LanguageMoments, LanguageNorm
from nlgauge.transforms.remap import METHODS, Origin, Side, fit_remapping

__all__ = ["add_commands"]

#: Published: two thousand pairs of sentences (spec 5.1).
_SENTENCES = 2000

#: Texts whose vectors are held at once.
_PORTION = 512


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("align", help="bring the vectors of languages together")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    means = actions.add_parser("means", help="freeze the mean and variance of each language's vectors to a file")
    means.add_argument(
        "--texts", nargs="+", type=text_source, required=True, metavar="LANG=FILE", help="texts of a language by line"
    )
    means.add_argument("-o", "--output", required=True, metavar="FILE", help="the means, an .npz file")
    means.add_argument("--model", default="muse", help="model whose vectors are meant (%(default)s)")
    means.add_argument("--layer", type=int, metavar="N", help="default: the model's tuned one")
    means.add_argument("--mode", choices=NORM_MODES, default="centre", help="(%(default)s)")
    add_run_options(means, cache=False)
    means.set_defaults(run=_means)

    centroids = actions.add_parser("centroids", help="how far languages sit from each other, before and after steps")
    centroids.add_argument(
        "--texts", nargs="+", type=text_source, required=True, metavar="LANG=FILE", help="texts of a language by line"
    )
    centroids.add_argument(
        "--steps", default="none", help="files of 'align fit' or 'align means', joined by + (%(default)s)"
    )
    centroids.add_argument("--source-lang", default="", metavar="LANG", help="that a re-mapping moves (the first)")
    centroids.add_argument("--model", default="muse", help="model whose vectors are meant (%(default)s)")
    centroids.add_argument("--layer", type=int, metavar="N", help="default: the model's tuned one")
    add_run_options(centroids, cache=False)
    centroids.set_defaults(run=_centroids)

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
    fit.add_argument("--model", default="muse", help="model whose vectors are mapped (%(default)s)")
    fit.add_argument("--layer", type=int, metavar="N", help="default: the model's tuned one")
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
    fit.add_argument("--source-lang", default="", metavar="LANG", help="for the file's header")
    fit.add_argument("--target-lang", default="", metavar="LANG", help="for the file's header")
    add_run_options(fit, cache=False)
    fit.set_defaults(run=_fit)


def _fit(args: argparse.Namespace) -> int:
    for language in filter(None, (args.source_lang, args.target_lang)):
        warn_if_unsupported(args.model, language)
    _check_fit(args)
    source, target = _texts(args)
    options = RunOptions.of(run_options(args))
    loading = options.loading
    note = ", ".join(file_label(spec) for spec in args.parallel)
    origin = Origin(source=args.source_lang, target=args.target_lang, note=note)
    if args.level == "sentence":
        sentences = load_sentence_encoder(args.model, **loading)
        x, z = sentences.encode(source), sentences.encode(target)
        full = x.any(axis=1) & z.any(axis=1)  # a text without a token has no direction
        x, z = x[full], z[full]
        origin = origin._replace(model=sentences.name, weights=sentences.digest)
        what = f"{len(x)} pairs of sentences"
    else:
        encoder = load_encoder(args.model, **loading)
        layer = _layer(args, encoder)
        found = paired_words(
            encoder,
            source,
            target,
            layer=layer,
            alignments=_alignments(args, source, target),
            batch_tokens=options.batch_tokens,
        )
        x, z = found.source, found.target
        origin = origin._replace(model=encoder.model, weights=encoder.digest, layer=layer)
        what = f"{len(x)} pairs of words from {found.used} pairs of texts ({found.left_out} left out)"
        if args.save_alignments:
            write_alignments(Path(args.save_alignments), found.links)
    if not len(x):
        msg = f"no pair to fit on: {what}; give texts that translate each other line by line"
        raise InputError(msg)
    fitted = fit_remapping(
        x, z, method=args.method, directions=args.directions, umd_sides=args.umd_sides, origin=origin
    )
    fitted.save(Path(args.output))
    if not args.quiet:
        print(f"{args.output}: {args.method} of {what}, {short_digest(fitted.digest)}", file=sys.stderr)
    return 0


def _check_fit(args: argparse.Namespace) -> None:
    """Refuse options that what is fitted has no use of."""
    if "umd" not in args.method and (args.directions != 1 or args.umd_sides != "both"):
        msg = f"--directions and --umd-sides belong to methods with umd, got --method {args.method}"
        raise RecipeError(msg)
    if args.level == "sentence" and (args.alignments or args.save_alignments or args.layer is not None):
        msg = "--alignments, --save-alignments and --layer are about words, got --level sentence; leave them out"
        raise RecipeError(msg)


def _texts(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    inputs = Inputs()
    source, target = (inputs.texts(parse_source(spec)) for spec in args.parallel)
    if len(source) != len(target):
        names = " and ".join(file_label(spec) for spec in args.parallel)
        msg = f"parallel texts come in pairs, but {names} have {len(source)} and {len(target)} lines"
        raise InputError(msg)
    if args.sentences < 0:
        msg = f"--sentences must be 0 (all) or more, got {args.sentences}"
        raise InputError(msg)
    most = args.sentences or len(source)
    return source[:most], target[:most]


def _alignments(args: argparse.Namespace, source: list[str], target: list[str]) -> Any:
    if args.alignments is None:
        return None
    links = read_alignments(Path(args.alignments))[: len(source)]
    sizes = [(len(left.split()), len(right.split())) for left, right in zip(source, target, strict=True)]
    check_links(links, sizes, name=file_label(args.alignments))
    return links


def _layer(args: argparse.Namespace, encoder: Encoder) -> int:
    layer: int = default_layer(encoder) if args.layer is None else args.layer
    if not 0 <= layer <= encoder.layers:
        msg = f"layer {layer} asked for, but model {encoder.model!r} has layers 0 to {encoder.layers}"
        raise InputError(msg)
    return layer


def _texts_by_language(args: argparse.Namespace) -> dict[str, list[str]]:
    inputs = Inputs()
    texts: dict[str, list[str]] = {}
    for entry in args.texts:
        language, equals, spec = entry.partition("=")
        if not (language and equals and spec) or language in texts:
            msg = f"--texts takes LANG=FILE, each language once, got {entry!r}"
            raise RecipeError(msg)
        texts[language] = inputs.texts(parse_source(spec))
    for language in texts:
        warn_if_unsupported(args.model, language)
    return texts


def _centroids(args: argparse.Namespace) -> int:
    texts = _texts_by_language(args)
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(args.model, **options.loading)
    layer = _layer(args, encoder)
    moved_language = args.source_lang or next(iter(texts))
    if moved_language not in texts:
        msg = f"--source-lang is one of {', '.join(texts)}, got {moved_language!r}"
        raise RecipeError(msg)
    before, after = {}, {}
    for language, lines in texts.items():
        none = np.empty((0, encoder.hidden_size), dtype=np.float32)
        rows = np.concatenate([none, *_token_vectors(encoder, lines, layer, options.batch_tokens)])
        before[language] = after[language] = rows
        side: Side = "source" if language == moved_language else "target"
        steps = load_steps(args.steps, source=language if side == "source" else None, target=language)
        if steps is not None:
            steps.check(encoder.digest, layers=(layer,), width=encoder.hidden_size)
            after[language] = steps.move(rows, side)
    found = centroid_change(before, after)
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
    moments = {
        language: LanguageMoments.of(_token_vectors(encoder, lines, layer, options.batch_tokens))
        for language, lines in texts.items()
    }
    note = ", ".join(file_label(entry.partition("=")[2]) for entry in args.texts)
    norm = LanguageNorm(moments, args.mode, encoder.digest, layer, note)
    norm.save(Path(args.output))
    if not args.quiet:
        counts = ", ".join(f"{language} {found.count}" for language, found in moments.items())
        print(f"{args.output}: {args.mode} of {counts} tokens, {short_digest(norm.digest)}", file=sys.stderr)
    return 0


def _token_vectors(
    encoder: Encoder, texts: list[str], layer: int, batch_tokens: int
) -> Iterator[NDArray[np.float32]]:
    """Vectors of the texts' tokens, without special ones, a portion of texts at a time."""
    for start in range(0, len(texts), _PORTION):
        tokens = encoder.tokenizer.encode(texts[start : start + _PORTION])
        for text in encode_texts(encoder, tokens, (layer,), batch_tokens=batch_tokens):
            if not text.tokens.empty:
                yield text.layers[layer][~text.tokens.is_special]
