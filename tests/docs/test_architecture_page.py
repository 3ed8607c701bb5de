"""The page on architecture is short, and what it names exists."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.test_architecture import LAYERS

import nlgauge
from nlgauge.core.metric import Metric
from nlgauge.core.registry import metric_class
from nlgauge.core.vector_metric import VectorMetric

SOURCE = Path(nlgauge.__file__).parent
ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_page_can_be_read_in_five_minutes() -> None:
    assert len(PAGE.splitlines()) <= 200


def test_the_table_of_rooms_has_the_order_that_is_checked() -> None:
    rows = re.findall(r"^\| (?:(\w+): [^|]*)?\s*\| `(\w+)` \|", PAGE, re.M)
    rooms: dict[str, list[str]] = {}
    layer = ""
    for name, room in rows:
        layer = name or layer
        rooms.setdefault(layer, []).append(room)
    assert rooms == {layer: list(names) for layer, names in LAYERS.items()}


def test_every_module_has_a_line_in_the_generated_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="the site's tools are not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    sys.modules.pop("source_tree", None)
    import source_tree

    lines = list(source_tree.tree())
    files = [line.split()[0] for line in lines]
    assert len(files) == len(list(SOURCE.rglob("*.py"))) - 1  # the front door is the root of the tree
    assert not [line for line in lines if len(line.split()) < 3], "a docstring says what a module contains"


def defined(base: type[Metric], *, above: type[Metric] | None = None) -> set[str]:
    """Members of a class that are not options, up to `above`."""
    known = above.__mro__ if above else ()
    classes = [one for one in base.__mro__ if issubclass(one, Metric) and one not in known]
    names = {name for one in classes for name in {**vars(one), **vars(one).get("__annotations__", {})}}
    return {name for name in names if not name.startswith("_")} - set(base.options())


def test_members_of_a_metric_are_counted_and_named() -> None:
    section = PAGE.partition("## What a metric defines")[2].partition("\n## ")[0]
    members = defined(VectorMetric)
    assert f"has {len(members)} members" in section
    listed = [name for name in re.findall(r"`(\w+)`", section.partition("BERTScore")[0]) if name != "VectorMetric"]
    assert sorted(listed) == sorted(members)
    must = re.findall(r"`(\w+)`", section.partition("**must**")[2].partition("- It")[0])
    assert set(VectorMetric.__abstractmethods__) <= set(must)
    words = {9: "nine", 10: "ten", 11: "eleven", 12: "twelve"}
    own = defined(metric_class("bertscore"), above=VectorMetric)
    assert f"BERTScore defines {words[len(own)]} of them" in section


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([a-z_]+/[\w/]*\.\w+)`", PAGE))))
def test_files_named_on_the_page_exist(path: str) -> None:
    assert (SOURCE / path).is_file() or (ROOT / path).is_file()
