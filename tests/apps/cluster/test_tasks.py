"""Shards that are taken, tried again and given up; and the line that says how far a run is."""

from __future__ import annotations

import pytest

from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.tasks import Tasks, progress_bar
from nlgauge.apps.cluster.worker import Report

SHARDS = [RowShard(number, number, number + 1, 0, (0,), 1) for number in range(3)]


def report(shard: int) -> Report:
    return Report(shard, 1, 0, 0.0, 0)


def test_a_shard_comes_back_behind_the_others_and_is_given_up_after_three_tries() -> None:
    tasks, order = Tasks(SHARDS), []
    while tasks:
        shard = tasks.take()
        assert shard is not None
        order.append(shard.number)
        if shard.number == 0:
            tasks.fail(0, f"try {order.count(0)}")
        else:
            tasks.settle(shard.number, report(shard.number), workers=1)
    assert order == [0, 1, 2, 0, 0]
    assert tasks.failed == {0: "try 3"}
    assert [one.shard for one in tasks.reports] == [1, 2]


def test_tasks_that_are_under_way_keep_others_waiting() -> None:
    tasks = Tasks(SHARDS[:1])
    assert tasks.take() == SHARDS[0]
    assert tasks.take() is None
    assert tasks
    tasks.settle(0, report(0), workers=1)
    assert not tasks


def test_progress_counts_pairs_and_workers(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(1000, already=200, what="scoring") as bar:
        tasks = Tasks(SHARDS[:1], bar)
        tasks.take()
        tasks.tell("the cluster has no room")
        tasks.settle(0, Report(0, 800, 0, 1.0, 0), workers=8)
    shown = capsys.readouterr().err
    assert "scoring: the cluster has no room\n" in shown
    assert "scoring: 100%" in shown
    assert "8 workers" in shown
