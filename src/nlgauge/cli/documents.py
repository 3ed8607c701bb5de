"""Which document each segment is of: segments of a document are not independent."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nlgauge.cli.parsing import add_hidden
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.files.textfiles import Inputs, parse_source

if TYPE_CHECKING:  # commands that only score have nothing to do with data sets
    from nlgauge.data import JudgementTable

__all__ = ["add_document_option", "add_documents_of_data", "check_documents", "read_documents", "with_documents"]


def add_document_option(group: Any, *, line: str = "segment") -> None:
    """Add `--document-ids`, which only `--help-all` shows; `line` is what a line of the file is about."""
    add_hidden(
        group,
        "--document-ids",
        metavar="FILE",
        help=f"the document of each {line}, a line each; documents are resampled, not {line}s",
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
