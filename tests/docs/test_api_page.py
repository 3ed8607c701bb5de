"""The reference of Python names has all that docs/stability.md calls public, and each of them says what it is."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGES = {path: path.read_text(encoding="utf-8") for path in [ROOT / "docs/api.md", *(ROOT / "docs/api").glob("*.md")]}
PUBLIC = (ROOT / "docs/stability.md").read_text(encoding="utf-8").partition("## Public")[2].partition("\n## ")[0]
MODULES = re.findall(r"`(nlgauge(?:\.[a-z_.]+)?)`", "\n".join(re.findall(r"^\| `nlgauge.*$", PUBLIC, re.M)))


#: Modules whose names docs/api.md lists one by one, in its own order.
LISTED = ("nlgauge", "nlgauge.metrics", "nlgauge.errors")


@pytest.mark.parametrize("name", LISTED)
def test_every_listed_name_is_there_once(name: str) -> None:
    blocks = re.findall(
        rf"^\.\. currentmodule:: {re.escape(name)}\n(.*?)^```", PAGES[ROOT / "docs/api.md"], re.M | re.S
    )
    shown = re.findall(r"^\.\. auto(?:class|function|exception):: (\w+)$", "\n".join(blocks), re.M)
    assert sorted(shown) == sorted(set(importlib.import_module(name).__all__) - {"__version__"})


def test_every_public_module_is_there() -> None:
    assert len(MODULES) == 18
    shown = re.findall(r"^\.\. automodule:: (\S+)$", "\n".join(PAGES.values()), re.M)
    assert sorted([*shown, *LISTED]) == sorted(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_and_class_says_what_it_is(name: str) -> None:
    module = importlib.import_module(name)
    silent = []
    for public in set(module.__all__) - {"__version__"}:
        thing = getattr(module, public)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            silent += [] if inspect.getdoc(thing) else [public]
        members = vars(thing).items() if inspect.isclass(thing) and thing.__module__.startswith("nlgauge") else ()
        silent += [
            f"{public}.{member}"
            for member, value in members
            if not member.startswith("_")
            and (inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod))
            and not inspect.getdoc(getattr(thing, member))
        ]
    assert silent == []


def test_python_on_the_pages_uses_public_modules() -> None:
    """Pages that import from elsewhere import what docs/stability.md says may change."""
    allowed = {*MODULES, "nlgauge.apps.compat"}
    changing = (
        "nlgauge.vectors",
        "nlgauge.studies.alignment",
        "nlgauge.studies.published",
        "nlgauge.report",
        "nlgauge.stats",
        "nlgauge.studies.compare.system_scores",
    )
    assert all(f"`{name}`" in PUBLIC for name in changing)
    for path in (ROOT / "docs").rglob("*.md"):
        for block in re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S):
            for name in re.findall(r"^(?:from|import) (nlgauge[\w.]*)", block, re.M):
                assert name in allowed or name.startswith(changing), (path.name, name)
