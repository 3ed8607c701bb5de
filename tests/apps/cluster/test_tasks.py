"""Shards that are taken, tried again and given up; and the line that says how far a run is."""

from __future__ import annotations

import io

from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.tasks import ProgressLine, Tasks
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
            tasks.done(report(shard.number), workers=1)
    assert order == [0, 1, 2, 0, 0]
    assert tasks.failed == {0: "try 3"}
    assert [one.shard for one in tasks.reports] == [1, 2]


def test_tasks_that_are_under_way_keep_others_waiting() -> None:
    tasks = Tasks(SHARDS[:1])
    assert tasks.take() == SHARDS[0]
    assert tasks.take() is None
    assert tasks
    tasks.done(report(0), workers=1)
    assert not tasks


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line() -> None:
    line = ProgressLine(1000, already=200, stream=Terminal())
    line.advance(400, workers=8)
    assert line.line(2.0, 8) == "scoring: 60.0%, 200 pairs/s, 0:00:02 left, 8 workers"
    for _ in range(4):
        line.advance(100, workers=1)
    line.close()
    shown = line._stream.getvalue()  # type: ignore[attr-defined]  # the terminal above
    assert shown.count("\n") == 1
    assert "100.0%" in shown


def test_progress_in_a_file_is_few_lines() -> None:
    stream = io.StringIO()
    line = ProgressLine(1000, stream=stream)
    for _ in range(1000):
        line.advance(1, workers=2)
    line.close()
    assert len(stream.getvalue().splitlines()) == 2  # the first and the last
