"""`nlgauge align fit`: learn from parallel texts how to map one language's vectors onto another's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from nlgauge.cli.common import add_run_options, file_label, run_options, text_source
from nlgauge.clouds.parallel import paired_words
from nlgauge.clouds.remap import METHODS, Origin, fit_remapping
from nlgauge.data import Inputs, parse_source
from nlgauge.encoders import load_encoder
from nlgauge.encoders.muse import warn_if_unsupported
from nlgauge.encoders.sentences import load_sentence_encoder
from nlgauge.errors import InputError
from nlgauge.metrics import RunOptions
from nlgauge.metrics.defaults import default_layer
from nlgauge.signature import short_digest
from nlgauge.text.word_alignment import check_links, read_alignments, write_alignments

__all__ = ["add_commands"]

#: Published: two thousand pairs of sentences (spec 5.1).
_SENTENCES = 2000


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("align", help="map one language's vectors onto another's")
    fit = parser.add_subparsers(dest="action", metavar="ACTION", required=True).add_parser(
        "fit", help="fit a re-mapping (CLP, UMD) to parallel texts"
    )
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
    add_run_options(fit)
    fit.set_defaults(run=_fit)


def _fit(args: argparse.Namespace) -> int:
    if args.model == "muse":
        for language in filter(None, (args.source_lang, args.target_lang)):
            warn_if_unsupported(language)
    source, target = _texts(args)
    options = RunOptions.of(run_options(args))
    loading: dict[str, Any] = {
        "engine": options.engine,
        "threads": options.threads,
        "device": options.device,
        "progress": options.progress,
    }
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
        layer = default_layer(encoder) if args.layer is None else args.layer
        _check_layer(layer, encoder.layers, args.model)
        found = paired_words(
            encoder,
            source,
            target,
            layer=layer,
            alignments=_alignments(args, source, target),
            batch_tokens=options.batch_tokens,
        )
        x, z = found.source, found.target
        origin = origin._replace(model=encoder.model, weights=encoder.weights_digest, layer=layer)
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


def _check_layer(layer: int, top: int, model: str) -> None:
    if not 0 <= layer <= top:
        msg = f"layer {layer} asked for, but model {model!r} has layers 0 to {top}"
        raise InputError(msg)
