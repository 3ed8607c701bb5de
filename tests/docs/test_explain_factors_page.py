"""What docs/explain-factors.md shows is what a reader can type."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest

import nlgauge
from nlgauge.apps.cli import parser_for

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "explain-factors.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (nlgauge [^\n]*)\n", PAGE, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command: str) -> None:
    words = shlex.split(command)[1:]
    assert parser_for(words).parse_args(words).run


def test_factor_names_are_on_the_page() -> None:
    for name in re.findall(r"nlgauge\.(\w+)\(", PAGE):
        assert hasattr(nlgauge, name), name
    for module, name in re.findall(r"`(columns|similarity)\.(\w+)`", PAGE):
        assert hasattr(importlib.import_module(f"nlgauge.studies.factors.{module}"), name)


def test_the_picture_is_small() -> None:
    (name,) = re.findall(r"\((images/[^)]*)\)", PAGE)
    assert (ROOT / "docs" / name).stat().st_size < 150_000


def test_intervals_are_those_of_the_released_scores(data_folder: Path) -> None:
    """The paragraph on p values and intervals."""
    from nlgauge.data.cards import load

    table = load("factors-wmt", data_folder)
    study = nlgauge.explain_factors(table, factors=["SEM", "syn", "lex", "mor"], released=["bertscore"])
    mor = study.surrogate("bertscore").effect("mor")
    assert f"{mor.coefficient:.3f} with p = {mor.p:.3f}, and its interval is {mor.low:.3f} to {mor.high:.3f}".replace(
        "0.", "."
    ) in " ".join(PAGE.split())
