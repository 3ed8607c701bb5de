"""Public behaviour matches the records: scores, signatures, output of commands, help, the HTTP interface.

After an intended change, run `python -m tests.frozen.record` and review the diff of tests/frozen/outputs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.frozen.comparing import EXCEPTIONS, differences
from tests.frozen.recipes import RECIPES
from tests.frozen.record import OUTPUTS, PARTS, pages, record, slug

_SHOWN = 40


def check(part: str, files: dict[str, str]) -> None:
    """Compare the files of a part with the recorded ones, and show the differences."""
    recorded = {
        path.relative_to(OUTPUTS).as_posix(): path.read_text(encoding="utf-8") for path in (OUTPUTS / part).iterdir()
    }
    problems = [f"{name}: recorded, but no longer produced" for name in sorted(recorded.keys() - files.keys())]
    problems += [f"{name}: produced, but not recorded" for name in sorted(files.keys() - recorded.keys())]
    for name in sorted(recorded.keys() & files.keys()):
        problems += map(str, differences(name, recorded[name], files[name]))
    more = f"\n... and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    assert not problems, (
        f"{len(problems)} differences from tests/frozen/outputs; if they are intended, run "
        f"`python -m tests.frozen.record {part}`\n" + "\n".join(problems[:_SHOWN]) + more
    )


@pytest.mark.parametrize("part", [name for name, part in PARTS.items() if part.lane == "first"])
def test_quick_outputs_are_as_recorded(part: str) -> None:
    check(part, record(part))


@pytest.mark.slow
@pytest.mark.parametrize("part", [name for name, part in PARTS.items() if part.lane == "slow"])
def test_slow_outputs_are_as_recorded(part: str) -> None:
    check(part, record(part))


@pytest.mark.parametrize("part", [name for name, part in PARTS.items() if part.lane == "data"])
def test_outputs_on_real_data_are_as_recorded(part: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_FROZEN_DATA", str(data_folder.resolve()))
    check(part, record(part))


def test_a_difference_names_file_line_and_both_texts() -> None:
    old = "$ nlgauge score a.txt\nf1\n0.9063  a.txt\n[json, 3 lines]\n0.25\n"
    assert not differences("x.txt", old, old.replace("0.9063", "0.9064").replace("0.25", "0.2500019"))
    moved = differences("x.txt", old, old.replace("0.9063", "0.9065"))
    assert [(difference.line, difference.old, difference.new) for difference in moved] == [
        (3, "0.9063  a.txt", "0.9065  a.txt")
    ]
    assert str(moved[0]).startswith("x.txt, line 3 ($ nlgauge score a.txt)\n")
    for other in ("0.26", "0.250003", "x", "025"):
        assert [difference.line for difference in differences("x.txt", old, old.replace("0.25", other))] == [5]
    assert [difference.new for difference in differences("x.txt", old, old.replace("f1\n", "f1\nmore\n"))] == ["more"]
    assert [difference.old for difference in differences("x.txt", old, old.replace("f1\n", ""))] == ["f1"]


def test_columns_may_have_other_widths_and_text_may_not() -> None:
    assert not differences("x.txt", "a   f1\n--  --\n", "a f1\n-----  -\n")
    assert differences("x.txt", "    a\n", "  a\n")
    assert differences("x.txt", "layer:4|idf:none", "layer:5|idf:none")


def test_exceptions_name_files_that_exist() -> None:
    assert [rule.file for rule in EXCEPTIONS if not list(OUTPUTS.glob(rule.file)) or not rule.reason] == []


def test_every_recipe_and_page_has_a_distinct_file_name() -> None:
    assert {f"{slug(recipe)}.json" for recipe in RECIPES} == {path.name for path in (OUTPUTS / "scores").iterdir()}
    assert len({slug(recipe) for recipe in RECIPES}) == len(RECIPES)
    assert {f"{page.stem}.txt" for page in pages()} == {path.name for path in (OUTPUTS / "pages").iterdir()}


def test_files_are_small_enough_to_read() -> None:
    sizes = {path.name: path.stat().st_size for path in OUTPUTS.rglob("*") if path.is_file()}
    assert {name for name, size in sizes.items() if size > 1_000_000} == set()
