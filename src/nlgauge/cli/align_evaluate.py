"""`nlgauge align evaluate`: what maps do on held-out parallel text, beside methods that are fitted on the spot."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from nlgauge.cli.align_options import add_model, chosen_layer, parallel_texts
from nlgauge.cli.common import file_label, run_options, text_source
from nlgauge.encoders import Encoder, load_encoder
from nlgauge.encoders.precision import vectors_digest
from nlgauge.engine.progress import Progress
from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.meta.map_correlation import xmoverscore_correlation
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text.word_alignment import read_alignments
from nlgauge.transforms.base import load_map
from nlgauge.transforms.fit.evaluation import HeldOut, MapQuality, evaluate_map, held_out_words
from nlgauge.transforms.fit.from_texts import words_of_texts
from nlgauge.transforms.remap import METHODS, fit_remapping

__all__ = ["add_evaluate"]

_COLUMNS = ("map", "induction cosine", "induction CSLS", "retrieval", "alignment F1", "XMoverScore r")


def add_evaluate(actions: Any) -> None:
    """Add the action to the parser."""
    evaluate = actions.add_parser("evaluate", help="how well maps bring two languages together, on held-out texts")
    pair: dict[str, Any] = {"nargs": 2, "type": text_source, "metavar": ("SOURCE", "TARGET")}
    evaluate.add_argument("--parallel", required=True, help="held-out texts, line by line translations", **pair)
    evaluate.add_argument("--maps", nargs="*", default=[], metavar="FILE", help="made by 'align fit'")
    evaluate.add_argument("--fit-on", help="other parallel texts, to fit the methods on", **pair)
    evaluate.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=["clp", "centred", "umd", "lsq"],
        metavar="NAME",
        help=f"with --fit-on: {', '.join(METHODS)} (clp centred umd lsq)",
    )
    evaluate.add_argument("--alignments", metavar="FILE", help="gold links i-j of the held-out texts")
    evaluate.add_argument(
        "--rated",
        nargs=3,
        type=text_source,
        metavar=("SOURCES", "OUTPUTS", "SCORES"),
        help="translations that people scored, for the correlation of XMoverScore without a language model",
    )
    add_model(evaluate)
    evaluate.set_defaults(run=_evaluate)


def _evaluate(args: argparse.Namespace) -> int:
    if not args.maps and not args.fit_on:
        msg = "nothing to evaluate: give --maps FILE, or --fit-on with parallel texts"
        raise RecipeError(msg)
    source, target = parallel_texts(args.parallel)
    rated = _rated(args.rated) if args.rated else None
    options = RunOptions.of(run_options(args))
    encoder = load_encoder(args.model, **options.loading)
    layer = chosen_layer(args.layer, encoder)
    links = read_alignments(Path(args.alignments)) if args.alignments else None
    with tempfile.TemporaryDirectory() as folder:
        files = {file_label(name): Path(name) for name in args.maps}
        files |= _fitted(args, encoder, layer, Path(folder), options)
        maps = {name: load_map(path) for name, path in files.items()}
        for one in maps.values():
            one.check_model(vectors_digest(encoder), layer=layer, width=encoder.hidden_size)
        with Progress(len(source), show=options.progress, what="reading texts", unit="pair") as advance:
            words = held_out_words(
                encoder,
                source,
                target,
                layer=layer,
                alignments=links,
                alignments_name=file_label(args.alignments or ""),
                batch_tokens=options.batch_tokens,
                advance=advance,
            )
        print("\t".join(_COLUMNS))
        for name, path in {"none": None, **files}.items():
            quality = evaluate_map(words, maps.get(name))
            _print_row(name, quality, _correlation(args, rated, path) if rated else None)
    _say(args, words, quality)
    return 0


def _fitted(
    args: argparse.Namespace, encoder: Encoder, layer: int, folder: Path, options: RunOptions
) -> dict[str, Path]:
    """Files of the methods, fitted on the texts that were given for it."""
    if not args.fit_on:
        return {}
    source, target = parallel_texts(args.fit_on)
    words, _, origin = words_of_texts(encoder, source, target, layer=layer, batch_tokens=options.batch_tokens)
    files = {}
    for method in dict.fromkeys(args.methods):
        files[method] = folder / f"{method}.npz"
        fit_remapping(words.source, words.target, method=method, origin=origin).save(files[method])
    return files


def _rated(specs: list[str]) -> tuple[list[str], list[str], list[float]]:
    inputs = Inputs()
    sources, outputs, scores = (inputs.texts(parse_source(spec)) for spec in specs)
    numbers = []
    for line, value in enumerate(scores, 1):
        try:
            numbers.append(float(value))
        except ValueError as error:
            msg = f"{file_label(specs[2])}, line {line}: expected a score, got {value!r}"
            raise FileFormatError(msg) from error
    return sources, outputs, numbers


def _correlation(
    args: argparse.Namespace, rated: tuple[list[str], list[str], list[float]], path: Path | None
) -> float:
    given = {name: value for name, value in run_options(args).items() if name != "progress"}
    chosen = "none" if path is None else str(path)
    return xmoverscore_correlation(*rated, transforms=chosen, model=args.model, **given)


def _print_row(name: str, quality: MapQuality, correlation: float | None) -> None:
    shares = [quality.induction_cosine, quality.induction_csls, quality.retrieval]
    f1 = "-" if quality.alignment_f1 != quality.alignment_f1 else f"{quality.alignment_f1:.4f}"
    last = "-" if correlation is None else f"{correlation:.4f}"
    print("\t".join([name, *(f"{share:.4f}" for share in shares), f1, last]))


def _say(args: argparse.Namespace, words: HeldOut, quality: MapQuality) -> None:
    if args.quiet:
        return
    where = "given" if words.gold else "nearest neighbours before any map, which favours no map; see --alignments"
    print(
        f"{quality.links} linked words of {quality.texts} pairs of texts ({words.left_out} left out); links: {where}",
        file=sys.stderr,
    )
