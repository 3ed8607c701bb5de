"""What docs/score-files.md shows can be typed, with the files that it shows."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import textwrap
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import difference

from nlgauge.apps.cli import main
from nlgauge.data.score_files import ROLES

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "score-files.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for line in PAGE.splitlines() if line.startswith("    nlgauge ")]
YAML = PAGE.partition("```yaml\n")[2].partition("```")[0]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's files, and with texts that its commands name."""
    for name, text in re.findall(r"```csv ([\w.]+)\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text, encoding="utf-8")
    examples = {"base": "system-a", "new": "system-b", "ref": "reference", "big2": "system-a", "small2": "system-b"}
    for name, example in examples.items():
        shutil.copy(ROOT / "examples" / f"{example}.txt", tmp_path / f"{name}.txt")
    (tmp_path / "docs.txt").write_text("".join(f"d{index // 3}\n" for index in range(12)))
    judged = [f"output {index}\treference {index % 5}\t{index % 7}\td{index // 2}\n" for index in range(24)]
    (tmp_path / "mine.tsv").write_text("".join(["hypothesis\treference\tscore\tdoc\n", *judged]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_of_the_page_can_be_typed(shown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) == 14
    for command in COMMANDS:
        status = main([*command.split()[1:], "--quiet"])
        assert status in ((0, 3) if "--gate" in command else (0,)), (command, capsys.readouterr().err)
    assert (shown / "ranking.png").exists()
    assert "<html" in (shown / "report.html").read_text(encoding="utf-8")


def test_the_command_of_the_workflow_writes_its_summary(shown: Path) -> None:
    (words,) = re.findall(r"run: >\n((?:      .*\n)+)", YAML)
    assert main([*words.split()[1:], "--quiet"]) in (0, 3)
    assert (shown / "summary.md").read_text(encoding="utf-8").startswith("**gate ")


def test_the_examples_print_what_the_page_shows(shown: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", PAGE, re.S)
    assert len(examples) == 2
    for code, expected in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {})
        problem = difference(textwrap.dedent(expected), printed.getvalue())
        assert not problem, problem
    assert (shown / "run.json").exists()


def test_roles_of_columns_are_on_the_page() -> None:
    assert all(f"`{role}`" in PAGE for role in ROLES if role != "langpair")
