"""`nlgauge align means` and `centroids`, and its other actions: bring the vectors of languages together."""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any

from nlgauge.cli.align_evaluate import add_evaluate
from nlgauge.cli.align_fit import add_fit
from nlgauge.cli.align_options import add_model, chosen_layer, warn_of_languages
from nlgauge.cli.align_train import add_train
from nlgauge.cli.common import file_label, run_options, text_source
from nlgauge.cli.outputs import check_has_name, saving
from nlgauge.encoders import load_encoder
from nlgauge.encoders.precision import vectors_digest
from nlgauge.errors import RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.recipes.run_options import RunOptions
from nlgauge.transforms.fit.from_texts import centroids_of_texts, moments_of_texts
from nlgauge.transforms.language_means import NORM_MODES, LanguageMeans

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("align", help="bring the vectors of languages together")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_means(actions)
    _add_centroids(actions)
    add_fit(actions)
    add_evaluate(actions)
    add_train(actions)


def _add_means(actions: Any) -> None:
    means = actions.add_parser("means", help="freeze the mean and variance of each language's vectors to a file")
    _add_texts(means)
    means.add_argument("-o", "--output", required=True, metavar="FILE", help="the means, an .npz file")
    means.add_argument("--mode", choices=NORM_MODES, default="centre", help="(%(default)s)")
    add_model(means)
    means.set_defaults(run=_means)


def _add_centroids(actions: Any) -> None:
    centroids = actions.add_parser("centroids", help="how far languages sit from each other, before and after steps")
    _add_texts(centroids)
    centroids.add_argument(
        "--transforms", default="none", help="files of 'align fit' or 'align means', joined by + (%(default)s)"
    )
    centroids.add_argument("--source-lang", metavar="LANG", help="that a re-mapping moves (the first)")
    add_model(centroids)
    centroids.set_defaults(run=_centroids)


def _add_texts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--texts", nargs="+", type=text_source, required=True, metavar="LANG=FILE", help="texts of a language by line"
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
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(args.model, **options.loading)
    found = centroids_of_texts(
        encoder,
        texts,
        layer=chosen_layer(args.layer, encoder),
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
    check_has_name(args.output, "the table of means")
    texts = _texts_by_language(args)
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(args.model, **options.loading)
    layer = chosen_layer(args.layer, encoder)
    moments = moments_of_texts(encoder, texts, layer=layer, batch_tokens=options.batch_tokens)
    note = ", ".join(file_label(entry.partition("=")[2]) for entry in args.texts)
    norm = LanguageMeans(moments, args.mode, vectors_digest(encoder), layer, note)
    with saving(args.output) as path:
        norm.save(path)
    if not args.quiet:
        counts = ", ".join(f"{language} {found.count}" for language, found in moments.items())
        print(f"{args.output}: {args.mode} of {counts} tokens, {short_digest(norm.digest)}", file=sys.stderr)
    return 0
