"""`nlgauge score`: scores of text files, as a signed table."""

from __future__ import annotations

import argparse
import sys
from typing import Any, get_args

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    UNIT,
    add_document_option,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_inputs,
    add_text_options,
    check_documents,
    joined_texts,
    metric_options,
    read_documents,
    read_texts,
    read_unit,
    run_options,
)
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.parsing import add_hidden
from nlgauge.apps.cli.score_parts import add_parts_options, is_about_parts, run_parts
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.core.saved_scores import digests_of_texts
from nlgauge.core.scoring import score_systems
from nlgauge.errors import RecipeError
from nlgauge.report.scores import Confidence, Format, render

#: Options of --confidence and their defaults.
_CONFIDENCE = {"confidence_level": 0.95, "resamples": 1000, "seed": 12345, "document_ids": None}

_EXAMPLES = f"""\
examples:
  nlgauge score system.txt --refs reference.txt
  nlgauge score a.txt b.txt --refs r1.txt r2.txt -m bertscore:layer=4,idf=refs
  nlgauge score out.tsv:mt --refs out.tsv:ref -o run.json     (all of it, for nlgauge compare)
  nlgauge score system.en --source source.de --metric sentsim xmoverscore
  nlgauge score --table pairs.parquet --columns hyp=mt,ref=ref --parts scores/   (any size; --help-all)
{METRIC_FLAGS}"""


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "score",
        usage="nlgauge score HYP ... --refs REF ... [options]",
        help="score one or more systems against references, or their source",
        description="Score systems against references or sources.",
        epilog=_EXAMPLES,
    )
    add_text_inputs(parser)
    add_metric_options(parser, also=UNIT)
    add_run_options(parser)
    add_text_options(parser)
    output = add_output_options(parser, formats=get_args(Format))
    output.add_argument("--segments", action="store_true", help="scores of each segment too")
    output.add_argument("--confidence", action="store_true", help="interval beside the mean (t or bootstrap)")
    add_document_option(output)
    add_hidden(output, "--alignments", action="store_true", help="which token matched which (json, with --segments)")
    add_hidden(output, "--confidence-level", type=float, metavar="P", help="of the interval (%(default)s)")
    add_hidden(output, "--resamples", type=int, metavar="N", help="of the bootstrap (%(default)s)")
    add_hidden(output, "--seed", type=int, metavar="N", help="of the bootstrap (%(default)s)")
    parser.set_defaults(**_CONFIDENCE, format=None)
    add_hidden(output, "--short", action="store_true", help="short signature")
    add_hidden(output, "--citation", action="store_true", help="BibTeX of the metrics; alone, prints only that")
    add_parts_options(parser)
    parser.add_help_all()
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    read_unit(args)
    check_metrics(args.metric, args, command="score")
    if is_about_parts(args):
        _check_output(args)
        return run_parts(args)
    if args.hyps or not args.citation:
        _check(args)
    classes = [metric_class(metric_name(text)) for text in args.metric]
    citations = {metric.name: metric.citation for metric in classes}
    if args.citation and not args.hyps:
        write_output(args.output, "\n\n".join(citations.values()) + "\n")
        return 0
    documents = read_documents(args)
    texts = read_texts(args)
    if args.joined and documents is not None:
        texts, documents = joined_texts(texts, documents, args), None
    check_documents(documents, len(next(iter(texts.systems.values()))), args)
    confidence = None
    if args.confidence:
        confidence = Confidence(
            level=args.confidence_level, resamples=args.resamples, seed=args.seed, documents=documents
        )
    saved = args.format is None and args.output.lower().endswith(".json")
    scores = score_systems(
        texts.systems,
        texts.references,
        sources=texts.sources,
        metrics=args.metric,
        alignments=args.alignments,
        **metric_options(args),
        **run_options(args),
    )
    rendered = render(
        scores,
        format=args.format or ("json" if saved else "text"),
        segments=args.segments or saved,
        confidence=confidence,
        width=args.width,
        short=args.short,
        citations=citations if args.citation else None,
        texts=digests_of_texts(texts.references, texts.sources),
    )
    write_output(args.output, rendered)
    if args.citation and args.format in {"tsv", "latex"}:
        print("\n\n".join(citations.values()), file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_systems_first(args, command="score")
    alone = all(getattr(metric_class(metric_name(text)), "against", "refs") == "nothing" for text in args.metric)
    if not args.hyps or not (args.refs or args.source or alone):
        missing = "a system's output (HYP)" if not args.hyps else "references (--refs REF) or a source (--source SRC)"
        msg = f"nlgauge score needs {missing}; see 'nlgauge score --help'"
        raise RecipeError(msg)
    if args.alignments and not (args.segments and args.format == "json"):
        msg = "--alignments is part of the JSON of segments: add --segments --format json"
        raise RecipeError(msg)
    _check_output(args)


def _check_output(args: argparse.Namespace) -> None:
    """Refuse flags about the output that do not go together."""
    if args.segments and (args.format == "latex" or (args.format == "tsv" and args.confidence)):
        with_what = "LaTeX" if args.format == "latex" else "--confidence in a TSV"
        msg = f"segments do not go with {with_what}; use --format json"
        raise RecipeError(msg)
    if not args.confidence:
        for name, default in _CONFIDENCE.items():
            if getattr(args, name) != default and not (args.joined and name == "document_ids"):
                other = " or to --unit document" if name == "document_ids" else ""
                msg = f"--{name.replace('_', '-')} belongs to --confidence{other}, which was not given"
                raise RecipeError(msg)


def check_systems_first(args: argparse.Namespace, *, command: str) -> None:
    """`--refs r.txt a.txt` takes the system for a reference."""
    if args.hyps or not args.refs or len(args.refs) < 2:
        return
    *references, system = args.refs
    took = " and ".join(map(repr, args.refs))
    msg = f"--refs took {took}; put the systems first: nlgauge {command} {system} --refs {' '.join(references)}"
    raise RecipeError(msg)
