"""Workers as actors of a Ray cluster. Core actors, not Ray Data: a pool of Ray Data that takes every processor leaves
none to read with, and waits for ever (ray#44687).

Ray starts an actor again that died, wherever there is room. Which shard to try again is decided here, so that one
that kills every worker is given up after three tries as anywhere else.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nlgauge.distributed.packages import package
from nlgauge.distributed.tasks import Tasks
from nlgauge.distributed.work import Job, Report, Stage, Worker, watch_memory
from nlgauge.errors import InputError, NlgaugeError

__all__ = ["run_on_ray"]

#: Seconds between looks at what is done, in which an interrupt comes through.
_LOOK_EVERY_SECONDS = 1.0

#: Seconds that an actor which died has to come back.
_RESTART_SECONDS = 120.0


class _Actor:
    """What runs in an actor."""

    def __init__(self, job: Job, stage: Stage) -> None:
        watch_memory(job.memory)
        self._job, self._stage = job, stage
        self._worker: Worker | None = None

    def process(self) -> int:
        """The number of its process."""
        return os.getpid()

    def run(self, shard: int) -> Report | NlgaugeError:
        """Do a shard; what is said in words comes back as it is."""
        try:
            self._worker = self._worker or Worker(self._job)
            return self._worker.run(self._stage, shard)
        except NlgaugeError as error:
            return error


def run_on_ray(
    job: Job, stage: Stage, tasks: Tasks, *, address: str | None, workers: int | None, threads: int
) -> None:
    """Do all tasks with actors of the cluster."""
    ray = package("ray")
    with _connected(ray, address):
        count = min(workers or _room_for(ray, threads), tasks.waiting)
        wanted: dict[str, Any] = {"num_cpus": threads, "max_restarts": -1, "max_task_retries": 0}
        if job.memory is not None:
            wanted["memory"] = int(job.memory * 2**30)
        actor = ray.remote(_Actor).options(**wanted)
        run_on_actors(ray, [actor.remote(job, stage) for _ in range(count)], tasks)


def run_on_actors(ray: Any, actors: list[Any], tasks: Tasks) -> None:
    """Give shards to actors until all are done; an actor that died is given one again when it is back."""
    idle, busy, away = list(actors), dict[Any, tuple[Any, int]](), dict[Any, tuple[Any, float]]()
    try:
        while tasks:
            while idle and (shard := tasks.take()) is not None:
                actor = idle.pop()
                busy[actor.run.remote(shard.number)] = actor, shard.number
            if not busy and not away:
                msg = f"no worker is left on the cluster, and none came back within {_RESTART_SECONDS:g} s; run again"
                raise InputError(msg)
            ready, _ = ray.wait([*busy, *away], num_returns=1, timeout=_LOOK_EVERY_SECONDS)
            for reference in ready:
                if reference in away:
                    _welcome(ray, reference, away, idle)
                    continue
                actor, number = busy.pop(reference)
                answer = _answer(ray, reference)
                if isinstance(answer, NlgaugeError):
                    raise answer
                if isinstance(answer, Report):
                    idle.append(actor)
                    tasks.done(answer, workers=len(actors) - len(away))
                else:
                    tasks.fail(number, answer)
                    away[actor.process.remote()] = actor, time.monotonic()
    finally:
        for actor in actors:
            ray.kill(actor)


def _answer(ray: Any, reference: Any) -> Report | NlgaugeError | str:
    """What an actor sent, or why it did not."""
    try:
        answer: Report | NlgaugeError = ray.get(reference)
    except ray.exceptions.RayActorError:
        return "the worker died"
    except ray.exceptions.RayError as error:  # raised within the worker; the last line has what it was
        return str(error).strip().rpartition("\n")[2]
    return answer


def _welcome(ray: Any, reference: Any, away: dict[Any, tuple[Any, float]], idle: list[Any]) -> None:
    """An actor that was away answers again, or is asked once more."""
    actor, since = away.pop(reference)
    try:
        ray.get(reference)
    except ray.exceptions.RayActorError:
        if _has_time(since):
            time.sleep(0.1)
            away[actor.process.remote()] = actor, since
    else:
        idle.append(actor)


def _has_time(since: float) -> bool:
    return time.monotonic() - since < _RESTART_SECONDS


def _room_for(ray: Any, threads: int) -> int:
    processors = int(ray.cluster_resources().get("CPU", 0))
    if processors < threads:
        msg = f"the cluster has {processors} processors, and a worker needs {threads}"
        raise InputError(msg)
    return processors // threads


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """A connection of this run, or that of the caller, which then stays."""
    if ray.is_initialized():
        yield
        return
    try:
        ray.init(address=address or "local", logging_level=logging.WARNING, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        msg = f"no Ray cluster answers at {address!r}: {reason}; docs/cluster.md has what an address looks like"
        raise InputError(msg) from error
    try:
        yield
    finally:
        ray.shutdown()
