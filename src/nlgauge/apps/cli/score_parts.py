"""`nlgauge score --table` and `--merge`: tables of any size, in shards (docs/cluster.md)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import flag_of, metric_options, run_options
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.parsing import add_hidden
from nlgauge.errors import RecipeError
from nlgauge.report.scores import Confidence, Format, render
from nlgauge.report.table import Cell, Table

if TYPE_CHECKING:
    from nlgauge.apps.cluster.driver import Run
    from nlgauge.apps.cluster.executors import Executor
    from nlgauge.apps.cluster.merged import Merged, Prediction

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


def add_parts_options(parser: argparse.ArgumentParser) -> None:
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


def is_about_parts(args: argparse.Namespace) -> bool:
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


def run_parts(args: argparse.Namespace) -> int:
    """Score a table, predict what that takes, or merge its parts."""
    if args.merge is not None:
        return _merge(args)
    from nlgauge.apps import cluster as distributed

    call: dict[str, Any] = {
        "metrics": args.metric,
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
        _say(f"pass 1 of 2 is done here; when it is in all jobs, run them again (parts: {run.folder})")
        return 0
    said = f"{run.done} of {run.shards} shards scored, {run.skipped} were there, in {run.seconds:.0f} s"
    if run.errors:
        said += f"; {run.errors} rows could not be scored and are null, with the reason in column 'error'"
    if not args.quiet:
        _say(said)
    for number, reason in run.failed.items():
        first, last = run.rows_of[number]
        _say(f"error: shard {number} (rows {first} to {last}) failed three times: {reason}")
    if run.failed:
        _say("the rest is done; run the same command again to try these shards once more")
    elif run.complete and not args.quiet:
        _say(f"all parts are there: nlgauge score --merge {args.parts} -o summary.json")
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
        form: Format = "json" if saved else args.format or "text"
        rendered = render(
            merged.scores,
            format=form,
            segments=args.segments,
            confidence=confidence,
            width=args.width,
            short=args.short,
        )
        write_output(args.output, rendered)
    if merged.errors and not args.quiet:
        first = merged.errors[0]
        _say(f"{len(merged.errors)} of {merged.rows} rows were not scored; the first, id {first.id!r}: {first.error}")
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


def _say(text: str) -> None:
    print(f"nlgauge: {text}", file=sys.stderr)
