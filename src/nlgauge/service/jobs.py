"""The thread that works through the queue of jobs, one after the other."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass

from nlgauge.encoders.host import hosted
from nlgauge.engine.interrupts import watched
from nlgauge.errors import NlgaugeError
from nlgauge.service.calls import Caller
from nlgauge.service.inference import InferenceThread, before_batch
from nlgauge.service.library_jobs import ALL_KINDS
from nlgauge.service.monitoring import Monitor, log
from nlgauge.service.problems import ProblemError, library_problem
from nlgauge.service.settings import Limits
from nlgauge.service.store import Job, JobStore

__all__ = ["JobRunner", "Progress"]

#: Seconds between two looks for results that are too old.
_EXPIRY = 600.0

#: Seconds that a job has to see that it is to stop.
_LAST_WAIT = 5.0

#: Seconds to wait after the queue itself has failed.
_PAUSE = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    done: int = 0
    total: int | None = None
    unit: str = "segments"


class _StoppedError(Exception):
    """The job is to stop; the state that it ends in."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class _Running:
    """The job at hand."""

    def __init__(self, name: str, caller: Caller) -> None:
        self.name = name
        self.caller = caller
        self.progress = Progress()
        self.stop_as = ""
        """The state to stop in, once it is to stop."""
        self._tokens = 0

    def check(self) -> None:
        """Stop here where the job is to stop."""
        if self.stop_as:
            raise _StoppedError(self.stop_as)

    def advance(self, done: int, total: int | None, unit: str) -> None:
        """Say how far the job is."""
        self.check()
        self.progress = Progress(done, total, unit)

    def count(self, tokens: int) -> None:
        """Count what is encoded, for work that does not know how much it is."""
        self.check()
        self._tokens += tokens
        if self.progress.total is None:
            self.progress = Progress(self._tokens, None, "tokens")


class JobRunner:
    """Takes jobs from the store and runs them; what they encode goes through the inference thread."""

    def __init__(
        self, store: JobStore, inference: InferenceThread, caller: Caller, monitor: Monitor, limits: Limits
    ) -> None:
        self._store = store
        self._inference = inference
        self._caller = caller
        self._monitor = monitor
        self._limits = limits
        self._changed = threading.Condition()
        self._stopping = False
        self._current: _Running | None = None
        self._expired = -_EXPIRY
        self._thread = threading.Thread(target=self._run, name="nlgauge-jobs", daemon=True)

    def start(self) -> None:
        """Start to work."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Take no further job; the one at hand may end within the time, or is interrupted."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)
        current = self._current
        if current is None:
            return
        current.stop_as = "interrupted"
        self._thread.join(_LAST_WAIT)
        if self._thread.is_alive():  # a single text may keep a metric for minutes
            self._store.end(current.name, "interrupted")

    def submit(self, kind: str, request: bytes) -> Job:
        """Queue a job, if there is room."""
        with self._changed:
            queued = self._store.queued()
            if queued >= self._limits.queued_jobs:
                raise ProblemError(429, f"{queued} jobs wait already", kind="queue-full", retry_after=10)
            job = self._store.add(kind, request)
            self._changed.notify_all()
        return job

    def cancel(self, name: str) -> Job:
        """Cancel a job that has not ended; a running one stops before its next batch or pair."""
        if self._store.end(name, "cancelled", before=("queued",)):
            self._monitor.jobs.labels(self._store.need(name).kind, "cancelled").inc()
        current = self._current
        if current is not None and current.name == name:
            current.stop_as = "cancelled"
        return self._store.need(name)

    def progress(self, job: Job) -> Progress:
        """How far a job is."""
        current = self._current
        return current.progress if current is not None and current.name == job.id else Progress()

    def _run(self) -> None:
        while True:
            try:
                if not self._step():
                    return
            except Exception:  # such as a full disk: the next job may have more luck
                log.exception("the queue of jobs has failed; it goes on")
                time.sleep(_PAUSE)
            finally:
                self._current = None

    def _step(self) -> bool:
        """Run the next job, or wait for one; whether there may be another."""
        if time.monotonic() - self._expired > _EXPIRY:
            self._expire()
        with self._changed:
            if self._stopping:
                return False
            taken = self._store.take()
            if taken is None:
                self._changed.wait(_EXPIRY)
                return True
            job, request = taken
            self._current = _Running(job.id, self._caller)
        self._work(job, request, self._current)
        return True

    def _work(self, job: Job, request: bytes, running: _Running) -> None:
        start = time.monotonic()
        state, problem, results = "failed", None, None
        token = before_batch.set(running.count)
        try:
            with hosted(self._inference), watched(running.check):
                results = ALL_KINDS[job.kind](request, running)
            state = "done"
        except _StoppedError as stopped:
            state = stopped.state
        except NlgaugeError as error:
            problem = library_problem(error)
        except ProblemError as error:
            problem = error
        except Exception:
            log.exception("a job failed", extra={"fields": {"job": job.id}})
            problem = ProblemError(
                500, "something went wrong inside; the log of the service says what", kind="failed"
            )
        finally:
            before_batch.reset(token)
        told = None if problem is None else json.dumps(problem.to_dict())
        self._store.end(job.id, state, results=results, problem=told)
        self._monitor.jobs.labels(job.kind, state).inc()
        fields = {"job": job.id, "kind": job.kind, "state": state, "seconds": round(time.monotonic() - start, 3)}
        log.info("job ended", extra={"fields": fields})
        self._expire()

    def _expire(self) -> None:
        self._expired = time.monotonic()
        gone = self._store.expire(days=self._limits.keep_days, most_bytes=self._limits.keep_bytes)
        if gone:
            log.info("results expired", extra={"fields": {"jobs": gone}})
