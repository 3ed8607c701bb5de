"""docs/options.md has the options of all metrics, as the code declares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import make_options
from nlgauge.core.registry import built_in_metrics
from nlgauge.core.vector_metric import VectorMetric


def test_page_is_up_to_date() -> None:
    assert make_options.main(["--check"]) == 0, "run: python -m docs.make_options"


def test_changed_page_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = make_options.PAGE.read_text(encoding="utf-8")
    changed = text.replace("| `layer` | a", "| `layers` | a", 1)
    assert changed != text
    page = tmp_path / "options.md"
    page.write_text(changed, encoding="utf-8")
    monkeypatch.setattr(make_options, "PAGE", page)
    assert make_options.main(["--check"]) == 1
    assert "options.md is not up to date: python -m docs.make_options" in capsys.readouterr().out
    make_options.main([])
    assert page.read_text(encoding="utf-8") == text


def test_every_metric_is_under_one_heading() -> None:
    names = [name for heading in make_options.groups() for name in heading.split(", ")]
    assert sorted(names) == sorted(built_in_metrics())


def test_every_option_of_a_metric_is_listed_or_common() -> None:
    common = set(VectorMetric.options())
    for heading, rows in make_options.groups().items():
        metric = built_in_metrics()[heading.partition(",")[0]]
        left_out = set(metric.options()) - set(rows)
        assert left_out <= (common if issubclass(metric, VectorMetric) else set()), heading
    text = make_options.PAGE.read_text(encoding="utf-8")
    section = text.partition(f"\n## {make_options.VECTORS}\n")[2].partition("\n## ")[0]
    assert all(f"| `{option}` |" in section for option in common)
