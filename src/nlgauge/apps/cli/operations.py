"""Commands generated from the table of operations: inputs from files, options as flags, results in any format."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from nlgauge.apps.cli.common import (
    MetricOptions,
    TextInputs,
    check_metrics,
    check_systems_first,
    output_flags,
    read_texts,
    scoring_flags,
    scoring_options,
)
from nlgauge.apps.cli.flags import Command, Flags, given_options
from nlgauge.apps.operations import operations
from nlgauge.core.operations import CANDIDATES, DOCUMENTS, LISTS, SEGMENTS, SYSTEMS, Input, Operation, load
from nlgauge.core.rank import check_lines
from nlgauge.core.result import Result
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.textfiles import Inputs, parse_source, read_candidates

#: Reads the texts of a command, by the names of the operation's inputs.
Read = Callable[[argparse.Namespace], Mapping[str, Any]]


class _Files(NamedTuple):
    """How the inputs of an operation are read from files."""

    what: str
    """Content of the files."""
    metavar: str
    """Name of the files in help."""
    read: Read


def _read_systems(args: argparse.Namespace) -> dict[str, Any]:
    texts = read_texts(args)
    return {"systems": texts.systems, "refs": texts.references, "sources": texts.sources}


def read_segments(args: argparse.Namespace) -> dict[str, Any]:
    """Read the texts of one system."""
    texts = _read_systems(args)
    systems = list(texts.pop("systems").values())
    if len(systems) != 1:
        msg = f"nlgauge {args.command} takes one system, got {len(systems)}"
        raise RecipeError(msg)
    return {"hyps": systems[0], **texts}


def _read_candidates(args: argparse.Namespace) -> dict[str, Any]:
    texts = read_candidates(args.hyps, args.refs, args.source, input_format=args.input_format)
    if all(len(group) == 1 for group in texts.candidates):
        msg = (
            "every segment has only one candidate; give several files, or FILE.jsonl:COLUMN with a list of "
            "candidates in the column"
        )
        raise InputError(msg)
    if args.format == "text":
        check_lines(texts.candidates)
    names = None if texts.systems is None else tuple(texts.systems)
    return {"candidates": texts.candidates, "refs": texts.references, "sources": texts.sources, "names": names}


def _read_lists(args: argparse.Namespace) -> dict[str, Any]:
    if len(args.hyps) > 2:
        msg = f"nlgauge {args.command} takes one or two files, got {len(args.hyps)}"
        raise RecipeError(msg)
    inputs = Inputs()
    lists = [inputs.texts(parse_source(spec, input_format=args.input_format)) for spec in args.hyps]
    return dict(zip(("a", "b"), lists, strict=False))


_FILES: dict[tuple[Input, ...], _Files] = {
    SYSTEMS: _Files("outputs of systems", "HYP", _read_systems),
    DOCUMENTS: _Files("documents", "HYP", _read_systems),
    SEGMENTS: _Files("outputs of a system", "HYP", read_segments),
    CANDIDATES: _Files("candidates", "HYP", _read_candidates),
    LISTS: _Files("texts", "FILE", _read_lists),
}


def command_spelled(spelling: str) -> Command:
    """Find the command of an operation."""
    return next(command_of(entry) for entry in operations().values() if entry.command and entry.spelling == spelling)


def commands_of_group(group: str, others: Collection[str]) -> dict[str, Command]:
    """Find the commands of operations in a group that has other commands, too."""
    commands = {}
    for operation in operations().values():
        if operation.command and operation.group == group:
            operation.check_command(others)
            commands[operation.spelling] = command_of(operation)
    return commands


def command_of(operation: Operation) -> Command:
    """Build the command of an operation."""
    files = _FILES[operation.inputs]
    names = [entry.name for entry in operation.inputs]
    documentation = (operation.call.__doc__ or operation.help).strip()
    if operation.inputs == LISTS:
        content = "one or two files (rows, then columns): FILE"
    else:
        content = f"{operation.inputs[0].help}: [NAME=]FILE"
    texts = f"{content}, FILE:COLUMN (.tsv, .csv, .jsonl), .gz or - (stdin)"
    absent = [flag for flag, name in (("refs", "refs"), ("source", "sources")) if name not in names]
    hyps = {"metavar": files.metavar, "help": texts}
    flags = [Flags(TextInputs, without=absent, change={"hyps": hyps})]
    scored = operation.metric != "none"
    taken = {*operation.without, *(MetricOptions.options() if scored else ())}
    for options in reversed(operation.option_sets):  # of two options of one name, the last counts
        flags.append(Flags(options, options.called, without=frozenset(taken)))
        taken |= options.options().keys()
    if scored:
        metric = operation.default_metric
        chosen = (metric,) if isinstance(metric, str) else tuple(metric)
        flags += scoring_flags(one=operation.metric == "one", metrics=chosen)
    drawn = operation.result_class.figure is not Result.figure
    plot = "figure: .png, .svg or .pdf" if drawn else ""
    flags.append(output_flags(operation.result_class.decimals, plot=plot, messages=not scored))
    command = Command(
        run=partial(run_operation, operation=operation),
        flags=tuple(flags),
        help=operation.help,
        description=documentation.partition("\n\n")[0].replace("\n    ", "\n"),
        examples=f"  {operation.example}\n" if operation.example else "",
    )
    changed: Command = load(operation.command)(command) if isinstance(operation.command, str) else command
    return changed


def run_operation(args: argparse.Namespace, *, operation: Operation, read: Read | None = None) -> Result:
    """Call the function with the texts of the files, or with those that `read` returns."""
    files = _FILES[operation.inputs]
    check_systems_first(args)
    if not args.hyps and not hasattr(args, "data"):
        msg = f"nlgauge {args.command} needs {files.what} ({files.metavar} ...); see 'nlgauge {args.command} --help'"
        raise RecipeError(msg)
    keywords: dict[str, Any] = {}
    for options in operation.option_sets:
        keywords |= given_options(args, options)
    if operation.metric != "none":
        check_metrics(args)
        metric = args.metric if operation.metric == "several" else args.metric[0]
        keywords |= {"metric": metric, **scoring_options(args)}
    texts = (read or files.read)(args)
    result: Any = operation.call(**{entry.name: texts.get(entry.name) for entry in operation.inputs}, **keywords)
    named: Result = replace(result, systems=texts["names"]) if texts.get("names") else result
    return named
