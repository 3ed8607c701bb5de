"""Workers as actors of a Ray cluster. Core actors, not Ray Data: a pool of Ray Data that takes every processor leaves
none to read with, and waits for ever (ray#44687).

Ray starts an actor again that died, wherever there is room. Which shard to try again is decided here, so that one
that kills every worker is given up after three tries as anywhere else.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nlgauge.apps.cluster.shards import reason_of
from nlgauge.apps.cluster.tasks import Tasks
from nlgauge.apps.cluster.worker import Job, Pass, Report, Worker, ends_run, watch_memory
from nlgauge.errors import InputError, NlgaugeError
from nlgauge.io.packages import require

#: Seconds between looks at what is done, in which an interrupt comes through.
_LOOK_EVERY_SECONDS = 1.0

#: How often a connection is tried where the cluster is there, but not its server for this client.
_CONNECTIONS = 5
_NO_SERVER = "Starting Ray client server failed"

_DIED = "the worker died"

#: What Ray says of an actor that it could not make.
_CANNOT_START = "raised in its creation task"

#: Seconds without any worker after which that is said.
_PATIENCE_SECONDS = 30.0

#: Seconds that an actor which died has to come back.
_RESTART_SECONDS = 120.0


class _Actor:
    """What runs in an actor."""

    def __init__(self, job: Job) -> None:
        watch_memory(job.memory)
        self._job = job
        self._worker: Worker | None = None

    def process(self) -> int:
        """The number of its process."""
        return os.getpid()

    def run(self, step: Pass, shard: int) -> Report | NlgaugeError | str:
        """Do a shard; or the error that ends the run, or the reason why the shard must be tried again."""
        try:
            self._worker = self._worker or Worker(self._job)
            return self._worker.run(step, shard)
        except Exception as error:
            return error if isinstance(error, NlgaugeError) and ends_run(error) else reason_of(error)


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
            tasks.failed = {at: perhaps if why == _DIED else why for at, why in tasks.failed.items()}

    def close(self) -> None:
        """End all actors."""
        for actor in self._actors:
            self._ray.kill(actor)


@contextmanager
def ray_pool(job: Job, *, address: str | None, workers: int | None, threads: int) -> Iterator[RayPool]:
    """Actors of a cluster, until the block ends."""
    ray = require("ray", "cluster")
    with _connected(ray, address):
        pool = RayPool(ray, job, workers, threads)
        try:
            yield pool
        finally:
            pool.close()


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
                _welcome(ray, reference, away, idle)
                continue
            actor, number = busy.pop(reference)
            answer = _answer(ray, reference)
            if isinstance(answer, NlgaugeError):
                raise answer
            if isinstance(answer, Report):
                tasks.done(answer, workers=len(actors) - len(away))
            else:
                tasks.fail(number, answer)
            if answer == _DIED:
                away[actor.process.remote()] = actor, time.monotonic()
            else:
                idle.append(actor)


def _answer(ray: Any, reference: Any) -> Report | NlgaugeError | str:
    """What an actor sent, or why it did not."""
    try:
        answer: Report | NlgaugeError | str = ray.get(reference)
    except ray.exceptions.RayActorError as error:
        _refuse_unable(error)
        return _DIED
    except ray.exceptions.RayError as error:  # raised within the worker; the last line has what it was
        return str(error).strip().rpartition("\n")[2]
    return answer


def _welcome(ray: Any, reference: Any, away: dict[Any, tuple[Any, float]], idle: list[Any]) -> None:
    """An actor that was away answers, or is asked once more."""
    actor, since = away.pop(reference)
    try:
        ray.get(reference)
    except ray.exceptions.RayActorError as error:
        _refuse_unable(error)
        if _has_time(since):
            time.sleep(0.1)
            away[actor.process.remote()] = actor, since
    else:
        idle.append(actor)


def _refuse_unable(error: Exception) -> None:
    """Say so where actors cannot be made at all, such as for want of a package."""
    if _CANNOT_START in str(error):
        cause = str(error).strip().rpartition("\n")[2]
        msg = f"workers cannot start on the cluster: {cause}; install the same nlgauge on all its machines"
        raise InputError(msg) from error


def _has_time(since: float) -> bool:
    return time.monotonic() - since < _RESTART_SECONDS


def _room_for(machines: Sequence[Mapping[str, Any]], threads: int, memory: int | None) -> int:
    """Workers that the machines have room for, each on one machine."""
    there = [one["Resources"] for one in machines if one["Alive"]]
    fitting = [one.get("CPU", 0) // threads for one in there]
    if memory:
        fitting = [min(most, one.get("memory", 0) // memory) for most, one in zip(fitting, there, strict=True)]
    room = int(sum(fitting))
    if not room:
        processors = max((one.get("CPU", 0) for one in there), default=0)
        asked, found = f"{threads} processors", f"{processors:g}"
        if memory:
            most = max((one.get("memory", 0) for one in there), default=0)
            asked, found = f"{asked} and {memory / 2**30:g} GB", f"{found} and {most / 2**30:.1f} GB"
        msg = (
            f"no machine of the cluster has room for a worker of {asked} (the most: {found}); ask for less, or say "
            "--workers N to wait for machines that are yet to come"
        )
        raise InputError(msg)
    return room


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
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
            if left and _NO_SERVER in str(error):
                continue
            reason = " ".join(str(error).split())
            msg = f"no Ray cluster answers at {address!r}: {reason}; docs/cluster.md has what an address looks like"
            raise InputError(msg) from error
    try:
        yield
    finally:
        ray.shutdown()
