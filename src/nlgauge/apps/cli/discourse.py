"""`nlgauge study discourse`: discourse features of documents, compared with their references."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nlgauge.apps.cli.common import (
    UnitOptions,
    add_output_options,
    joined_texts,
    read_documents,
    read_texts,
    read_unit,
    text_source,
)
from nlgauge.apps.cli.flags import add_flags
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.parsing import AddParser, add_hidden
from nlgauge.apps.cli.score import check_systems_first
from nlgauge.errors import RecipeError
from nlgauge.io.canvas import check_figure
from nlgauge.studies.discourse import check_discourse_figure, discourse

_EXAMPLES = """\
examples:
  nlgauge study discourse summaries.txt
  nlgauge study discourse a.jsonl:summary b.jsonl:summary --refs ref.jsonl:summary --plot discourse.png
  nlgauge study discourse a.txt --refs r1.txt r2.txt --vectors glove.txt --format tsv
  nlgauge study discourse lines.txt --document-ids docs.txt --unit document
  nlgauge study discourse a.txt --annotator parses.conllu --sentences annotator
"""


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        usage="nlgauge study discourse HYP ... [--refs REF ...] [options]",
        description="How often documents come back to the same things, how far that ties their sentences together,\n"
        "and how well that tells hypotheses from references. A line is a document.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "hyps",
        nargs="*",
        type=text_source,
        metavar="HYP",
        help="a system's documents, one per line; also FILE.tsv:COLUMN, .csv, .jsonl, - (stdin), .gz",
    )
    parser.add_argument(
        "-r", "--refs", nargs="+", type=text_source, metavar="REF", help="references, likewise; several are allowed"
    )
    add_hidden(
        parser,
        "--input-format",
        choices=("text", "tsv", "csv", "jsonl"),
        help="format of all inputs, instead of by their suffix",
    )
    add_hidden(parser, "--document-ids", metavar="FILE", help="the document of each line, with --unit document")
    add_flags(parser, UnitOptions)
    group = parser.add_argument_group("annotation")
    group.add_argument(
        "--annotator", default="spacy-en", metavar="NAME", help="spacy-en, a spaCy folder, or CoNLL-U files"
    )
    group.add_argument(
        "--sentences", dest="sentence_rule", default="rules", metavar="RULE", help="rules, lines or annotator (rules)"
    )
    group.add_argument("--vectors", metavar="FILE", help="word vectors (GloVe, word2vec): features of entities too")
    group.add_argument("--threshold", type=float, metavar="X", help="cosine above which nouns are one entity (0.8)")
    output = add_output_options(parser)
    output.add_argument("--segments", action="store_true", help="the features of every document")
    output.add_argument("--plot", metavar="FILE", help="a figure (.png, .svg, .pdf)")
    output.add_argument("-q", "--quiet", action="store_true", help="no warnings on stderr")
    parser.add_help_all()
    parser.set_defaults(run=_run, source=None)


def _run(args: argparse.Namespace) -> int:
    _check(args)
    documents = read_documents(args)
    texts = read_texts(args)
    texts = texts if documents is None else joined_texts(texts, documents, args)
    found = discourse(
        texts.systems,
        texts.references,
        annotator=args.annotator,
        sentences=args.sentence_rule,
        vectors=args.vectors,
        threshold=0.8 if args.threshold is None else args.threshold,
    )
    if args.segments and args.format != "json":
        write_output(args.output, found.document_table().write(args.format, width=args.width, line=found.line))
    else:
        write_output(args.output, found.render(args.format, decimals=args.width))
    if args.plot:
        found.save_figure(args.plot)
        if not args.quiet:
            print(f"figure: {args.plot}", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_systems_first(args, command="study discourse")
    if not args.hyps:
        msg = "nlgauge study discourse needs documents (HYP ...); see 'nlgauge study discourse --help'"
        raise RecipeError(msg)
    read_unit(args)
    if args.document_ids is not None and not args.joined:
        msg = "--document-ids names the documents that lines are joined to; say --unit document, too"
        raise RecipeError(msg)
    if args.threshold is not None and args.vectors is None:
        msg = "--threshold belongs to --vectors FILE, which was not given"
        raise RecipeError(msg)
    if args.plot:
        check_discourse_figure(references=bool(args.refs))
        check_figure(Path(args.plot))
