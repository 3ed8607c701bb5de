"""The page on architecture is short, and what it names exists."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from docs.count_source import BLOCK
from tests.test_architecture import LAYERS

import nlgauge
from nlgauge.core.vector_metric import VectorMetric

SOURCE = Path(nlgauge.__file__).parent
ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"\w+", " ".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))))

ROOMS = [room for rooms in LAYERS.values() for room in rooms]
#: Paths anywhere on the page, in code blocks too; NAME is any metric.
PATHS = sorted(set(re.findall(rf"(?<![\w/.])((?:src|tests|docs|{'|'.join(ROOMS)})/[\w/.]*\w|\w+\.py)\b", PAGE)))
#: Code in the text, without code blocks.
CODE = sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))))


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


@pytest.mark.parametrize("layer", ["studies", "apps"])
def test_the_table_of_rooms_names_all_folders_of_studies_and_apps(layer: str) -> None:
    row = re.search(rf"\| `{layer}` \| ([^|]*) \|$", PAGE, re.M)
    assert row is not None
    modules = {path.stem for path in (SOURCE / layer).iterdir() if not path.name.startswith("__")}
    assert set(re.findall(r"`(\w+)`", row[1])) == modules


def test_every_module_has_a_line_in_the_generated_list(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="the site's tools are not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    sys.modules.pop("source_tree", None)
    import source_tree

    lines = list(source_tree.tree())
    files = [line for line in lines if re.match(r" *- `\w+(\.py|/)`: \S", line)]
    rooms = [line for line in lines if line.startswith("### ")]
    assert rooms == [f"### `{room}/`" for room in sorted(ROOMS)]
    assert len(files) + len(rooms) == len(list(SOURCE.rglob("*.py"))) - 1  # the front door is the root of the tree
    assert not [line for line in files if len(line.split()) < 4], "a docstring says what a module contains"


def test_the_page_keeps_no_list_of_files_by_hand() -> None:
    assert PAGE.rstrip().endswith("## Files")


def test_members_that_a_metric_must_define_are_named() -> None:
    section = PAGE.partition("## What a metric defines")[2].partition("A metric with `profiles`")[0]
    names = re.findall(r"`(\w+)`", section.partition("It must define")[2].partition(", may override")[0])
    assert set(VectorMetric.__abstractmethods__) <= set(names)
    known = {
        name for base in VectorMetric.__mro__ for name in {**vars(base), **vars(base).get("__annotations__", {})}
    }
    assert len(names) == 6
    assert set(names) <= known


@pytest.mark.parametrize("path", PATHS)
def test_paths_named_on_the_page_exist(path: str) -> None:
    if Path(path).stem == "NAME":
        path = str(Path(path).parent)
    assert (SOURCE / path).exists() or (ROOT / path).exists()


@pytest.mark.parametrize("name", [code for code in CODE if re.fullmatch(r"nlgauge(\.\w+)+", code)])
def test_modules_and_functions_named_on_the_page_exist(name: str) -> None:
    if name == "nlgauge.engines":
        return  # a group of entry points
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("code", [code for code in CODE if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", code)])
def test_names_on_the_page_occur_in_the_source(code: str) -> None:
    if (SOURCE / code).is_dir():
        return
    assert set(code.split(".")) <= WORDS


def test_the_figures_have_their_form_and_bars() -> None:
    block = BLOCK.search(PAGE)
    assert block is not None
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \|(?: ([^|]+) )?\|$", block[0].replace("| |", "||"), re.M)
    bars = {bar for _, _, bar in rows if bar}
    assert bars == {"at most 260", "at most 57,000", "at most 11", "at most 8", "fewer than 25"}
    assert len(rows) == block[0].count("\n") - 3, "all but the marker and the head of the table"
