"""Progress of a run: bars on a terminal, and the items that are counted."""

from __future__ import annotations

import io

import pytest

import nlgauge
from nlgauge.core.run_options import Progress, report_progress
from nlgauge.encoders.run_context import run_context
from nlgauge.io.progress import ProgressReport, reporting


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal from here on (not a fixture: pytest puts its own stderr back between setup and test)."""
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    return shown


#: A bar waits a second before it shows; here nothing takes a second.
AT_ONCE = ProgressReport(delay=0.0)


def test_bar_shows_count_and_total(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with (
        reporting(AT_ONCE),
        run_context(stage="pair 3 of 7"),
        Progress(4, show=True, what="testing kendall", unit="test") as advance,
    ):
        advance(4)
    assert "testing kendall, pair 3 of 7: " in terminal.getvalue()
    with reporting(AT_ONCE), Progress(4, show=True) as advance:
        advance(1)
    assert "encoding: " in terminal.getvalue()


def test_no_bar_with_progress_off(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with Progress(4, show=False) as advance:
        advance(4)
    assert terminal.getvalue() == ""


def test_progress_is_reported_to_run_context() -> None:
    counted: list[int] = []
    assert list(report_progress("ab")) == ["a", "b"]
    with run_context(advance=counted.append):
        assert list(report_progress("abc")) == ["a", "b", "c"]
    list(report_progress("d"))
    assert counted == [1, 1, 1]


@pytest.mark.parametrize("metric", ["chrf", "rouge1"])
def test_metrics_of_texts_show_a_bar(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with reporting(AT_ONCE):
        nlgauge.score(["a b c", "d e"], ["a b d", "d e"], metric=metric, progress=True)
    assert f"scoring {metric}: " in terminal.getvalue()
