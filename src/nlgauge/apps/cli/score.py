"""`nlgauge score`: scores of text files, as a signed table; with `--table` and `--merge`, of tables of any size.

Large tables are scored in shards (docs/cluster.md). What runs them is imported only then.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    UnitOptions,
    add_document_option,
    add_metric_options,
    add_output_options,
    add_run_options,
    add_text_inputs,
    add_text_options,
    check_documents,
    joined_texts,
    metric_options,
    read_documents,
    read_texts,
    read_unit,
    run_options,
)
from nlgauge.apps.cli.flags import add_flags, flag_of
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.parsing import AddParser, add_hidden
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.core.result import FORMATS
from nlgauge.core.score_layout import Confidence
from nlgauge.core.score_table import digests_of_texts
from nlgauge.core.scoring import score_systems
from nlgauge.errors import RecipeError
from nlgauge.io.table import Cell, Table

if TYPE_CHECKING:
    from nlgauge.apps.cluster.driver import Run
    from nlgauge.apps.cluster.executors import Executor
    from nlgauge.apps.cluster.merged import Merged, Prediction

#: Options of --confidence and their defaults.
_CONFIDENCE = {"confidence_level": 0.95, "resamples": 1000, "seed": 12345, "document_ids": None}

#: Flags that say something about --table, and what they are where they were not given.
_OF_TABLE = {
    "columns": None,
    "parts": None,
    "workers": None,
    "cluster": None,
    "shard": None,
    "shard_rows": None,
    "worker_memory": None,
    "strict": False,
    "dry_run": False,
    "price": None,
}

#: Flags about segments that are read from files, and what they are where they were not given.
_OF_TEXTS = {"input_format": None, "document_ids": None, "joined": False, "alignments": False, "citation": False}

#: Flags about scores, which a run into parts does not print.
_OF_SCORES = {"segments": False, "confidence": False, "short": False, "format": None, "output": "-"}

#: Flags about what is scored, which is over where parts are merged.
_OF_RUN = {"metric": ["bertscore"], "engine": None, "precision": None}

_SPELT = {"joined": "--unit document"}

_EXAMPLES = f"""\
examples:
  nlgauge score system.txt --refs reference.txt
  nlgauge score a.txt b.txt --refs r1.txt r2.txt -m bertscore:layer=4,idf=refs
  nlgauge score out.tsv:mt --refs out.tsv:ref -o run.json     (all of it, for nlgauge compare)
  nlgauge score system.en --source source.de --metric sentsim xmoverscore
  nlgauge score --table pairs.parquet --columns hyp=mt,ref=ref --parts scores/   (any size; --help-all)
{METRIC_FLAGS}"""


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        usage="nlgauge score HYP ... --refs REF ... [options]",
        description="Score systems against references or sources.",
        epilog=_EXAMPLES,
    )
    add_text_inputs(parser)
    add_metric_options(parser)
    add_run_options(parser)
    add_text_options(parser)
    add_flags(parser, UnitOptions)
    output = add_output_options(parser, formats=FORMATS)
    output.add_argument("--segments", action="store_true", help="scores of each segment too")
    output.add_argument("--confidence", action="store_true", help="interval beside the mean (t or bootstrap)")
    add_document_option(output)
    add_hidden(output, "--alignments", action="store_true", help="which token matched which (json, with --segments)")
    add_hidden(output, "--confidence-level", type=float, metavar="P", help="of the interval (%(default)s)")
    add_hidden(output, "--resamples", type=int, metavar="N", help="of the bootstrap (%(default)s)")
    add_hidden(output, "--seed", type=int, metavar="N", help="of the bootstrap (%(default)s)")
    parser.set_defaults(**_CONFIDENCE, format=None)
    add_hidden(output, "--short", action="store_true", help="short signature")
    add_hidden(output, "--citation", action="store_true", help="BibTeX of the metrics; alone, prints only that")
    _add_table_options(parser)
    parser.add_help_all()
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    read_unit(args)
    check_metrics(args.metric, args, command="score")
    if _is_about_parts(args):
        _check_output(args)
        return _run_parts(args)
    if args.hyps or not args.citation:
        _check(args)
    classes = [metric_class(metric_name(text)) for text in args.metric]
    citations = {metric.name: metric.citation for metric in classes}
    if args.citation and not args.hyps:
        write_output(args.output, "\n\n".join(citations.values()) + "\n")
        return 0
    documents = read_documents(args)
    texts = read_texts(args)
    if args.joined and documents is not None:
        texts, documents = joined_texts(texts, documents, args), None
    check_documents(documents, len(next(iter(texts.systems.values()))), args)
    confidence = None
    if args.confidence:
        confidence = Confidence(
            level=args.confidence_level, resamples=args.resamples, seed=args.seed, documents=documents
        )
    saved = args.format is None and args.output.lower().endswith(".json")
    scores = score_systems(
        texts.systems,
        texts.references,
        sources=texts.sources,
        metric=args.metric,
        alignments=args.alignments,
        **metric_options(args),
        **run_options(args),
    )
    rendered = replace(scores, texts=digests_of_texts(texts.references, texts.sources)).render(
        args.format or ("json" if saved else "text"),
        decimals=args.width,
        segments=args.segments or saved,
        confidence=confidence,
        short=args.short,
        citations=citations if args.citation else None,
    )
    write_output(args.output, rendered)
    if args.citation and args.format in {"tsv", "csv", "latex"}:
        print("\n\n".join(citations.values()), file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    check_systems_first(args, command="score")
    alone = all(getattr(metric_class(metric_name(text)), "against", "refs") == "nothing" for text in args.metric)
    if not args.hyps or not (args.refs or args.source or alone):
        missing = "a system's output (HYP)" if not args.hyps else "references (--refs REF) or a source (--source SRC)"
        msg = f"nlgauge score needs {missing}; see 'nlgauge score --help'"
        raise RecipeError(msg)
    if args.alignments and not (args.segments and args.format == "json"):
        msg = "--alignments is part of the JSON of segments: add --segments --format json"
        raise RecipeError(msg)
    _check_output(args)


def _check_output(args: argparse.Namespace) -> None:
    """Refuse flags about the output that do not go together."""
    if args.segments and (args.format == "latex" or (args.format in {"tsv", "csv"} and args.confidence)):
        with_what = "LaTeX" if args.format == "latex" else f"--confidence in a {args.format.upper()}"
        msg = f"segments do not go with {with_what}; use --format json"
        raise RecipeError(msg)
    if not args.confidence:
        for name, default in _CONFIDENCE.items():
            if getattr(args, name) != default and not (args.joined and name == "document_ids"):
                other = " or to --unit document" if name == "document_ids" else ""
                msg = f"--{name.replace('_', '-')} belongs to --confidence{other}, which was not given"
                raise RecipeError(msg)


def check_systems_first(args: argparse.Namespace, *, command: str) -> None:
    """`--refs r.txt a.txt` takes the system for a reference."""
    if args.hyps or not args.refs or len(args.refs) < 2:
        return
    *references, system = args.refs
    took = " and ".join(map(repr, args.refs))
    msg = f"--refs took {took}; put the systems first: nlgauge {command} {system} --refs {' '.join(references)}"
    raise RecipeError(msg)


def _add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags; only `--help-all` shows them."""
    group = parser.add_argument_group("tables of any size, in shards (docs/cluster.md)")
    add_hidden(
        group,
        "--table",
        nargs="+",
        metavar="FILE",
        help="instead of HYP and --refs: Parquet, Arrow, JSONL, TSV, text files side by side, patterns, a dataset",
    )
    columns = "hyp=NAME,ref=NAME,src=NAME,id=NAME; a role may stand several times, a name be a pattern"
    add_hidden(group, "--columns", metavar="ROLE=NAME,...", help=columns)
    add_hidden(group, "--parts", metavar="FOLDER", help="of the parts; those that are there are not made again")
    add_hidden(group, "--workers", type=int, metavar="N", help="processes of this machine, or actors with --cluster")
    add_hidden(group, "--cluster", metavar="ADDRESS", help="a Ray cluster: ray://HEAD:10001, HEAD:6379, auto, local")
    add_hidden(group, "--shard", metavar="K/N", help="this is job K of N, such as of a Slurm array: its shards only")
    add_hidden(group, "--shard-rows", type=int, metavar="N", help="rows of a shard (default: by the table's size)")
    add_hidden(group, "--worker-memory", type=float, metavar="GB", help="most that a worker may use")
    add_hidden(group, "--strict", action="store_true", help="end at the first row that cannot be scored")
    add_hidden(group, "--dry-run", action="store_true", help="score 2,000 pairs, and predict time, memory and cost")
    add_hidden(group, "--price", type=float, metavar="X", help="of a worker for an hour, for --dry-run (0.05)")
    add_hidden(group, "--merge", metavar="FOLDER", help="join the parts of a folder; -o FILE.json: a summary")


def _is_about_parts(args: argparse.Namespace) -> bool:
    """Whether a command is one of those; a flag without the one that it belongs to is an error."""
    if args.table is None:
        for name, default in _OF_TABLE.items():
            if getattr(args, name) != default:
                msg = f"--{name.replace('_', '-')} belongs to --table FILE, which was not given"
                raise RecipeError(msg)
    both = [flag for flag, given in (("--table", args.table), ("--merge", args.merge)) if given is not None]
    others = [name for name, given in (("HYP", args.hyps), ("--refs", args.refs), ("--source", args.source)) if given]
    if both and (len(both) > 1 or others):
        msg = f"{both[0]} does not go with {', '.join(both[1:] + others)}"
        raise RecipeError(msg)
    if args.table is not None:
        _refuse(args, _OF_TEXTS, "--table, where each row is a segment by itself")
        if not args.dry_run:
            _refuse(args, _OF_SCORES, "--table: scores go to the parts, and 'nlgauge score --merge' shows them")
    elif args.merge is not None:
        _refuse(args, _OF_TEXTS, "--merge, which reads scores and no texts")
        _refuse(args, _OF_RUN, "--merge: the parts are scored already")
        for name in metric_options(args):
            msg = f"{flag_of(name)} does not go with --merge: the parts are scored already"
            raise RecipeError(msg)
    return bool(both)


def _refuse(args: argparse.Namespace, flags: Mapping[str, object], whose: str) -> None:
    """Flags that would mean nothing here."""
    for name, default in flags.items():
        if getattr(args, name) != default:
            msg = f"{_SPELT.get(name) or flag_of(name)} does not go with {whose}"
            raise RecipeError(msg)


def _run_parts(args: argparse.Namespace) -> int:
    """Score a table, predict what that takes, or merge its parts."""
    if args.merge is not None:
        return _merge(args)
    from nlgauge.apps import cluster as distributed

    call: dict[str, Any] = {
        "metric": args.metric,
        "columns": None if args.columns is None else distributed.parse_columns(args.columns),
        "shard_rows": args.shard_rows,
        **metric_options(args),
        **{name: value for name, value in run_options(args).items() if name != "progress"},
    }
    if args.dry_run:
        price = {} if args.price is None else {"price": args.price}
        write_output(args.output, _prediction(distributed.dry_run(args.table, **call, **price)))
        return 0
    if args.parts is None:
        msg = "--table needs a folder for the parts (--parts FOLDER), or --dry-run"
        raise RecipeError(msg)
    executor = _executor(args)
    progress = not args.quiet
    run = distributed.score(args.table, args.parts, executor=executor, strict=args.strict, progress=progress, **call)
    return _report(run, args)


def _executor(args: argparse.Namespace) -> Executor:
    from nlgauge.apps.cluster.executors import Local, Ray, Shard

    if args.shard is not None and (args.workers is not None or args.cluster is not None):
        msg = "--shard is one job of many, so that --workers and --cluster do not go with it"
        raise RecipeError(msg)
    if args.shard is not None:
        number, slash, of = args.shard.partition("/")
        if not slash or not number.isdecimal() or not of.isdecimal():
            msg = f"--shard takes K/N, such as 3/64, got {args.shard!r}"
            raise RecipeError(msg)
        return Shard(int(number), int(of), memory=args.worker_memory)
    if args.cluster is not None:
        address = None if args.cluster == "local" else args.cluster
        return Ray(address, workers=args.workers, threads=args.threads or 1, memory=args.worker_memory)
    return Local(1 if args.workers is None else args.workers, memory=args.worker_memory)


def _report(run: Run, args: argparse.Namespace) -> int:
    """What came of it, on stderr; the numbers are in the parts."""
    if run.waiting:
        _print(f"pass 1 of 2 is done here; when it is in all jobs, run them again (parts: {run.folder})")
        return 0
    said = f"{run.done} of {run.shards} shards scored, {run.skipped} were there, in {run.seconds:.0f} s"
    if run.errors:
        said += f"; {run.errors} rows could not be scored and are null, with the reason in column 'error'"
    if not args.quiet:
        _print(said)
    for number, reason in run.failed.items():
        first, last = run.rows_of[number]
        _print(f"error: shard {number} (rows {first} to {last}) failed three times: {reason}")
    if run.failed:
        _print("the rest is done; run the same command again to try these shards once more")
    elif run.complete and not args.quiet:
        _print(f"all parts are there: nlgauge score --merge {args.parts} -o summary.json")
    return 1 if run.failed else 0


def _merge(args: argparse.Namespace) -> int:
    from nlgauge.apps.cluster.merged import merge

    merged = merge(args.merge)
    confidence = None
    if args.confidence:
        confidence = Confidence(level=args.confidence_level, resamples=args.resamples, seed=args.seed)
    if args.format in {None, "json"} and not args.segments and (args.format or args.output.lower().endswith(".json")):
        write_output(args.output, _summary(merged, confidence))
    else:
        saved = args.format is None and args.output.lower().endswith(".json")
        rendered = merged.scores.render(
            "json" if saved else args.format or "text",
            decimals=args.width,
            segments=args.segments,
            confidence=confidence,
            short=args.short,
        )
        write_output(args.output, rendered)
    if merged.errors and not args.quiet:
        count, first = len(merged.errors), merged.errors[0]
        _print(f"{count} of {merged.rows} rows were not scored; the first, id {first.id!r}: {first.error}")
    return 0


def _summary(merged: Merged, confidence: Confidence | None) -> str:
    if confidence is None:
        return merged.text()
    drawn: dict[str, Any] = {"level": confidence.level, "resamples": confidence.resamples, "seed": confidence.seed}
    return merged.text({place: score.interval(**drawn) for place, score in enumerate(merged.scores)})


def _prediction(found: Prediction) -> str:
    from nlgauge.apps.cluster.tasks import clock

    rows: list[list[Cell]] = [
        [one.workers, clock(one.seconds), f"{one.gigabytes:.1f}", f"{one.cost:.3g}"] for one in found.estimates
    ]
    notes = [
        f"from {found.sampled:,} pairs on one thread of this machine: {found.rate:,.0f} pairs/s, models loaded in "
        f"{found.startup:.1f} s",
        f"{found.errors} of the sampled rows cannot be scored; cost at {found.price:g} for a worker and hour",
    ]
    caption = f"{found.pairs:,} pairs in {found.rows:,} rows, {found.shards:,} shards"
    table = Table(["workers", "h:mm:ss", "GB of memory", "cost"], rows, caption=caption, notes=notes)
    return table.to_text()


def _print(text: str) -> None:
    print(f"nlgauge: {text}", file=sys.stderr)
