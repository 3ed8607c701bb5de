"""`nlgauge.apps.cluster.score`: a table of any size, in shards, on any executor; `dry_run` predicts what it takes.

The prediction scores a sample here and estimates time, memory and cost for 1, 10 and 100 workers.
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
    looks_at_table,
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
from nlgauge.core.scoring import Metrics, chosen_metrics, resolved_call
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.large_tables import Table, TableGiven, open_table
from nlgauge.io.table import html_table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import TableKeywords

#: Rows with texts that are looked at for one that shows which signature comes out.
_SAMPLED_ROWS = 1000


@dataclass(frozen=True)
class Run:
    """What a call of `score` did."""

    folder: Path
    """With the parts."""
    rows: int
    """Of the table."""
    shards: int
    done: int
    """Shards that this call scored."""
    skipped: int
    """Shards whose parts were there."""
    missing: int
    """Shards that are not there yet: those of other jobs, and those that failed."""
    failed: Mapping[int, str]
    """Shards, by number, that were given up after three tries, with the last reason."""
    rows_of: Mapping[int, tuple[int, int]]
    """The first and the last row of each of them."""
    errors: int
    """Rows that could not be scored, of the shards that this call did."""
    seconds: float
    waiting: bool = False
    """Whether the first pass of other jobs must end before this one can go on: run the same command again then."""

    def _repr_html_(self) -> str:
        names = ("rows", "shards", "done", "skipped", "missing", "errors", "seconds")
        notes = [f"shard {number}: {why}" for number, why in self.failed.items()]
        return html_table(
            names, [[getattr(self, name) for name in names]], caption=str(self.folder), notes=notes, width=1
        )

    @property
    def complete(self) -> bool:
        """Whether all parts are there."""
        return not self.missing


@dataclass(frozen=True)
class Call:
    """What a caller asks for, resolved and checked."""

    table: Table
    columns: Columns
    recipes: tuple[Metric, ...]
    options: RunOptions
    check_signature: SignatureCheck

    def plan(self, folder: Path, shard_rows: int | None) -> Plan:
        """The plan in the folder, if it is of this input and these recipes; else a new one, kept there."""
        digest = input_digest(self.table, self.columns)
        known = read_plan(folder)
        if known is None:
            multiple = max(metric.group for metric in base_metrics(self.recipes))
            plan = make_plan(self.table, self.columns, digest=digest, shard_rows=shard_rows, multiple=multiple)
            plan = replace(plan, recipes=self.signatures(plan, Counts()))
            # Another job may have been quicker, perhaps with another recipe; then its plan holds, and is checked.
            return plan if _write_first(folder / PLAN, plan.content()) else self.plan(folder, shard_rows)
        if known.input != digest:
            msg = (
                f"the input is not the one that the parts in {str(folder)!r} were made of (digest {digest[:12]}, "
                f"then {known.input[:12]}); give another folder to --parts, or the former input and columns"
            )
            raise InputError(msg)
        if shard_rows not in {None, known.shard_rows}:
            msg = f"the parts in {str(folder)!r} are of {known.shards[0].rows} rows; leave out --shard-rows"
            raise InputError(msg)
        now = replace(known, paths=tuple(map(str, self.table.paths)))
        _refuse_other_recipes(known.recipes, self.signatures(now, Counts()), f"the parts in {str(folder)!r}")
        if now != known:  # the input was moved
            write_file(folder / PLAN, now.content())
        return now

    def signatures(self, plan: Plan, counts: Counts, *, check: bool = False) -> tuple[str, ...]:
        """Recipe parts that come out, seen on one row; what is wrong with a recipe is said here."""
        whole = counts.whole(self.recipes, self.options, plan.reference_count)
        wanted = self.check_signature if check else None
        last: InputError | None = None
        rows = (self.columns.texts(row) for _, _, row in self.table.rows(self.columns.names))
        for texts in islice((row for row in rows if isinstance(row, RowTexts)), _SAMPLED_ROWS):
            try:
                corpus = ShardRows(self.columns, ("",), (texts,)).corpus([0], whole)
                return recipe_parts(prepare(self.recipes, corpus, self.options, check_signature=wanted, warn=False))
            except InputError as error:
                last = error
        if last is not None:
            msg = f"none of the first {_SAMPLED_ROWS:,} rows that have texts can be scored; the last of them: {last}"
            raise InputError(msg) from last
        why = next(text for _, _, row in self.table.rows(self.columns.names) if (text := self.columns.texts(row)))
        msg = f"none of the {plan.rows:,} rows can be scored; the first: {why}"
        raise InputError(msg)


def resolve(
    table: TableGiven,
    metric: Metrics | None,
    columns: ColumnsGiven | None,
    shard_rows: int | None,
    options: Mapping[str, Any],
) -> Call:
    """Check what is asked for, before anything is written."""
    if shard_rows is not None:
        check_count(shard_rows, "shard_rows")
    recipes, run, check_signature = resolved_call(chosen_metrics(metric), options)
    if run.alignments:
        msg = "alignments are not kept in parts; score the segments that you want to look at with nlgauge.score"
        raise RecipeError(msg)
    check_countable(recipes)
    opened = open_table(table)
    return Call(
        opened, Columns.choose(columns, opened.names), tuple(recipes), replace(run, progress=False), check_signature
    )


def score(
    table: TableGiven,
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

    Parts that are there already are skipped, so that the same call goes on where an earlier one was stopped.

    Args:
        table: A file (Parquet, Arrow, JSONL, TSV), a folder of a Hugging Face dataset on disk, a pattern of such
            files, or plain text files, which stand side by side: each is a column under its file's name.
        out: Folder of the parts; made where it is not there.
        metric: As in `nlgauge.score_systems`.
        columns: Names of columns by role: `{"hyp": "mt", "ref": ["ref1", "ref2"], "src": "source", "id": "id"}`.
            Several columns of hypotheses are several systems. Names may be patterns (`"sys*"`).
        executor: `Local(8)`, `Ray(address)` or `Shard(3, 64)`; default: this process.
        shard_rows: Rows of a shard; default: by the size of the table, at most 5,000 pairs.
        strict: A row that cannot be scored ends the run; else it becomes null, with the reason beside it.
        progress: A line on stderr.
        options: As in `nlgauge.score`.
    """
    began = time.perf_counter()
    executor = executor or Local()
    call = resolve(table, metric, columns, shard_rows, options)
    folder = _make_folder(out)
    plan = call.plan(folder, shard_rows)
    with executor.open(Job(str(folder), call.recipes, call.options, strict)) as pool:
        driver = _Driver(plan, folder, executor.own(plan), pool, progress)
        counts, frozen = Counts(), ""
        if looks_at_table(call.recipes):
            if not driver.count():
                return driver.result(began, waiting=True)
            counts = freeze(folder, plan)
            frozen = counts.digest
        driver.score(call.signatures(plan, counts, check=True), frozen)
    if input_digest(call.table, call.columns) != plan.input:
        msg = f"the input changed while it was scored; the parts in {str(folder)!r} are of neither, so delete them"
        raise InputError(msg)
    return driver.result(began)


class _Driver:
    """Runs the passes of a call."""

    def __init__(self, plan: Plan, folder: Path, own: set[int], pool: Pool, progress: bool) -> None:
        self._plan, self._folder, self._own, self._pool = plan, folder, own, pool
        self._progress = progress
        self._there: set[int] = set()
        self._tasks = Tasks([])

    def count(self) -> bool:
        """The first pass; whether the counts of all shards are there now, also those of other jobs."""
        self._pass(Pass("count"), self._counted(), "counting")
        return not self._tasks.failed and len(self._counted()) == len(self._plan.shards)

    def score(self, expected: Sequence[str], frozen: str) -> None:
        """The second pass, or the only one."""
        self._there = self._fitting(expected, frozen)
        self._pass(Pass("score", tuple(expected), frozen), self._there, "scoring")

    def result(self, began: float, *, waiting: bool = False) -> Run:
        """What came of it."""
        tasks, shards = self._tasks, self._plan.shards
        done = 0 if waiting else len(tasks.reports)
        return Run(
            folder=self._folder,
            rows=self._plan.rows,
            shards=len(shards),
            done=done,
            skipped=len(self._there & self._own),
            missing=sum(not part_path(self._folder, shard).exists() for shard in shards),
            failed=dict(tasks.failed),
            rows_of={number: (shards[number].start, shards[number].stop - 1) for number in tasks.failed},
            errors=sum(report.errors for report in tasks.reports),
            seconds=time.perf_counter() - began,
            waiting=waiting and not tasks.failed,
        )

    def _pass(self, step: Pass, there: set[int], what: str) -> None:
        systems = len(self._plan.columns.systems)
        own = [shard for shard in self._plan.longest_first if shard.number in self._own]
        left = [shard for shard in own if shard.number not in there]
        total, to_do = (systems * sum(shard.rows for shard in shards) for shards in (own, left))
        show = self._progress and left
        with progress_bar(total, already=total - to_do, what=what) if show else nullcontext() as bar:
            self._tasks = Tasks(left, bar)
            if left:
                self._pool.run(step, self._tasks)

    def _counted(self) -> set[int]:
        shards = self._plan.shards
        return {shard.number for shard in shards if counts_path(self._folder, self._plan, shard).exists()}

    def _fitting(self, expected: Sequence[str], frozen: str) -> set[int]:
        """Shards whose parts are there; a part of another run is refused, and one that is damaged made again."""
        there = set()
        for shard in self._plan.shards:
            path = part_path(self._folder, shard)
            wanted, stored = PartKey.of(self._plan, shard, expected, frozen), stored_key(path)
            if stored is None:
                continue
            if stored != wanted:
                _refuse_other_recipes(stored.recipes, wanted.recipes, repr(path.name))
                pairs = zip(PartKey._fields, stored, wanted, strict=True)
                names = ", ".join(f"{name} {old!r} instead of {new!r}" for name, old, new in pairs if old != new)
                msg = f"{str(path)!r} belongs to another run ({names}); give another folder to --parts"
                raise InputError(msg)
            there.add(shard.number)
        return there


def _write_first(path: Path, content: bytes) -> bool:
    """Write a file unless there is one, whole and in one step; whether this is the one that was written."""
    own = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    write_file(own, content)
    try:
        os.link(own, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: who comes last wins
        write_file(path, content)
    finally:
        own.unlink(missing_ok=True)
    return True


def _refuse_other_recipes(before: Sequence[str], now: Sequence[str], what: str) -> None:
    if tuple(before) == tuple(now):
        return
    fix = "give another folder to --parts, or the former metrics and options"
    names = [[Signature.parse(text).metric for text in texts] for texts in (before, now)]
    if names[0] != names[1]:
        msg = f"{what} are scores of {', '.join(names[0])}, and {', '.join(names[1])} is asked for; {fix}"
        raise InputError(msg)
    for old, new in zip(before, now, strict=True):
        differing = Signature.parse(old).difference(Signature.parse(new))
        if differing:
            fields = "; ".join(f"{field.key}: {field.left}, now {field.right}" for field in differing)
            msg = f"{what} have another signature ({fields}); {fix}"
            raise InputError(msg)


def _make_folder(out: str | PathLike[str]) -> Path:
    folder = Path(out).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"the folder of parts {str(out)!r} cannot be made: {error.strerror or error}"
        raise InputError(msg) from error
    return folder


#: Pairs that are scored to predict with.
SAMPLE_PAIRS = 2000

#: What a worker-hour of one processor costs on large clouds, in dollars, rounded (docs/cluster.md).
PRICE = 0.05

_WORKERS = (1, 10, 100)

#: Stretches of rows that the sample is taken from, spread over the table.
_STRETCHES = 20


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(3725)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class Estimate(NamedTuple):
    """What a run takes on so many workers of one thread."""

    workers: int
    seconds: float
    gigabytes: float
    """Memory of all workers."""
    cost: float


@dataclass(frozen=True)
class Prediction:
    """What a run will take."""

    rows: int
    pairs: int
    shards: int
    sampled: int
    """Pairs that were scored."""
    errors: int
    """Rows of the sample that cannot be scored."""
    rate: float
    """Pairs a second of one worker."""
    startup: float
    """Seconds until a worker has loaded its models."""
    gigabytes: float
    """Memory of a worker."""
    price: float
    """Of a worker for an hour."""
    estimates: tuple[Estimate, ...]

    def _repr_html_(self) -> str:
        caption = f"{self.pairs} pairs in {self.shards} shards, {self.rate:.0f} pairs a second of one worker"
        return html_table(Estimate._fields, self.estimates, caption=caption, width=1)


def dry_run(
    table: TableGiven,
    *,
    metric: Metrics | None = None,
    columns: ColumnsGiven | None = None,
    shard_rows: int | None = None,
    price: float = PRICE,
    workers: Sequence[int] = _WORKERS,
    **options: Unpack[TableKeywords],
) -> Prediction:
    """Score a sample of 2,000 pairs with one thread, spread over the table, and predict; nothing is written.

    `price` is that of a worker for an hour. Other arguments are those of `nlgauge.apps.cluster.score`.
    """
    if not price >= 0:
        msg = f"price must be a number, 0 or more, got {price!r}"
        raise RecipeError(msg)
    call = resolve(table, metric, columns, shard_rows, options)
    call = replace(call, options=replace(call.options, threads=call.options.threads or 1))
    plan = make_plan(call.table, call.columns, digest=input_digest(call.table, call.columns), shard_rows=shard_rows)
    began = time.perf_counter()
    call.signatures(plan, Counts())  # loads the models
    startup = time.perf_counter() - began
    rows = _sample(call.table, call.columns, plan)
    seconds, errors = _timed(call, plan, rows)
    pairs = (len(rows.ids) - errors) * len(call.columns.systems)
    rate = pairs / seconds
    gigabytes = memory_in_use() / 2**30
    estimates = [_estimate(plan, count, rate, startup, gigabytes, price) for count in workers]
    return Prediction(
        plan.rows, plan.pairs, len(plan.shards), pairs, errors, rate, startup, gigabytes, price, tuple(estimates)
    )


def _sample(table: Table, columns: Columns, plan: Plan) -> ShardRows:
    """Rows from stretches all over the table, because its beginning may be unlike the rest."""
    wanted = max(1, SAMPLE_PAIRS // len(columns.systems))
    each = -(-wanted // _STRETCHES)
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


def _timed(call: Call, plan: Plan, rows: ShardRows) -> tuple[float, int]:
    """Seconds for the rows that can be scored, and how many cannot."""
    whole = Counts().whole(call.recipes, call.options, plan.reference_count)

    def prepared(chosen: Sequence[int]) -> Prepared:
        return prepare(call.recipes, rows.corpus(chosen, whole), call.options, warn=False)

    errors = rows.unreadable | failing_rows(rows.readable, prepared)
    scored = [row for row in range(len(rows.texts)) if row not in errors and isinstance(rows.texts[row], RowTexts)]
    if not scored:
        msg = f"none of the {len(rows.texts)} sampled rows can be scored; the first: {next(iter(errors.values()))}"
        raise InputError(msg)
    began = time.perf_counter()
    run = prepared(scored)
    finish(run, compare(run), warn=False)
    seconds = time.perf_counter() - began
    if looks_at_table(call.recipes) and not any(map(scaled_over_table, call.recipes)):
        began = time.perf_counter()
        prepared(scored)  # the first pass counts on the texts of all shards
        seconds += time.perf_counter() - began
    return seconds, len(errors)


def _estimate(plan: Plan, workers: int, rate: float, startup: float, gigabytes: float, price: float) -> Estimate:
    """Shards go to whoever is free, longest first; how long each takes goes by its characters."""
    total = sum(shard.characters for shard in plan.shards) or 1
    per_character = plan.pairs / rate / total
    busy = [0.0] * min(workers, len(plan.shards))
    for shard in plan.longest_first:
        worker = min(range(len(busy)), key=busy.__getitem__)
        busy[worker] += shard.characters * per_character
    seconds = startup + max(busy)
    hours = sum(startup + work for work in busy) / 3600
    return Estimate(workers, seconds, gigabytes * len(busy), hours * price)
