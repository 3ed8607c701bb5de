"""Progress without a terminal: plain lines, by a clock that the test sets."""

from __future__ import annotations

import io
import logging

import pytest

import nlgauge
from nlgauge.core.run_options import Progress
from nlgauge.io.progress import ProgressReport, reporting


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def report(clock: Clock, stream: io.StringIO) -> ProgressReport:
    return ProgressReport(clock=clock, stream=stream)


def test_a_line_is_printed_every_30_seconds(report: ProgressReport, clock: Clock, stream: io.StringIO) -> None:
    counter = report.start(162_000, what="encoding", unit="token")
    for seconds in (10, 29.9, 30, 31, 59.9):
        clock.now = 100 + seconds
        counter.update(2_500)
    assert stream.getvalue() == "nlgauge: encoding 7,500 of 162,000 tokens (5 %), about 10 min left\n"
    clock.now = 160
    counter.update(149_500)
    assert stream.getvalue().splitlines()[1:] == [
        "nlgauge: encoding 162,000 of 162,000 tokens (100 %), about 0 s left"
    ]


def test_short_loops_share_one_timer(report: ProgressReport, clock: Clock, stream: io.StringIO) -> None:
    for number in range(5):
        counter = report.start(4, what=f"scoring, system {number + 1} of 5", unit="segment")
        clock.now += 8
        counter.update(4)
        counter.close()
    assert stream.getvalue() == "nlgauge: scoring, system 4 of 5: 4 of 4 segments (100 %), about 0 s left\n"


def test_estimates_leave_out_what_was_done_before(report: ProgressReport, clock: Clock, stream: io.StringIO) -> None:
    counter = report.start(100, what="scoring", unit="pair", done=80)
    clock.now += 30
    counter.update(10)
    assert stream.getvalue() == "nlgauge: scoring 90 of 100 pairs (90 %), about 30 s left\n"


def test_downloads_are_counted_in_megabytes(report: ProgressReport, clock: Clock, stream: io.StringIO) -> None:
    counter = report.start(84_000_000, what="downloading minilm", unit="B")
    clock.now += 60
    counter.update(21_000_000)
    assert stream.getvalue() == "nlgauge: downloading minilm 21 of 84 MB (25 %), about 3 min left\n"


def test_nothing_is_printed_unless_progress_is_wanted(
    report: ProgressReport, clock: Clock, stream: io.StringIO
) -> None:
    with reporting(report), Progress(4, show=False) as advance:
        clock.now += 60
        advance(4)
    assert stream.getvalue() == ""


def test_a_closed_stderr_ends_no_run(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    counter = ProgressReport(clock=clock).start(2, what="encoding", unit="token")
    clock.now += 60
    counter.update(2)


def test_stages_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="nlgauge"):
        nlgauge.score(["a b c"], ["a b d"], metric="chrf")
    (record,) = caplog.records
    assert record.getMessage().startswith("scoring chrf: ")
