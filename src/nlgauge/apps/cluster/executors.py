"""Executors of shards: this process, worker processes, actors of a Ray cluster, or one of several jobs.

All take shards from a queue, which gives a failed shard at most three tries. Worker processes communicate through
pipes and are replaced when they die. On Ray this uses core actors, not Ray Data: a pool of Ray Data that takes every
processor leaves none for reading, and waits forever (ray#44687). Ray restarts dead actors; this module decides which
shards to try again.
"""

from __future__ import annotations

import contextlib
import logging
import math
import multiprocessing
import os
import pickle
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal, Protocol, TextIO

from nlgauge.apps.cluster.shards import Plan, RowShard, check_count
from nlgauge.apps.cluster.worker import MEMORY_EXIT, Job, LazyWorker, Outcome, Pass, Report
from nlgauge.encoders.load import default_threads
from nlgauge.errors import InputError, NlgaugeError, RecipeError
from nlgauge.io.packages import require
from nlgauge.io.progress import start_progress

#: Maximum number of tries per shard.
_TRIES = 3


class Tasks:
    """Queue of the shards of a pass."""

    def __init__(self, shards: Sequence[RowShard], bar: Any = None) -> None:
        self._waiting = deque(shards)
        self._running: dict[int, RowShard] = {}
        self._tries: Counter[int] = Counter()
        self._bar = bar
        self.reports: list[Report] = []
        self.failed: dict[int, str] = {}
        """Shards that failed in all tries, with the last reason."""

    def __bool__(self) -> bool:
        """Whether any shard is waiting or running."""
        return bool(self._waiting or self._running)

    @property
    def waiting(self) -> int:
        """Number of shards that no worker has taken."""
        return len(self._waiting)

    def take(self) -> RowShard | None:
        """Take the next shard; None if none is waiting now. Failed shards can come back later."""
        if not self._waiting:
            return None
        shard = self._waiting.popleft()
        self._running[shard.number] = shard
        return shard

    def settle(self, number: int, outcome: Outcome, *, workers: int) -> None:
        """Record the outcome of a shard: a report, the error that ends the run, or the reason of a failure.

        A failed shard goes to the end of the queue until it has failed three times.
        """
        if isinstance(outcome, NlgaugeError):
            raise outcome
        shard = self._running.pop(number)
        if isinstance(outcome, str):
            self._tries[number] += 1
            if self._tries[number] < _TRIES:
                self._waiting.append(shard)
            else:
                self.failed[number] = outcome
            return
        self.reports.append(outcome)
        if self._bar is not None:
            self._bar.set_postfix_str(f"{workers} worker{'s' if workers != 1 else ''}", refresh=False)
            self._bar.update(outcome.pairs)

    def give_back(self, number: int) -> None:
        """Put a shard that was taken but not started at the front of the queue."""
        self._waiting.appendleft(self._running.pop(number))

    def show_message(self, text: str) -> None:
        """Show a message above the progress bar."""
        if self._bar is not None:
            self._bar.write(f"{self._bar.desc}: {text}", file=sys.stderr)


def progress_bar(total: int, *, already: int, what: str) -> Any:
    """Show the scored pairs on stderr: a bar on a terminal, and elsewhere plain lines."""
    if not sys.stderr.isatty():
        return _PlainBar(total, already=already, what=what)
    from tqdm import tqdm

    return tqdm(total=total, initial=already, desc=what, unit=" pairs", unit_scale=True, mininterval=0.5)


class _PlainBar:
    """Plain progress lines, with the methods of a tqdm bar that `Tasks` uses."""

    def __init__(self, total: int, *, already: int, what: str) -> None:
        self.desc = what
        self._counter = start_progress(total, what=what, unit="pair", done=already)

    def __enter__(self) -> _PlainBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._counter.close()

    def set_postfix_str(self, _: str, *, refresh: bool) -> None:
        return

    def update(self, pairs: int) -> None:
        self._counter.update(pairs)

    def write(self, text: str, file: TextIO) -> None:
        print(f"nlgauge: {text}", file=file, flush=True)


class Pool(Protocol):
    """Workers of a job. They keep their models between passes."""

    def run(self, step: Pass, tasks: Tasks) -> None:
        """Run all tasks."""


class Executor(ABC):
    """Starts workers that run shards."""

    def shard_numbers(self, plan: Plan) -> set[int]:
        """Numbers of the shards to run: all."""
        return {shard.number for shard in plan.shards}

    @abstractmethod
    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """Open a pool of workers for the block; workers start when there is something to do."""


@dataclass(frozen=True)
class Local(Executor):
    """Processes on this machine; a single one is this process itself.

    Each worker has the number of threads given in the options, or an equal share of the processors.
    """

    workers: int = 1
    memory: float | None = None
    """Memory limit of a worker in GB; a worker above it ends, and its shard is tried again."""

    def __post_init__(self) -> None:
        check_count(self.workers, "workers")
        _check_memory(self.memory)

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """Start processes, or use this one."""
        if self.workers == 1 and self.memory is None:
            return nullcontext(_ThisProcess(job))
        share = job.options.threads or max(1, default_threads() // self.workers)
        options = replace(job.options, threads=share)
        return closing(LocalPool(replace(job, options=options, memory=self.memory), self.workers))


@dataclass(frozen=True)
class Shard(Executor):
    """Job `number` (from 1) of `of` jobs, each with its own shards: a Slurm array, GNU parallel."""

    number: int
    of: int
    memory: float | None = None
    """Memory limit of the job's worker in GB; with a limit it is a separate process, as with `Local`."""

    def __post_init__(self) -> None:
        check_count(self.of, "the number of jobs")
        _check_memory(self.memory)
        if isinstance(self.number, bool) or not isinstance(self.number, int) or not 1 <= self.number <= self.of:
            msg = f"the job number must be from 1 to {self.of}, got {self.number}; for Slurm use --array=1-{self.of}"
            raise RecipeError(msg)

    def shard_numbers(self, plan: Plan) -> set[int]:
        """Numbers of the shards of this job, dealt out longest first to balance jobs."""
        return {shard.number for shard in plan.longest_first[self.number - 1 :: self.of]}

    def open(self, job: Job) -> AbstractContextManager[Pool]:
        """Use this process, or start one."""
        return Local(1, self.memory).open(job)


@dataclass(frozen=True)
class Ray(Executor):
    """Actors of a Ray cluster.

    `address` is `ray://HEAD:10001` (a client outside the cluster), `HEAD:6379` or `auto` (on a machine of the
    cluster), or None for a cluster on this machine that ends with the run. Table and parts must be in a folder shared
    by all machines, and all of them need nlgauge and its models.
    """

    address: str | None = None
    workers: int | None = None
    """Default: as many as fit on the cluster's processors."""
    threads: int = 1
    """Threads per worker."""
    memory: float | None = None
    """Memory limit of a worker in GB, requested from the cluster and enforced."""

    def __post_init__(self) -> None:
        check_count(self.threads, "threads")
        if self.workers is not None:
            check_count(self.workers, "workers")
        _check_memory(self.memory)

    @contextmanager
    def open(self, job: Job) -> Iterator[Pool]:
        """Connect and start actors."""
        threads = job.options.threads or self.threads
        job = replace(job, options=replace(job.options, threads=threads), memory=self.memory)
        ray = require("ray", "cluster")
        with _connect(ray, self.address), closing(RayPool(ray, job, self.workers, threads)) as pool:
            yield pool


def _check_memory(value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
        msg = f"memory must be a number of GB above 0, got {value!r}"
        raise RecipeError(msg)


class _ThisProcess:
    """This process as the only worker."""

    def __init__(self, job: Job) -> None:
        self._worker = LazyWorker(job)

    def run(self, step: Pass, tasks: Tasks) -> None:
        while (shard := tasks.take()) is not None:
            tasks.settle(shard.number, self._worker.run(step, shard.number), workers=1)


#: Maximum number of consecutive workers that die before they are ready.
_FALSE_STARTS = 5


class _Process:
    """A worker process and the driver's end of the pipe."""

    def __init__(self, job: Job) -> None:
        # Not forked: threads of ONNX Runtime do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self.pipe, child_end = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(child_end, job), daemon=True)
        self.process.start()
        child_end.close()
        self.shard: int | None = None
        self.ready = False

    def give(self, step: Pass, shard: int) -> None:
        """Send a shard; a dead process is noticed when its answer is read."""
        self.shard = shard
        with contextlib.suppress(OSError):
            self.pipe.send((step, shard))

    def receive(self) -> Outcome | Literal[True] | None:
        """Receive the outcome of a shard; True if the worker is ready, None if it died."""
        try:
            outcome: Outcome | Literal[True] = self.pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        return outcome

    def why_it_died(self) -> str:
        """Reason why the process died."""
        self.process.join()
        status = self.process.exitcode
        if status == MEMORY_EXIT:
            return "the worker exceeded its memory limit"
        return f"the worker died (status {status})"


class LocalPool:
    """Worker processes that live for all passes."""

    def __init__(self, job: Job, workers: int) -> None:
        self._job, self._workers = job, workers
        self._pool: list[_Process] = []
        self._false_starts = 0

    def run(self, step: Pass, tasks: Tasks) -> None:
        """Run all tasks with the given number of processes, or one per task if there are fewer."""
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
        """Handle the answer or the death of a process; a dead process is replaced."""
        outcome, shard = process.receive(), process.shard
        assert shard is not None
        if outcome is True:
            # A later death is caused by the shard or by the machine.
            process.ready, self._false_starts = True, 0
            return
        process.shard = None
        if outcome is not None:
            tasks.settle(shard, outcome, workers=len(self._pool))
            return
        reason = process.why_it_died()
        if process.ready:
            tasks.settle(shard, reason, workers=len(self._pool))
        else:
            tasks.give_back(shard)
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                msg = (
                    f"workers failed to start after {self._false_starts} attempts: {reason}; in a script, "
                    "put the call below 'if __name__ == \"__main__\":', because each worker imports the script"
                )
                raise InputError(msg)
        self._pool[self._pool.index(process)] = _Process(self._job)
        process.pipe.close()

    def close(self) -> None:
        """Terminate all processes."""
        for process in self._pool:
            process.pipe.close()
            process.process.terminate()
            process.process.join()


def _serve(pipe: Connection, job: Job) -> None:
    """Main loop of a worker process: receive shards and send reports until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the driver's to handle
    with contextlib.suppress(OSError):
        pipe.send(True)
    worker = LazyWorker(job)
    with contextlib.suppress(EOFError, OSError):  # the driver is gone
        while True:
            step, shard = pipe.recv()
            pipe.send(worker.run(step, shard))


#: Seconds between checks of the workers; interrupts are handled in between.
_LOOK_EVERY_SECONDS = 1.0

#: Number of connection attempts if the cluster is up but its server for this client is not.
_CONNECTIONS = 5
#: Errors of Ray when it does not start that server, or when the server dies during start.
_NO_SERVER = ("Starting Ray client server failed", "ZombieProcess", "NoSuchProcess")

_DIED = "the worker died"

#: Ray's message for an actor that could not be created.
_CANNOT_START = "raised in its creation task"

#: Seconds without any worker before a message is shown.
_PATIENCE_SECONDS = 30.0

#: Seconds that a dead actor has for its restart.
_RESTART_SECONDS = 120.0


class _Actor(LazyWorker):
    """Worker inside a Ray actor."""

    def process(self) -> int:
        """Process id."""
        return os.getpid()


class RayPool:
    """Actors that live for all passes."""

    def __init__(self, ray: Any, job: Job, workers: int | None, threads: int) -> None:
        self._ray, self._job, self._workers, self._threads = ray, job, workers, threads
        self._actors: list[Any] = []

    def run(self, step: Pass, tasks: Tasks) -> None:
        """Run all tasks with the given number of actors, or as many as fit on the cluster."""
        resources: dict[str, Any] = {"num_cpus": self._threads, "max_restarts": -1, "max_task_retries": 0}
        if self._job.memory is not None:
            resources["memory"] = int(self._job.memory * 2**30)
        actor = self._ray.remote(_Actor).options(**resources)
        room = self._workers or _count_workers(self._ray.nodes(), self._threads, resources.get("memory"))
        while len(self._actors) < min(room, tasks.waiting):
            self._actors.append(actor.remote(self._job))
        run_on_actors(self._ray, self._actors, step, tasks)
        if self._job.memory is not None:  # Ray does not report why an actor died
            death = f"{_DIED}, perhaps because it exceeded its memory limit ({self._job.memory:g} GB)"
            tasks.failed = {shard: death if reason == _DIED else reason for shard, reason in tasks.failed.items()}

    def close(self) -> None:
        """End all actors."""
        for actor in self._actors:
            self._ray.kill(actor)


def run_on_actors(ray: Any, actors: list[Any], step: Any, tasks: Tasks) -> None:
    """Give shards to actors until all are done; a dead actor gets shards again after its restart.

    An actor gets its first shard when it answers: without room on the cluster, the shard would wait with it.
    """
    idle, busy = list[Any](), dict[Any, tuple[Any, int]]()
    patient_until = time.monotonic() + _PATIENCE_SECONDS
    starting = {actor.process.remote(): (actor, time.monotonic()) for actor in actors}
    while tasks:
        while idle and (shard := tasks.take()) is not None:
            actor = idle.pop()
            busy[actor.run.remote(step, shard.number)] = actor, shard.number
        if not busy and not starting:
            msg = f"all workers on the cluster died and none restarted within {_RESTART_SECONDS:g} s; run again"
            raise InputError(msg)
        ready, _ = ray.wait([*busy, *starting], num_returns=1, timeout=_LOOK_EVERY_SECONDS)
        if busy or ready:
            patient_until = time.monotonic() + _PATIENCE_SECONDS
        elif time.monotonic() > patient_until:
            patient_until = math.inf
            tasks.show_message(f"no free room on the cluster for {_PATIENCE_SECONDS:g} s; still waiting")
        for reference in ready:
            if reference in starting:
                actor, since = starting.pop(reference)
                if _get_outcome(ray, reference) != _DIED:
                    idle.append(actor)
                elif time.monotonic() - since < _RESTART_SECONDS:
                    time.sleep(0.1)
                    starting[actor.process.remote()] = actor, since
                continue
            actor, number = busy.pop(reference)
            outcome = _get_outcome(ray, reference)
            tasks.settle(number, outcome, workers=len(actors) - len(starting))
            if outcome == _DIED:
                starting[actor.process.remote()] = actor, time.monotonic()
            else:
                idle.append(actor)


def _get_outcome(ray: Any, reference: Any) -> Any:
    """Read an actor's answer or the reason of its failure; an error if actors cannot start (a missing package)."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        last_line = str(error).strip().rpartition("\n")[2]
        if not isinstance(error, ray.exceptions.RayActorError):  # raised within the worker
            return last_line
        if _CANNOT_START in str(error):
            msg = f"workers cannot start on the cluster: {last_line}; install the same nlgauge on all its machines"
            raise InputError(msg) from error
        return _DIED


def _count_workers(machines: Sequence[Mapping[str, Any]], threads: int, memory: int | None) -> int:
    """Number of workers that fit on the machines, each on one machine."""
    machines_up = [machine["Resources"] for machine in machines if machine["Alive"]]
    fitting = [machine.get("CPU", 0) // threads for machine in machines_up]
    if memory:
        fitting = [
            min(most, machine.get("memory", 0) // memory) for most, machine in zip(fitting, machines_up, strict=True)
        ]
    room = int(sum(fitting))
    if not room:
        processors = max((machine.get("CPU", 0) for machine in machines_up), default=0)
        needed, largest = f"{threads} processors", f"{processors:g}"
        if memory:
            most = max((machine.get("memory", 0) for machine in machines_up), default=0)
            needed, largest = f"{needed} and {memory / 2**30:g} GB", f"{largest} and {most / 2**30:.1f} GB"
        msg = (
            f"no machine of the cluster has room for a worker with {needed} (largest machine: {largest}); request "
            "less, or use --workers N to wait for more machines"
        )
        raise InputError(msg)
    return room


@contextmanager
def _connect(ray: Any, address: str | None) -> Iterator[None]:
    """Connect for this run, or use the caller's connection and leave it open."""
    if ray.is_initialized():
        yield
        return
    # A cluster on this machine alone needs no dashboard; a client's options are checked by the server.
    options: dict[str, Any] = {"log_to_driver": False}
    if not (address or "").startswith("ray://"):
        options |= {"logging_level": logging.WARNING}
    if address is None:
        options |= {"include_dashboard": False}
    for attempts_left in reversed(range(_CONNECTIONS)):
        try:
            ray.init(address=address or "local", **options)
            break
        except (ConnectionError, RuntimeError, ValueError) as error:
            ray.shutdown()
            # Ray forks a server for each client, and occasionally that server does not survive its start.
            if attempts_left and any(reason in str(error) for reason in _NO_SERVER):
                continue
            reason = " ".join(str(error).split())
            msg = f"no Ray cluster answers at {address!r}: {reason}; docs/cluster.md shows the form of an address"
            raise InputError(msg) from error
    try:
        yield
    finally:
        ray.shutdown()
