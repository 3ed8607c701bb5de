"""Executors of shards: this process, worker processes, a Ray cluster (ray_pool.py), or one job of many.

A worker process has a pipe. One that dies is replaced, and its shard is tried again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Literal, Protocol

from nlgauge.apps.cluster.ray_pool import ray_pool
from nlgauge.apps.cluster.shards import Plan, check_count
from nlgauge.apps.cluster.tasks import Tasks
from nlgauge.apps.cluster.worker import MEMORY_EXIT, Job, LazyWorker, Outcome, Pass
from nlgauge.encoders.load import default_threads
from nlgauge.errors import InputError, RecipeError

#: Workers that may die before they are ready, one after the other, until the run is given up.
_FALSE_STARTS = 5


class _Process:
    """A worker process and its end of the pipe."""

    def __init__(self, job: Job) -> None:
        # Not forked: threads of ONNX Runtime do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(other, job), daemon=True)
        self.process.start()
        other.close()
        self.shard: int | None = None
        self.ready = False

    def give(self, step: Pass, shard: int) -> None:
        """Send a shard; that the process is gone shows when its answer is read."""
        self.shard = shard
        with contextlib.suppress(OSError):
            self.pipe.send((step, shard))

    def receive(self) -> Outcome | Literal[True] | None:
        """What became of its shard; True where it is ready, None where it died."""
        try:
            outcome: Outcome | Literal[True] = self.pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        return outcome

    def why_it_died(self) -> str:
        """In words."""
        self.process.join()
        status = self.process.exitcode
        if status == MEMORY_EXIT:
            return "the worker passed its bound of memory"
        return f"the worker died (status {status})"


class LocalPool:
    """Processes that stay from one pass to the next."""

    def __init__(self, job: Job, workers: int) -> None:
        self._job, self._workers = job, workers
        self._pool: list[_Process] = []
        self._false_starts = 0

    def run(self, step: Pass, tasks: Tasks) -> None:
        """Do all tasks with as many processes as were asked for, or as there are tasks."""
        while len(self._pool) < min(self._workers, tasks.waiting):
            self._pool.append(_Process(self._job))
        while tasks:
            for process in self._pool:
                if process.shard is None and (shard := tasks.take()) is not None:
                    process.give(step, shard.number)
            busy = {process.pipe: process for process in self._pool if process.shard is not None}
            for pipe in wait(list(busy)):
                self._take_in(busy[pipe], tasks)  # type: ignore[index]  # wait gives back what it was given

    def _take_in(self, process: _Process, tasks: Tasks) -> None:
        """The answer of a process, or its death; another one is started in the place of one that died."""
        outcome, shard = process.receive(), process.shard
        assert shard is not None
        if outcome is True:
            # One that dies later dies of its shard, or of the machine.
            process.ready, self._false_starts = True, 0
            return
        process.shard = None
        if outcome is not None:
            tasks.settle(shard, outcome, workers=len(self._pool))
            return
        reason = process.why_it_died()
        if process.ready:
            tasks.fail(shard, reason)
        else:
            tasks.give_back(shard)
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                msg = (
                    f"no worker comes to work: {reason}, {self._false_starts} times; in a script, put the call below "
                    "'if __name__ == \"__main__\":', because each worker imports the script"
                )
                raise InputError(msg)
        self._pool[self._pool.index(process)] = _Process(self._job)
        process.pipe.close()

    def close(self) -> None:
        """End all processes, whatever they do."""
        for process in self._pool:
            process.pipe.close()
            process.process.terminate()
            process.process.join()


def _serve(pipe: Connection, job: Job) -> None:
    """What a worker process does: shards come in, reports go out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the driver's to handle
    with contextlib.suppress(OSError):
        pipe.send(True)
    worker = LazyWorker(job)
    with contextlib.suppress(EOFError, OSError):  # the driver is gone
        while True:
            step, shard = pipe.recv()
            pipe.send(worker.run(step, shard))


class Pool(Protocol):
    """Workers of a job, which keep their models from one pass to the next."""

    def run(self, step: Pass, tasks: Tasks) -> None:
        """Do all tasks."""


class Executor(ABC):
    """What runs shards somewhere."""

    def own(self, plan: Plan) -> set[int]:
        """Numbers of the shards that are its own to do: all."""
        return {shard.number for shard in plan.shards}

    @abstractmethod
    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """Workers, until the block ends."""


@dataclass(frozen=True)
class Local(Executor):
    """Processes of this machine; one alone is this process itself.

    Each worker has as many threads as the run's options name, or an equal share of the processors.
    """

    workers: int = 1
    memory: float | None = None
    """Most that a worker may use, in GB; one that passes it ends, and its shard is tried again."""

    def __post_init__(self) -> None:
        check_count(self.workers, "workers")
        _check_memory(self.memory)

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """Processes, started when there is something to do."""
        if self.workers == 1 and self.memory is None:
            return nullcontext(_ThisProcess(job))
        share = job.options.threads or max(1, default_threads() // self.workers)
        options = replace(job.options, threads=share)
        return closing(LocalPool(replace(job, options=options, memory=self.memory), self.workers))


@dataclass(frozen=True)
class Shard(Executor):
    """Job `number` (from 1) of `of`, each of which does its own shards: an array of Slurm, GNU parallel."""

    number: int
    of: int
    memory: float | None = None
    """Most that the job's worker may use, in GB; it is a process of its own then, as with `Local`."""

    def __post_init__(self) -> None:
        check_count(self.of, "the number of jobs")
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
class Ray(Executor):
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
        check_count(self.threads, "threads")
        if self.workers is not None:
            check_count(self.workers, "workers")
        _check_memory(self.memory)

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """A connection, and actors when there is something to do."""
        threads = job.options.threads or self.threads
        job = replace(job, options=replace(job.options, threads=threads), memory=self.memory)
        return ray_pool(job, address=self.address, workers=self.workers, threads=threads)


class _ThisProcess:
    """This process, as the only worker."""

    def __init__(self, job: Job) -> None:
        self._worker = LazyWorker(job)

    def run(self, step: Pass, tasks: Tasks) -> None:
        while (shard := tasks.take()) is not None:
            tasks.settle(shard.number, self._worker.run(step, shard.number), workers=1)


def _check_memory(value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
        msg = f"memory must be a number of GB above 0, got {value!r}"
        raise RecipeError(msg)
