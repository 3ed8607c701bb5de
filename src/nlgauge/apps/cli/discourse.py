"""`nlgauge study discourse`: discourse features of documents, compared with their references."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from nlgauge.apps.cli.common import DocumentOptions, joined_texts, read_documents, read_texts, read_unit
from nlgauge.apps.cli.flags import Command, Flags
from nlgauge.apps.cli.operations import run_operation
from nlgauge.apps.cli.outputs import write_figure, write_output
from nlgauge.apps.cli.score import ScoreOutput
from nlgauge.apps.operations import operations
from nlgauge.errors import RecipeError
from nlgauge.studies.discourse import Discourse, check_discourse_figure

_EXAMPLES = """\
  nlgauge study discourse summaries.txt
  nlgauge study discourse a.jsonl:summary b.jsonl:summary --refs ref.jsonl:summary --plot discourse.png
  nlgauge study discourse a.txt --refs r1.txt r2.txt --vectors glove.txt --format tsv
  nlgauge study discourse lines.txt --document-ids docs.txt --unit document
  nlgauge study discourse a.txt --annotator parses.conllu --sentences annotator
"""


def change_command(command: Command) -> Command:
    """The command with lines that are joined to documents, and with `--segments`: a table of documents."""
    ids = {"document_ids": {"help": "document of each line, one per line, with --unit document"}}
    segments = {"segments": {"help": "features of every document"}}
    return command.varied(
        Flags(DocumentOptions, without=["documents"], change=ids),
        Flags(ScoreOutput, only=["segments"], change=segments),
        run=_run,
        description="How often documents come back to the same things, how far that ties their sentences together,\n"
        "and how well that tells hypotheses from references. A line is a document.",
        usage="HYP ... [--refs REF ...]",
        examples=_EXAMPLES,
    )


def _run(args: argparse.Namespace) -> int:
    if args.plot and args.hyps:
        check_discourse_figure(references=bool(args.refs))
    result = run_operation(args, operation=operations()["discourse"], read=_read)
    assert isinstance(result, Discourse)
    if args.segments and args.format != "json":
        text = result.document_table().write(args.format, width=args.width, line=result.line)
    else:
        text = result.render(args.format, decimals=args.width)
    write_output(args.output, text)
    write_figure(args.plot, result.save_figure)
    if args.plot and not args.quiet:
        print(f"figure: {args.plot}", file=sys.stderr)
    return 0


def _read(args: argparse.Namespace) -> Mapping[str, Any]:
    read_unit(args)
    if args.document_ids is not None and not args.joined:
        msg = "--document-ids names the documents that lines are joined to; say --unit document, too"
        raise RecipeError(msg)
    documents = read_documents(args)
    texts = read_texts(args)
    texts = texts if documents is None else joined_texts(texts, documents, args)
    return {"systems": texts.systems, "refs": texts.references}
