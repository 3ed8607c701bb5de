"""The tables of options in docs/metrics.md and on the pages of metrics are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from nlgauge.core.registry import built_in_metrics

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
SCRIPT = ROOT / "docs" / "make_options.py"
PAGES = [ROOT / "docs" / "metrics.md", *sorted((ROOT / "docs" / "metrics").glob("*.md"))]


def check(script: Path) -> int:
    return subprocess.run([sys.executable, str(script), "--check"], capture_output=True).returncode


def test_the_tables_are_up_to_date() -> None:
    assert check(SCRIPT) == 0, "run: python docs/make_options.py"


def test_a_table_that_was_changed_is_noticed(tmp_path: Path) -> None:
    (tmp_path / SCRIPT.name).write_bytes(SCRIPT.read_bytes())
    (tmp_path / "metrics").mkdir()
    text = (SCRIPT.parent / "metrics.md").read_text(encoding="utf-8")
    (tmp_path / "metrics.md").write_text(text, encoding="utf-8")
    text = (SCRIPT.parent / "metrics" / "bertscore.md").read_text(encoding="utf-8")
    changed = text.replace("| `layer` | a", "| `layers` | a", 1)
    assert changed != text
    (tmp_path / "metrics" / "bertscore.md").write_text(changed, encoding="utf-8")
    assert check(tmp_path / SCRIPT.name) == 1


def test_every_metric_has_a_table() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    markers = re.findall(r"<!-- options: ([^>]*) -->", text)
    named = [name for marker in markers for name in marker.partition(" beside ")[0].split(", ")]
    assert sorted(named) == sorted([*built_in_metrics(), "vectors"])
