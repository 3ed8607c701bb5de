"""Jobs and their results in SQLite, so that a restart, or a kill, loses nothing that was finished.

A job is queued, running, and then done, failed, cancelled or interrupted. What was running when the process went
away is marked interrupted at the next start; what was queued waits on. One process owns the folder.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgauge.errors import InputError

__all__ = ["ENDED", "Job", "JobStore"]

#: States that a job stays in.
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
    """Seconds since 1970, as are the other times."""
    started: float | None
    finished: float | None
    problem: str | None
    """Problem details as JSON."""
    size: int
    """Bytes of its results."""


class JobStore:
    """The jobs of one service."""

    def __init__(self, folder: Path, *, instance: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._instance = instance
        self._lock = threading.RLock()
        try:
            self._owned = _own(folder)
            self._open(folder)
        except sqlite3.Error as error:  # such as a full disk, or a file that is not a database
            msg = f"cannot keep jobs in {str(folder)!r}: {error}; free some space or choose another folder (--data)"
            raise InputError(msg) from error

    def _open(self, folder: Path) -> None:
        self._base = sqlite3.connect(folder / "jobs.sqlite3", check_same_thread=False, isolation_level=None)
        self._base.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = FULL")
        self._base.execute("PRAGMA foreign_keys = ON")
        self._base.executescript(_TABLES)
        self._base.execute(
            "UPDATE jobs SET state = 'interrupted', finished = ?, request = NULL WHERE state = 'running'",
            [time.time()],
        )

    def close(self) -> None:
        """Let go of the folder."""
        with self._lock:
            self._base.close()
            self._owned.close()

    def add(self, kind: str, request: bytes) -> Job:
        """A new job, queued."""
        prefix = f"{self._instance}-" if self._instance else ""
        name = prefix + secrets.token_hex(16)
        with self._lock:
            self._base.execute(
                "INSERT INTO jobs (id, kind, state, created, request) VALUES (?, ?, 'queued', ?, ?)",
                [name, kind, time.time(), request],
            )
        return self.need(name)

    def get(self, name: str) -> Job | None:
        """The job of that name."""
        with self._lock:
            row = self._base.execute(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", [name]).fetchone()
        return None if row is None else Job(*row)

    def need(self, name: str) -> Job:
        """The job of that name, which must be there."""
        found = self.get(name)
        if found is None:
            msg = f"there is no job {name!r}"
            raise InputError(msg)
        return found

    def queued(self) -> int:
        """How many wait."""
        with self._lock:
            (count,) = self._base.execute("SELECT count(*) FROM jobs WHERE state = 'queued'").fetchone()
        return int(count)

    def take(self) -> tuple[Job, bytes] | None:
        """The job that waited longest, now running, and its request."""
        with self._lock:
            row = self._base.execute(
                "SELECT id, request FROM jobs WHERE state = 'queued' ORDER BY created, rowid LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            self._base.execute("UPDATE jobs SET state = 'running', started = ? WHERE id = ?", [time.time(), row[0]])
            return self.need(row[0]), bytes(row[1])

    def end(
        self,
        name: str,
        state: str,
        *,
        results: Mapping[str, bytes] | None = None,
        problem: str | None = None,
        before: tuple[str, ...] = ("running",),
    ) -> bool:
        """Put a job in its last state, with its results, in one step; whether it was in a state before that."""
        kept = results or {}
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                marks = ", ".join("?" * len(before))
                changed = self._base.execute(
                    "UPDATE jobs SET state = ?, finished = ?, problem = ?, size = ?, request = NULL "
                    f"WHERE id = ? AND state IN ({marks})",
                    [state, time.time(), problem, sum(map(len, kept.values())), name, *before],
                ).rowcount
                if changed:
                    self._base.executemany(
                        "INSERT INTO results VALUES (?, ?, ?)", [(name, form, text) for form, text in kept.items()]
                    )
                self._base.execute("COMMIT")
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
        return bool(changed)

    def result(self, name: str, form: str) -> bytes | None:
        """A result of a job that is done."""
        with self._lock:
            row = self._base.execute(
                "SELECT content FROM results WHERE job = ? AND format = ?", [name, form]
            ).fetchone()
        return None if row is None else bytes(row[0])

    def remove(self, name: str) -> bool:
        """Forget a job that has ended; whether it had."""
        with self._lock:
            marks = ", ".join("?" * len(ENDED))
            changed = self._base.execute(
                f"DELETE FROM jobs WHERE id = ? AND state IN ({marks})", [name, *ENDED]
            ).rowcount
            self._base.execute("PRAGMA incremental_vacuum")
        return bool(changed)

    def expire(self, *, days: float, most_bytes: int, now: float | None = None) -> int:
        """Forget jobs that ended too long ago, then the oldest while results take too much; how many went."""
        until = (time.time() if now is None else now) - days * 86_400
        with self._lock:
            ended: list[tuple[Any, ...]] = self._base.execute(
                "SELECT id, finished, size FROM jobs WHERE finished IS NOT NULL ORDER BY finished"
            ).fetchall()
            total = sum(size for _, _, size in ended)
            gone = 0
            for name, finished, size in ended:
                if finished >= until and total <= most_bytes:
                    break
                total -= size
                gone += self.remove(name)
        return gone


def _own(folder: Path) -> sqlite3.Connection:
    """Claim the folder for as long as the connection lives; the system takes it back when the process dies."""
    claim = sqlite3.connect(folder / "owner.sqlite3", timeout=0, check_same_thread=False, isolation_level=None)
    try:
        claim.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        claim.close()
        if "locked" not in str(error):
            raise
        msg = f"the folder {str(folder)!r} belongs to a service that is running; give each one its own (--data)"
        raise InputError(msg) from error
    return claim
