"""The work on a shard: count (first pass) or score (second pass), and write a file."""

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
    looks_at_table,
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

#: Status of a worker that ended itself because it had passed its bound of memory.
MEMORY_EXIT = 86

_LOOK_EVERY_SECONDS = 0.2

Made = TypeVar("Made")


@dataclass(frozen=True)
class Job:
    """What all workers of a run are told."""

    folder: str
    """With the plan in it."""
    recipes: tuple[Metric, ...]
    options: RunOptions
    strict: bool = False
    """A row that cannot be scored ends the run."""
    memory: float | None = None
    """Most that a worker may use, in GB."""


class Pass(NamedTuple):
    """What is done with every shard: counting on it, or scoring it."""

    stage: Literal["count", "score"]
    expected: tuple[str, ...] = ()
    """Recipe parts that must come out; empty in the first pass."""
    frozen: str = ""
    """Digest of what was counted on the whole table."""


class NotSharedError(InputError):
    """This machine does not see the table or the plan, so that it would fail every shard that it takes."""


class RefusedRowError(InputError):
    """A row that cannot be scored, in a run that ends there."""


def ends_run(error: Exception) -> bool:
    """Whether an error is no better at the next try, nor at the next shard; others may be a matter of the moment."""
    machine = (UnwritableError, NotSharedError, ModelError, MissingExtraError)
    return isinstance(error, (*machine, RefusedRowError, RecipeError, BaselineError))


class Report(NamedTuple):
    """What became of a shard."""

    shard: int
    pairs: int
    errors: int
    """Rows that could not be scored."""
    seconds: float
    memory: int
    """Bytes in use when it was done."""


#: What becomes of a shard: a report, the error that ends the run, or the reason why it must be tried again.
Outcome: TypeAlias = "Report | NlgaugeError | str"


class Worker:
    """Does shards of one job, one after the other; models stay loaded between them."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._folder = Path(job.folder)
        plan = read_plan(self._folder)
        if plan is None:
            msg = f"there is no plan in {job.folder!r} on this machine; the folder of parts must be shared by all"
            raise NotSharedError(msg)
        self._plan: Plan = plan
        try:
            self._table: Table = open_table(list(plan.paths))
        except InputError as error:
            msg = f"the table cannot be read on this machine: {error}; it must be in a folder that all share"
            raise NotSharedError(msg) from error
        self._step: Pass | None = None
        self._counts = Counts()
        self._whole = WholeCorpus(plan.reference_count)

    def _begin(self, step: Pass) -> None:
        """Read what was counted, once for all shards of a pass."""
        if step != self._step:
            self._counts = read_frozen(self._folder, step.frozen) if step.frozen else Counts()
            self._whole = self._counts.whole(self._job.recipes, self._job.options, self._plan.reference_count)
            self._step = step

    def run(self, step: Pass, number: int) -> Report:
        """Do a shard and write its file."""
        began = time.perf_counter()
        self._begin(step)
        shard = self._plan.shards[number]
        rows = read_rows(self._table, self._plan.columns, shard)
        errors = self._count(shard, rows) if step.stage == "count" else self._score(shard, rows, step)
        pairs = shard.rows * len(self._plan.columns.systems)
        return Report(number, pairs, errors, time.perf_counter() - began, memory_in_use())

    def _count(self, shard: RowShard, rows: ShardRows) -> int:
        def attempt(chosen: Sequence[int]) -> tuple[Counts, Comparisons]:
            prepared = self._prepared(rows, chosen)
            scaled = [number for number, one in prepared.compared.items() if scaled_over_table(one.metric)]
            comparisons = compare(prepared, only=scaled)
            return count_shard(prepared, comparisons), comparisons

        result, scored, errors = self._of_scorable(shard, rows, {}, attempt)
        counts, comparisons = result or (Counts(), Comparisons({}, {}))
        write_counts(self._folder, self._plan, shard, ShardCounts(counts, tuple(scored), errors, comparisons))
        return len(errors)

    def _score(self, shard: RowShard, rows: ShardRows, step: Pass) -> int:
        counted = None
        if looks_at_table(self._job.recipes):
            counted = read_counts(self._folder, self._plan, shard, tables=False)

        def attempt(chosen: Sequence[int]) -> list[Score]:
            prepared = self._prepared(rows, chosen)
            known = Comparisons({}, {}) if counted is None else _chosen(counted, chosen)
            rest = compare(prepared, only=[number for number in prepared.compared if number not in known.by_metric])
            return finish(self._with_bounds(prepared), Comparisons.join([known, rest]), warn=False)

        scores, _, errors = self._of_scorable(shard, rows, {} if counted is None else counted.errors, attempt)
        key = PartKey.of(self._plan, shard, step.expected, step.frozen)
        part = Part(key, rows.ids, errors, tuple(scores or ()))
        write_part(part_path(self._folder, shard), part, self._job.recipes, self._plan.columns.systems)
        return len(errors)

    def _of_scorable(
        self, shard: RowShard, rows: ShardRows, known: Mapping[int, str], attempt: Callable[[Sequence[int]], Made]
    ) -> tuple[Made | None, Sequence[int], Mapping[int, str]]:
        """An attempt at all rows that can be scored, None where there are none; these rows, and errors of the others.

        Most often the first attempt, at all rows there are, is the one.
        """
        errors = rows.unreadable | dict(known)
        scored = [row for row in rows.readable if row not in errors]
        self._refuse(shard, rows, errors)
        # Most rows that fail do so before anything is encoded, where they are found in no time.
        for look in (lambda chosen: self._prepared(rows, chosen), attempt):
            try:
                return attempt(scored) if scored else None, scored, errors
            except Exception as error:
                if not may_be_of_a_row(error):
                    raise
                failing = failing_rows(scored, look)
                if not failing and look is attempt:
                    raise  # all rows together, but none of them alone
                self._refuse(shard, rows, failing, error)
                errors |= failing
                scored = [row for row in scored if row not in failing]
        return attempt(scored) if scored else None, scored, errors

    def _refuse(
        self, shard: RowShard, rows: ShardRows, errors: Mapping[int, str], error: Exception | None = None
    ) -> None:
        """End the run at a row that cannot be scored, where it was asked for, or where others depend on it."""
        if not errors:
            return
        row, text = min(errors.items())
        named = f"row {shard.start + row}" + (f" (id {rows.ids[row]!r})" if self._plan.columns.id else "")
        if self._job.strict:
            msg = f"{named}: {text}"
            raise RefusedRowError(msg) from error
        for metric in base_metrics(self._job.recipes):
            if isinstance(metric, VectorMetric) and metric.group > 1:
                msg = (
                    f"{named} cannot be scored ({text}), and under {metric.transforms} the rows around it depend on "
                    "it; mend the row, or take it out of the table"
                )
                raise RefusedRowError(msg) from error

    def _prepared(self, rows: ShardRows, chosen: Sequence[int]) -> Prepared:
        corpus = rows.corpus(chosen, self._whole)
        prepared = prepare(self._job.recipes, corpus, self._job.options, warn=False)
        for asked, got in zip(self._step.expected if self._step else (), recipe_parts(prepared), strict=False):
            if asked != got:
                differing = Signature.parse(asked).difference(Signature.parse(got))
                msg = (
                    "this worker would score otherwise than the run asks for: "
                    + "; ".join(f"{field.key}: asked {field.left}, got {field.right}" for field in differing)
                    + "; install the same versions and models on all machines"
                )
                raise SignatureError(msg)
        return prepared

    def _with_bounds(self, prepared: Prepared) -> Prepared:
        """Metrics that are scaled over the table, with the ranges of all rows in the place of those at hand."""
        metrics = list(prepared.metrics)
        for number, bounds in self._counts.bounds.items():
            metric = metrics[number]
            assert isinstance(metric, PreparedMetric)
            loaded = dict(metric.state.loaded) | {"bounds": Loaded("corpus", bounds)}
            metrics[number] = replace(metric, state=replace(metric.state, loaded=loaded))
        return replace(prepared, metrics=tuple(metrics))


class LazyWorker:
    """A worker that is made with its first shard, so that what is wrong on its machine is an outcome too."""

    def __init__(self, job: Job) -> None:
        watch_memory(job.memory)
        self._job = job
        self._worker: Worker | None = None

    def run(self, step: Pass, number: int) -> Outcome:
        """Do a shard."""
        try:
            self._worker = self._worker or Worker(self._job)
            return self._worker.run(step, number)
        except Exception as error:
            return error if isinstance(error, NlgaugeError) and ends_run(error) else reason_of(error)


def _chosen(counted: ShardCounts, chosen: Sequence[int]) -> Comparisons:
    """Comparisons of the first pass, numbered by the rows that are scored now."""
    place = {row: number for number, row in enumerate(counted.scored)}
    places = [place[row] for row in chosen]
    comparisons = {
        number: {system: dict(enumerate(map(by_row.__getitem__, places))) for system, by_row in systems.items()}
        for number, systems in counted.comparisons.by_metric.items()
    }
    return Comparisons(counted.comparisons.recipes, comparisons)


def recipe_parts(prepared: Prepared) -> tuple[str, ...]:
    """Recipe parts of the signatures that come out."""
    return tuple(recipe.signature.recipe_part for recipe in prepared.recipes)


def memory_in_use() -> int:
    """Bytes of this process that are in memory."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no Linux: the most it ever was
        try:
            import resource
        except ImportError:  # nor any Unix: not known, and a bound of memory is not kept to
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def watch_memory(gigabytes: float | None) -> None:
    """End this process when it passes its bound, before the machine runs out and ends others."""
    if gigabytes is None:
        return

    def look() -> None:
        while memory_in_use() <= gigabytes * 2**30:
            time.sleep(_LOOK_EVERY_SECONDS)
        os._exit(MEMORY_EXIT)

    threading.Thread(target=look, name="memory", daemon=True).start()
