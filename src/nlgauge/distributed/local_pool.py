"""Worker processes of this machine, each with a pipe; one that dies is replaced, and its shard tried again."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple, NoReturn

from nlgauge.distributed.rows import reason_of
from nlgauge.distributed.tasks import Tasks
from nlgauge.distributed.work import MEMORY_EXIT, Job, Pass, Report, Worker, ends_run, watch_memory
from nlgauge.errors import InputError, NlgaugeError

__all__ = ["LocalPool", "local_pool"]

#: Workers that may die before they are ready, one after the other, until the run is given up.
_FALSE_STARTS = 5

#: What a worker sends first. One that dies later dies of its shard, or of the machine.
_READY = "ready"


class _Failed(NamedTuple):
    """A shard that failed, by no fault of the machine."""

    reason: str


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

    def receive(self) -> Report | _Failed | NlgaugeError | str | None:
        """Its answer; None where it died."""
        try:
            answer: Report | _Failed | NlgaugeError | str = self.pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        return answer

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.pipe.close()
        self.process.terminate()
        self.process.join()

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
            for one in self._pool:
                if one.shard is None and (shard := tasks.take()) is not None:
                    one.give(step, shard.number)
            busy = {one.pipe: one for one in self._pool if one.shard is not None}
            for pipe in wait(list(busy)):
                self._take_in(busy[pipe], tasks)  # type: ignore[index]  # wait gives back what it was given

    def _take_in(self, one: _Process, tasks: Tasks) -> None:
        """The answer of a process, or its death."""
        answer, shard = one.receive(), one.shard
        assert shard is not None
        if answer == _READY:
            one.ready, self._false_starts = True, 0
            return
        one.shard = None
        if isinstance(answer, NlgaugeError):
            raise answer
        if isinstance(answer, Report):
            tasks.done(answer, workers=len(self._pool))
        elif isinstance(answer, _Failed):
            tasks.fail(shard, answer.reason)
        else:
            self._replace(one, shard, tasks)

    def _replace(self, one: _Process, shard: int, tasks: Tasks) -> None:
        """Start another process in the place of one that died."""
        reason = one.why_it_died()
        if one.ready:
            tasks.fail(shard, reason)
        else:
            tasks.give_back(shard)
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                _give_up(self._false_starts, reason)
        self._pool[self._pool.index(one)] = _Process(self._job)
        one.pipe.close()

    def close(self) -> None:
        """End all processes, whatever they do."""
        for one in self._pool:
            one.end()


@contextmanager
def local_pool(job: Job, workers: int) -> Iterator[LocalPool]:
    """Worker processes, until the block ends."""
    pool = LocalPool(job, workers)
    try:
        yield pool
    finally:
        pool.close()


def _give_up(times: int, reason: str) -> NoReturn:
    msg = (
        f"no worker comes to work: {reason}, {times} times; in a script, put the call below "
        "'if __name__ == \"__main__\":', because each worker imports the script"
    )
    raise InputError(msg)


def _serve(pipe: Connection, job: Job) -> None:
    """What a worker process does: shards come in, reports go out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the driver's to handle
    with contextlib.suppress(OSError):
        pipe.send(_READY)
    watch_memory(job.memory)
    worker: Worker | None = None
    while True:
        try:
            step, shard = pipe.recv()
        except (EOFError, OSError):
            return  # the driver is gone
        answer: Report | _Failed | NlgaugeError
        try:
            worker = worker or Worker(job)
            answer = worker.run(step, shard)
        except Exception as error:
            hopeless = isinstance(error, NlgaugeError) and ends_run(error)
            answer = error if hopeless else _Failed(reason_of(error))  # type: ignore[assignment]  # it is one
        try:
            pipe.send(answer)
        except OSError:
            return
