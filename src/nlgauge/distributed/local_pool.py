"""Worker processes of this machine, each with a pipe; one that dies is replaced, and its shard tried again."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from nlgauge.distributed.tasks import Tasks
from nlgauge.distributed.work import MEMORY_EXIT, Job, Report, Stage, Worker, watch_memory
from nlgauge.errors import InputError, NlgaugeError

__all__ = ["run_in_processes"]

#: Workers that may die before they have done anything, one after the other, until the run is given up.
_FALSE_STARTS = 5


class _Failed(NamedTuple):
    """A shard that failed, by no fault of the machine."""

    reason: str


class _Process:
    """A worker process and its end of the pipe."""

    def __init__(self, job: Job, stage: Stage) -> None:
        # Not forked: threads of ONNX Runtime do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(other, job, stage), daemon=True)
        self.process.start()
        other.close()
        self.shard: int | None = None

    def give(self, shard: int) -> None:
        """Send a shard; that the process is gone shows when its answer is read."""
        self.shard = shard
        with contextlib.suppress(OSError):
            self.pipe.send(shard)

    def receive(self) -> Report | _Failed | NlgaugeError | None:
        """Its answer; None where it died."""
        try:
            answer: Report | _Failed | NlgaugeError = self.pipe.recv()
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


def run_in_processes(job: Job, stage: Stage, tasks: Tasks, workers: int) -> None:
    """Do all tasks with so many processes, or as many as there are tasks."""
    pool = [_Process(job, stage) for _ in range(min(workers, tasks.waiting))]
    false_starts = 0
    try:
        while tasks:
            for one in pool:
                if one.shard is None and (shard := tasks.take()) is not None:
                    one.give(shard.number)
            busy = {one.pipe: one for one in pool if one.shard is not None}
            for pipe in wait(list(busy)):
                one = busy[pipe]  # type: ignore[index]  # wait gives back what it was given
                answer, shard_number = one.receive(), one.shard
                assert shard_number is not None
                one.shard = None
                if isinstance(answer, NlgaugeError):
                    raise answer
                if isinstance(answer, Report):
                    false_starts = 0
                    tasks.done(answer, workers=len(pool))
                elif answer is not None:
                    tasks.fail(shard_number, answer.reason)
                else:
                    reason = one.why_it_died()
                    tasks.fail(shard_number, reason)
                    false_starts += 1
                    _give_up(false_starts, reason, done=bool(tasks.reports))
                    pool[pool.index(one)] = _Process(job, stage)
                    one.pipe.close()
    finally:
        for one in pool:
            one.end()


def _give_up(false_starts: int, reason: str, *, done: bool) -> None:
    if false_starts >= _FALSE_STARTS and not done:
        msg = (
            f"no worker comes to work: {reason}, {false_starts} times; in a script, put the call below "
            "'if __name__ == \"__main__\":', because each worker imports the script"
        )
        raise InputError(msg)


def _serve(pipe: Connection, job: Job, stage: Stage) -> None:
    """What a worker process does: shards come in, reports go out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the driver's to handle
    watch_memory(job.memory)
    worker: Worker | None = None
    while True:
        try:
            shard = pipe.recv()
        except (EOFError, OSError):
            return  # the driver is gone
        answer: Report | _Failed | NlgaugeError
        try:
            worker = worker or Worker(job)
            answer = worker.run(stage, shard)
        except NlgaugeError as error:
            answer = error
        except Exception as error:
            answer = _Failed(f"{type(error).__name__}: {error}")
        try:
            pipe.send(answer)
        except OSError:
            return
