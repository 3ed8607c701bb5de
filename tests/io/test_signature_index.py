"""The index of short signatures: shared by processes, tolerant of damage, and never in the way of a score."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nlgauge.io import signature_index
from nlgauge.io.signature_index import find_recipes, index_folder, recipe_digest, record_recipe, unique_digits

RECIPE = "chrf|chars:6|words:0|beta:2|nlgauge:0.2.0"
DIGITS = recipe_digest(RECIPE)[:8]

pytestmark = pytest.mark.usefixtures("own_cache")


def files() -> list[Path]:
    return sorted(index_folder().iterdir())


def test_recorded_recipe_is_found_by_its_digits() -> None:
    assert find_recipes(DIGITS) == []
    assert record_recipe(RECIPE) == 8
    assert find_recipes(DIGITS) == [RECIPE]
    assert find_recipes(recipe_digest(RECIPE)) == [RECIPE]
    assert [path.name for path in files()] == [f"{DIGITS[:2]}.txt"]


def test_a_recipe_is_written_once() -> None:
    for _ in range(3):
        signature_index._record.cache_clear()
        record_recipe(RECIPE)
    (path,) = files()
    assert path.read_text(encoding="utf-8") == f"{recipe_digest(RECIPE)} {RECIPE}\n"


def test_collision_lengthens_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {"a|b:1": "3f9c21ab77" + "0" * 54, "a|b:2": "3f9c21ab7" + "1" * 55, "a|b:3": "3f9c21ac" + "0" * 56}
    monkeypatch.setattr(signature_index, "recipe_digest", lambda recipe: digests.get(recipe, "f" * 64))
    assert [record_recipe(recipe) for recipe in digests] == [8, 10, 8]
    assert find_recipes("3f9c21ab") == ["a|b:1", "a|b:2"]
    assert find_recipes("3f9c21ab77") == ["a|b:1"]
    assert unique_digits(digests["a|b:3"], list(digests.values())) == 8


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\xff\xfe\x00garbage",
        b"0" * 64,
        recipe_digest(RECIPE).encode() + b" chrf|chars:5",
        recipe_digest(RECIPE).encode() + b" \xff\xff",
        recipe_digest(RECIPE)[:30].encode(),
    ],
)
def test_damaged_lines_are_ignored(damage: bytes) -> None:
    index_folder().mkdir(parents=True)
    path = index_folder() / f"{DIGITS[:2]}.txt"
    path.write_bytes(damage)  # without a newline: a crash may leave half a line
    assert find_recipes(DIGITS) == []
    assert record_recipe(RECIPE) == 8
    assert find_recipes(DIGITS) == [RECIPE]
    assert path.read_bytes().startswith(damage)


def test_a_full_file_takes_no_more_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature_index, "MAX_BYTES", 0)
    assert record_recipe(RECIPE) == 8
    assert find_recipes(DIGITS) == []


def test_read_only_cache_records_nothing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(signature_index.os, "open", refuse)
    assert record_recipe(RECIPE) == 8
    assert find_recipes(DIGITS) == []


def test_cache_folder_that_is_a_file_records_nothing(own_cache: Path) -> None:
    own_cache.write_text("not a folder", encoding="utf-8")
    assert record_recipe(RECIPE) == 8
    assert find_recipes(DIGITS) == []


def test_machine_without_a_home_folder_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        msg = "Could not determine home directory."
        raise RuntimeError(msg)

    monkeypatch.setattr(signature_index, "cache_dir", fail)
    assert record_recipe(RECIPE) == 8
    assert find_recipes(DIGITS) == []


def test_two_processes_write_at_once(own_cache: Path) -> None:
    # All recipes go to one file, so that the writes meet.
    code = (
        "import sys; from nlgauge.io import signature_index as s; from pathlib import Path\n"
        "s._file = lambda folder, digits: folder / 'all.txt'\n"
        "for n in range(200): s.record_recipe(f'm|process:{sys.argv[1]}|n:{n}|' + 'x' * 300)\n"
    )
    environment = os.environ | {"NLGAUGE_CACHE": str(own_cache)}
    running = [subprocess.Popen([sys.executable, "-c", code, name], env=environment) for name in ("a", "b")]
    assert [process.wait(60) for process in running] == [0, 0]
    # A process that reads half a line of the other one starts with a line break, which leaves an empty line.
    lines = [line for line in (index_folder() / "all.txt").read_text(encoding="utf-8").splitlines() if line]
    assert len(lines) == 400
    assert all(recipe_digest(line.partition(" ")[2]) == line.partition(" ")[0] for line in lines)
