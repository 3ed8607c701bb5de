"""Jobs: a store of requests and results in SQLite, and the thread that runs one job at a time.

A job is queued, running, and finally done, failed, cancelled or interrupted. A restart or kill loses no finished
work: at the next start, a running job is marked interrupted, and queued jobs stay queued. A folder belongs to one
process.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgauge.apps.operations import operations
from nlgauge.apps.service.calls import Caller, ScoreCall, answer, capture_warnings, formats, request_model
from nlgauge.apps.service.problems import FAILED, ProblemError, library_problem
from nlgauge.apps.service.settings import Limits, Monitor, log
from nlgauge.core.compare import Comparisons, compare, ranges
from nlgauge.core.pipeline import finish
from nlgauge.core.score import Score
from nlgauge.encoders.run_context import EncoderPool, run_context
from nlgauge.errors import InputError, NlgaugeError

#: Final states.
ENDED = ("done", "failed", "cancelled", "interrupted")

_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, created REAL NOT NULL, started REAL, finished REAL,
    request BLOB, problem TEXT, size INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS results (
    job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, format TEXT NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (job, format)
);
CREATE INDEX IF NOT EXISTS by_state ON jobs (state, created);
"""

_COLUMNS = "id, kind, state, created, started, finished, problem, size"


@dataclass(frozen=True)
class Job:
    """A job, without its texts and results."""

    id: str
    kind: str
    state: str
    created: float
    """Seconds since 1970, like the other times."""
    started: float | None
    finished: float | None
    problem: str | None
    """Problem details as JSON."""
    size: int
    """Bytes of its results."""


@dataclass(frozen=True)
class JobProgress:
    """Progress of a job."""

    done: int
    total: int | None
    unit: str


_NOTHING_YET = JobProgress(0, None, "segments")


class JobStore:
    """The jobs of one service."""

    def __init__(self, folder: Path, *, instance: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._instance = instance
        self._lock = threading.RLock()
        try:
            self._folder_lock = _lock_folder(folder)
            self._open(folder)
        except sqlite3.Error as error:  # such as a full disk, or a file that is not a database
            msg = f"cannot store jobs in {str(folder)!r}: {error}; free some space or choose another folder (--data)"
            raise InputError(msg) from error

    def _open(self, folder: Path) -> None:
        self._base = sqlite3.connect(folder / "jobs.sqlite3", check_same_thread=False, isolation_level=None)
        for pragma in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._base.execute(f"PRAGMA {pragma}")
        self._base.executescript(_TABLES)
        now = time.time()
        self._run("UPDATE jobs SET state = 'interrupted', finished = ?, request = NULL WHERE state = 'running'", now)

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, and return its rows."""
        with self._lock:
            return self._base.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close the database, and release the folder."""
        with self._lock:
            self._base.close()
            self._folder_lock.close()

    def add(self, kind: str, request: bytes) -> Job:
        """Add a job to the queue."""
        prefix = f"{self._instance}-" if self._instance else ""
        name = prefix + secrets.token_hex(16)
        statement = "INSERT INTO jobs (id, kind, state, created, request) VALUES (?, ?, 'queued', ?, ?)"
        self._run(statement, name, kind, time.time(), request)
        return self.need(name)

    def get(self, name: str) -> Job | None:
        """The job with this name, or None."""
        rows = self._run(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", name)
        return Job(*rows[0]) if rows else None

    def need(self, name: str) -> Job:
        """The job with this name, which must exist."""
        job = self.get(name)
        if job is None:
            msg = f"unknown job {name!r}"
            raise InputError(msg)
        return job

    def queued(self) -> int:
        """Number of queued jobs."""
        return int(self._run("SELECT count(*) FROM jobs WHERE state = 'queued'")[0][0])

    def take(self) -> tuple[Job, bytes] | None:
        """The oldest queued job, marked as running, and its request."""
        with self._lock:
            rows = self._run("SELECT id, request FROM jobs WHERE state = 'queued' ORDER BY created, rowid LIMIT 1")
            for name, request in rows:
                self._run("UPDATE jobs SET state = 'running', started = ? WHERE id = ?", time.time(), name)
                return self.need(name), bytes(request)
        return None

    def end(
        self,
        name: str,
        state: str,
        *,
        results: Mapping[str, bytes] | None = None,
        problem: str | None = None,
        before: tuple[str, ...] = ("running",),
    ) -> bool:
        """Store final state and results of a job in one step; whether it was in one of the states `before`."""
        texts = results or {}
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                marks = ", ".join("?" * len(before))
                changed = self._base.execute(
                    "UPDATE jobs SET state = ?, finished = ?, problem = ?, size = ?, request = NULL "
                    f"WHERE id = ? AND state IN ({marks})",
                    [state, time.time(), problem, sum(map(len, texts.values())), name, *before],
                ).rowcount
                if changed:
                    self._base.executemany(
                        "INSERT INTO results VALUES (?, ?, ?)",
                        [(name, form, text) for form, text in texts.items()],
                    )
                self._base.execute("COMMIT")
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
        return bool(changed)

    def result(self, name: str, form: str) -> bytes | None:
        """The result of a finished job in a format, or None."""
        rows = self._run("SELECT content FROM results WHERE job = ? AND format = ?", name, form)
        return bytes(rows[0][0]) if rows else None

    def remove(self, name: str) -> bool:
        """Remove a job if it has ended; whether it had."""
        with self._lock:
            marks = ", ".join("?" * len(ENDED))
            changed = self._base.execute(
                f"DELETE FROM jobs WHERE id = ? AND state IN ({marks})", [name, *ENDED]
            ).rowcount
            self._base.execute("PRAGMA incremental_vacuum")
        return bool(changed)

    def expire(self, *, days: float, most_bytes: int, now: float | None = None) -> int:
        """Remove jobs that ended too long ago, then the oldest while results are too large; returns their number."""
        until = (time.time() if now is None else now) - days * 86_400
        with self._lock:
            ended = self._run("SELECT id, finished, size FROM jobs WHERE finished IS NOT NULL ORDER BY finished")
            total = sum(size for _, _, size in ended)
            removed = 0
            for name, finished, size in ended:
                if finished >= until and total <= most_bytes:
                    break
                total -= size
                removed += self.remove(name)
        return removed


def _lock_folder(folder: Path) -> sqlite3.Connection:
    """Lock the folder until the connection is closed or the process ends."""
    lock = sqlite3.connect(folder / "owner.sqlite3", timeout=0, check_same_thread=False, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        msg = f"folder {str(folder)!r} is in use by another running service; choose another folder (--data)"
        raise InputError(msg) from error
    return lock


def _run_job(kind: str, content: bytes, context: _Running) -> dict[str, bytes]:
    """Run a job; returns its results by format."""
    operation = operations().get(kind)
    if operation is None:
        msg = f"unknown operation {kind!r}: its package is no longer installed"
        raise ProblemError(422, msg, kind="no-operation")
    request = request_model(operation).model_validate_json(content)
    warnings: list[str] = []
    pairs = operation.count_pairs(request.inputs)
    context.pairs = pairs
    with run_context(advance=context.count_pairs) if pairs else contextlib.nullcontext():
        result = context.caller.run(request, warnings, lambda call: _scores(call, context))
    with capture_warnings(warnings):
        return {form: answer(request, result, form, warnings) for form in formats(operation)}


def _scores(call: ScoreCall, context: _Running) -> list[Score]:
    """Score in steps, for progress reports and quick cancellation."""
    context.advance(0, len(call.corpus), "segments")
    prepared = call.prepare()
    parts = []
    for part in ranges(prepared, _STEP):
        parts.append(compare(prepared, part))
        context.advance(part.stop, len(prepared), "segments")
    return finish(prepared, Comparisons.join(parts))


#: Texts between two progress reports.
_STEP = 512

#: Seconds between two checks for expired results.
_EXPIRY = 600.0

#: Seconds that a job has to stop.
_LAST_WAIT = 5.0

#: Seconds to wait after an error of the queue itself.
_PAUSE = 1.0


class _StoppedError(Exception):
    """The job was stopped; `state` is its final state."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class _Running:
    """The running job."""

    def __init__(self, name: str, caller: Caller) -> None:
        self.name = name
        self.caller = caller
        self.progress = _NOTHING_YET
        self.stop_as = ""
        """Final state of a job that should stop; empty while it should not."""
        self.pairs = 0
        """Pairs to compare, if the operation counts pairs."""
        self._tokens = 0

    def check(self) -> None:
        """Raise if the job should stop."""
        if self.stop_as:
            raise _StoppedError(self.stop_as)

    def advance(self, done: int, total: int | None, unit: str) -> None:
        """Report progress."""
        self.check()
        self.progress = JobProgress(done, total, unit)

    def count_pairs(self, more: int) -> None:
        """Count compared pairs, each once, although a metric that consists of others compares it several times."""
        done = self.progress.done if self.progress.unit == "pairs" else 0
        self.advance(min(self.pairs, done + more), self.pairs, "pairs")

    def count_tokens(self, tokens: int) -> None:
        """Count encoded tokens, the progress of work of unknown size."""
        self.check()
        self._tokens += tokens
        if self.progress.total is None:
            self.progress = JobProgress(self._tokens, None, "tokens")


class JobRunner:
    """Runs the jobs of the store. Their batches are encoded by the inference thread."""

    def __init__(
        self, store: JobStore, inference: EncoderPool, caller: Caller, monitor: Monitor, limits: Limits
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
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Start no more jobs; the running one is interrupted if it does not end in time."""
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
        """Add a job to the queue, unless it is full."""
        with self._changed:
            queued = self._store.queued()
            if queued >= self._limits.queued_jobs:
                raise ProblemError(429, f"{queued} jobs are waiting already", kind="queue-full", retry_after=10)
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

    def progress(self, job: Job) -> JobProgress:
        """Progress of a job."""
        current = self._current
        return current.progress if current is not None and current.name == job.id else _NOTHING_YET

    def _run(self) -> None:
        while True:
            try:
                if not self._step():
                    return
            except Exception:  # such as a full disk, which may be temporary
                log.exception("error in the job queue; continuing")
                time.sleep(_PAUSE)
            finally:
                self._current = None

    def _step(self) -> bool:
        """Run the next job, or wait for one; whether the thread should continue."""
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
        try:
            with run_context(encoder_pool=self._inference, check=running.check, before_batch=running.count_tokens):
                results = _run_job(job.kind, request, running)
            state = "done"
        except _StoppedError as stopped:
            state = stopped.state
        except NlgaugeError as error:
            problem = library_problem(error, request_model(operations()[job.kind]).model_fields)
        except ProblemError as error:
            problem = error
        except Exception:
            log.exception("a job failed", extra={"fields": {"job": job.id}})
            problem = ProblemError(500, FAILED, kind="failed")
        details = None if problem is None else json.dumps(problem.to_dict())
        self._store.end(job.id, state, results=results, problem=details)
        self._monitor.jobs.labels(job.kind, state).inc()
        fields = {"job": job.id, "kind": job.kind, "state": state, "seconds": round(time.monotonic() - start, 3)}
        log.info("job ended", extra={"fields": fields})
        self._expire()

    def _expire(self) -> None:
        self._expired = time.monotonic()
        removed = self._store.expire(days=self._limits.keep_days, most_bytes=self._limits.keep_bytes)
        if removed:
            log.info("results expired", extra={"fields": {"jobs": removed}})
