"""What docs/data.md shows is what a reader gets."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
from pathlib import Path

import pytest

from nlgauge.apps.cli import main
from nlgauge.data.cards import DATA_CARDS
from nlgauge.data.loaders.flat_files import load_custom

TEXT = (Path(__file__).parents[2] / "docs/data.md").read_text(encoding="utf-8")


def test_the_example_prints_what_is_shown() -> None:
    code, _, rest = TEXT.split("```python\n")[1].partition("```\n")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    shown = [line[4:] for line in rest.strip("\n").split("\n\n")[0].split("\n")]
    assert out.getvalue().splitlines() == shown


META = (Path(__file__).parents[2] / "docs/meta.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [TEXT, META], ids=["data.md", "meta.md"])
def test_the_command_for_a_custom_table_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the file of docs/data.md, with metrics that need no model."""
    line = next(line for line in page.splitlines() if line.startswith("    nlgauge study meta --data custom"))
    code = TEXT.split("```python\n")[1].partition("```\n")[0]
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, {})
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    index = next(place for place, word in enumerate(words) if word in ("-m", "--metric"))
    assert main([*words[:index], "--metric", "chrf", "--test", "none", "--quiet"]) == 0
    assert "Pearson's r with adequacy" in capsys.readouterr().out


def test_every_option_of_a_custom_table_is_explained_with_its_default() -> None:
    section = TEXT.partition("## A table of your own")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:4] for line in section.splitlines() if line.startswith("| `")]
    named = {name: cells[2].strip(" `") for cells in rows for name in re.findall("`([a-z]+)`", cells[0])}
    assert set(named) == set(DATA_CARDS["custom"].options)
    defaults = inspect.signature(load_custom).parameters
    for option in ("hypothesis", "references", "human"):
        assert named[option] == defaults[option].default


def test_every_data_set_is_in_the_table_with_its_gold_score() -> None:
    first = TEXT.partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in first.splitlines() if line.startswith("| `")]
    named = {name.strip(" `"): cells for cells in rows for name in cells[0].split(",")}
    assert set(named) == set(DATA_CARDS)
    assert all(layout.strip() and gold.strip() for _, layout, gold in named.values())
