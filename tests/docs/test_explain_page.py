"""What docs/explain.md shows is what a reader gets."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import textwrap
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import difference

from nlgauge.apps.cli import main, parser_for

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (nlgauge (?:[^\n]*\\\n)*[^\n]*)\n", PAGE, re.M)


def test_the_example_prints_what_the_page_shows() -> None:
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", PAGE, re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    problem = difference(textwrap.dedent(expected), printed.getvalue())
    assert not problem, problem


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command: str) -> None:
    words = shlex.split(command.replace("\\\n", " "))[1:]
    assert parser_for(words).parse_args(words).run


def test_the_sentence_on_several_references_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = (item for item in COMMANDS if '"A dog ran."' in item)
    assert main(shlex.split(command)[1:]) == 0
    message = capsys.readouterr().out.splitlines()[0]
    indented = re.findall(r"^    ([^\n]*)$", PAGE, re.M)
    assert any(not difference(line, message) for line in indented), message


def test_scores_of_a_file_are_evaluated_as_typed(data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = (item for item in COMMANDS if "--scores" in item)
    typed = command.replace("\\\n", " ").replace("$NLGAUGE_DATA", str(data_folder))
    assert main([*shlex.split(typed)[1:], "--at", str(data_folder)]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[2:5] == ["0.638", "0.464", "0.339"]


def test_the_picture_is_small() -> None:
    (name,) = re.findall(r"\((images/[^)]*)\)", PAGE)
    assert (ROOT / "docs" / name).stat().st_size < 150_000
