"""What docs/stress.md and docs/ensembles.md show is what a reader can type."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import nlgauge
import nlgauge.studies.ensembles
from nlgauge.apps.cli import parser_for
from nlgauge.metrics.parts.scales import load_norms
from nlgauge.studies.stress.perturbations import PERTURBATIONS, antonyms

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGES = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("stress.md", "ensembles.md")}
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


def test_perturbation_names_are_on_the_page() -> None:
    for name in re.findall(r"nlgauge\.([A-Z]\w+)\(", PAGES["ensembles.md"]):
        assert hasattr(nlgauge, name), name
    for name in re.findall(r"`nlgauge\.ensembles\.(\w+)`", PAGES["ensembles.md"]):
        assert hasattr(nlgauge.studies.ensembles, name), name


def test_the_shipped_norms_are_of_the_rows_that_the_page_says() -> None:
    rows = {member.rows for member in load_norms("shipped").members}
    assert [f"{count:,} rows of `wmt17-testset`" in PAGES["ensembles.md"] for count in rows] == [True]
