"""The script that counts the source, on a package written here and on nlgauge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.count_source import count_code_lines, count_flags, find_single_importers, function_lengths, read_modules

from docs import count_source
from nlgauge.apps.cli import main

FILES = {
    "__init__.py": '"""A package."""\n',
    "first.py": "from pkg import second\n\n\ndef run():\n    from pkg.room.inner import value\n\n    return value\n",
    "second.py": '"""Two\nlines."""\n\n# a comment\nTEXT = """a\n\nb"""  # three lines of code\n',
    "third.py": "import pkg.shared\n",
    "shared.py": "",
    "fourth.py": "from pkg.shared import name\n",
    "room/__init__.py": "from pkg.room.public import name\n",
    "room/public.py": "name = 1\n",
    "room/inner.py": "value = 1\n",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[count_source.Module]:
    for name, text in FILES.items():
        path = tmp_path / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(count_source, "SOURCE", tmp_path / "pkg")
    return read_modules(tmp_path / "pkg")


def test_modules_have_names_and_lines(modules: list[count_source.Module]) -> None:
    assert {module.name: module.lines for module in modules}["pkg.first"] == 7
    assert {module.name for module in modules if module.is_package} == {"pkg", "pkg.room"}


def test_docstrings_comments_and_blank_lines_are_not_code(modules: list[count_source.Module]) -> None:
    code = {module.name: count_code_lines(module) for module in modules}
    assert code["pkg"] == 0
    assert code["pkg.second"] == 3
    assert code["pkg.first"] == 4


def test_single_importers_are_in_the_same_folder(modules: list[count_source.Module]) -> None:
    """`shared` has two importers, that of `inner` is in another folder, and that of `public` is its package."""
    assert find_single_importers(modules) == {"second.py": "first.py"}


def test_functions_are_measured(modules: list[count_source.Module]) -> None:
    assert function_lengths(modules) == [(4, "first.py:4 run")]


@pytest.mark.parametrize("command", ["score", "serve"])
def test_flags_are_those_of_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for flag in ("--help", "--help-all"):
        assert main([command, flag]) == 0
        shown.append(len(re.findall(r"^  (?:-\w, )?--(?!help )", capsys.readouterr().out, re.M)))
    assert count_flags()[f"nlgauge {command}"] == tuple(shown)


@pytest.mark.usefixtures("modules")
def test_the_script_writes_the_table_into_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr(count_source, "PAGE", page)
    assert count_source.main(["--write"]) == 0
    table = capsys.readouterr().out.partition("\n\n")[0]
    assert "| files (`*.py`) | 9 | at most 260 |" in table
    assert page.read_text(encoding="utf-8") == f"before\n<!-- figures -->\n{table}\n<!-- end -->\nafter\n"
