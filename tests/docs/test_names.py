"""Files and Python names that the documentation mentions are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import nlgauge

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
SOURCE = Path(nlgauge.__file__).parent
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "benchmarks" / "README.md"]
FILE = re.compile(r"`((?:[a-z0-9_]+/)+\w+\.py)`")
NAME = re.compile(r"`nlgauge((?:\.\w+)+)(?=[`(])")
LINK = re.compile(r"\]\((?!http)([^)#\s]+)")


def text(page: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_on_pages_exist(page: Path) -> None:
    places = (SOURCE, SOURCE.parent, ROOT)
    assert [name for name in FILE.findall(text(page)) if not any((place / name).is_file() for place in places)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_linked_pages_exist(page: Path) -> None:
    assert [name for name in LINK.findall(text(page)) if not (page.parent / name).exists()] == []


def resolved(dotted: str) -> object:
    result: object = nlgauge
    path = "nlgauge"
    for name in dotted.strip(".").split("."):
        path += f".{name}"
        result = getattr(result, name) if hasattr(result, name) else importlib.import_module(path)
    return result


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_names_on_pages_exist(page: Path) -> None:
    for dotted in NAME.findall(text(page)):
        if dotted not in (".metrics", ".engines"):  # groups of entry points
            resolved(dotted)
