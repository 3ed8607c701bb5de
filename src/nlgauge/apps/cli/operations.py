"""Commands that follow from the table of operations: inputs from files, options as flags, results in any format."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    TextInputs,
    add_output_options,
    add_scoring_options,
    read_texts,
    scoring_options,
)
from nlgauge.apps.cli.flags import add_flags, given_options
from nlgauge.apps.cli.outputs import saving, write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.apps.cli.score import check_systems_first
from nlgauge.apps.operations import operations
from nlgauge.core.operations import CANDIDATES, DOCUMENTS, LISTS, SEGMENTS, SYSTEMS, Input, Operation
from nlgauge.core.rank import check_lines
from nlgauge.core.result import Result
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.textfiles import Inputs, parse_source, read_candidates


class _Files(NamedTuple):
    """How the inputs of an operation come from files."""

    metavar: str
    """The name of the files in help."""
    read: Callable[[argparse.Namespace], dict[str, Any]]


def _read_systems(args: argparse.Namespace) -> dict[str, Any]:
    texts = read_texts(args)
    return {"systems": texts.systems, "refs": texts.references, "sources": texts.sources}


def _read_segments(args: argparse.Namespace) -> dict[str, Any]:
    texts = _read_systems(args)
    systems = list(texts.pop("systems").values())
    if len(systems) != 1:
        msg = f"nlgauge {args.command} takes the outputs of one system, got {len(systems)} files"
        raise RecipeError(msg)
    return {"hyps": systems[0], **texts}


def _read_candidates(args: argparse.Namespace) -> dict[str, Any]:
    texts = read_candidates(args.hyps, args.refs, args.source, input_format=args.input_format)
    if all(len(group) == 1 for group in texts.candidates):
        msg = (
            "every segment has one candidate, so there is nothing to choose; give several files, or JSONL with lists"
        )
        raise InputError(msg)
    if args.format == "text":
        check_lines(texts.candidates)
    args.systems = texts.systems
    return {"candidates": texts.candidates, "refs": texts.references, "sources": texts.sources}


def _read_lists(args: argparse.Namespace) -> dict[str, Any]:
    if len(args.hyps) > 2:
        msg = f"nlgauge {args.command} takes one or two files, got {len(args.hyps)}"
        raise RecipeError(msg)
    inputs = Inputs()
    lists = [inputs.texts(parse_source(spec, input_format=args.input_format)) for spec in args.hyps]
    return dict(zip(("a", "b"), lists, strict=False))


_FILES: dict[tuple[Input, ...], _Files] = {
    SYSTEMS: _Files("HYP", _read_systems),
    DOCUMENTS: _Files("HYP", _read_systems),
    SEGMENTS: _Files("HYP", _read_segments),
    CANDIDATES: _Files("HYP", _read_candidates),
    LISTS: _Files("FILE", _read_lists),
}


def add_operation(add_parser: AddParser, name: str) -> None:
    """Add the command of an operation to the parser."""
    operation = operations()[name]
    files = _FILES[operation.inputs]
    names = [entry.name for entry in operation.inputs]
    documentation = (operation.call.__doc__ or operation.help).strip()
    examples = f"example:\n  {operation.example}\n" if operation.example else ""
    parser = add_parser(
        description=documentation.partition("\n\n")[0].replace("\n    ", "\n"),
        epilog=examples + (METRIC_FLAGS if operation.metric != "none" else ""),
    )
    parser.set_defaults(refs=(), source=None)  # for operations without them
    texts = f"{operation.inputs[0].help}; FILE, FILE.tsv:COLUMN, .csv, .jsonl, - (stdin), .gz"
    add_flags(
        parser,
        TextInputs,
        without=[flag for flag, name in (("refs", "refs"), ("source", "sources")) if name not in names],
        change={"hyps": {"metavar": files.metavar, "help": texts}},
    )
    for options in operation.option_sets:
        add_flags(parser, options, title=options.called)
    if operation.metric != "none":
        metric = operation.default_metric
        chosen = (metric,) if isinstance(metric, str) else tuple(metric)
        add_scoring_options(parser, one=operation.metric != "several", metrics=chosen)
    drawn = operation.result_class.figure is not Result.figure
    add_output_options(
        parser,
        width=operation.result_class.decimals,
        plot="figure: .png, .svg or .pdf" if drawn else "",
        quiet=operation.metric == "none",
    )
    parser.add_help_all()
    parser.set_defaults(run=partial(_run, operation))


def _run(operation: Operation, args: argparse.Namespace) -> int:
    check_systems_first(args, command=args.command)
    if not args.hyps:
        texts = f"{operation.inputs[0].name} ({_FILES[operation.inputs].metavar} ...)"
        msg = f"nlgauge {args.command} needs {texts}; see 'nlgauge {args.command} --help'"
        raise RecipeError(msg)
    keywords: dict[str, Any] = {}
    for options in operation.option_sets:
        keywords |= given_options(args, options)
    if operation.metric != "none":
        keywords |= {"metric": _metrics(operation, args), **scoring_options(args)}
    inputs = _FILES[operation.inputs].read(args)
    wanted = {entry.name: inputs.get(entry.name) for entry in operation.inputs}
    result = operation.call(**wanted, **keywords)
    if getattr(args, "systems", None) is not None:
        result = replace(result, systems=tuple(args.systems))
    write_result(result, args)
    return 0


def _metrics(operation: Operation, args: argparse.Namespace) -> Any:
    check_metrics(args.metric, args, command=args.command)
    return args.metric if operation.metric == "several" else args.metric[0]


def write_result(result: Result, args: argparse.Namespace) -> None:
    """Write a result as the command asks for it, and its figure; a signature that is not in it goes to stderr."""
    text = result.render(args.format, decimals=args.width)
    write_output(args.output, text)
    signature = getattr(result, "signature", None)
    shown = "".join(text.split())  # a long signature is wrapped
    if signature and args.format == "text" and str(signature) not in shown and not args.quiet:
        print(f"signature: {signature}", file=sys.stderr)
    if getattr(args, "plot", None):
        with saving(args.plot) as target:
            result.save_figure(target)
