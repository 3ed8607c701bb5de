"""What docs/report.md shows is what a reader gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")


def test_the_example_writes_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(code, {})
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>Old and new</title>" in page
    assert "No significant difference between " in page
    assert "(<b>BERTScore</b>)" in page, "three segments show nothing"


def test_the_picture_is_small() -> None:
    (name,) = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", PAGE)
    assert (ROOT / "docs" / name).stat().st_size < 200_000
