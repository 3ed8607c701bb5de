"""Every number of a deviation leads to a row of docs/deviations.md, and every test that a row names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = ROOT / "docs" / "deviations.md"
TESTS = ROOT / "docs" / "tables" / "deviations.tsv"

#: D8.14 or D16, but neither D19-1053 (a paper's address) nor D0845 (a topic) nor D2T (data to text).
NUMBER = re.compile(r"(?<![\w/.-])D[1-9]\d?(?:\.\d+)?(?![\w-])")
TEST = re.compile(r"(test_\w+\.py)::(test_\w+)")
COLUMNS = ["number", "the paper", "the released code", "nlgauge"]


def lines_of_tables() -> Iterator[list[str]]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


ROWS = [cells for cells in lines_of_tables() if NUMBER.fullmatch(cells[0])]
TESTS_OF_ROWS = dict(line.split("\t") for line in TESTS.read_text(encoding="utf-8").splitlines()[1:])


def mentions() -> Iterator[tuple[str, str]]:
    """A number, and the line where it stands."""
    sources = [*sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "examples").rglob("*.py"))]
    for path in [*sources, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("README.md"))]:
        for index, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for number in NUMBER.findall(line):
                yield number, f"{path.relative_to(ROOT).as_posix()}:{index}"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("idf is inert (D16), see D5.1 to D5.8.", ["D16", "D5.1", "D5.8"]),
        ("aclanthology.org/D19-1053 and D19-1053", []),
        ("item 'D0845', D2T_COLUMNS, 3D1", []),
    ],
)
def test_deviation_numbers_have_the_documented_form(text: str, numbers: list[str]) -> None:
    assert NUMBER.findall(text) == numbers


def test_every_number_has_a_row() -> None:
    known = {cells[0] for cells in ROWS}
    without = {f"{number} ({place})" for number, place in mentions() if number not in known}
    assert not without, f"no row in {PAGE.name}: {sorted(without)}"


def test_both_series_are_whole() -> None:
    """A number once given away stays taken, so no series has a gap."""
    numbers = [cells[0].removeprefix("D") for cells in ROWS]
    assert len(set(numbers)) == len(numbers)
    series: dict[str, list[int]] = {}
    for number in numbers:
        chapter, _, rest = number.rpartition(".")
        series.setdefault(chapter, []).append(int(rest))
    assert sorted(series) == sorted(["", "5", "6", "7", "8", "9", "10"])
    for chapter, result in series.items():
        assert result == list(range(1, len(result) + 1)), f"D{chapter}"


@pytest.mark.parametrize("cells", ROWS, ids=lambda cells: cells[0])
def test_a_row_fills_four_columns(cells: list[str]) -> None:
    assert len(cells) == len(COLUMNS)
    assert all(cells)


def test_table_of_tests_has_the_rows_of_the_page() -> None:
    assert list(TESTS_OF_ROWS) == [cells[0] for cells in ROWS]
    for number, tests in TESTS_OF_ROWS.items():
        assert all(TEST.fullmatch(test) for test in tests.split()), number
    assert sum(bool(tests) for tests in TESTS_OF_ROWS.values()) >= 95


def test_tables_of_rows_have_these_columns() -> None:
    heads = [cells for cells in lines_of_tables() if cells[0] == "number"]
    assert heads
    assert all(cells == COLUMNS for cells in heads)


def test_every_test_that_is_named_is_there() -> None:
    """By the name of its file alone, wherever under tests/ or among the examples it lies."""
    files: dict[str, str] = {}
    for path in [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "examples").rglob("test_*.py")]:
        files[path.name] = files.get(path.name, "") + path.read_text(encoding="utf-8")
    moved = [
        f"{number}: {name} is not in {file}, but in {[other for other in files if f'def {name}(' in files[other]]}"
        for number, tests in TESTS_OF_ROWS.items()
        for file, name in TEST.findall(tests)
        if f"def {name}(" not in files.get(file, "")
    ]
    assert not moved


def test_nothing_refers_to_a_document_that_is_not_here() -> None:
    """A number such as 6.1 of a document outside of the repository leads nowhere."""
    pattern = re.compile(r"\bspec \d+\.\d|\bspec(ification)?,? part \d", re.IGNORECASE)
    files = [path for folder in ("src", "tests", "docs") for path in sorted((ROOT / folder).rglob("*.[pm][yd]"))]
    result = [
        path.name for path in files if path != Path(__file__) and pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert result == []
