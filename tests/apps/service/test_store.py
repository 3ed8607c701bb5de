"""Jobs in SQLite: states, what a restart finds, and what expires."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nlgauge.apps.service.jobs import JobStore
from nlgauge.errors import InputError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JobStore]:
    made = JobStore(tmp_path)
    yield made
    made.close()


def done(store: JobStore, content: bytes = b"{}") -> str:
    """A job that is done."""
    store.add("score", b"request")
    taken = store.take()
    assert taken is not None
    assert store.end(taken[0].id, "done", results={"json": content})
    return taken[0].id


def test_a_job_from_queue_to_result(store: JobStore) -> None:
    first, second = store.add("score", b"one"), store.add("sensitivity", b"two")
    assert (first.state, store.queued()) == ("queued", 2)
    taken = store.take()
    assert taken is not None
    assert (taken[0].id, taken[0].state, taken[1]) == (first.id, "running", b"one")
    assert store.end(first.id, "done", results={"json": b"{}", "tsv": b"a\tb"})
    job = store.need(first.id)
    assert (job.state, job.size) == ("done", 5)
    assert job.created <= (job.started or 0) <= (job.finished or 0)
    assert store.result(first.id, "tsv") == b"a\tb"
    assert store.result(first.id, "html") is None
    assert store.need(second.id).state == "queued"


def test_a_job_ends_once(store: JobStore) -> None:
    job = store.add("score", b"")
    assert not store.end(job.id, "done", results={"json": b"{}"})  # it never ran
    assert store.result(job.id, "json") is None
    assert store.end(job.id, "cancelled", before=("queued",))
    assert not store.end(job.id, "done", results={"json": b"{}"})
    assert store.need(job.id).state == "cancelled"
    assert store.take() is None


def test_restart_keeps_finished_and_queued_jobs_and_marks_running_one(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    finished = done(store, b"kept")
    running, waiting = store.add("score", b"r"), store.add("score", b"w")
    store.take()
    store.close()
    again = JobStore(tmp_path)
    assert again.result(finished, "json") == b"kept"
    assert again.need(running.id).state == "interrupted"
    taken = again.take()
    assert taken is not None
    assert (taken[0].id, taken[1]) == (waiting.id, b"w")
    again.close()


def test_texts_are_deleted_when_a_job_ends(store: JobStore, tmp_path: Path) -> None:
    done(store)
    with sqlite3.connect(tmp_path / "jobs.sqlite3") as base:
        assert base.execute("SELECT request FROM jobs").fetchall() == [(None,)]
    base.close()


def test_old_results_expire(store: JobStore) -> None:
    name, waiting = done(store), store.add("score", b"")
    assert store.expire(days=7, most_bytes=1000) == 0
    assert store.expire(days=7, most_bytes=1000, now=time.time() + 8 * 86_400) == 1
    assert store.get(name) is None
    assert store.result(name, "json") is None
    assert store.need(waiting.id).state == "queued"


def test_oldest_results_are_removed_above_the_size_limit(store: JobStore) -> None:
    names = [done(store, b"x" * 400) for _ in range(4)]
    assert store.expire(days=7, most_bytes=1000) == 2
    assert [store.get(name) is not None for name in names] == [False, False, True, True]


def test_only_ended_jobs_can_be_removed(store: JobStore) -> None:
    name = done(store)
    assert store.remove(name)
    assert not store.remove(name)
    job = store.add("score", b"")
    assert not store.remove(job.id)


def test_a_folder_has_one_owner(store: JobStore, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is in use by another running service"):
        JobStore(tmp_path)
    store.close()
    JobStore(tmp_path).close()


def test_job_names_start_with_the_instance_and_are_random(tmp_path: Path) -> None:
    store = JobStore(tmp_path, instance="b2")
    names = {store.add("score", b"").id for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith("b2-") and len(name) == 35 for name in names)
    store.close()


def test_job_is_unchanged_if_results_cannot_be_stored(store: JobStore) -> None:
    job = store.add("score", b"")
    store.take()
    with pytest.raises(sqlite3.Error):
        store.end(job.id, "done", results={"json": [1]})  # type: ignore[dict-item]
    assert store.need(job.id).state == "running"
