"""Executors of shards: this process, worker processes, actors of a Ray cluster, or one job of many.

All take shards from one queue, which gives a shard out again where a worker failed, and up after three tries.
A worker process has a pipe; one that dies is replaced. Of Ray this uses core actors, not Ray Data: a pool of Ray Data
that takes every processor leaves none to read with, and waits for ever (ray#44687). Ray starts an actor again that
died, wherever there is room; which shard to try again is decided here.
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

#: How often a shard is tried.
_TRIES = 3


class Tasks:
    """The shards of a pass, in order of work."""

    def __init__(self, shards: Sequence[RowShard], bar: Any = None) -> None:
        self._waiting = deque(shards)
        self._running: dict[int, RowShard] = {}
        self._tries: Counter[int] = Counter()
        self._bar = bar
        self.reports: list[Report] = []
        self.failed: dict[int, str] = {}
        """Shards that were given up, with the last reason."""

    def __bool__(self) -> bool:
        """Whether anything is left to do or under way."""
        return bool(self._waiting or self._running)

    @property
    def waiting(self) -> int:
        """Shards that nobody has taken."""
        return len(self._waiting)

    def take(self) -> RowShard | None:
        """The next shard; None where all are taken, of which some may come back."""
        if not self._waiting:
            return None
        shard = self._waiting.popleft()
        self._running[shard.number] = shard
        return shard

    def settle(self, number: int, outcome: Outcome, *, workers: int) -> None:
        """What became of a shard: a report, the error that ends the run, or the reason why it was not done.

        A shard that was not done comes back behind the others, until it was tried three times.
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
        """A shard was taken and not begun: it is the next one again."""
        self._waiting.appendleft(self._running.pop(number))

    def tell(self, text: str) -> None:
        """Something that whoever watches should know."""
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
        """Workers, until the block ends; they are started when there is something to do."""


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
        """Processes, or this one."""
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

    @contextmanager
    def open(self, job: Job) -> Iterator[Pool]:
        """A connection, and actors."""
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
    """This process, as the only worker."""

    def __init__(self, job: Job) -> None:
        self._worker = LazyWorker(job)

    def run(self, step: Pass, tasks: Tasks) -> None:
        while (shard := tasks.take()) is not None:
            tasks.settle(shard.number, self._worker.run(step, shard.number), workers=1)


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
            tasks.settle(shard, reason, workers=len(self._pool))
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


#: Seconds between looks at what is done, in which an interrupt comes through.
_LOOK_EVERY_SECONDS = 1.0

#: How often a connection is tried where the cluster is there, but not its server for this client.
_CONNECTIONS = 5
#: Ray says so where it does not start that server, and where the server dies while Ray looks at it.
_NO_SERVER = ("Starting Ray client server failed", "ZombieProcess", "NoSuchProcess")

_DIED = "the worker died"

#: What Ray says of an actor that it could not make.
_CANNOT_START = "raised in its creation task"

#: Seconds without any worker after which that is said.
_PATIENCE_SECONDS = 30.0

#: Seconds that an actor which died has to come back.
_RESTART_SECONDS = 120.0


class _Actor(LazyWorker):
    """What runs in an actor."""

    def process(self) -> int:
        """The number of its process."""
        return os.getpid()


class RayPool:
    """Actors that stay from one pass to the next."""

    def __init__(self, ray: Any, job: Job, workers: int | None, threads: int) -> None:
        self._ray, self._job, self._workers, self._threads = ray, job, workers, threads
        self._actors: list[Any] = []

    def run(self, step: Pass, tasks: Tasks) -> None:
        """Do all tasks with as many actors as were asked for, or as the cluster has room for."""
        wanted: dict[str, Any] = {"num_cpus": self._threads, "max_restarts": -1, "max_task_retries": 0}
        if self._job.memory is not None:
            wanted["memory"] = int(self._job.memory * 2**30)
        actor = self._ray.remote(_Actor).options(**wanted)
        room = self._workers or _room_for(self._ray.nodes(), self._threads, wanted.get("memory"))
        while len(self._actors) < min(room, tasks.waiting):
            self._actors.append(actor.remote(self._job))
        run_on_actors(self._ray, self._actors, step, tasks)
        if self._job.memory is not None:  # Ray does not say how an actor ended
            perhaps = f"{_DIED}, perhaps because it passed its bound of memory ({self._job.memory:g} GB)"
            tasks.failed = {shard: perhaps if why == _DIED else why for shard, why in tasks.failed.items()}

    def close(self) -> None:
        """End all actors."""
        for actor in self._actors:
            self._ray.kill(actor)


def run_on_actors(ray: Any, actors: list[Any], step: Any, tasks: Tasks) -> None:
    """Give shards to actors until all are done; an actor that died is given one again when it is back.

    Nor is one given any before it has answered: where the cluster has no room for it, the shard would wait with it.
    """
    idle, busy = list[Any](), dict[Any, tuple[Any, int]]()
    patient_until = time.monotonic() + _PATIENCE_SECONDS
    away = {actor.process.remote(): (actor, time.monotonic()) for actor in actors}
    while tasks:
        while idle and (shard := tasks.take()) is not None:
            actor = idle.pop()
            busy[actor.run.remote(step, shard.number)] = actor, shard.number
        if not busy and not away:
            msg = f"no worker is left on the cluster, and none came back within {_RESTART_SECONDS:g} s; run again"
            raise InputError(msg)
        ready, _ = ray.wait([*busy, *away], num_returns=1, timeout=_LOOK_EVERY_SECONDS)
        if busy or ready:
            patient_until = time.monotonic() + _PATIENCE_SECONDS
        elif time.monotonic() > patient_until:
            patient_until = math.inf
            tasks.tell(f"the cluster has had no room for a worker for {_PATIENCE_SECONDS:g} s; still waiting")
        for reference in ready:
            if reference in away:
                actor, since = away.pop(reference)
                if _outcome(ray, reference) != _DIED:
                    idle.append(actor)
                elif time.monotonic() - since < _RESTART_SECONDS:
                    time.sleep(0.1)
                    away[actor.process.remote()] = actor, since
                continue
            actor, number = busy.pop(reference)
            outcome = _outcome(ray, reference)
            tasks.settle(number, outcome, workers=len(actors) - len(away))
            if outcome == _DIED:
                away[actor.process.remote()] = actor, time.monotonic()
            else:
                idle.append(actor)


def _outcome(ray: Any, reference: Any) -> Any:
    """What an actor sent, or why it did not; an error where actors cannot be made, such as for want of a package."""
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


def _room_for(machines: Sequence[Mapping[str, Any]], threads: int, memory: int | None) -> int:
    """Workers that the machines have room for, each on one machine."""
    there = [machine["Resources"] for machine in machines if machine["Alive"]]
    fitting = [machine.get("CPU", 0) // threads for machine in there]
    if memory:
        fitting = [
            min(most, machine.get("memory", 0) // memory) for most, machine in zip(fitting, there, strict=True)
        ]
    room = int(sum(fitting))
    if not room:
        processors = max((machine.get("CPU", 0) for machine in there), default=0)
        needed, largest = f"{threads} processors", f"{processors:g}"
        if memory:
            most = max((machine.get("memory", 0) for machine in there), default=0)
            needed, largest = f"{needed} and {memory / 2**30:g} GB", f"{largest} and {most / 2**30:.1f} GB"
        msg = (
            f"no machine of the cluster has room for a worker of {needed} (the most: {largest}); ask for less, or "
            "say --workers N to wait for machines that are yet to come"
        )
        raise InputError(msg)
    return room


@contextmanager
def _connect(ray: Any, address: str | None) -> Iterator[None]:
    """A connection of this run, or that of the caller, which then stays."""
    if ray.is_initialized():
        yield
        return
    # A cluster of this machine alone needs no page to be watched on; a client's options are checked by the server.
    options: dict[str, Any] = {"log_to_driver": False}
    if not (address or "").startswith("ray://"):
        options |= {"logging_level": logging.WARNING}
    if address is None:
        options |= {"include_dashboard": False}
    for left in reversed(range(_CONNECTIONS)):
        try:
            ray.init(address=address or "local", **options)
            break
        except (ConnectionError, RuntimeError, ValueError) as error:
            ray.shutdown()
            # Ray forks a server for each client, and now and then that one does not survive its start.
            if left and any(reason in str(error) for reason in _NO_SERVER):
                continue
            reason = " ".join(str(error).split())
            msg = f"no Ray cluster answers at {address!r}: {reason}; docs/cluster.md has what an address looks like"
            raise InputError(msg) from error
    try:
        yield
    finally:
        ray.shutdown()
