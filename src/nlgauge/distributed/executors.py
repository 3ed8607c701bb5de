"""Who does the shards: this process, processes of this machine, a Ray cluster, or one job of many."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Protocol

from nlgauge.distributed.local_pool import run_in_processes
from nlgauge.distributed.plan import Plan
from nlgauge.distributed.ray_pool import run_on_ray
from nlgauge.distributed.tasks import Tasks
from nlgauge.distributed.work import Job, Stage, Worker
from nlgauge.errors import NlgaugeError, RecipeError

__all__ = ["Executor", "Local", "Ray", "Shard"]


class Executor(Protocol):
    """What runs shards somewhere."""

    def own(self, plan: Plan) -> set[int]:
        """Numbers of the shards that are its own to do."""

    def run(self, job: Job, stage: Stage, tasks: Tasks) -> None:
        """Do all tasks."""


@dataclass(frozen=True)
class Local:
    """Processes of this machine; one alone is this process itself.

    Each worker has `threads` threads: those that the run's options name, or an equal share of the processors.
    """

    workers: int = 1
    memory: float | None = None
    """Most that a worker may use, in GB; one that passes it ends, and its shard is tried again."""

    def __post_init__(self) -> None:
        _check(self.workers, "workers")
        _check_memory(self.memory)

    def own(self, plan: Plan) -> set[int]:
        return {shard.number for shard in plan.shards}

    def run(self, job: Job, stage: Stage, tasks: Tasks) -> None:
        job = replace(job, memory=self.memory)
        if self.workers == 1 and self.memory is None:
            run_here(job, stage, tasks)
            return
        if job.options.threads is None:
            share = max(1, _processors() // self.workers)
            job = replace(job, options=replace(job.options, threads=share))
        run_in_processes(job, stage, tasks, self.workers)


@dataclass(frozen=True)
class Shard:
    """Job `number` (from 1) of `of`, each of which does its own shards: an array of Slurm, GNU parallel."""

    number: int
    of: int

    def __post_init__(self) -> None:
        _check(self.of, "the number of jobs")
        if not isinstance(self.number, int) or not 1 <= self.number <= self.of:
            msg = f"a job must be one of 1 to {self.of}, got {self.number}; an array of Slurm is --array=1-{self.of}"
            raise RecipeError(msg)

    def own(self, plan: Plan) -> set[int]:
        # Dealt out from the longest on, so that jobs are equally long.
        return {shard.number for shard in plan.longest_first[self.number - 1 :: self.of]}

    def run(self, job: Job, stage: Stage, tasks: Tasks) -> None:
        run_here(job, stage, tasks)


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
        return {shard.number for shard in plan.shards}

    def run(self, job: Job, stage: Stage, tasks: Tasks) -> None:
        options = replace(job.options, threads=job.options.threads or self.threads)
        job = replace(job, options=options, memory=self.memory)
        run_on_ray(job, stage, tasks, address=self.address, workers=self.workers, threads=options.threads or 1)


def run_here(job: Job, stage: Stage, tasks: Tasks) -> None:
    """Do the tasks one after the other in this process."""
    worker = Worker(job)
    while tasks:
        shard = tasks.take()
        assert shard is not None  # nobody else takes any
        try:
            tasks.done(worker.run(stage, shard.number), workers=1)
        except NlgaugeError:
            raise  # said in words, and no better at the next try
        except Exception as error:
            tasks.fail(shard.number, f"{type(error).__name__}: {error}")


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
