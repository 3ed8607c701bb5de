"""Which document each segment is of: segments of a document are not independent."""

from __future__ import annotations

import argparse
from typing import Any

from nlgauge.cli.parsing import add_hidden
from nlgauge.errors import FileFormatError, InputError
from nlgauge.files.textfiles import Inputs, parse_source

__all__ = ["add_document_option", "check_documents", "read_documents"]


def add_document_option(group: Any) -> None:
    """Add `--document-ids`, which only `--help-all` shows."""
    add_hidden(
        group,
        "--document-ids",
        metavar="FILE",
        help="the document of each segment, a line each; documents are resampled, not segments",
    )


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


def check_documents(documents: tuple[str, ...] | None, segments: int, args: argparse.Namespace) -> None:
    """Refuse a file that does not name the document of every segment."""
    if documents is not None and len(documents) != segments:
        msg = f"{args.document_ids!r} names {len(documents)} documents, one per line, for {segments} segments"
        raise InputError(msg)
