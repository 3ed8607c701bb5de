"""Work on a shard: count (first pass) or score (second pass), and write a file."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from nlgauge.apps.cluster.counts import (
    Counts,
    ShardCounts,
    count_shard,
    needs_table_counts,
    read_counts,
    read_frozen,
    scaled_over_table,
    write_counts,
)
from nlgauge.apps.cluster.parts import Part, PartKey, UnwritableError, part_path, write_part
from nlgauge.apps.cluster.shards import (
    Plan,
    RowShard,
    ShardRows,
    failing_rows,
    may_be_of_a_row,
    read_plan,
    read_rows,
    reason_of,
)
from nlgauge.core.compare import Comparisons, compare
from nlgauge.core.corpus import WholeCorpus
from nlgauge.core.metric import Metric, base_metrics
from nlgauge.core.pipeline import finish
from nlgauge.core.prepare import Prepared, PreparedMetric, prepare
from nlgauge.core.resources import Loaded
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import (
    BaselineError,
    InputError,
    MissingExtraError,
    ModelError,
    NlgaugeError,
    RecipeError,
    SignatureError,
)
from nlgauge.io.large_tables import Table, open_table

#: Exit status of a worker that exceeded its memory limit.
MEMORY_EXIT = 86

_LOOK_EVERY_SECONDS = 0.2

Made = TypeVar("Made")


@dataclass(frozen=True)
class Job:
    """Settings shared by all workers of a run."""

    folder: str
    """Folder with the plan."""
    recipes: tuple[Metric, ...]
    options: RunOptions
    strict: bool = False
    """Whether a row that cannot be scored ends the run."""
    memory: float | None = None
    """Memory limit of a worker in GB."""


class Pass(NamedTuple):
    """A pass over all shards: counting or scoring."""

    stage: Literal["count", "score"]
    expected: tuple[str, ...] = ()
    """Expected recipe parts; empty in the first pass."""
    frozen: str = ""
    """Digest of the counts of the whole table."""


class NotSharedError(InputError):
    """This machine cannot read the table or the plan, so every shard would fail on it."""


class RefusedRowError(InputError):
    """A row that cannot be scored ended a strict run."""


def ends_run(error: Exception) -> bool:
    """Whether an error would recur with every try and shard; other errors may be temporary."""
    machine = (UnwritableError, NotSharedError, ModelError, MissingExtraError)
    return isinstance(error, (*machine, RefusedRowError, RecipeError, BaselineError))


class Report(NamedTuple):
    """Result of a shard."""

    shard: int
    pairs: int
    errors: int
    """Rows that could not be scored."""
    seconds: float
    memory: int
    """Memory in use at the end, in bytes."""


#: Outcome of a shard: a report, the error that ends the run, or the reason to try again.
Outcome: TypeAlias = "Report | NlgaugeError | str"


class Worker:
    """Processes shards of one job in sequence; models stay loaded."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._folder = Path(job.folder)
        plan = read_plan(self._folder)
        if plan is None:
            msg = f"no plan in {job.folder!r} on this machine; put the folder of parts where all machines can read it"
            raise NotSharedError(msg)
        self._plan: Plan = plan
        try:
            self._table: Table = open_table(list(plan.paths))
        except InputError as error:
            msg = f"cannot read the table on this machine: {error}; put it in a folder that all machines can read"
            raise NotSharedError(msg) from error
        self._step: Pass | None = None
        self._counts = Counts()
        self._whole = WholeCorpus(plan.reference_count)

    def _begin(self, step: Pass) -> None:
        """Read the counts, once for all shards of a pass."""
        if step != self._step:
            self._counts = read_frozen(self._folder, step.frozen) if step.frozen else Counts()
            self._whole = self._counts.whole(self._job.recipes, self._job.options, self._plan.reference_count)
            self._step = step

    def run(self, step: Pass, number: int) -> Report:
        """Process a shard and write its file."""
        began = time.perf_counter()
        self._begin(step)
        shard = self._plan.shards[number]
        rows = read_rows(self._table, self._plan.columns, shard)
        errors = self._count(shard, rows) if step.stage == "count" else self._score(shard, rows, step)
        pairs = shard.rows * len(self._plan.columns.systems)
        return Report(number, pairs, errors, time.perf_counter() - began, memory_in_use())

    def _count(self, shard: RowShard, rows: ShardRows) -> int:
        def attempt(chosen: Sequence[int]) -> tuple[Counts, Comparisons]:
            prepared = self._prepare(rows, chosen)
            scaled = [number for number, metric in prepared.compared.items() if scaled_over_table(metric.metric)]
            comparisons = compare(prepared, only=scaled)
            return count_shard(prepared, comparisons), comparisons

        result, scorable, errors = self._run_on_scorable(shard, rows, {}, attempt)
        counts, comparisons = result or (Counts(), Comparisons({}, {}))
        write_counts(self._folder, self._plan, shard, ShardCounts(counts, tuple(scorable), errors, comparisons))
        return len(errors)

    def _score(self, shard: RowShard, rows: ShardRows, step: Pass) -> int:
        counts = None
        if needs_table_counts(self._job.recipes):
            counts = read_counts(self._folder, self._plan, shard, tables=False)

        def attempt(chosen: Sequence[int]) -> list[Score]:
            prepared = self._prepare(rows, chosen)
            reused = Comparisons({}, {}) if counts is None else _select_comparisons(counts, chosen)
            computed = compare(
                prepared, only=[number for number in prepared.compared if number not in reused.by_metric]
            )
            return finish(self._with_bounds(prepared), Comparisons.join([reused, computed]), warn=False)

        scores, _, errors = self._run_on_scorable(shard, rows, {} if counts is None else counts.errors, attempt)
        key = PartKey.of(self._plan, shard, step.expected, step.frozen)
        part = Part(key, rows.ids, errors, tuple(scores or ()))
        write_part(part_path(self._folder, shard), part, self._job.recipes, self._plan.columns.systems)
        return len(errors)

    def _run_on_scorable(
        self,
        shard: RowShard,
        rows: ShardRows,
        previous_errors: Mapping[int, str],
        attempt: Callable[[Sequence[int]], Made],
    ) -> tuple[Made | None, Sequence[int], Mapping[int, str]]:
        """Run an attempt on all rows that can be scored.

        Returns its result (None without such rows), these rows, and the errors of the others. Usually the first
        attempt, with all rows, succeeds.
        """
        errors = rows.unreadable | dict(previous_errors)
        scorable = [row for row in rows.readable if row not in errors]
        self._refuse(shard, rows, errors)
        # Most rows that fail do so before anything is encoded, so checking this first is fast.
        for probe in (lambda chosen: self._prepare(rows, chosen), attempt):
            try:
                return attempt(scorable) if scorable else None, scorable, errors
            except Exception as error:
                if not may_be_of_a_row(error):
                    raise
                failing = failing_rows(scorable, probe)
                if not failing and probe is attempt:
                    raise  # no single row fails, only all together
                self._refuse(shard, rows, failing, error)
                errors |= failing
                scorable = [row for row in scorable if row not in failing]
        return attempt(scorable) if scorable else None, scorable, errors

    def _refuse(
        self, shard: RowShard, rows: ShardRows, errors: Mapping[int, str], error: Exception | None = None
    ) -> None:
        """End the run at a row that cannot be scored, if the run is strict or other rows depend on it."""
        if not errors:
            return
        row, text = min(errors.items())
        location = f"row {shard.start + row}" + (f" (id {rows.ids[row]!r})" if self._plan.columns.id else "")
        if self._job.strict:
            msg = f"{location}: {text}"
            raise RefusedRowError(msg) from error
        for metric in base_metrics(self._job.recipes):
            if isinstance(metric, VectorMetric) and metric.group > 1:
                msg = (
                    f"{location} cannot be scored ({text}), and neighbouring rows depend on it under "
                    f"{metric.transforms}; fix the row, or remove it from the table"
                )
                raise RefusedRowError(msg) from error

    def _prepare(self, rows: ShardRows, chosen: Sequence[int]) -> Prepared:
        corpus = rows.corpus(chosen, self._whole)
        prepared = prepare(self._job.recipes, corpus, self._job.options, warn=False)
        for expected, actual in zip(self._step.expected if self._step else (), recipe_parts(prepared), strict=False):
            if expected != actual:
                differing = Signature.parse(expected).difference(Signature.parse(actual))
                msg = (
                    "the signature on this worker differs from that of the run: "
                    + "; ".join(f"{field.key}: expected {field.left}, got {field.right}" for field in differing)
                    + "; install the same versions and models on all machines"
                )
                raise SignatureError(msg)
        return prepared

    def _with_bounds(self, prepared: Prepared) -> Prepared:
        """Set the ranges of all rows in metrics that are scaled over the table."""
        metrics = list(prepared.metrics)
        for number, bounds in self._counts.bounds.items():
            metric = metrics[number]
            assert isinstance(metric, PreparedMetric)
            loaded = dict(metric.state.loaded) | {"bounds": Loaded("corpus", bounds)}
            metrics[number] = replace(metric, state=replace(metric.state, loaded=loaded))
        return replace(prepared, metrics=tuple(metrics))


class LazyWorker:
    """A worker created with its first shard, so that an error of its machine becomes an outcome."""

    def __init__(self, job: Job) -> None:
        watch_memory(job.memory)
        self._job = job
        self._worker: Worker | None = None

    def run(self, step: Pass, number: int) -> Outcome:
        """Process a shard."""
        try:
            self._worker = self._worker or Worker(self._job)
            return self._worker.run(step, number)
        except Exception as error:
            return error if isinstance(error, NlgaugeError) and ends_run(error) else reason_of(error)


def _select_comparisons(counts: ShardCounts, rows: Sequence[int]) -> Comparisons:
    """Select comparisons of the first pass, numbered by the chosen rows."""
    index_of = {row: number for number, row in enumerate(counts.scored)}
    indices = [index_of[row] for row in rows]
    comparisons = {
        number: {system: dict(enumerate(map(by_row.__getitem__, indices))) for system, by_row in systems.items()}
        for number, systems in counts.comparisons.by_metric.items()
    }
    return Comparisons(counts.comparisons.recipes, comparisons)


def recipe_parts(prepared: Prepared) -> tuple[str, ...]:
    """Recipe parts of the signatures."""
    return tuple(recipe.signature.recipe_part for recipe in prepared.recipes)


def memory_in_use() -> int:
    """Resident memory of this process in bytes."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: peak memory
        try:
            import resource
        except ImportError:  # not Unix: unknown, so memory limits are not enforced
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def watch_memory(gigabytes: float | None) -> None:
    """End this process when it exceeds its limit, before the machine runs out of memory and kills others."""
    if gigabytes is None:
        return

    def look() -> None:
        while memory_in_use() <= gigabytes * 2**30:
            time.sleep(_LOOK_EVERY_SECONDS)
        os._exit(MEMORY_EXIT)

    threading.Thread(target=look, name="memory", daemon=True).start()
