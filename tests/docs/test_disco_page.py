"""What docs/documents.md shows of DiscoScore can be typed, and is what a reader gets."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import difference

from nlgauge.apps.cli import main

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PART = (ROOT / "docs" / "documents.md").read_text(encoding="utf-8").partition("\n## DiscoScore\n")[2]


def test_the_example_prints_what_is_shown() -> None:
    code, _, rest = PART.split("```python\n")[1].partition("```\n")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    problem = difference(rest.strip().partition("\n")[0], out.getvalue())
    assert not problem, problem


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NoFocusWarning")
def test_the_commands_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, example in (("system", "system-a"), ("reference", "reference")):
        shutil.copy(ROOT / "examples" / f"{example}.txt", tmp_path / f"{name}.txt")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    nlgauge (.*)$", PART, re.M)
    assert len(commands) == 2
    for command in commands:
        assert main([*shlex.split(command), "--quiet"]) == 0
