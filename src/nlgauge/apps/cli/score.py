"""`nlgauge score`: scores of text files, as a signed table; with `--table` and `--merge`, of tables of any size.

Large tables are scored in shards (docs/cluster.md). What runs them is imported only then.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.argument_checks import check_metrics
from nlgauge.apps.cli.common import (
    METRIC_FLAGS,
    DocumentOptions,
    MetricOptions,
    OutputOptions,
    TextInputs,
    add_scoring_options,
    check_documents,
    joined_texts,
    metric_options,
    read_documents,
    read_texts,
    read_unit,
    run_options,
    scoring_options,
)
from nlgauge.apps.cli.flags import add_flags, flag_of, refuse_flags
from nlgauge.apps.cli.outputs import write_output
from nlgauge.apps.cli.parsing import AddParser
from nlgauge.core.kinds import Flag, Float, Folder, InputFile, Int, Many, Pattern, Text
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.core.score_layout import Confidence
from nlgauge.core.score_table import digests_of_texts
from nlgauge.core.scoring import score_systems
from nlgauge.errors import RecipeError
from nlgauge.io.table import Cell, Table

if TYPE_CHECKING:
    from nlgauge.apps.cluster.driver import Run
    from nlgauge.apps.cluster.executors import Executor
    from nlgauge.apps.cluster.merged import Merged, Prediction

#: Options about segments that are read from files.
_OF_TEXTS = ("input_format", "document_ids", "unit", "alignments", "citation")

#: Options about scores, which a run into parts does not print.
_OF_SCORES = ("segments", "confidence", "short", "format", "output")


@dataclass(frozen=True, kw_only=True)
class ScoreOutput(OptionSet):
    """What is shown of the scores."""

    segments: bool = option(False, Flag(), help="scores of each segment too")
    confidence: bool = option(False, Flag(), help="confidence interval of the mean (t or bootstrap)")
    alignments: bool = option(
        False, Flag(), help="token alignments (json, with --segments)", needs="segments", hidden=True
    )
    confidence_level: float = option(
        0.95, Float(above=0, below=1), help="confidence level", needs="confidence", hidden=True, metavar="P"
    )
    resamples: int = option(1000, Int(100), help="bootstrap resamples", needs="confidence", hidden=True)
    seed: int = seed_option(needs="confidence")
    short: bool = option(False, Flag(), help="short signature", hidden=True)
    citation: bool = option(False, Flag(), help="BibTeX of the metrics; alone, print only that", hidden=True)


@dataclass(frozen=True, kw_only=True)
class TableOptions(OptionSet):
    """A table of any size, scored in shards."""

    table: tuple[str, ...] = option(
        (),
        Many(InputFile()),
        help="instead of HYP and --refs: Parquet, Arrow, JSONL, TSV, text files side by side, patterns, a dataset",
        hidden=True,
    )
    columns: str | None = option(
        None,
        Text("ROLE=NAME,..."),
        help="hyp=NAME,ref=NAME,src=NAME,id=NAME; a role may be repeated, a name may be a pattern",
        needs="table",
        hidden=True,
        metavar="ROLE=NAME,...",
    )
    parts: str | None = option(
        None, Folder(), help="output folder; finished parts are reused", needs="table", hidden=True
    )
    workers: int | None = option(
        None, Int(1), help="local processes, or actors with --cluster", needs="table", hidden=True
    )
    cluster: str | None = option(
        None,
        Text("the address of a Ray cluster"),
        help="Ray cluster: ray://HEAD:10001, HEAD:6379, auto, local",
        needs="table",
        hidden=True,
        metavar="ADDRESS",
    )
    shard: str | None = option(
        None,
        Pattern(r"\d+/\d+", "K/N, such as 3/64"),
        help="job K of N, such as of a Slurm array: score only its shards",
        needs="table",
        hidden=True,
        metavar="K/N",
    )
    shard_rows: int | None = option(
        None, Int(1), help="rows per shard", unset="by the table's size", needs="table", hidden=True
    )
    worker_memory: float | None = option(
        None, Float(above=0), help="memory limit of a worker in GB", needs="table", hidden=True, metavar="GB"
    )
    strict: bool = option(
        False, Flag(), help="stop at the first row that cannot be scored", needs="table", hidden=True
    )
    dry_run: bool = option(
        False, Flag(), help="score 2,000 pairs and predict time, memory and cost", needs="table", hidden=True
    )
    price: float = option(0.05, Float(0), help="price of a worker per hour", needs="dry_run", hidden=True)
    merge: str | None = option(
        None, Folder(), help="merge the parts of a folder; -o FILE.json: a summary", hidden=True
    )


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
    add_flags(parser, TextInputs)
    add_scoring_options(parser)
    output = add_flags(
        parser,
        OutputOptions,
        title="output",
        without=["plot", "quiet"],
        change={"format": {"default": None, "unset": "text"}},
    )
    add_flags(output, DocumentOptions, without=["documents"])
    add_flags(output, ScoreOutput)
    add_flags(parser, TableOptions, title="tables of any size, in shards (docs/cluster.md)")
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
        **scoring_options(args),
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
    if args.alignments and args.format != "json":
        msg = "--alignments is part of the JSON of segments: add --segments --format json"
        raise RecipeError(msg)
    _check_output(args)


def _check_output(args: argparse.Namespace) -> None:
    """Refuse flags about the output that do not go together."""
    if args.segments and (args.format == "latex" or (args.format in {"tsv", "csv"} and args.confidence)):
        with_what = "LaTeX" if args.format == "latex" else f"--confidence in a {args.format.upper()}"
        msg = f"segments do not go with {with_what}; use --format json"
        raise RecipeError(msg)
    if not args.confidence and not args.joined:
        refuse_flags(args, ["document_ids"], "belongs to --confidence or to --unit document; neither was given")


def check_systems_first(args: argparse.Namespace, *, command: str) -> None:
    """`--refs r.txt a.txt` takes the system for a reference."""
    if args.hyps or not args.refs or len(args.refs) < 2:
        return
    *references, system = args.refs
    took = " and ".join(map(repr, args.refs))
    msg = f"--refs took {took}; put the systems first: nlgauge {command} {system} --refs {' '.join(references)}"
    raise RecipeError(msg)


def _is_about_parts(args: argparse.Namespace) -> bool:
    """Whether a command scores a table or merges parts; flags that mean nothing there are refused."""
    whole = [name for name in ("table", "merge") if name in args.given]
    if len(whole) > 1:
        refuse_flags(args, ["table"], "does not go with --merge")
    if not whole:
        return False
    refuse_flags(args, TextInputs.options(), f"does not go with {flag_of(whole[0])}")
    if args.merge is None:
        refuse_flags(args, _OF_TEXTS, "does not go with --table, where each row is a segment by itself")
        if not args.dry_run:
            refuse_flags(args, _OF_SCORES, "does not go with --table; 'nlgauge score --merge' shows the scores")
    else:
        refuse_flags(args, _OF_TEXTS, "does not go with --merge, which reads scores and no texts")
        scored = (*MetricOptions.options(), "engine", "precision")
        refuse_flags(args, scored, "does not go with --merge: the parts are scored already")
    return True


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
        write_output(args.output, _prediction(distributed.dry_run(args.table, **call, price=args.price)))
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
        number, of = args.shard.split("/")
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
    from nlgauge.apps.cluster.merged import clock

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
