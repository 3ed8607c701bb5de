"""`nlgauge study discourse`: discourse features of documents, compared with their references."""

from __future__ import annotations

import argparse
import sys

from nlgauge.apps.cli.common import (
    DocumentOptions,
    TextInputs,
    add_output_options,
    joined_texts,
    read_documents,
    read_texts,
    read_unit,
)
from nlgauge.apps.cli.flags import add_flags, given_options
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.apps.cli.score import ScoreOutput, check_systems_first
from nlgauge.errors import RecipeError
from nlgauge.studies.discourse import DiscourseOptions, check_discourse_figure, discourse

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
    documents = "documents of a system, one per line; also FILE.tsv:COLUMN, .csv, .jsonl, - (stdin), .gz"
    add_flags(parser, TextInputs, without=["source"], change={"hyps": {"help": documents}})
    ids = {"help": "document of each line, one per line, with --unit document"}
    add_flags(parser, DocumentOptions, without=["documents"], change={"document_ids": ids})
    add_flags(parser, DiscourseOptions, title="annotation")
    output = add_output_options(parser, plot="figure: .png, .svg or .pdf", quiet=True)
    add_flags(output, ScoreOutput, only=["segments"], change={"segments": {"help": "features of every document"}})
    parser.add_help_all()
    parser.set_defaults(run=_run, source=None)


def _run(args: argparse.Namespace) -> int:
    _check(args)
    documents = read_documents(args)
    texts = read_texts(args)
    texts = texts if documents is None else joined_texts(texts, documents, args)
    found = discourse(texts.systems, texts.references, **given_options(args, DiscourseOptions))
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
    if args.plot:
        check_discourse_figure(references=bool(args.refs))
