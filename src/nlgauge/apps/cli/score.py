"""`nlgauge score`: score text files; with `--table` and `--merge`, score tables of any size in shards.

The modules for shards (docs/cluster.md) are imported only when needed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgauge.apps.cli.common import (
    DocumentOptions,
    MetricOptions,
    OutputOptions,
    TextInputs,
    check_metrics,
    check_systems_first,
    read_columns,
    read_documented_texts,
    report,
    run_options,
    saving,
    scoring_flags,
    scoring_options,
    segment_names,
    write_output,
)
from nlgauge.apps.cli.flags import Command, Flags, flag_of, refuse_flags
from nlgauge.core.kinds import (
    Choice,
    Flag,
    Float,
    Folder,
    InputFile,
    Int,
    Many,
    OutputFile,
    Pattern,
    Text,
    TextColumn,
)
from nlgauge.core.metric import can_read_sources, needs_no_reference
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.score_layout import Confidence
from nlgauge.core.score_table import ScoreTable, digests_of_texts
from nlgauge.core.scoring import Call
from nlgauge.errors import DataWarning, InputError, RecipeError
from nlgauge.io.storage import short_digest
from nlgauge.io.table import Cell, Table
from nlgauge.io.textfiles import file_label
from nlgauge.vectors.remap import METHODS, Origin

if TYPE_CHECKING:
    from nlgauge.apps.cluster.driver import Prediction, Run
    from nlgauge.apps.cluster.executors import Executor

#: Options about segments of text files.
_OF_TEXTS = ("input_format", "document_ids", "unit", "alignments", "citation")

#: Options about printed scores, which a run into parts does not print.
_OF_SCORES = ("segments", "confidence", "format", "output")


@dataclass(frozen=True, kw_only=True)
class ScoreOutput(OptionSet):
    """How scores are shown."""

    segments: bool = option(False, Flag(), help="print the scores of each segment as well")
    confidence: bool = option(False, Flag(), help="print a confidence interval of the mean")
    alignments: bool = option(
        False, Flag(), help="write token alignments (json, with --segments)", needs="segments", hidden=True
    )
    confidence_level: float = option(
        0.95, Float(above=0, below=1), help="confidence level", needs="confidence", hidden=True, metavar="P"
    )
    resamples: int = option(1000, Int(100), help="bootstrap resamples", needs="confidence", hidden=True)
    seed: int = seed_option(needs="confidence")
    citation: bool = option(
        False, Flag(), help="print BibTeX entries of the metrics; without HYP, only these", hidden=True
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions(OptionSet):
    """A re-mapping of the source's vectors, fitted before scoring."""

    fit_on: tuple[str, ...] = option(
        (),
        Many(TextColumn(), least=2, most=2),
        help="fit a re-mapping to these translations, line by line (for languages that the model does not know)",
        metavar="SOURCE TARGET",
        hidden=True,
    )
    fit_method: str = option("clp", Choice(*METHODS), help="re-mapping to fit", needs="fit_on", hidden=True)
    fit_output: str | None = option(
        None, OutputFile(), help="keep the re-mapping (.npz), for transforms=FILE", needs="fit_on", hidden=True
    )


#: An option that `--table` reads.
_table_option = partial(option, needs="table", hidden=True)


@dataclass(frozen=True, kw_only=True)
class TableOptions(OptionSet):
    """A table of any size, scored in shards."""

    table: tuple[str, ...] = option(
        (),
        Many(InputFile()),
        help="input table, instead of HYP and --refs: Parquet, Arrow, JSONL, TSV, parallel text files, patterns or a "
        "dataset folder",
        hidden=True,
    )
    columns: str | None = _table_option(
        None,
        Text("ROLE=NAME,..."),
        help="columns by role: hyp, ref, src, id; a role may be repeated, a name may be a pattern",
        metavar="ROLE=NAME,...",
    )
    parts: str | None = _table_option(None, Folder(), help="output folder; finished parts are reused")
    workers: int | None = _table_option(None, Int(1), help="number of local processes, or of actors with --cluster")
    cluster: str | None = _table_option(
        None,
        Text("the address of a Ray cluster"),
        help="Ray cluster: ray://HEAD:10001, HEAD:6379, auto, local",
        metavar="ADDRESS",
    )
    shard: str | None = _table_option(
        None,
        Pattern(r"\d+/\d+", "K/N, such as 3/64"),
        help="score only the shards of job K of N, such as a Slurm array job",
        metavar="K/N",
    )
    shard_rows: int | None = _table_option(None, Int(1), help="rows per shard", unset="by table size")
    worker_memory: float | None = _table_option(
        None, Float(above=0), help="memory limit per worker in GB", metavar="GB"
    )
    strict: bool = _table_option(False, Flag(), help="stop at the first row that cannot be scored")
    dry_run: bool = _table_option(False, Flag(), help="score 2,000 pairs and estimate time, memory and cost")
    price: float = option(0.05, Float(0), help="price per worker and hour", needs="dry_run", hidden=True)
    merge: str | None = option(
        None, Folder(), help="merge the parts in a folder; -o FILE.json writes a summary", hidden=True
    )


def _run(args: argparse.Namespace) -> int:
    call = check_metrics(args, **run_options(args), alignments=args.alignments)
    if _is_about_parts(args):
        _check_output(args)
        return _score_table(args) if args.merge is None else _merge(args)
    if args.hyps or not args.citation:
        _check(args, call)
    citations = {recipe.name: recipe.citation for recipe in call.recipes}
    if args.citation and not args.hyps:
        write_output(args.output, "\n\n".join(citations.values()) + "\n")
        return 0
    texts, documents = read_documented_texts(args)
    confidence, names = _confidence(args, documents), segment_names(args.hyps, args)
    with _remapped(args, call, texts.sources or ()) if args.fit_on else nullcontext(call) as call:
        scores = call.score(texts.systems, texts.references, sources=texts.sources, names=names)
    scores = replace(scores, texts=digests_of_texts(texts.references, texts.sources))
    whole = args.segments or _is_saved(args)
    _write(args, scores, confidence, segments=whole, citations=citations if args.citation else None)
    if args.citation and args.format in {"tsv", "csv", "latex"}:
        print("\n\n".join(citations.values()), file=sys.stderr)
    return 0


@contextmanager
def _remapped(args: argparse.Namespace, call: Call, sources: Sequence[str]) -> Iterator[Call]:
    """Fit a re-mapping for the metrics, and score with it; the signature has its digest."""
    # Imported here, because scores without it do not need its modules.
    from nlgauge.studies.alignment.from_texts import LinearMethod, fit_for_metric

    source, target = read_columns(args.fit_on)
    if len(source) != len(target):
        msg = f"--fit-on takes translations line by line, got {len(source)} and {len(target)} lines"
        raise InputError(msg)
    shared = len(set(sources) & set(source))
    if shared:
        msg = f"{shared} of the scored sources are also in --fit-on, which makes scores look better; leave them out"
        warnings.warn(msg, DataWarning, stacklevel=2)
    method, origin = LinearMethod(args.fit_method), Origin(note=", ".join(map(file_label, args.fit_on)))
    try:
        fitted = [
            fit_for_metric(recipe, source, target, method, run=call.run, origin=origin) for recipe in call.recipes
        ]
    except RecipeError as error:
        msg = f"--fit-on: {error}"
        raise RecipeError(msg) from error
    if len({single.remapping.digest for single in fitted}) > 1 and args.fit_output:
        msg = "--fit-output keeps one re-mapping, but the metrics compare different vectors; score them separately"
        raise RecipeError(msg)
    with tempfile.TemporaryDirectory() as folder:
        recipes = []
        for number, (recipe, single) in enumerate(zip(call.recipes, fitted, strict=True)):
            path = Path(args.fit_output or Path(folder) / str(number) / f"{args.fit_method}.npz")
            path.parent.mkdir(parents=True, exist_ok=True)
            with saving(str(path)):
                single.remapping.save(path)
            recipes.append(recipe.with_options(transforms=str(path)))
            digest = short_digest(single.remapping.digest)
            report(args, f"{recipe.name}: {args.fit_method} of {single.fitted_on}, {digest}")
        yield call._replace(recipes=recipes)


def _confidence(args: argparse.Namespace, documents: tuple[str, ...] | None = None) -> Confidence | None:
    if not args.confidence:
        return None
    return Confidence(level=args.confidence_level, resamples=args.resamples, seed=args.seed, documents=documents)


def _is_saved(args: argparse.Namespace) -> bool:
    """Whether the output is a saved run, as `nlgauge compare` reads it."""
    return args.format is None and args.output.lower().endswith(".json")


def _write(args: argparse.Namespace, scores: ScoreTable, confidence: Confidence | None, **what: Any) -> None:
    form = args.format or ("json" if _is_saved(args) else "text")
    rendered = scores.render(form, decimals=args.decimals, confidence=confidence, **what)
    write_output(args.output, rendered)


def _check(args: argparse.Namespace, call: Call) -> None:
    check_systems_first(args)
    if not args.hyps or not (args.refs or args.source or needs_no_reference(call.recipes)):
        source = " or a source (--source SRC)" if can_read_sources(call.recipes) else ""
        missing = f"references (--refs REF){source}" if args.hyps else "a system's output (HYP)"
        msg = f"nlgauge score needs {missing}; see 'nlgauge score --help'"
        raise RecipeError(msg)
    if args.alignments and args.format != "json":
        msg = "--alignments needs --segments --format json"
        raise RecipeError(msg)
    _check_output(args)


def _check_output(args: argparse.Namespace) -> None:
    """Refuse conflicting output flags."""
    if args.segments and (args.format == "latex" or (args.format in {"tsv", "csv"} and args.confidence)):
        with_what = "LaTeX" if args.format == "latex" else f"--confidence in a {args.format.upper()}"
        msg = f"segments cannot be combined with {with_what}; use --format json"
        raise RecipeError(msg)
    if not args.confidence and not args.joined:
        refuse_flags(args, ["document_ids"], "works only with --confidence or --unit document; neither was given")


def _is_about_parts(args: argparse.Namespace) -> bool:
    """Whether a command scores a table or merges parts; flags that are not used then are refused."""
    whole = [name for name in ("table", "merge") if name in args.given]
    if len(whole) > 1:
        refuse_flags(args, ["table"], "cannot be combined with --merge; leave one out")
    if not whole:
        return False
    flag = flag_of(whole[0])
    refuse_flags(
        args, (*TextInputs.options(), "fit_on"), f"cannot be combined with {flag}; give files or {flag}, not both"
    )
    if args.merge is None:
        refuse_flags(args, _OF_TEXTS, "cannot be combined with --table, where each row is a segment; leave it out")
        if not args.dry_run:
            refuse_flags(
                args,
                _OF_SCORES,
                "cannot be combined with --table; use it with 'nlgauge score --merge', which shows the scores",
            )
    else:
        refuse_flags(args, _OF_TEXTS, "cannot be combined with --merge, which reads scores, not texts; leave it out")
        scored = (*MetricOptions.options(), "engine", "precision")
        refuse_flags(
            args, scored, "cannot be combined with --merge, because the parts are already scored; leave it out"
        )
    return True


def _score_table(args: argparse.Namespace) -> int:
    """Score a table in shards, or estimate the cost."""
    from nlgauge.apps import cluster as distributed

    progress = not args.quiet
    call: dict[str, Any] = {
        "metric": args.metric,
        "columns": None if args.columns is None else distributed.parse_columns(args.columns),
        "shard_rows": args.shard_rows,
        **{name: value for name, value in scoring_options(args).items() if name != "progress"},
    }
    if args.dry_run:
        write_output(args.output, _format_prediction(distributed.dry_run(args.table, **call, price=args.price)))
        return 0
    if args.parts is None:
        msg = "--table writes its scores in parts: name a folder for them with --parts FOLDER, or use --dry-run"
        raise RecipeError(msg)
    executor = _executor(args)
    run = distributed.score(args.table, args.parts, executor=executor, strict=args.strict, progress=progress, **call)
    return _report_run(run, args)


def _executor(args: argparse.Namespace) -> Executor:
    from nlgauge.apps.cluster.executors import Local, Ray, Shard

    if args.shard is not None and (args.workers is not None or args.cluster is not None):
        msg = "--shard cannot be combined with --workers or --cluster; leave them out"
        raise RecipeError(msg)
    if args.shard is not None:
        number, of = args.shard.split("/")
        return Shard(int(number), int(of), memory=args.worker_memory)
    if args.cluster is not None:
        address = None if args.cluster == "local" else args.cluster
        return Ray(address, workers=args.workers, threads=args.threads or 1, memory=args.worker_memory)
    return Local(1 if args.workers is None else args.workers, memory=args.worker_memory)


def _report_run(run: Run, args: argparse.Namespace) -> int:
    """Print a summary of the run to stderr."""
    if run.waiting:
        _print(f"pass 1 of 2 is complete in this job; when it is in all jobs, run them again (parts: {run.folder})")
        return 0
    counts = f"{run.done} of {run.shards} shards scored, {run.skipped} reused, in {run.seconds:.0f} s"
    if run.errors:
        counts += f"; {run.errors} rows could not be scored; their scores are null, with the reason in column 'error'"
    report(args, f"nlgauge: {counts}")
    for number, reason in run.failed.items():
        first, last = run.rows_of[number]
        _print(f"error: shard {number} (rows {first} to {last}) failed three times: {reason}")
    if run.failed:
        _print("all other shards are complete; to retry these shards, repeat the command")
        return 1
    if run.complete:
        report(
            args,
            f"nlgauge: all parts are complete; merge them: nlgauge score --merge {args.parts} -o summary.json",
        )
    return 0


def _merge(args: argparse.Namespace) -> int:
    from nlgauge.apps.cluster.parts import merge

    merged = merge(args.merge)
    confidence = _confidence(args)
    if (args.format == "json" or _is_saved(args)) and not args.segments:
        intervals = {}
        if confidence is not None:
            drawn: dict[str, Any] = {
                "level": confidence.level,
                "resamples": confidence.resamples,
                "seed": confidence.seed,
            }
            intervals = {i: score.interval(**drawn) for i, score in enumerate(merged.scores)}
        write_output(args.output, merged.text(intervals or None))
    else:
        _write(args, merged.scores, confidence, segments=args.segments)
    if merged.errors:
        count, first = len(merged.errors), merged.errors[0]
        what = f"{count} of {merged.rows} rows were not scored; the first, id {first.id!r}: {first.error}"
        report(args, f"nlgauge: {what}")
    return 0


def _format_prediction(prediction: Prediction) -> str:
    from nlgauge.apps.cluster.driver import clock

    rows: list[list[Cell]] = [
        [estimate.workers, clock(estimate.seconds), f"{estimate.gigabytes:.1f}", f"{estimate.cost:.3g}"]
        for estimate in prediction.estimates
    ]
    notes = [
        f"from {prediction.sampled:,} pairs on one thread of this machine: {prediction.rate:,.0f} pairs/s, models "
        f"loaded in {prediction.startup:.1f} s",
        f"{prediction.errors} of the sampled rows cannot be scored; cost at {prediction.price:g} for a worker "
        "and hour",
    ]
    caption = f"{prediction.pairs:,} pairs in {prediction.rows:,} rows, {prediction.shards:,} shards"
    return Table(["workers", "h:mm:ss", "GB of memory", "cost"], rows, caption=caption, notes=notes).to_text()


def _print(text: str) -> None:
    print(f"nlgauge: {text}", file=sys.stderr)


COMMANDS = {
    "score": Command(
        run=_run,
        flags=(
            Flags(TextInputs),
            *scoring_flags(),
            Flags(FitOptions, "re-mapping of the source"),
            Flags(
                OutputOptions,
                "output",
                without=["plot", "quiet", "verbose"],
                change={"format": {"default": None, "unset": "text"}},
            ),
            Flags(DocumentOptions, "output", without=["documents"]),
            Flags(ScoreOutput, "output"),
            Flags(TableOptions, "large tables, scored in shards (docs/cluster.md)"),
        ),
        usage="HYP ... --refs REF ...",
        examples="""\
  nlgauge score system.txt --refs reference.txt
  nlgauge score a.txt b.txt --refs r1.txt r2.txt -m bertscore:layer=4,idf=refs
  nlgauge score base=a.txt new=out.tsv:mt --refs out.tsv:ref -o run.json
  nlgauge score system.en --source source.de -m sentsim xmoverscore
  nlgauge score --table pairs.parquet --parts folder   # large tables: see --help-all
""",
    )
}
