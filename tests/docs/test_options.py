"""The tables of options in docs/metrics.md and on the pages of metrics are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import make_options
from nlgauge.core.registry import built_in_metrics


def test_the_tables_are_up_to_date() -> None:
    assert make_options.main(["--check"]) == 0, "run: python -m docs.make_options"


def test_a_table_that_was_changed_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (make_options.DOCS / "metrics" / "bertscore.md").read_text(encoding="utf-8")
    changed = text.replace("| `layer` | a", "| `layers` | a", 1)
    assert changed != text
    page = tmp_path / "bertscore.md"
    page.write_text(changed, encoding="utf-8")
    monkeypatch.setattr(make_options, "PAGES", [page])
    assert make_options.main(["--check"]) == 1
    assert "bertscore.md is not up to date: python -m docs.make_options" in capsys.readouterr().out
    make_options.main([])
    assert page.read_text(encoding="utf-8") == text


def test_every_metric_has_a_table() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in make_options.PAGES)
    markers = re.findall(r"<!-- options: ([^>]*) -->", text)
    named = [name for marker in markers for name in marker.partition(" beside ")[0].split(", ")]
    assert sorted(named) == sorted([*built_in_metrics(), "vectors"])


def test_options_of_the_metrics_beside_are_left_out() -> None:
    lines = make_options.table("discoscore beside ds-sent, ds-focus").splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["`sent_threshold`"]
    assert make_options.table("bertscore beside bertscore") == "No further options.\n"
