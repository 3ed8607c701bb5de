"""`nlgauge explain corpus`: which words carry the score of a metric, over a corpus."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from nlgauge.cli.checks import check_metrics
from nlgauge.cli.common import (
    METRIC_FLAGS,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_inputs,
    add_text_options,
    metric_options,
    read_texts,
    run_options,
)
from nlgauge.cli.data_options import add_data_options, load_data
from nlgauge.cli.outputs import write_output
from nlgauge.cli.parsing import add_hidden
from nlgauge.errors import RecipeError
from nlgauge.explain.corpus import METHODS, explain_corpus

__all__ = ["add_corpus"]

_EXAMPLES = f"""\
examples:
  nlgauge explain corpus out.txt --refs ref.txt --metric bertscore
  nlgauge explain corpus --data wmt17-testset --langpairs cs-en --metric moverscore --format tsv
{METRIC_FLAGS}"""


def add_corpus(actions: Any) -> None:
    """Add the command to the parser."""
    parser = actions.add_parser(
        "corpus",
        usage="nlgauge explain corpus (HYP --refs REF ... | --data NAME) [options]",
        help="which parts of speech, and which kinds of match, carry a score over a corpus",
        description="What words contribute to a metric's score, added up over all texts: by part of speech, and by\n"
        "whether the other text has the same word, another form of it, or neither.",
        epilog=_EXAMPLES,
    )
    add_text_inputs(parser)
    data = add_data_options(parser, required=False)
    data.add_argument("--limit", type=int, metavar="N", help="the first N rows of each language pair and system")
    parser.add_argument(
        "--method", choices=METHODS, default="linear", metavar="NAME", help=f"{', '.join(METHODS)} (linear)"
    )
    parser.add_argument(
        "--words-of",
        choices=("hypothesis", "reference"),
        default="hypothesis",
        metavar="SIDE",
        help="hypothesis or reference, which may be the source (hypothesis)",
    )
    parser.add_argument(
        "--tagger", default="spacy-en", metavar="NAME", help="spacy-en, a spaCy model or CoNLL-U files (spacy-en)"
    )
    add_metric_options(parser)
    intervals = parser.add_argument_group("intervals")
    add_hidden(intervals, "--level", type=float, default=0.95, metavar="P", help="(%(default)s)")
    add_hidden(intervals, "--resamples", type=int, default=1000, metavar="N", help="draws of texts (%(default)s)")
    add_hidden(intervals, "--seed", type=int, default=12345, metavar="N", help="of the draws (%(default)s)")
    add_run_options(parser)
    add_text_options(parser)
    add_output_options(parser, width=3)
    parser.add_help_all()
    parser.set_defaults(run=_corpus)


def _corpus(args: argparse.Namespace) -> int:
    from nlgauge.report.corpus import render_corpus

    check_metrics(args.metric, args, command="explain corpus")
    if len(args.metric) != 1:
        msg = f"nlgauge explain corpus takes one metric, got {len(args.metric)}"
        raise RecipeError(msg)
    hypotheses, references, sources = _texts(args)
    found = explain_corpus(
        hypotheses,
        references,
        sources=sources,
        metric=args.metric[0],
        annotator=args.tagger,
        side=args.words_of,
        method=args.method,
        level=args.level,
        resamples=args.resamples,
        seed=args.seed,
        **metric_options(args),
        **(run_options(args) | {"progress": False}),
    )
    write_output(args.output, render_corpus(found, format=args.format, width=args.width))
    return 0


def _texts(args: argparse.Namespace) -> tuple[Sequence[str], list[tuple[str, ...]] | None, Sequence[str] | None]:
    """Hypotheses, references and sources, of files or of a data set."""
    if bool(args.hyps) == (args.data is not None):
        msg = "nlgauge explain corpus needs texts: HYP with --refs REF or --source SRC, or --data NAME, not both"
        raise RecipeError(msg)
    if args.data is not None:
        if args.refs or args.source:
            msg = "--refs and --source belong to files of one's own; with --data NAME leave them out"
            raise RecipeError(msg)
        table = load_data(args)
        table = table if args.limit is None else table.first_rows(args.limit)
        return table.hypothesis, list(table.references) if all(table.references) else None, table.source
    if args.at or args.langpairs or args.set or args.limit is not None:
        msg = "--at, --langpairs, --set and --limit belong to --data NAME, which was not given"
        raise RecipeError(msg)
    texts = read_texts(args)
    if len(texts.systems) != 1:
        msg = f"nlgauge explain corpus takes one system, got {len(texts.systems)}"
        raise RecipeError(msg)
    (hypotheses,) = texts.systems.values()
    return hypotheses, texts.references, texts.sources
