"""Options that several commands share, and their values as keywords of the library.

Segments of a document are not independent, so `--document-ids` alone has documents resampled. With `--unit document`
the lines of a document are joined and scored as one text, and each of these counts on its own.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nlgauge.apps.cli.flags import add_flags, given_options
from nlgauge.apps.cli.parsing import CommandParser
from nlgauge.core.corpus import document_rows, join_documents
from nlgauge.core.kinds import Choice, FigureFile, Flag, InputFile, Int, Many, OutputFile, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import METRICS
from nlgauge.core.result import FORMATS
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.store.catalog import encoder_names
from nlgauge.io.textfiles import Inputs, ParallelTexts, parse_source, read_parallel

#: Said below the help of every command that scores.
METRIC_FLAGS = """\
other options of a metric: -m NAME:option=value; nlgauge show NAME lists them
"""


class MetricText(Text):
    """A recipe or a signature."""

    def __init__(self) -> None:
        super().__init__("NAME, NAME:option=value or a signature", known=lambda: METRICS)

    def parse(self, text: str) -> str:
        """A signature without the words that `nlgauge score` prints before it.

        >>> MetricText().parse("signature of a.txt: bertscore|layer:4")
        'bertscore|layer:4'
        """
        return re.sub(r"^\s*(% )?signature( of .+)?:\s+", "", text)


#: The name of a model, as an option of a command.
MODEL = Text("the name of a model, a folder or a hub id", known=encoder_names)


@dataclass(frozen=True, kw_only=True)
class MetricOptions(OptionSet):
    """Metrics, and options that most of them have; the help holds for all metrics."""

    metric: tuple[str, ...] | None = option(
        ("bertscore",),
        Many(MetricText(), least=1),
        help="metrics or signatures",
        flag="-m",
        metavar="METRIC",
        project=True,
    )
    model: str | None = option(
        None, MODEL, help="minilm, mpnet, muse, a folder or a hub id", metavar="MODEL", project=True
    )
    layer: str | None = option(None, Text("a layer"), help="model layer", unset="tuned per model", metavar="LAYER")
    idf: str | None = option(
        None, InputFile("a rule or an idf file"), help="none, refs, both or an idf file (by metric)", metavar="IDF"
    )
    lang: str | None = option(
        None, Text("a language"), help="language; sets default model and BLEU's tokenizer", metavar="LANG"
    )


@dataclass(frozen=True, kw_only=True)
class TableModel(OptionSet):
    """The model that a table is made for, which texts are scored with later."""

    model: str = option("minilm", MODEL, help="model", project=True)


@dataclass(frozen=True, kw_only=True)
class OutputOptions(OptionSet):
    """Where the result goes, and how."""

    format: str = option("text", Choice(*FORMATS), help="output format", flag="-f")
    output: str = option("-", OutputFile(), help="output file", unset="stdout", flag="-o")
    width: int = option(4, Int(0, 17), help="number of decimals", flag="-w", hidden=True)
    plot: str | None = option(None, FigureFile(), help="figure: .png, .svg or .pdf")
    quiet: bool = option(False, Flag(), help="no progress bar and no warnings on stderr", flag="-q")


@dataclass(frozen=True, kw_only=True)
class TextInputs(OptionSet):
    """Outputs of systems with their references, or sources."""

    hyps: tuple[str, ...] = option(
        (),
        Many(TextColumn()),
        help="outputs, a segment per line: FILE, FILE.tsv:COLUMN, .csv, .jsonl, -, .gz",
        metavar="HYP",
        positional=True,
    )
    refs: tuple[str, ...] = option(
        (), Many(TextColumn()), help="references, one or several files", flag="-r", metavar="REF"
    )
    source: str | None = option(
        None, TextColumn(), help="source texts, for metrics that read them", flag="-s", metavar="SRC"
    )
    input_format: str | None = option(
        None, Choice("text", "tsv", "csv", "jsonl"), help="format of all inputs", unset="by their suffix", hidden=True
    )


@dataclass(frozen=True, kw_only=True)
class DocumentOptions(OptionSet):
    """Documents that segments belong to."""

    document_ids: str | None = option(
        None,
        InputFile(),
        help="document of each segment, one per line; documents are resampled, not segments",
        hidden=True,
    )
    documents: bool = option(False, Flag(), help="resample the documents that the data names", hidden=True)
    unit: Literal["segment", "document"] = option(
        "segment",
        Choice("segment", "document"),
        help="score each line, or the joined lines of a document (--document-ids)",
        hidden=True,
    )


#: Options of a run that every command which encodes texts has, those of the cache, and those about texts.
_RUN = ("engine", "precision", "threads", "device", "batch_tokens")
_CACHE = ("cache", "cache_size")
_TEXTS = ("long", "empty")


def add_run_options(parser: argparse.ArgumentParser, *, cache: bool = True, texts: bool = False) -> None:
    """How to compute; only engine, device (within 1e-5) and precision move a score. Not all need a cache.

    With `texts`, also what to do with texts that cannot be scored as they are.
    """
    group = add_flags(parser, RunOptions, title="run", only=(*_RUN, *(_CACHE if cache else ())))
    add_flags(group, OutputOptions, only=["quiet"])
    if texts:
        add_flags(parser, RunOptions, title="texts", only=_TEXTS)


def run_options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_run_options` as keywords of a run."""
    given = given_options(args, RunOptions)
    return {name: given[name] for name in (*_RUN, *_CACHE, *_TEXTS) if name in given} | {"progress": not args.quiet}


def add_scoring_options(
    parser: CommandParser,
    *,
    default: str = "",
    project: bool = True,
    one: bool = False,
    metrics: tuple[str, ...] = ("bertscore",),
) -> None:
    """Metrics, those that are scored by default, and how to compute them.

    `default` describes a default that the command sets later.
    """
    kind = Many(MetricText(), least=1, most=1 if one else None)
    change: dict[str, Any] = {"project": project, "kind": kind, "default": metrics}
    change |= {"default": None, "unset": default} if default else {}
    add_flags(parser, MetricOptions, title="metrics", change={"metric": change})
    add_run_options(parser, texts=True)


def scoring_options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_scoring_options` as keywords of the library."""
    return {**metric_options(args), **run_options(args)}


def metric_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of metrics that the command sets, by flags or after a signature."""
    flags = {name: value for name, value in given_options(args, MetricOptions).items() if name != "metric"}
    return flags | getattr(args, "signature_options", {})


def add_output_options(
    parser: argparse.ArgumentParser,
    *,
    width: int | None = 4,
    formats: Sequence[str] = FORMATS,
    plot: str = "",
    quiet: bool = False,
) -> Any:
    """Where the result goes, and how; `plot` is the help of a figure. The group is returned."""
    left_out = {"width": width is None, "plot": not plot, "quiet": not quiet}
    return add_flags(
        parser,
        OutputOptions,
        title="output",
        without=[name for name, out in left_out.items() if out],
        change={"format": {"kind": Choice(*formats)}, "width": {"default": width}, "plot": {"help": plot}},
    )


def add_output_file(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--output` to a command that writes a resource."""
    add_flags(
        parser, OutputOptions, only=["output"], change={"output": {"required": True, "help": what, "unset": ""}}
    )


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Add `--format` to a command that only prints."""
    add_flags(parser, OutputOptions, only=["format"], change={"format": {"kind": Choice(*formats)}})


def read_texts(args: argparse.Namespace) -> ParallelTexts:
    """Texts of the files of `TextInputs`."""
    return read_parallel(args.hyps, args.refs, args.source, input_format=args.input_format)


def read_unit(args: argparse.Namespace) -> None:
    """Set `args.joined`: are lines joined to documents?"""
    args.joined = args.unit == "document"
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
