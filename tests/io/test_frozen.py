"""Files of frozen tables: a digest that is checked, and messages in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.storage import FrozenTable
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.text.idf import IdfTable


def idf() -> IdfTable:
    return IdfTable(12, np.array([12, 0, 3, 1]), "t" * 64, "a corpus")


def bounds() -> Bounds:
    return Bounds({"sss": (0.1, 0.9)}, {"layer": "4"}, 7)


TABLES: dict[str, FrozenTable] = {"idf": idf(), "bounds": bounds()}


def changed(path: Path, **entries: Any) -> None:
    content = json.loads(path.read_text()) | entries
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


@pytest.fixture(params=TABLES.values(), ids=TABLES)
def table(request: pytest.FixtureRequest) -> FrozenTable:
    made: FrozenTable = request.param
    return made


@pytest.fixture
def path(table: FrozenTable, tmp_path: Path) -> Path:
    table.save(tmp_path / "a.txt")
    return tmp_path / "a.txt"


def test_a_table_comes_back_as_it_was(table: FrozenTable, path: Path) -> None:
    again = type(table).load(path)
    assert again.digest == table.digest
    assert again.text() == table.text()


@pytest.mark.parametrize("content", [b"", b"a line of text\n", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000])
def test_another_file_is_not_one_of_these(table: FrozenTable, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"a\.txt' is not an? {table.KIND} \(nlgauge-.*{table.COMMAND}"):
        type(table).load(path)


def test_a_missing_file_comes_with_the_command(table: FrozenTable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"none' does not exist; make one with '{table.COMMAND} -o "):
        type(table).load(tmp_path / "none")


def test_a_missing_entry_is_named(table: FrozenTable, path: Path) -> None:
    for key in table.content().keys() - {"source"}:
        table.save(path)
        changed(path, **{key: None})
        with pytest.raises(FileFormatError, match=f"is damaged: '{key}' is missing"):
            type(table).load(path)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"documents": 1000}, "its digest does not match its numbers"),
        ({"frequency": {}}, "its digest does not match its numbers"),
        ({"frequency": {"0": 12, "2": 4, "3": 1}}, "its digest does not match its numbers"),
        ({"documents": 12.0}, "'documents' must be a whole number, got 12.0"),
        ({"documents": True}, "'documents' must be a whole number, got True"),
        ({"documents": 0}, "must be at least 1, got 0"),
        ({"frequency": {"0": 1.5}}, "the count of token 0 must be a whole number, got 1.5"),
        ({"frequency": {"0": True}}, "the count of token 0 must be a whole number, got True"),
        ({"frequency": {"0": 0}}, "token 0 cannot be in 0 of 12 documents"),
        ({"frequency": {"0": 13}}, "token 0 cannot be in 13 of 12 documents"),
        ({"frequency": {"4": 1}}, "contains '4', which is not a token id below 4"),
        ({"frequency": {"word": 1}}, "contains 'word', which is not a token id"),
        ({"frequency": [1]}, "'frequency' must be an object"),
        ({"tokenizer": 3}, "'tokenizer' a text"),
    ],
)
def test_a_changed_idf_file_is_refused_in_words(tmp_path: Path, entries: dict[str, Any], reason: str) -> None:
    path = tmp_path / "idf.json"
    idf().save(path)
    changed(path, **entries)
    with pytest.raises(FileFormatError, match=f"idf file .*idf.json' is damaged: .*{reason}"):
        IdfTable.load(path)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"pairs": 8}, "its digest does not match its numbers"),
        ({"bounds": {"sss": [0.1, 0.8]}}, "its digest does not match its numbers"),
        ({"bounds": {"sss": [0.1]}}, "the bounds of 'sss' must be two numbers"),
        ({"bounds": {"sss": ["0.1", 1]}}, "'sss' must be a number, got '0.1'"),
        ({"bounds": []}, "'bounds' and 'made_with' must be objects"),
        ({"pairs": "7"}, "'pairs' must be a whole number, got '7'"),
        ({"digest": None}, "'digest' is missing"),
    ],
)
def test_a_changed_bounds_file_is_refused_in_words(tmp_path: Path, entries: dict[str, Any], reason: str) -> None:
    path = tmp_path / "bounds.json"
    bounds().save(path)
    changed(path, **entries)
    with pytest.raises(FileFormatError, match=f"bounds file .*bounds.json' is damaged: .*{reason}"):
        Bounds.load(path)


def test_an_idf_file_without_a_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "idf.json"
    idf().save(path)
    changed(path, digest=None)
    with pytest.raises(FileFormatError, match=r"is damaged: 'digest' is missing.*nlgauge build idf"):
        IdfTable.load(path)
    changed(path, frequency={})
    with pytest.raises(FileFormatError, match="'frequency' contains no token"):
        IdfTable.load(path)
