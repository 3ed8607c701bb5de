"""`nlgauge.apps.cluster.score` scores a table of any size in shards; `dry_run` predicts time, memory and cost.

The prediction scores a sample in this process and extrapolates to 1, 10 and 100 workers.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nlgauge.apps.cluster.counts import (
    Counts,
    check_countable,
    counts_path,
    freeze,
    needs_table_counts,
    scaled_over_table,
)
from nlgauge.apps.cluster.executors import Executor, Local, Pool, Tasks, progress_bar
from nlgauge.apps.cluster.parts import PartKey, part_path, stored_key, write_file
from nlgauge.apps.cluster.shards import (
    PLAN,
    Columns,
    ColumnsGiven,
    Plan,
    RowTexts,
    ShardRows,
    check_count,
    failing_rows,
    input_digest,
    make_plan,
    read_plan,
)
from nlgauge.apps.cluster.worker import Job, Pass, memory_in_use, recipe_parts
from nlgauge.core.compare import compare
from nlgauge.core.metric import Metric, base_metrics
from nlgauge.core.pipeline import finish
from nlgauge.core.prepare import Prepared, SignatureCheck, prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import Metrics, metric_list, resolve_call
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.large_tables import Table, TablePaths, open_table
from nlgauge.io.table import html_table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import TableKeywords

#: Maximum number of rows to try for one that determines the signature.
_SAMPLED_ROWS = 1000


@dataclass(frozen=True)
class Run:
    """Summary of a call of `score`."""

    folder: Path
    """Folder of the parts."""
    rows: int
    """Rows of the table."""
    shards: int
    done: int
    """Shards that this call scored."""
    skipped: int
    """Shards whose parts existed before."""
    missing: int
    """Shards without a part: those of other jobs and failed ones."""
    failed: Mapping[int, str]
    """Shards that failed three times, by number, with the last reason."""
    rows_of: Mapping[int, tuple[int, int]]
    """First and last row of each failed shard."""
    errors: int
    """Rows that could not be scored, in the shards of this call."""
    seconds: float
    waiting: bool = False
    """Whether this job waits for the first pass of other jobs; run the same command again after them."""

    def _repr_html_(self) -> str:
        names = ("rows", "shards", "done", "skipped", "missing", "errors", "seconds")
        notes = [f"shard {number}: {reason}" for number, reason in self.failed.items()]
        return html_table(
            names, [[getattr(self, name) for name in names]], caption=str(self.folder), notes=notes, width=1
        )

    @property
    def complete(self) -> bool:
        """Whether all parts exist."""
        return not self.missing


@dataclass(frozen=True)
class Call:
    """Resolved and checked arguments of a call."""

    table: Table
    columns: Columns
    recipes: tuple[Metric, ...]
    options: RunOptions
    check_signature: SignatureCheck

    def plan(self, folder: Path, shard_rows: int | None) -> Plan:
        """Read the plan in the folder if it has this input and these recipes; else write a new one."""
        digest = input_digest(self.table, self.columns)
        stored = read_plan(folder)
        if stored is None:
            multiple = max(metric.group for metric in base_metrics(self.recipes))
            plan = make_plan(self.table, self.columns, digest=digest, shard_rows=shard_rows, multiple=multiple)
            plan = replace(plan, recipes=self.signatures(plan, Counts()))
            # Another job may have written its plan first, perhaps with another recipe; that plan is then checked.
            return plan if _write_first(folder / PLAN, plan.content()) else self.plan(folder, shard_rows)
        if stored.input != digest:
            msg = (
                f"the input differs from that of the parts in {str(folder)!r} (checksum {digest[:12]}, "
                f"expected {stored.input[:12]}); choose another folder with --parts, or the same input and columns"
            )
            raise InputError(msg)
        if shard_rows not in {None, stored.shard_rows}:
            msg = f"the parts in {str(folder)!r} have {stored.shards[0].rows} rows each; omit --shard-rows"
            raise InputError(msg)
        current = replace(stored, paths=tuple(map(str, self.table.paths)))
        _check_same_recipes(stored.recipes, self.signatures(current, Counts()), f"the parts in {str(folder)!r}")
        if current != stored:  # the input was moved
            write_file(folder / PLAN, current.content())
        return current

    def signatures(self, plan: Plan, counts: Counts, *, check: bool = False) -> tuple[str, ...]:
        """Determine the recipe parts of the signatures on one row; this also finds errors in recipes."""
        whole = counts.whole(self.recipes, self.options, plan.reference_count)
        signature_check = self.check_signature if check else None
        last: InputError | None = None
        rows = (self.columns.texts(row) for _, _, row in self.table.rows(self.columns.names))
        for texts in islice((row for row in rows if isinstance(row, RowTexts)), _SAMPLED_ROWS):
            try:
                corpus = ShardRows(self.columns, ("",), (texts,)).corpus([0], whole)
                return recipe_parts(
                    prepare(self.recipes, corpus, self.options, check_signature=signature_check, warn=False)
                )
            except InputError as error:
                last = error
        if last is not None:
            msg = f"none of the first {_SAMPLED_ROWS:,} rows with texts can be scored; the last error: {last}"
            raise InputError(msg) from last
        reason = next(text for _, _, row in self.table.rows(self.columns.names) if (text := self.columns.texts(row)))
        msg = f"none of the {plan.rows:,} rows can be scored; the first error: {reason}"
        raise InputError(msg)


def resolve(
    table: TablePaths,
    metric: Metrics | None,
    columns: ColumnsGiven | None,
    shard_rows: int | None,
    options: Mapping[str, Any],
) -> Call:
    """Check all arguments before anything is written."""
    if shard_rows is not None:
        check_count(shard_rows, "shard_rows")
    recipes, run, check_signature = resolve_call(metric_list(metric), options)
    if run.alignments:
        msg = "parts do not contain alignments; score single segments with nlgauge.score to see theirs"
        raise RecipeError(msg)
    check_countable(recipes)
    opened = open_table(table)
    return Call(
        opened, Columns.choose(columns, opened.names), tuple(recipes), replace(run, progress=False), check_signature
    )


def score(
    table: TablePaths,
    out: str | PathLike[str],
    *,
    metric: Metrics | None = None,
    columns: ColumnsGiven | None = None,
    executor: Executor | None = None,
    shard_rows: int | None = None,
    strict: bool = False,
    progress: bool = False,
    **options: Unpack[TableKeywords],
) -> Run:
    """Score the rows of a table, shard by shard, into a folder of parts; `nlgauge.apps.cluster.merge` joins them.

    Existing parts are skipped, so the same call resumes an interrupted run.

    Args:
        table: A file (Parquet, Arrow, JSONL, TSV), a folder of a Hugging Face dataset on disk, a pattern of such
            files, or plain text files, each of which is a column with the name of its file.
        out: Folder of the parts; created if it does not exist.
        metric: As in `nlgauge.score_systems`.
        columns: Column names by role: `{"hyp": "mt", "ref": ["ref1", "ref2"], "src": "source", "id": "id"}`.
            Each column of hypotheses is a system. Names can be patterns (`"sys*"`).
        executor: `Local(8)`, `Ray(address)` or `Shard(3, 64)`; default: this process.
        shard_rows: Rows per shard; default: depends on the size of the table, at most 5,000 pairs.
        strict: Whether a row that cannot be scored ends the run; else its scores are null and it has an error text.
        progress: Whether to show progress on stderr.
        options: As in `nlgauge.score`.
    """
    began = time.perf_counter()
    executor = executor or Local()
    call = resolve(table, metric, columns, shard_rows, options)
    folder = _make_folder(out)
    plan = call.plan(folder, shard_rows)
    with executor.open(Job(str(folder), call.recipes, call.options, strict)) as pool:
        driver = _Driver(plan, folder, executor.shard_numbers(plan), pool, progress)
        counts, frozen = Counts(), ""
        if needs_table_counts(call.recipes):
            if not driver.count():
                return driver.result(began, waiting=True)
            counts = freeze(folder, plan)
            frozen = counts.digest
        driver.score(call.signatures(plan, counts, check=True), frozen)
    if input_digest(call.table, call.columns) != plan.input:
        msg = f"the input changed during scoring; delete the parts in {str(folder)!r} and run again"
        raise InputError(msg)
    return driver.result(began)


class _Driver:
    """Runs the passes of a call."""

    def __init__(self, plan: Plan, folder: Path, numbers: set[int], pool: Pool, progress: bool) -> None:
        self._plan, self._folder, self._numbers, self._pool = plan, folder, numbers, pool
        self._progress = progress
        self._finished: set[int] = set()
        self._tasks = Tasks([])

    def count(self) -> bool:
        """Run the first pass; return whether the counts of all shards exist, including those of other jobs."""
        self._pass(Pass("count"), self._counted_shards(), "counting")
        return not self._tasks.failed and len(self._counted_shards()) == len(self._plan.shards)

    def score(self, expected: Sequence[str], frozen: str) -> None:
        """Run the second pass, or the only one."""
        self._finished = self._find_finished(expected, frozen)
        self._pass(Pass("score", tuple(expected), frozen), self._finished, "scoring")

    def result(self, began: float, *, waiting: bool = False) -> Run:
        """Summarise the run."""
        tasks, shards = self._tasks, self._plan.shards
        scored = 0 if waiting else len(tasks.reports)
        return Run(
            folder=self._folder,
            rows=self._plan.rows,
            shards=len(shards),
            done=scored,
            skipped=len(self._finished & self._numbers),
            missing=sum(not part_path(self._folder, shard).exists() for shard in shards),
            failed=dict(tasks.failed),
            rows_of={number: (shards[number].start, shards[number].stop - 1) for number in tasks.failed},
            errors=sum(report.errors for report in tasks.reports),
            seconds=time.perf_counter() - began,
            waiting=waiting and not tasks.failed,
        )

    def _pass(self, step: Pass, finished: set[int], label: str) -> None:
        systems = len(self._plan.columns.systems)
        own_shards = [shard for shard in self._plan.longest_first if shard.number in self._numbers]
        remaining = [shard for shard in own_shards if shard.number not in finished]
        total, to_do = (systems * sum(shard.rows for shard in shards) for shards in (own_shards, remaining))
        show = self._progress and remaining
        with progress_bar(total, already=total - to_do, what=label) if show else nullcontext() as bar:
            self._tasks = Tasks(remaining, bar)
            if remaining:
                self._pool.run(step, self._tasks)

    def _counted_shards(self) -> set[int]:
        shards = self._plan.shards
        return {shard.number for shard in shards if counts_path(self._folder, self._plan, shard).exists()}

    def _find_finished(self, expected: Sequence[str], frozen: str) -> set[int]:
        """Find shards with a valid part; a part of another run is an error, a damaged one is scored again."""
        finished = set()
        for shard in self._plan.shards:
            path = part_path(self._folder, shard)
            expected_key, stored = PartKey.of(self._plan, shard, expected, frozen), stored_key(path)
            if stored is None:
                continue
            if stored != expected_key:
                _check_same_recipes(stored.recipes, expected_key.recipes, repr(path.name))
                pairs = zip(PartKey._fields, stored, expected_key, strict=True)
                names = ", ".join(f"{name} is {old!r}, expected {new!r}" for name, old, new in pairs if old != new)
                msg = f"{str(path)!r} belongs to another run ({names}); choose another folder with --parts"
                raise InputError(msg)
            finished.add(shard.number)
        return finished


def _write_first(path: Path, content: bytes) -> bool:
    """Write a file atomically unless it exists; return whether it was written."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    write_file(temporary, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: the last writer wins
        write_file(path, content)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _check_same_recipes(old_recipes: Sequence[str], new_recipes: Sequence[str], location: str) -> None:
    if tuple(old_recipes) == tuple(new_recipes):
        return
    fix = "choose another folder with --parts, or use the same metrics and options"
    names = [[Signature.parse(text).metric for text in texts] for texts in (old_recipes, new_recipes)]
    if names[0] != names[1]:
        msg = f"{location}: scores of {', '.join(names[0])}, but this run has {', '.join(names[1])}; {fix}"
        raise InputError(msg)
    for old, new in zip(old_recipes, new_recipes, strict=True):
        differing = Signature.parse(old).difference(Signature.parse(new))
        if differing:
            fields = "; ".join(f"{field.key}: {field.left}, now {field.right}" for field in differing)
            msg = f"{location}: different signature ({fields}); {fix}"
            raise InputError(msg)


def _make_folder(out: str | PathLike[str]) -> Path:
    folder = Path(out).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot create the folder of parts {str(out)!r}: {error.strerror or error}"
        raise InputError(msg) from error
    return folder


#: Number of pairs to score for a prediction.
SAMPLE_PAIRS = 2000

#: Price of a worker-hour of one processor on large clouds, in dollars, rounded (docs/cluster.md).
PRICE = 0.05

_WORKERS = (1, 10, 100)

#: Number of places in the table from which the sample is taken.
_STRETCHES = 20


def clock(seconds: float) -> str:
    """Format a duration as hours, minutes and seconds.

    >>> clock(3725)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class Estimate(NamedTuple):
    """Time, memory and cost of a run with this number of single-threaded workers."""

    workers: int
    seconds: float
    gigabytes: float
    """Memory of all workers."""
    cost: float


@dataclass(frozen=True)
class Prediction:
    """Predicted time, memory and cost of a run."""

    rows: int
    pairs: int
    shards: int
    sampled: int
    """Number of scored pairs."""
    errors: int
    """Rows of the sample that cannot be scored."""
    rate: float
    """Pairs per second of one worker."""
    startup: float
    """Seconds until a worker has loaded its models."""
    gigabytes: float
    """Memory of one worker."""
    price: float
    """Price of a worker-hour."""
    estimates: tuple[Estimate, ...]

    def _repr_html_(self) -> str:
        caption = f"{self.pairs} pairs in {self.shards} shards, {self.rate:.0f} pairs per second and worker"
        return html_table(Estimate._fields, self.estimates, caption=caption, width=1)


def dry_run(
    table: TablePaths,
    *,
    metric: Metrics | None = None,
    columns: ColumnsGiven | None = None,
    shard_rows: int | None = None,
    price: float = PRICE,
    workers: Sequence[int] = _WORKERS,
    **options: Unpack[TableKeywords],
) -> Prediction:
    """Score a sample of 2,000 pairs from all over the table with one thread, and predict; nothing is written.

    `price` is that of a worker-hour. Other arguments are those of `nlgauge.apps.cluster.score`.
    """
    if not price >= 0:
        msg = f"price must be 0 or more, got {price!r}"
        raise RecipeError(msg)
    call = resolve(table, metric, columns, shard_rows, options)
    call = replace(call, options=replace(call.options, threads=call.options.threads or 1))
    plan = make_plan(call.table, call.columns, digest=input_digest(call.table, call.columns), shard_rows=shard_rows)
    began = time.perf_counter()
    call.signatures(plan, Counts())  # loads the models
    startup = time.perf_counter() - began
    rows = _sample_rows(call.table, call.columns, plan)
    seconds, errors = _measure(call, plan, rows)
    pairs = (len(rows.ids) - errors) * len(call.columns.systems)
    rate = pairs / seconds
    gigabytes = memory_in_use() / 2**30
    estimates = [_estimate_run(plan, count, rate, startup, gigabytes, price) for count in workers]
    return Prediction(
        plan.rows, plan.pairs, len(plan.shards), pairs, errors, rate, startup, gigabytes, price, tuple(estimates)
    )


def _sample_rows(table: Table, columns: Columns, plan: Plan) -> ShardRows:
    """Sample rows from several places of the table, because its beginning may differ from the rest."""
    size = max(1, SAMPLE_PAIRS // len(columns.systems))
    each = -(-size // _STRETCHES)
    starts = [plan.shards[len(plan.shards) * stretch // _STRETCHES] for stretch in range(_STRETCHES)]
    texts = []
    for shard in dict.fromkeys(starts):
        take = each * starts.count(shard)
        texts += [
            columns.texts(row)
            for _, (_, _, row) in zip(
                range(min(take, shard.rows)), table.rows(columns.names, shard.source, shard.mark), strict=False
            )
        ]
    return ShardRows(columns, ("",) * len(texts), tuple(texts))


def _measure(call: Call, plan: Plan, rows: ShardRows) -> tuple[float, int]:
    """Measure the seconds for the rows that can be scored; also return the number of those that cannot."""
    whole = Counts().whole(call.recipes, call.options, plan.reference_count)

    def prepared(chosen: Sequence[int]) -> Prepared:
        return prepare(call.recipes, rows.corpus(chosen, whole), call.options, warn=False)

    errors = rows.unreadable | failing_rows(rows.readable, prepared)
    scorable = [row for row in range(len(rows.texts)) if row not in errors and isinstance(rows.texts[row], RowTexts)]
    if not scorable:
        msg = f"none of the {len(rows.texts)} sampled rows can be scored; first error: {next(iter(errors.values()))}"
        raise InputError(msg)
    began = time.perf_counter()
    run = prepared(scorable)
    finish(run, compare(run), warn=False)
    seconds = time.perf_counter() - began
    if needs_table_counts(call.recipes) and not any(map(scaled_over_table, call.recipes)):
        began = time.perf_counter()
        prepared(scorable)  # the first pass counts on the texts of all shards
        seconds += time.perf_counter() - began
    return seconds, len(errors)


def _estimate_run(plan: Plan, workers: int, rate: float, startup: float, gigabytes: float, price: float) -> Estimate:
    """Simulate workers that take shards, longest first; the time of a shard is proportional to its characters."""
    total = sum(shard.characters for shard in plan.shards) or 1
    per_character = plan.pairs / rate / total
    busy = [0.0] * min(workers, len(plan.shards))
    for shard in plan.longest_first:
        worker = min(range(len(busy)), key=busy.__getitem__)
        busy[worker] += shard.characters * per_character
    seconds = startup + max(busy)
    hours = sum(startup + work for work in busy) / 3600
    return Estimate(workers, seconds, gigabytes * len(busy), hours * price)
