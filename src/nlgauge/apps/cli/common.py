"""Options that several commands share, and their values as keywords of the library.

Segments of a document are not independent, so `--document-ids` alone has documents resampled. With `--unit document`
the lines of a document are joined and scored as one text, and each of these counts on its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from nlgauge.apps.cli.parsing import CommandParser, add_hidden
from nlgauge.apps.cli.project_file import DefaultMetrics
from nlgauge.core.corpus import document_rows, join_documents
from nlgauge.core.registry import METRICS
from nlgauge.core.run_options import LONG, RunOptions
from nlgauge.encoders.base import PRECISIONS
from nlgauge.encoders.engines.available import engine_names
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.textfiles import Inputs, ParallelTexts, parse_source, read_parallel
from nlgauge.text.words import WORD_RULES

FORMATS = ("text", "json", "tsv", "latex", "markdown")

#: Said below the help of every command that scores.
METRIC_FLAGS = """\
every option of a metric is also a flag: nlgauge metrics show NAME
"""

#: Options of metrics that stand in `--help`; what they say there holds for all metrics.
_COMMON = {
    "model": "minilm, mpnet, muse, a folder or a hub id",
    "layer": "of the model (default: the tuned one)",
    "idf": "none, refs, both or an idf file (by metric)",
    "lang": "language; sets default model and BLEU's tokenizer",
}


def flag_of(name: str) -> str:
    """The flag of an option.

    >>> flag_of("src_lang")
    '--src-lang'
    """
    return f"--{name.replace('_', '-')}"


def add_run_options(parser: argparse.ArgumentParser, *, cache: bool = True) -> None:
    """How to compute; only engine, device (within 1e-5) and precision move a score. Not all need a cache."""
    defaults = RunOptions()
    group = parser.add_argument_group("run")
    group.add_argument(
        "--engine",
        choices=engine_names(),
        default=None,
        metavar="NAME",
        help=f"{', '.join(engine_names())}; what computes ({defaults.engine})",
    )
    group.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=None,
        metavar="NAME",
        help=f"{', '.join(PRECISIONS)}; what the engine has ({defaults.precision})",
    )
    group.add_argument("--threads", type=int, metavar="N", help="default: the processors at hand")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress bar and no warnings on stderr")
    add_hidden(group, "--device", default=defaults.device, help="auto, cpu or cuda; engine torch only (%(default)s)")
    add_hidden(
        group,
        "--batch-tokens",
        type=int,
        default=defaults.batch_tokens,
        metavar="N",
        help="tokens per batch (%(default)s)",
    )
    if cache:
        add_hidden(group, "--cache", metavar="FOLDER", help="keep layer vectors there for the next run (default: no)")
        add_hidden(
            group,
            "--cache-size",
            type=float,
            metavar="GB",
            help=f"most that the cache may hold ({defaults.cache_size:g})",
        )


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """What to do with texts that cannot be scored as they are."""
    texts = parser.add_argument_group("texts")
    add_hidden(
        texts,
        "--long",
        choices=LONG,
        default="truncate",
        help="text over the model's limit: %(default)s (counted), error, or windows (read in overlapping ones)",
    )
    add_hidden(
        texts, "--empty", choices=("error", "zero"), default="error", help="both sides of a pair empty: %(default)s"
    )


def run_options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of `add_run_options` and `add_text_options` as keywords of a run."""
    names = ("device", "threads", "batch_tokens", "cache", "long", "empty")
    values = {name: getattr(args, name) for name in names if hasattr(args, name)}
    given = {
        name: value
        for name in ("engine", "precision", "cache_size")
        if (value := getattr(args, name, None)) is not None
    }
    return values | {"progress": not args.quiet} | given


def add_metric_options(
    parser: CommandParser,
    *,
    default: str | None = "bertscore",
    shown: str = "",
    also: Mapping[str, str] | None = None,
) -> None:
    """Which metrics, and a flag for each of their options; `shown` is a default that the command sets later.

    `also` says what else a flag means to the command.
    """
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "-m",
        "--metric",
        nargs="+",
        default=None if default is None else DefaultMetrics([default]),
        metavar="METRIC",
        help=f"NAME, NAME:option=value or a signature ({shown or default})",
    )
    for name, text in _COMMON.items():
        add_option_flag(group, name, help=text)
    # The other flags take all metrics to be loaded.
    parser.put_off(lambda: _add_hidden_options(group, also or {}))
    if METRICS.offered:  # a package's metric that cannot be loaded is reported at once
        parser.complete()


def _add_hidden_options(group: Any, also: Mapping[str, str]) -> None:
    """A flag for each option that does not stand in `--help`."""
    knowing: dict[str, list[str]] = {}
    for metric in METRICS.values():
        for name in metric.options():
            knowing.setdefault(name, []).append(metric.name)
    for name, metrics in knowing.items():
        if name not in _COMMON:
            text = f"{METRICS[metrics[0]].options()[name].help} ({', '.join(metrics)})"
            add_option_flag(group, name, help=f"{also[name]}; {text}" if name in also else text, hidden=True)


def add_option_flag(
    group: Any,
    name: str,
    *,
    help: str,  # noqa: A002 - as argparse has it
    hidden: bool = False,
) -> None:
    """A flag for an option of a recipe."""
    dest, flag, metavar = f"option_{name}", flag_of(name), name.upper()
    if flag in group._option_string_actions:  # a flag of the command; NAME:option=value sets the option of a metric
        return
    if hidden:
        add_hidden(group, flag, dest=dest, metavar=metavar, help=help.replace("%", "%%"))
    else:
        group.add_argument(flag, dest=dest, metavar=metavar, help=help.replace("%", "%%"))


def metric_options(args: argparse.Namespace) -> dict[str, str]:
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
    parser.add_argument(
        "-r", "--refs", nargs="+", type=text_source, metavar="REF", help="references, likewise; several are allowed"
    )
    parser.add_argument(
        "-s", "--source", type=text_source, metavar="SRC", help="what was translated (sentsim, xmoverscore)"
    )
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


#: What `--unit`, an option of XMoverScore, also means to commands that score texts.
UNIT = {"unit": "segment or document: score lines as they are, or those of a document joined (--document-ids)"}


def read_unit(args: argparse.Namespace) -> None:
    """Set `args.joined`: are lines joined to documents? Other values of `--unit` are the metric's."""
    unit = getattr(args, "option_unit", None)  # not there where no flag of a single metric was given
    args.joined = unit == "document"
    if unit in ("segment", "document"):
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
