"""Which document each segment is of.

Segments of a document are not independent, so `--document-ids` alone has documents resampled. With `--unit document`
the lines of a document are joined and scored as one text, and each of these counts on its own.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nlgauge.cli.parsing import add_hidden
from nlgauge.corpus.documents import document_rows, join_documents
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.files.textfiles import Inputs, ParallelTexts, parse_source

if TYPE_CHECKING:  # commands that only score have nothing to do with data sets
    from nlgauge.data import JudgementTable

__all__ = [
    "UNIT",
    "add_document_option",
    "add_documents_of_data",
    "check_documents",
    "joined_texts",
    "read_documents",
    "read_unit",
    "with_documents",
]


def add_document_option(group: Any, *, line: str = "segment") -> None:
    """Add `--document-ids`, which only `--help-all` shows; `line` is what a line of the file is about."""
    add_hidden(
        group,
        "--document-ids",
        metavar="FILE",
        help=f"the document of each {line}, a line each; documents are resampled, not {line}s",
    )


#: What `--unit`, an option of XMoverScore, also means to commands that score texts.
UNIT = {"unit": "segment or document: score lines as they are, or those of a document joined (--document-ids)"}


def read_unit(args: argparse.Namespace) -> None:
    """Set `args.joined`: are lines joined to documents? Other values of `--unit` are the metric's."""
    args.joined = args.option_unit == "document"
    if args.option_unit in ("segment", "document"):
        args.option_unit = None
    if args.joined and args.document_ids is None:
        msg = (
            "--unit document joins the lines of a document, which --document-ids FILE names; "
            "where each line or row is a document already, leave --unit out"
        )
        raise RecipeError(msg)


def joined_texts(texts: ParallelTexts, documents: tuple[str, ...], args: argparse.Namespace) -> ParallelTexts:
    """Documents from lines: hypotheses, references and sources alike."""
    check_documents(documents, len(next(iter(texts.systems.values()))), args)
    try:
        document_rows(documents)
    except InputError as error:
        msg = f"{args.document_ids!r}: {error}"
        raise InputError(msg) from error
    return ParallelTexts(
        {system: join_documents(lines, documents) for system, lines in texts.systems.items()},
        None if texts.references is None else join_documents(texts.references, documents),
        None if texts.sources is None else join_documents(texts.sources, documents),
    )


def add_documents_of_data(group: Any) -> None:
    """Add `--documents`, for data that knows its documents."""
    add_hidden(group, "--documents", action="store_true", help="resample the documents that the data names")


def read_documents(args: argparse.Namespace) -> tuple[str, ...] | None:
    """The document of each segment, where a file names them."""
    if args.document_ids is None:
        return None
    source = parse_source(args.document_ids)
    names = Inputs().texts(source)
    for number, name in enumerate(names, start=1):
        if not name.strip():
            msg = f"{source.at(number)}: a segment without a document; every line needs an id"
            raise FileFormatError(msg)
    return tuple(names)


def check_documents(
    documents: tuple[str, ...] | None, count: int, args: argparse.Namespace, *, what: str = "segments"
) -> None:
    """Refuse a file that does not name the document of every segment."""
    if documents is not None and len(documents) != count:
        msg = f"{args.document_ids!r} names {len(documents)} documents, one per line, for {count} {what}"
        if 0 < count < len(documents):
            msg += f"; the last of these is in document {documents[count - 1]!r}"
        elif documents:
            msg += f"; the file ends with document {documents[-1]!r}"
        raise InputError(msg)


def with_documents(table: JudgementTable, args: argparse.Namespace) -> JudgementTable:
    """The data with the documents of `--document-ids`, a line for each of its rows."""
    documents = read_documents(args)
    if documents is None:
        return table
    if args.documents:
        msg = "--documents takes those of the data, --document-ids those of a file; give one of the two"
        raise RecipeError(msg)
    check_documents(documents, len(table), args, what=f"rows of {table.name}")
    return replace(table, document=documents)
