"""`nlgauge align evaluate`: what maps do on held-out parallel text, beside methods that are fitted on the spot."""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from nlgauge.cli.align_options import add_model, chosen_layer, parallel_texts
from nlgauge.cli.common import file_label, run_options, text_source
from nlgauge.encoders import Encoder, load_encoder
from nlgauge.encoders.precision import vectors_digest
from nlgauge.engine.progress import Progress
from nlgauge.errors import DataWarning, FileFormatError, RecipeError, user_stacklevel
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.meta.map_correlation import check_rated, xmoverscore_correlation
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text.word_alignment import read_alignments
from nlgauge.transforms.base import FittedTransform, load_map
from nlgauge.transforms.fit.evaluation import HeldOut, MapQuality, evaluate_map, held_out_words
from nlgauge.transforms.fit.from_texts import check_enough, words_of_texts
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
        rows: list[tuple[str, Path | None]] = [("none", None), *_named(args.maps)]
        maps = [_loaded(path, encoder, layer) for _, path in rows]
        fitted = _fitted(args, (source, target), encoder, layer, Path(folder), options)
        rows += fitted
        maps += [_loaded(path, encoder, layer) for _, path in fitted]
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
        for (name, path), one in zip(rows, maps, strict=True):
            quality = evaluate_map(words, one)
            _print_row(name, quality, _correlation(args, rated, path, layer) if rated else None)
    _say(args, words, quality)
    return 0


def _named(files: list[str]) -> list[tuple[str, Path]]:
    """Each file once, by its name; by all that was given where two files of two folders have one name."""
    names = [file_label(file) for file in dict.fromkeys(files)]
    return [
        (file if names.count(name) > 1 else name, Path(file))
        for file, name in zip(dict.fromkeys(files), names, strict=True)
    ]


def _loaded(path: Path | None, encoder: Encoder, layer: int) -> FittedTransform | None:
    if path is None:
        return None
    found = load_map(path)
    found.check_model(vectors_digest(encoder), layer=layer, width=encoder.hidden_size)
    return found


def _fitted(
    args: argparse.Namespace,
    held_out: tuple[list[str], list[str]],
    encoder: Encoder,
    layer: int,
    folder: Path,
    options: RunOptions,
) -> list[tuple[str, Path]]:
    """Files of the methods, fitted on the texts that were given for it."""
    if not args.fit_on:
        return []
    source, target = parallel_texts(args.fit_on)
    shared = len(set(zip(source, target, strict=True)) & set(zip(*held_out, strict=True)))
    if shared:
        msg = (
            f"{shared} pairs of the held-out texts are among those that methods are fitted on (--fit-on), which "
            "flatters the methods; leave them out"
        )
        warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    words, _, origin = words_of_texts(encoder, source, target, layer=layer, batch_tokens=options.batch_tokens)
    files = []
    for method in dict.fromkeys(args.methods):
        check_enough(len(words.source), encoder.hidden_size, method)
        files.append((method, folder / f"{method}.npz"))
        fit_remapping(words.source, words.target, method=method, origin=origin).save(files[-1][1])
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
    check_rated(sources, outputs, numbers)
    return sources, outputs, numbers


def _correlation(
    args: argparse.Namespace, rated: tuple[list[str], list[str], list[float]], path: Path | None, layer: int
) -> float:
    """On the layer that the maps belong to, whichever the metric would take by itself."""
    given = {name: value for name, value in run_options(args).items() if name != "progress"}
    chosen = "none" if path is None else str(path)
    return xmoverscore_correlation(*rated, transforms=chosen, aggregation=f"layer-{layer}", model=args.model, **given)


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
