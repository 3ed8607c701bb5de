"""Options that several commands share, and their values as keywords of the library.

Segments of a document are not independent, so `--document-ids` alone has documents resampled. With `--unit document`
the lines of a document are joined and scored as one text, and each of these counts on its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nlgauge.apps.cli.flags import add_flags, flag_of, given_options, read_options
from nlgauge.apps.cli.parsing import CommandParser, add_hidden
from nlgauge.apps.cli.project_file import DefaultMetrics
from nlgauge.core.corpus import document_rows, join_documents
from nlgauge.core.kinds import Choice
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.textfiles import Inputs, ParallelTexts, parse_source, read_parallel
from nlgauge.text.words import WORD_RULES

FORMATS = ("text", "json", "tsv", "latex", "markdown")

#: Said below the help of every command that scores.
METRIC_FLAGS = """\
other options of a metric: -m NAME:option=value; nlgauge show NAME lists them
"""

#: Options of metrics that are flags too; the help holds for all metrics.
COMMON_OPTIONS = {
    "model": "minilm, mpnet, muse, a folder or a hub id",
    "layer": "model layer (default: tuned per model)",
    "idf": "none, refs, both or an idf file (by metric)",
    "lang": "language; sets default model and BLEU's tokenizer",
}


#: Options of a run that every command which encodes texts has, those of the cache, and those about texts.
_RUN = ("engine", "precision", "threads", "device", "batch_tokens")
_CACHE = ("cache", "cache_size")
_TEXTS = ("long", "empty")


def add_run_options(parser: argparse.ArgumentParser, *, cache: bool = True) -> None:
    """How to compute; only engine, device (within 1e-5) and precision move a score. Not all need a cache."""
    group = add_flags(parser, RunOptions, title="run", only=(*_RUN, *(_CACHE if cache else ())))
    group.add_argument("-q", "--quiet", action="store_true", help="no progress bar and no warnings on stderr")


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """What to do with texts that cannot be scored as they are."""
    add_flags(parser, RunOptions, title="texts", only=_TEXTS)


def run_options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_run_options` and `add_text_options` as keywords of a run."""
    given = given_options(args, RunOptions)
    return {name: given[name] for name in (*_RUN, *_CACHE, *_TEXTS) if name in given} | {"progress": not args.quiet}


def add_metric_options(
    parser: CommandParser,
    *,
    default: str | None = "bertscore",
    shown: str = "",
) -> None:
    """Which metrics, and flags for the options that most metrics have; `shown` is a default that is set later."""
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "-m",
        "--metric",
        nargs="+",
        default=None if default is None else DefaultMetrics([default]),
        metavar="METRIC",
        help=f"NAME, NAME:option=value or a signature ({shown or default})",
    )
    for name, text in COMMON_OPTIONS.items():
        group.add_argument(flag_of(name), dest=f"option_{name}", metavar=name.upper(), help=text)


def metric_options(args: argparse.Namespace) -> dict[str, Any]:
    """The flags of `add_metric_options` that were given."""
    given = {key.removeprefix("option_"): value for key, value in vars(args).items() if key.startswith("option_")}
    return {name: value for name, value in given.items() if value is not None}


def add_output_options(
    parser: argparse.ArgumentParser, *, width: int | None = 4, formats: Sequence[str] = FORMATS
) -> Any:
    """Where the result goes, and how; the group is returned for a command that has more of them."""
    output = parser.add_argument_group("output")
    named = f"{', '.join(formats[:-1])} or {formats[-1]} (text)"
    output.add_argument("-f", "--format", choices=formats, default="text", metavar="NAME", help=named)
    output.add_argument("-o", "--output", default="-", metavar="FILE", help="default: stdout")
    if width is not None:
        add_hidden(
            output, "-w", "--width", type=int, default=width, metavar="N", help="decimals, 0 to 17 (%(default)s)"
        )
    return output


def add_text_inputs(parser: argparse.ArgumentParser, *, systems: str = "*") -> None:
    """Outputs of systems with their references, or sources."""
    parser.add_argument(
        "hyps",
        nargs=systems,
        type=text_source,
        metavar="HYP",
        help="a system's output, a segment per line; also FILE.tsv:COLUMN, .csv, .jsonl, - (stdin), .gz",
    )
    add_refs_and_source(parser)
    add_input_format(parser)


def add_refs_and_source(parser: argparse.ArgumentParser, *, refs: bool = True, source: bool = True) -> None:
    """What outputs are compared with; what a command does not read is None."""
    parser.set_defaults(refs=None, source=None)
    if refs:
        parser.add_argument(
            "-r",
            "--refs",
            nargs="+",
            type=text_source,
            metavar="REF",
            help="references, likewise; several are allowed",
        )
    if source:
        parser.add_argument(
            "-s", "--source", type=text_source, metavar="SRC", help="what was translated (sentsim, xmoverscore)"
        )


def add_input_format(parser: argparse.ArgumentParser) -> None:
    """The format of files whose suffix does not say it."""
    add_hidden(
        parser,
        "--input-format",
        choices=("text", "tsv", "csv", "jsonl"),
        help="format of all inputs, instead of by their suffix",
    )


def read_texts(args: argparse.Namespace) -> ParallelTexts:
    """What the files of `add_text_inputs` hold."""
    return read_parallel(args.hyps, args.refs or (), args.source, input_format=args.input_format)


def text_source(text: str) -> str:
    """An argument that names a column of texts, as the user wrote it (see `protect_stdin_columns`)."""
    return text.removeprefix("\0")


def add_word_options(parser: argparse.ArgumentParser, *, words: str = "words") -> None:
    """How words are made and left out."""
    add_hidden(
        parser,
        "--words",
        choices=WORD_RULES,
        default=words,
        help="words end at blanks and punctuation (words) or at blanks only (%(default)s)",
    )
    add_hidden(
        parser,
        "--pieces",
        choices=("max", "mean", "first"),
        help="piece that stands for a word: the worst matched (max), the mean, or the first (max)",
    )
    parser.add_argument(
        "--side",
        choices=("hypothesis", "reference", "source"),
        metavar="NAME",
        help="whose words are left out, or evaluated: hypothesis, reference, source (hypothesis)",
    )
    add_hidden(
        parser, "--component", metavar="NAME", help="of the score that words are left out for (default: the main one)"
    )
    add_hidden(parser, "--samples", type=int, metavar="N", help="orders of words that are sampled (25)")
    add_hidden(parser, "--seed", type=int, metavar="N", help="of the sampling (12345)")


def word_options(args: argparse.Namespace) -> dict[str, Any]:
    """The flags of `add_word_options` that were given, as keywords; the library has the other defaults."""
    values = {name: getattr(args, name) for name in ("words", "pieces", "component", "samples", "seed")}
    given = {name: value for name, value in values.items() if value is not None}
    # For the library both are the text that a hypothesis is compared with.
    return given | {"side": "reference" if args.side in ("reference", "source") else "hypothesis"}


def add_document_option(group: Any, *, line: str = "segment") -> None:
    """Add `--document-ids`, which only `--help-all` shows; `line` is what a line of the file is about."""
    add_hidden(
        group,
        "--document-ids",
        metavar="FILE",
        help=f"the document of each {line}, a line each; documents are resampled, not {line}s",
    )


@dataclass(frozen=True, kw_only=True)
class UnitOptions(OptionSet):
    """What is scored as one text."""

    unit: Literal["segment", "document"] = option(
        "segment",
        Choice("segment", "document"),
        help="score each line, or the joined lines of a document (--document-ids)",
        hidden=True,
    )


def read_unit(args: argparse.Namespace) -> None:
    """Set `args.joined`: are lines joined to documents?"""
    args.joined = read_options(args, UnitOptions).unit == "document"
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
            msg = f"{source.name}, segment {number}: a segment without a document; every line needs an id"
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
