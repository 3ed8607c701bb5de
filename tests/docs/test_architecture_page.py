"""docs/architecture.md names every file of the source, once, in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import nlgauge
from nlgauge import Metric, VectorMetric
from nlgauge.registry import metric_class

SOURCE = Path(nlgauge.__file__).parent
ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TREE = PAGE.partition("## The tree")[2].partition("```\n")[2].partition("```")[0].splitlines()


def named() -> Iterator[str]:
    """Paths of the tree; a folder ends in a slash."""
    folders: list[str] = []
    for line in TREE:
        depth, spaces = divmod(len(line) - len(line.lstrip()), 4)
        name = line.split()[0]
        assert not spaces, line
        assert depth <= len(folders), line
        del folders[depth:]
        yield "".join(folders) + name
        if name.endswith("/"):
            folders.append(name)


def test_every_module_is_in_the_tree_once_and_none_is_missing() -> None:
    files = [path for path in named() if not path.endswith("/")]
    assert len(files) == len(set(files))
    there = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if path.name != "__init__.py"}
    # A metric of its own file is told of in docs/metrics/; the tree may name it too.
    assert {path for path in there if not re.fullmatch(r"metrics/\w+\.py", path)} <= set(files) <= there


def test_folders_of_the_tree_are_those_of_the_source() -> None:
    there = {f"{path.parent.relative_to(SOURCE).as_posix()}/" for path in SOURCE.rglob("__init__.py")}
    assert {path for path in named() if path.endswith("/")} == there - {"./"}


def test_rooms_come_in_the_order_of_imports() -> None:
    source = (ROOT / "tests" / "test_architecture.py").read_text(encoding="utf-8")
    (order,) = [
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ORDER"
    ]
    rooms = [line.split()[0].removesuffix("/").removesuffix(".py") for line in TREE if not line.startswith(" ")]
    assert [room for room in rooms if room in order] == order


def test_a_line_of_the_tree_is_short_and_says_something() -> None:
    for line in TREE:
        assert len(line) <= 110, line
        assert len(line.split()) > 1, line


def defined(base: type[Metric], *, above: type[Metric] | None = None) -> set[str]:
    """Members of a class that are no options, up to `above`."""
    known = above.__mro__ if above else ()
    classes = [one for one in base.__mro__ if issubclass(one, Metric) and one not in known]
    names = {name for one in classes for name in {**vars(one), **vars(one).get("__annotations__", {})}}
    return {name for name in names if not name.startswith("_")} - set(base.options())


def test_what_a_metric_defines_is_counted_and_named() -> None:
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


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([a-z_]+/[\w/]*\.py)`", PAGE))))
def test_files_that_the_text_names_are_there(path: str) -> None:
    assert (SOURCE / path).is_file() or (ROOT / path).is_file()
