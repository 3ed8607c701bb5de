"""Options that several commands share, their values as keywords of the library, checks of arguments, output files.

Segments of a document are not independent, so `--document-ids` alone has documents resampled. With `--unit document`
the lines of a document are joined and scored as one text, and each of these counts on its own. An output file that
cannot be written, or would replace an input, is refused before the work starts.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nlgauge.apps.cli.flags import Flags, check_options, flag_of, given_options, set_option
from nlgauge.core.corpus import LINE_NAMES, SEGMENT_NAMES, TextNames, document_rows, join_documents
from nlgauge.core.kinds import Choice, FigureFile, Flag, InputFile, Int, Many, OutputFile, Text, TextColumn
from nlgauge.core.metric import base_metrics, reads_sources
from nlgauge.core.options import OptionSet, option
from nlgauge.core.registry import METRICS, metric_name
from nlgauge.core.resources import Resource
from nlgauge.core.result import FORMATS, Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import Call, resolve_call
from nlgauge.core.short_signature import format_signature
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, RecipeError
from nlgauge.io.canvas import check_figure
from nlgauge.io.progress import ProgressReport, log, log_seconds, reporting
from nlgauge.io.storage import write_atomic
from nlgauge.io.store.catalog import encoder_names
from nlgauge.io.textfiles import Inputs, ParallelTexts, parse_source, read_parallel


class MetricText(Text):
    """A recipe or a signature."""

    def parse(self, text: str) -> str:
        """Remove the label that `nlgauge score` prints before a signature.

        >>> MetricText().parse("signature of a.txt: bertscore|layer:4")
        'bertscore|layer:4'
        """
        return re.sub(r"^\s*(% )?signature( of .+)?:\s+", "", text)


#: A metric, and the name of a model, as options of a command.
METRIC = MetricText("NAME, NAME:option=value or a signature", known=lambda: METRICS)
MODEL = Text("the name of a model, a folder or a hub id", known=encoder_names)


#: Metrics by what they are for. `bert-score` has the settings that most papers mean by BERTScore.
NAMED_RECIPES = {
    "fast": "bertscore:model=minilm",
    "accurate": "bertscore:model=mpnet",
    "bert-score": "bertscore:model=roberta-large,layer=17,idf=none,rescale=no,prefix_space=yes,multiref=best-each",
}


@dataclass(frozen=True, kw_only=True)
class MetricOptions(OptionSet):
    """Metrics, and options that most metrics have."""

    metric: tuple[str, ...] | None = option(
        ("bertscore",),
        Many(METRIC, least=1),
        help="metrics or signatures",
        flag="-m",
        metavar="METRIC",
        project=True,
    )
    recipe: str | None = option(
        None,
        Choice(*NAMED_RECIPES),
        help="preset for -m; accurate correlates better, but takes 5.9 times as long",
        unset="",
    )
    model: str | None = option(
        None, MODEL, help="minilm, mpnet, muse, a folder or a Hugging Face id", metavar="MODEL", project=True
    )
    layer: str | None = option(None, Text("a layer"), help="model layer", unset="tuned per model", metavar="LAYER")
    idf: str | None = option(
        None,
        InputFile("a rule or an idf file"),
        help="idf weights: none, refs, both (refs and outputs), FILE",
        unset="set by the metric",
        metavar="IDF",
    )
    lang: str | None = option(
        None, Text("a language"), help="language; selects the model and BLEU's tokenizer", metavar="LANG"
    )


@dataclass(frozen=True, kw_only=True)
class TableModel(OptionSet):
    """The model that a resource is built for."""

    model: str = option("minilm", MODEL, help="model", project=True)


@dataclass(frozen=True, kw_only=True)
class OutputOptions(OptionSet):
    """Output format, files and messages."""

    format: str = option("text", Choice(*FORMATS), help="output format", flag="-f")
    output: str = option("-", OutputFile(), help="output file", unset="stdout", flag="-o")
    decimals: int = option(4, Int(0, 17), help="number of decimals", flag="-d", hidden=True)
    signature: str = option("short", Choice("short", "full"), help="form of signatures in tables", hidden=True)
    plot: str | None = option(None, FigureFile(), help="figure: .png, .svg or .pdf")
    quiet: bool = option(False, Flag(), help="print no progress and no warnings", flag="-q")
    verbose: bool = option(False, Flag(), help="print input files, models and time per stage", flag="-v")


@dataclass(frozen=True, kw_only=True)
class TextInputs(OptionSet):
    """Outputs of systems with their references, or sources."""

    hyps: tuple[str, ...] = option(
        (),
        Many(TextColumn()),
        help="outputs, one segment per line: [NAME=]FILE, FILE:COLUMN (.tsv, .csv, .jsonl), .gz or - (stdin)",
        metavar="HYP",
        positional=True,
    )
    refs: tuple[str, ...] = option((), Many(TextColumn()), help="reference files", flag="-r", metavar="REF")
    source: str | None = option(
        None, TextColumn(), help="source texts, for metrics that use them", flag="-s", metavar="SRC"
    )
    input_format: str | None = option(
        None,
        Choice("text", "tsv", "csv", "jsonl"),
        help="format of all inputs",
        unset="by file extension",
        hidden=True,
    )


@dataclass(frozen=True, kw_only=True)
class DocumentOptions(OptionSet):
    """Documents that segments belong to."""

    document_ids: str | None = option(
        None,
        InputFile(),
        help="document of each segment, one per line; resample documents instead of segments",
        hidden=True,
    )
    documents: bool = option(False, Flag(), help="resample documents instead of segments", hidden=True)
    unit: Literal["segment", "document"] = option(
        "segment",
        Choice("segment", "document"),
        help="what to score: lines, or documents joined from lines (--document-ids)",
        hidden=True,
    )


#: How much a command prints on stderr.
MESSAGES = Flags(OutputOptions, only=["quiet", "verbose"])

#: Options of a run for every command that encodes texts, options of the cache, and options about texts.
_RUN = ("engine", "precision", "threads", "device", "batch_tokens")
_CACHE = ("cache", "cache_size")
_TEXTS = ("long", "empty")


def run_flags(*, cache: bool = True, texts: bool = False) -> tuple[Flags, ...]:
    """Flags of a run; `texts` adds the treatment of long and empty texts."""
    run = Flags(RunOptions, "run", only=(*_RUN, *(_CACHE if cache else ())))
    messages = MESSAGES._replace(title="run")
    return (run, messages, Flags(RunOptions, "texts", only=_TEXTS)) if texts else (run, messages)


def run_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the values of `run_flags` as keywords of a run."""
    return given_options(args, RunOptions) | {"progress": not args.quiet}


def scoring_flags(
    default: str = "", *, project: bool = True, one: bool = False, metrics: tuple[str, ...] = ("bertscore",)
) -> tuple[Flags, ...]:
    """Flags of metrics and of a run.

    `default` describes a default that the command sets later.
    """
    change: dict[str, Any] = {"project": project, "kind": Many(METRIC, least=1, most=1 if one else None)}
    change |= {"help": "metric or signature"} if one else {}
    change |= {"default": None, "unset": default} if default else {"default": metrics}
    return (Flags(MetricOptions, "metrics", change={"metric": change}), *run_flags(texts=True))


def scoring_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the values of `scoring_flags`, without the metrics, as keywords of the library."""
    return {**metric_options(args), **run_options(args)}


def metric_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the metric options that are set by flags or after a signature."""
    given = given_options(args, MetricOptions)
    flags = {name: value for name, value in given.items() if name not in ("metric", "recipe")}
    return flags | getattr(args, "signature_options", {})


def output_flags(
    decimals: int | None = 4, *, formats: Sequence[str] = FORMATS, plot: str = "", messages: bool = False
) -> Flags:
    """Flags of the output; `plot` is the help of a figure."""
    left_out = {"decimals": decimals is None, "plot": not plot, "quiet": not messages, "verbose": not messages}
    return Flags(
        OutputOptions,
        "output",
        without=[name for name, out in left_out.items() if out],
        change={"format": {"kind": Choice(*formats)}, "decimals": {"default": decimals}, "plot": {"help": plot}},
    )


def output_file(what: str) -> Flags:
    """The flag `--output` of a command that writes a resource."""
    change = {"output": {"required": True, "help": what, "unset": ""}}
    return Flags(OutputOptions, only=["output"], change=change)


def format_flag(*formats: str) -> Flags:
    """The flag `--format` of a command that only prints."""
    return Flags(OutputOptions, only=["format"], change={"format": {"kind": Choice(*formats)}})


def check_arguments(args: argparse.Namespace) -> None:
    """Refuse arguments that are invalid in every command, and replace texts by the values of declared options."""
    check_options(args)
    args.joined = getattr(args, "unit", "segment") == "document"
    if args.joined and args.document_ids is None:
        msg = "--unit document needs --document-ids FILE; if each line or row is already a document, leave out --unit"
        raise RecipeError(msg)
    if getattr(args, "recipe", None):
        _use_recipe(args)
    if any("|" in text for text in getattr(args, "metric", None) or ()):
        # `-m SIGNATURE rescale=FILE`: a signature has the digest of a file, and the command gives its path.
        options = [text for text in args.metric if re.match(r"[a-z_]+=", text)]
        args.signature_options = dict(text.split("=", 1) for text in options)
        set_option(args, "metric", tuple(text for text in args.metric if text not in options))
    if getattr(args, "quiet", False) and args.verbose:
        msg = "--verbose cannot be combined with --quiet; leave one out"
        raise RecipeError(msg)
    check_outputs(args)


def _use_recipe(args: argparse.Namespace) -> None:
    """Replace `--recipe` by its metric."""
    for name in MetricOptions.options():
        if name != "recipe" and name in args.given:
            recipe = NAMED_RECIPES[args.recipe]
            msg = f"--recipe cannot be combined with {flag_of(name)}; leave one out ({args.recipe} is -m {recipe})"
            raise RecipeError(msg)
    set_option(args, "metric", (NAMED_RECIPES[args.recipe],))


@contextlib.contextmanager
def showing_progress(args: argparse.Namespace) -> Iterator[None]:
    """Show progress on stderr, and with `--verbose` also files, models and seconds per stage."""
    with reporting(ProgressReport()):
        if not getattr(args, "verbose", False):
            yield
            return
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("nlgauge: %(message)s"))
        level = log.level
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        try:
            with log_seconds("total"):
                yield
        finally:
            log.removeHandler(handler)
            log.setLevel(level)


def check_metrics(args: argparse.Namespace, metrics: Sequence[str] | None = None, **run: Any) -> Call:
    """Resolve the metrics of a command; unknown metrics and file names are refused."""
    metrics = metrics or args.metric
    for text in metrics:
        if metric_name(text).casefold() not in METRICS and os.path.exists(text):
            others = [name for name in metrics if name != text]
            msg = (
                f"--metric took {text!r}, which is a file; put the systems first: "
                f"nlgauge {args.command} {text} ... --metric {' '.join(others) or 'NAME'}"
            )
            raise RecipeError(msg)
    call = resolve_call(metrics, metric_options(args) | run)
    recipes = call.recipes
    if any(getattr(recipe, "against", "refs") == "source" for recipe in base_metrics(recipes)):
        return call
    for recipe in base_metrics(recipes):
        if getattr(recipe, "src_lang", ""):
            msg = f"{recipe.name} uses src_lang only with against=source, which compares with the source"
            raise RecipeError(msg)
    names = ", ".join(dict.fromkeys(recipe.name for recipe in recipes))
    if getattr(args, "source", None) and args.refs and not reads_sources(recipes):
        msg = f"--source is not used: {names} {'compares' if len(recipes) == 1 else 'compare'} with references"
        warnings.warn(msg, NlgaugeWarning, stacklevel=2)
    return call


def check_systems_first(args: argparse.Namespace) -> None:
    """Refuse `--refs r.txt a.txt`, which takes the system for a reference."""
    if args.hyps or len(getattr(args, "refs", ())) < 2:
        return
    files = " and ".join(map(repr, args.refs))
    fix = f"nlgauge {args.command} SYSTEM ... --refs REF ..."
    if len(args.refs) == 2 and args.command != "compare":  # which of three files are systems is not known
        reference, system = args.refs
        fix = f"nlgauge {args.command} {system} --refs {reference}"
    msg = f"--refs took {files}, because it takes every file after it; put the systems first: {fix}"
    raise RecipeError(msg)


def read_texts(args: argparse.Namespace) -> ParallelTexts:
    """Read the files of `TextInputs`."""
    return read_parallel(args.hyps, args.refs, getattr(args, "source", None), input_format=args.input_format)


def read_columns(specs: Iterable[str]) -> list[list[str]]:
    """Read files or columns, one list of texts each."""
    inputs = Inputs()
    return [inputs.texts(parse_source(spec)) for spec in specs]


def read_documented_texts(args: argparse.Namespace) -> tuple[ParallelTexts, tuple[str, ...] | None]:
    """Read texts and the document of each segment; joined documents count as segments."""
    documents, texts = read_documents(args), read_texts(args)
    if args.joined and documents is not None:
        return join_texts(texts, documents, args), None
    check_documents(documents, len(next(iter(texts.systems.values()))), args)
    return texts, documents


def segment_names(systems: Iterable[str], args: argparse.Namespace) -> TextNames:
    """Names of segments in messages: lines, from 1, if all inputs are plain text."""
    specs = [*systems, *args.refs, *([args.source] if args.source else [])]
    formats = {parse_source(spec, input_format=args.input_format).format for spec in specs}
    return LINE_NAMES if formats == {"text"} and not args.joined else SEGMENT_NAMES


def join_texts(texts: ParallelTexts, documents: tuple[str, ...], args: argparse.Namespace) -> ParallelTexts:
    """Join the lines of each document in hypotheses, references and sources."""
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
    """Read the document of each segment, if a file names them."""
    if args.document_ids is None:
        return None
    source = parse_source(args.document_ids)
    names = Inputs().texts(source)
    for number, name in enumerate(names, start=1):
        if not name.strip():
            msg = f"{source.name}, segment {number}: empty document id; every line needs an id"
            raise FileFormatError(msg)
    return tuple(names)


def check_documents(
    documents: tuple[str, ...] | None, count: int, args: argparse.Namespace, *, what: str = "segments"
) -> None:
    """Refuse a file that does not name the document of every segment."""
    if documents is not None and len(documents) != count:
        lines = "1 line" if len(documents) == 1 else f"{len(documents)} lines"
        msg = f"{args.document_ids!r} has {lines}, but needs a document id for each of {count} {what}"
        if 0 < count < len(documents):
            msg += f"; the last of these is in document {documents[count - 1]!r}"
        elif documents:
            msg += f"; the file ends with document {documents[-1]!r}"
        raise InputError(msg)


#: Suffixes of files that are not text, so that a table under such a name could not be opened.
_NOT_WRITTEN = frozenset(
    """.bmp .eps .gif .jpeg .jpg .pdf .png .ps .svg .tif .tiff .webp .doc .docx .odp .ods .odt .ppt .pptx .rtf .xls
    .xlsb .xlsm .xlsx .feather .h5 .parquet .pickle .pkl .sqlite .zip""".split()  # noqa: SIM905 - easier to read
)


#: Formats by the suffix of the output file.
FORMAT_OF = {".json": "json", ".tsv": "tsv", ".csv": "csv", ".tex": "latex", ".md": "markdown", ".html": "html"}


class ClosedOutput(io.TextIOBase):
    """Replaces a standard output that the shell has closed (`>&-`)."""

    def write(self, _: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


#: Commands whose file is always JSON; their --format is that of standard output.
_FORMAT_OF_STDOUT = ("study learn",)


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse a command whose result could not be written, or would replace one of its inputs."""
    if getattr(args, "output", None) == "-" and isinstance(sys.stdout, ClosedOutput):
        msg = "standard output is closed; name a file with -o FILE"
        raise InputError(msg)
    taken: dict[str, str] = {}
    for name, entry in getattr(args, "declared", {}).items():
        path = getattr(args, name)
        if not path or path == "-" or not isinstance(entry.kind, OutputFile):
            continue
        check_writable(path)
        if isinstance(entry.kind, FigureFile):
            check_figure(Path(path))
        if name == "output" and (suffix := Path(path).suffix.lower()) in _NOT_WRITTEN:
            msg = (
                f"cannot write {path!r}: results are text, not {suffix}; use a name such as result.txt or "
                f"result.json, and --format for another form ({', '.join(_formats(args))})"
            )
            if "plot" in args.declared:
                msg += "; figures are written by --plot"
            raise RecipeError(msg)
        is_result = name == "output" and args.command not in _FORMAT_OF_STDOUT
        form = FORMAT_OF.get(suffix) if is_result and "format" in args.given else None
        if form is not None and args.format not in (form, "text"):
            fix = f"or --format {form}" if form in _formats(args) else "such as result.txt"
            msg = f"{path!r} is a name for {form}, and --format is {args.format}; use another name, {fix}"
            raise RecipeError(msg)
        if name == "report" and Path(path).suffix.lower() in _NOT_WRITTEN:
            msg = f"cannot write {path!r}: a report is an HTML page; use a name such as report.html"
            raise RecipeError(msg)
        if path.lower().endswith(".gz"):
            msg = f"cannot write {path!r}: results are not compressed; use a name without .gz"
            raise RecipeError(msg)
        flag = entry.flag or flag_of(name)
        other = taken.setdefault(os.path.realpath(path), flag)
        if other != flag and not _is_device(path):
            msg = f"{other} and {flag} both write {path!r}; use two files"
            raise RecipeError(msg)
        for source in _input_paths(args) if os.path.isfile(path) else ():
            if os.path.exists(source) and os.path.samefile(path, source):
                msg = f"{path!r} is an input of this command and would be replaced; write to another file"
                raise InputError(msg)


def _formats(args: argparse.Namespace) -> Sequence[str]:
    """The output formats of a command."""
    return getattr(args.declared.get("format"), "kind", Choice(*FORMATS)).completions()


def _is_device(path: str) -> bool:
    """Whether a path is a pipe or a device such as /dev/null."""
    return os.path.exists(path) and not os.path.isfile(path)


def _input_paths(args: argparse.Namespace) -> list[str]:
    texts = list(getattr(args, "signature_options", {}).values())
    for name, entry in args.declared.items():
        kind = entry.kind
        while isinstance(kind, Many):
            kind = kind.kind
        if isinstance(kind, InputFile | Resource):
            texts += _flat(getattr(args, name))
    for recipe in getattr(args, "metric", None) or ():
        texts += recipe.split(":", 1)[-1].split(",")  # sentsim:bounds=FILE
    form = getattr(args, "input_format", None)
    paths: list[str] = []
    for spec in filter(None, texts):
        for text in (spec, spec.partition("=")[2]):  # LANG=FILE, option=FILE
            with contextlib.suppress(InputError, ValueError):  # the reader reports the error
                source = parse_source(text, input_format=form if form in {"tsv", "csv", "jsonl"} else None)
                paths += [source.path] if source.path else []
    return paths


def _flat(value: object) -> Iterator[str]:
    """Texts of an argument: itself, a list, or a list of lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _flat(item)


def check_writable(path: str) -> None:
    """Refuse a file that could not be written."""
    target = Path(path)
    if not target.name or target.is_dir():
        msg = f"cannot write {path!r}: it is a folder; name a file"
        raise InputError(msg)
    if target.exists() and not target.is_file():
        return  # a pipe or a device
    folder = target.resolve().parent
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        msg = f"cannot write {path!r}: the folder {str(target.parent)!r} {what}"
        raise InputError(msg)
    if not os.access(folder, os.W_OK | os.X_OK):
        msg = f"cannot write {path!r}: the folder {str(target.parent)!r} is read-only"
        raise InputError(msg)


def check_has_name(path: str, what: str) -> None:
    """Refuse `-` for binary output."""
    if path == "-":
        msg = f"{what} is a binary .npz file and cannot be written to standard output; name a file"
        raise InputError(msg)


@contextlib.contextmanager
def saving(path: str) -> Iterator[Path]:
    """Name the output file, not a temporary one, in errors of the block that writes it."""
    try:
        yield Path(path)
    except OSError as error:
        msg = f"cannot write {path!r}: {error.strerror or error}"
        raise InputError(msg) from error


def write_output(path: str, text: str) -> None:
    """Write a result in one step, or to stdout for `-`."""
    if path == "-":
        sys.stdout.write(text)
        return
    check_writable(path)
    with saving(path) as target:
        write_atomic(target, text.encode("utf-8", "surrogateescape"))


def write_result(result: Result, args: argparse.Namespace) -> None:
    """Write a result and its figure; print the signature to stderr if the result does not contain it."""
    text = result.render(args.format, decimals=getattr(args, "decimals", None))
    write_output(getattr(args, "output", "-"), text)
    signature = getattr(result, "signature", None)
    if signature and args.format == "text" and not getattr(args, "quiet", False):
        line = format_signature(signature)
        if line not in "".join(text.split()):  # a long signature is wrapped
            print(f"signature: {line}", file=sys.stderr)
    write_figure(getattr(args, "plot", None), result.save_figure)


def write_figure(path: str | None, save: Callable[[Path], None]) -> None:
    """Write a figure if a path is given."""
    if path:
        with saving(path) as target:
            save(target)


def report(args: argparse.Namespace, text: str) -> int:
    """Print a message to stderr unless the command is quiet; return exit status 0."""
    if not args.quiet:
        print(text, file=sys.stderr)
    return 0
