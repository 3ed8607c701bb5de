"""The tables of options in docs/metrics.md are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from nlgauge.registry import built_in_metrics

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
SCRIPT = ROOT / "docs" / "make_options.py"
PAGE = ROOT / "docs" / "metrics.md"


def check(script: Path) -> int:
    return subprocess.run([sys.executable, str(script), "--check"], capture_output=True).returncode


def test_the_tables_are_up_to_date() -> None:
    assert check(SCRIPT) == 0, "run: python docs/make_options.py"


def test_a_table_that_was_changed_is_noticed(tmp_path: Path) -> None:
    (tmp_path / SCRIPT.name).write_bytes(SCRIPT.read_bytes())
    text = PAGE.read_text(encoding="utf-8")
    (tmp_path / PAGE.name).write_text(text.replace("| `layer` |", "| `layers` |", 1), encoding="utf-8")
    assert check(tmp_path / SCRIPT.name) == 1


def test_every_metric_has_a_table() -> None:
    markers = re.findall(r"<!-- options: ([^>]*) -->", PAGE.read_text(encoding="utf-8"))
    named = [name for marker in markers for name in marker.partition(" beside ")[0].split(", ")]
    assert sorted(named) == sorted([*built_in_metrics(), "vectors"])
