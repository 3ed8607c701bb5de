"""What docs/stress.md and docs/metrics/learned.md show is what a reader can type."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from nlgauge.apps.cli import parser_for
from nlgauge.studies.stress.perturbations import PERTURBATIONS, antonyms

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGES = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("stress.md", "metrics/learned.md")}
COMMANDS = [command for page in PAGES.values() for command in re.findall(r"^    (nlgauge [^\n]*)\n", page, re.M)]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command: str) -> None:
    words = shlex.split(command)[1:]
    assert parser_for(words).parse_args(words).run


def test_the_table_has_every_perturbation() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (changed|kept) \| (.*?) \|$", PAGES["stress.md"], re.M)
    assert [name for name, *_ in rows] == list(PERTURBATIONS)
    for name, _, meaning, language in rows:
        assert (meaning == "kept") == PERTURBATIONS[name].keeps_meaning, name
        assert (language == "English") == PERTURBATIONS[name].english, name
    text = (ROOT / "src/nlgauge/studies/stress/lists/antonyms.tsv").read_text(encoding="utf-8")
    pairs = [line for line in text.splitlines() if not line.startswith("#")]
    assert f"a list of {len(pairs)} pairs" in PAGES["stress.md"]
    assert len(antonyms()) > len(pairs)
