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

from nlgauge.apps.cluster.tasks import Tasks
from nlgauge.apps.cluster.worker import Job, LazyWorker, Pass
from nlgauge.errors import InputError
from nlgauge.io.packages import require

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
        asked, found = f"{threads} processors", f"{processors:g}"
        if memory:
            most = max((machine.get("memory", 0) for machine in there), default=0)
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
            if left and any(reason in str(error) for reason in _NO_SERVER):
                continue
            reason = " ".join(str(error).split())
            msg = f"no Ray cluster answers at {address!r}: {reason}; docs/cluster.md has what an address looks like"
            raise InputError(msg) from error
    try:
        yield
    finally:
        ray.shutdown()
