"""`nlgauge score`: files in, a signed table out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nlgauge.cli.common import (
    add_metric_options,
    add_run_options,
    add_text_options,
    file_label,
    metric_options,
    run_options,
    text_source,
)
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.textfiles import Inputs, parse_source
from nlgauge.registry import metric_class, metric_name
from nlgauge.report.scores import Confidence, render
from nlgauge.scoring import score_systems

__all__ = ["Texts", "add_commands", "check_parallel", "read_references", "read_systems", "read_texts"]

#: Options of --confidence and their defaults.
_CONFIDENCE = {"confidence_level": 0.95, "resamples": 1000, "seed": 12345}

_EXAMPLES = """\
examples:
  nlgauge score system.txt --refs reference.txt
  nlgauge score a.txt b.txt --refs r1.txt r2.txt --metric bertscore:layer=4,idf=refs
  nlgauge score out.tsv:translation --refs out.tsv:reference --format json --segments
  nlgauge score system.en --source source.de --metric sentsim xmoverscore
  cut -f2 out.tsv | nlgauge score - --refs reference.txt --quiet --format tsv
"""


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "score",
        allow_abbrev=False,
        help="score one or more systems against references, or their source",
        description="Score systems against references or sources. Texts are encoded once for all of them.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "hyps",
        nargs="*",
        type=text_source,
        metavar="HYP",
        help="a system's output: a text file with a segment per line, FILE.tsv:COLUMN, FILE.jsonl:KEY, or - (stdin); "
        "each also with .gz",
    )
    parser.add_argument(
        "-r",
        "--refs",
        nargs="+",
        type=text_source,
        metavar="REF",
        help="references, likewise; several files are several references",
    )
    parser.add_argument(
        "-s",
        "--source",
        type=text_source,
        metavar="SRC",
        help="the texts that were translated, likewise, for metrics that compare with them (sentsim, xmoverscore)",
    )
    parser.add_argument(
        "--input-format", choices=("text", "tsv", "jsonl"), help="format of all inputs, instead of by their suffix"
    )
    add_metric_options(parser)
    add_run_options(parser)
    add_text_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("-f", "--format", choices=("text", "json", "tsv", "latex"), default="text")
    output.add_argument("--segments", action="store_true", help="scores of each segment too")
    output.add_argument("--alignments", action="store_true", help="which token matched which (json, with --segments)")
    output.add_argument("--confidence", action="store_true", help="bootstrap interval beside the mean")
    output.add_argument("--confidence-level", type=float, metavar="P", help="(%(default)s)")
    output.add_argument("--resamples", type=int, metavar="N", help="(%(default)s)")
    output.add_argument("--seed", type=int, metavar="N", help="of the bootstrap (%(default)s)")
    parser.set_defaults(**_CONFIDENCE)
    output.add_argument("-w", "--width", type=int, default=4, metavar="N", help="decimals (%(default)s)")
    output.add_argument("--short", action="store_true", help="short signature")
    output.add_argument("--citation", action="store_true", help="BibTeX of the metrics; alone, prints only that")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    citations = {name: metric_class(name).citation for name in map(metric_name, args.metric)}
    if args.citation and not args.hyps:
        print("\n\n".join(citations.values()))
        return 0
    _check(args)
    confidence = None
    if args.confidence:
        confidence = Confidence(level=args.confidence_level, resamples=args.resamples, seed=args.seed)
    texts = read_texts(args)
    scores = score_systems(
        texts.systems,
        texts.references,
        sources=texts.sources,
        metrics=args.metric,
        long=args.long,
        empty=args.empty,
        alignments=args.alignments,
        **metric_options(args),
        **run_options(args),
    )
    sys.stdout.write(
        render(
            scores,
            format=args.format,
            segments=args.segments,
            confidence=confidence,
            width=args.width,
            short=args.short,
            citations=citations if args.citation else None,
        )
    )
    if args.citation and args.format in {"tsv", "latex"}:
        print("\n\n".join(citations.values()), file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    if not args.hyps or not (args.refs or args.source):
        missing = "a system's output (HYP)" if not args.hyps else "references (--refs REF) or a source (--source SRC)"
        msg = f"nlgauge score needs {missing}; see 'nlgauge score --help'"
        raise RecipeError(msg)
    if args.alignments and not (args.segments and args.format == "json"):
        msg = "--alignments is part of the JSON of segments: add --segments --format json"
        raise RecipeError(msg)
    if args.segments and (args.format == "latex" or (args.format == "tsv" and args.confidence)):
        with_what = "LaTeX" if args.format == "latex" else "--confidence in a TSV"
        msg = f"segments do not go with {with_what}; use --format json"
        raise RecipeError(msg)
    if not 0 <= args.width <= 17:
        msg = f"--width is a number of decimals from 0 to 17, got {args.width}"
        raise RecipeError(msg)
    if not args.confidence:
        for name, default in _CONFIDENCE.items():
            if getattr(args, name) != default:
                msg = f"--{name.replace('_', '-')} belongs to --confidence, which was not given"
                raise RecipeError(msg)


def read_systems(specs: Sequence[str], inputs: Inputs, input_format: str | None) -> dict[str, list[str]]:
    """Texts of each system, by the name of its file."""
    labels = [file_label(spec) for spec in specs]
    if len(set(labels)) < len(labels):
        labels = list(specs)  # files of one name in several folders keep their folders
    systems: dict[str, list[str]] = {}
    for label, spec in zip(labels, specs, strict=True):
        if label in systems:
            msg = f"system {spec!r} is given twice"
            raise RecipeError(msg)
        systems[label] = inputs.texts(parse_source(spec, input_format=input_format))
    return systems


def read_references(
    specs: Sequence[str], inputs: Inputs, input_format: str | None
) -> dict[str, list[tuple[str, ...]]]:
    """References of each segment, file by file."""
    return {
        f"{number}:{spec}": inputs.references(parse_source(spec, input_format=input_format))
        for number, spec in enumerate(specs)
    }


class Texts(NamedTuple):
    """What the files of a command hold."""

    systems: dict[str, list[str]]
    references: list[tuple[str, ...]] | None
    """Of each segment from all files; None where there is no file."""
    sources: list[str] | None


def read_texts(args: argparse.Namespace) -> Texts:
    """The systems (HYP ...), references (--refs) and sources (--source) of a command, of equal length."""
    inputs = Inputs()
    systems = read_systems(args.hyps, inputs, args.input_format)
    files = read_references(args.refs or (), inputs, args.input_format)
    sources = None if args.source is None else inputs.texts(parse_source(args.source, input_format=args.input_format))
    check_parallel(systems, files | ({} if sources is None else {f"source:{args.source}": sources}))
    references = [tuple(text for group in groups for text in group) for groups in zip(*files.values(), strict=True)]
    return Texts(systems, references if files else None, sources)


def check_parallel(systems: dict[str, list[str]], references: Mapping[str, Sequence[Any]]) -> None:
    """Refuse files of unequal length."""
    first, texts = next(iter(systems.items()))
    others: dict[str, int] = {name: len(t) for name, t in systems.items()}
    others |= {name.partition(":")[2]: len(groups) for name, groups in references.items()}
    for name, count in others.items():
        if count != len(texts):
            msg = f"{name!r} has {count} segments, but {first!r} has {len(texts)}; they must be parallel"
            raise InputError(msg)
