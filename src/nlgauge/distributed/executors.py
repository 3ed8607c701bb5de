"""Who does the shards: this process, processes of this machine, a Ray cluster, or one job of many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from nlgauge.distributed.local_pool import local_pool
from nlgauge.distributed.plan import Plan
from nlgauge.distributed.ray_pool import ray_pool
from nlgauge.distributed.rows import reason_of
from nlgauge.distributed.tasks import Tasks
from nlgauge.distributed.work import Job, Pass, Worker, ends_run
from nlgauge.errors import RecipeError

__all__ = ["Executor", "Local", "Pool", "Ray", "Shard"]


class Pool(Protocol):
    """Workers of a job, which keep their models from one pass to the next."""

    def run(self, step: Pass, tasks: Tasks) -> None:
        """Do all tasks."""


class Executor(Protocol):
    """What runs shards somewhere."""

    def own(self, plan: Plan) -> set[int]:
        """Numbers of the shards that are its own to do."""

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """Workers, until the block ends."""


@dataclass(frozen=True)
class Local:
    """Processes of this machine; one alone is this process itself.

    Each worker has as many threads as the run's options name, or an equal share of the processors.
    """

    workers: int = 1
    memory: float | None = None
    """Most that a worker may use, in GB; one that passes it ends, and its shard is tried again."""

    def __post_init__(self) -> None:
        _check(self.workers, "workers")
        _check_memory(self.memory)

    def own(self, plan: Plan) -> set[int]:
        """All."""
        return {shard.number for shard in plan.shards}

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """Processes, started when there is something to do."""
        if self.workers == 1 and self.memory is None:
            return _here(job)
        share = job.options.threads or max(1, _processors() // self.workers)
        options = replace(job.options, threads=share)
        return local_pool(replace(job, options=options, memory=self.memory), self.workers)


@dataclass(frozen=True)
class Shard:
    """Job `number` (from 1) of `of`, each of which does its own shards: an array of Slurm, GNU parallel."""

    number: int
    of: int
    memory: float | None = None
    """Most that the job's worker may use, in GB; it is a process of its own then, as with `Local`."""

    def __post_init__(self) -> None:
        _check(self.of, "the number of jobs")
        _check_memory(self.memory)
        if isinstance(self.number, bool) or not isinstance(self.number, int) or not 1 <= self.number <= self.of:
            msg = f"a job must be one of 1 to {self.of}, got {self.number}; an array of Slurm is --array=1-{self.of}"
            raise RecipeError(msg)

    def own(self, plan: Plan) -> set[int]:
        """Dealt out from the longest on, so that jobs are about equally long."""
        return {shard.number for shard in plan.longest_first[self.number - 1 :: self.of]}

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """This process, or one below it."""
        return Local(1, self.memory).open(job)


@dataclass(frozen=True)
class Ray:
    """Actors of a Ray cluster.

    `address` is `ray://HEAD:10001` (a client from outside), `HEAD:6379` or `auto` (from a machine of the cluster), or
    None for a cluster of this machine that ends with the run. Table and parts must be in a folder that all machines
    share, and nlgauge with its models on all of them.
    """

    address: str | None = None
    workers: int | None = None
    """Default: as many as the cluster has processors for."""
    threads: int = 1
    """Of each worker."""
    memory: float | None = None
    """Most that a worker may use, in GB: asked of the cluster, and kept to."""

    def __post_init__(self) -> None:
        _check(self.threads, "threads")
        if self.workers is not None:
            _check(self.workers, "workers")
        _check_memory(self.memory)

    def own(self, plan: Plan) -> set[int]:
        """All."""
        return {shard.number for shard in plan.shards}

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """A connection, and actors when there is something to do."""
        threads = job.options.threads or self.threads
        job = replace(job, options=replace(job.options, threads=threads), memory=self.memory)
        return ray_pool(job, address=self.address, workers=self.workers, threads=threads)


class _Here:
    """This process, as the only worker."""

    def __init__(self, job: Job) -> None:
        self._worker = Worker(job)

    def run(self, step: Pass, tasks: Tasks) -> None:
        while tasks:
            shard = tasks.take()
            assert shard is not None  # nobody else takes any
            try:
                tasks.done(self._worker.run(step, shard.number), workers=1)
            except Exception as error:
                if ends_run(error):
                    raise
                tasks.fail(shard.number, reason_of(error))


@contextmanager
def _here(job: Job) -> Iterator[Pool]:
    yield _Here(job)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        msg = f"{what} must be a whole number, at least 1, got {value!r}"
        raise RecipeError(msg)


def _check_memory(value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
        msg = f"memory must be a number of GB above 0, got {value!r}"
        raise RecipeError(msg)
