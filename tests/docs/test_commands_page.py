"""docs/commands.md: made from the declarations of the options of all commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import make_commands
from nlgauge.apps.cli import command_groups


def test_the_page_is_that_of_the_declarations() -> None:
    assert make_commands.main(["--check"]) == 0, "run: python -m docs.make_commands"


def test_a_page_that_was_changed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "commands.md"
    changed.write_text(
        make_commands.PAGE.read_text(encoding="utf-8").replace("`--gate`", "`--gates`"), encoding="utf-8"
    )
    monkeypatch.setattr(make_commands, "PAGE", changed)
    assert make_commands.main(["--check"]) == 1


def test_every_command_has_a_section_with_its_options() -> None:
    text = make_commands.PAGE.read_text(encoding="utf-8")
    for title, commands in command_groups().items():
        assert f"\n## {title}\n" in text
        for spelling in commands:
            assert f"\n### nlgauge {spelling}" in text
    # One of each kind: an option of many commands, a positional argument, an option with a default, one without.
    assert "| `--threads` | a whole number from 1 | all available cores | number of threads |" in text
    assert "| `SYSTEM` | FILE, FILE.tsv:COLUMN, FILE.csv:COLUMN, FILE.jsonl:KEY or - | | outputs to perturb |" in text
    assert "| `--alpha` | a number above 0, below 1 | `0.05` | significance level |" in text
