"""Examples of the pages for new users run, and the note on comparability is the same everywhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import ROOT, check, reading

from nlgauge.apps.cli import parser_for

DOCS = ROOT / "docs"
NEW_PAGES = ("install", "which-metric", "coming-from", "faq")
WITH_COMPARABILITY = ("../README", "quickstart", "cite", "tutorials/score-and-report", "metrics/bertscore")
_BOX = re.compile(r"^> \*\*These numbers are not those of most papers\.\*\*.*\n(?:> .*\n)+", re.MULTILINE)


def read(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "examples"), [("coming-from", 2), ("faq", 2)])
@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_examples_print_what_the_page_shows(name: str, examples: int, tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        assert check(DOCS / f"{name}.md", reader) == examples


@pytest.mark.parametrize("name", NEW_PAGES)
def test_commands_and_options_exist(name: str) -> None:
    text = read(name)
    code = "".join(re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    commands = re.findall(r"^nlgauge (.*)$", code, re.MULTILINE)
    commands += re.findall(r"^    nlgauge (.*?)(?: +#.*)?$", text, re.MULTILINE)
    assert commands or name == "faq"
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "completion" or parser_for(words).parse_args(words).run, command


def test_the_note_on_comparability_is_the_same_everywhere() -> None:
    boxes = {name: _BOX.findall(read(name)) for name in WITH_COMPARABILITY}
    assert all(len(box) == 1 for box in boxes.values()), boxes
    assert len({box[0] for box in boxes.values()}) == 1
