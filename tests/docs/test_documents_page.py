"""What docs/documents.md shows can be typed, and is what a reader gets."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import difference

from nlgauge.apps.cli import main
from nlgauge.errors import InputError
from nlgauge.text.annotators import SENTENCE_RULES, load_annotator

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "documents.md").read_text(encoding="utf-8")
GIVEN = PAGE.partition("## How to give documents")[2].partition("\n## ")[0]


def test_the_commands_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, example in (("system", "system-a"), ("reference", "reference")):
        shutil.copy(ROOT / "examples" / f"{example}.txt", tmp_path / f"{name}.txt")
    (tmp_path / "docs.txt").write_text("".join(f"d{index // 3}\n" for index in range(12)), encoding="utf-8")
    (tmp_path / "out.jsonl").write_text('{"summary": "A cat.\\nA dog.", "reference": "Cats."}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"`nlgauge (score [^`]*)`", GIVEN)
    assert len(commands) == 3
    for command in commands:
        assert main([*command.split(), "--metric", "chrf", "--quiet"]) == 0


def test_the_example_prints_what_is_shown() -> None:
    code, _, rest = PAGE.split("```python\n")[1].partition("```\n")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    shown = [line[4:] for line in rest.strip("\n").split("\n\n")[0].split("\n")]
    problem = difference("\n".join(shown), out.getvalue())
    assert not problem, problem


def test_labels_rules_and_messages_are_the_real_ones(tmp_path: Path) -> None:
    assert f"`{load_annotator('spacy-en').label}`" in PAGE
    rules = PAGE.partition("## Where sentences end")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)`", rules, re.M)) == {"sentences", *SENTENCE_RULES}
    parses = tmp_path / "parses.conllu"
    sentences = (("Il", "gatto", "del", "vicino", "."), ("Gatti", "!"))
    parses.write_text(
        "\n".join(
            "".join(f"{index}\t{word}\t_\tX\t_\t_\t_\t_\t_\t_\n" for index, word in enumerate(words, 1))
            for words in sentences
        ),
        encoding="utf-8",
    )
    with pytest.raises(InputError) as error:
        load_annotator(str(parses), sentences="annotator").annotate(["Il gatto del vicino. Cani!"])
    assert " ".join(str(error.value).split()) in " ".join(PAGE.split()).replace("Gatti!'", "Gatti !'")
