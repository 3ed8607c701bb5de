"""Records from TOML: tables become dataclasses, and every mistake is refused with the file and the entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from nlgauge.errors import FileFormatError
from nlgauge.io.toml_records import read_records


@dataclass(frozen=True)
class Book:
    title: str
    pages: int


@dataclass(frozen=True)
class Author:
    name: str
    born: int
    alive: bool = True
    languages: tuple[str, ...] = ()
    prizes: Mapping[str, int] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal["novelist", "poet"] = "poet"
    works: tuple[Book, ...] = ()
    best: Book | None = None


FULL = """
[ada]
born = 1815
alive = false
languages = ["en", "fr"]
prizes = { medal = 1843 }
extra = { year = 15, names = ["a", "b"] }
kind = "novelist"
works = [{ title = "Notes", pages = 3 }, { title = "Letters", pages = 200 }]
best = { title = "Letters", pages = 200 }

[bob]
born = 1900
"""


def read(folder: Path, text: str) -> dict[str, Author]:
    file = folder / "authors.toml"
    file.write_text(text, encoding="utf-8")
    return read_records(file, Author)


def test_tables_become_records(tmp_path: Path) -> None:
    assert read(tmp_path, FULL) == {
        "ada": Author(
            name="ada",
            born=1815,
            alive=False,
            languages=("en", "fr"),
            prizes={"medal": 1843},
            extra={"year": 15, "names": ("a", "b")},
            kind="novelist",
            works=(Book("Notes", 3), Book("Letters", 200)),
            best=Book("Letters", 200),
        ),
        "bob": Author(name="bob", born=1900),
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("born = 1900", "born = 1900\nborm = 1", "authors.toml: bob: unknown key 'borm'; known keys: born, alive, "),
        ("born = 1900", "born = 1900\nname = 'x'", "authors.toml: bob: unknown key 'name'"),
        ("born = 1900", "", "authors.toml: bob: missing key 'born'"),
        ("born = 1900", "born = true", "authors.toml: bob: born must be a whole number, got True"),
        ("alive = false", "alive = 0", "authors.toml: ada: alive must be true or false, got 0"),
        ("[bob]\nborn = 1900", "[zoe]\nborn = 1\nlanguages = 'en'", "zoe: languages must be a list, got 'en'"),
        ('"fr"]', "1]", "authors.toml: ada: languages[1] must be a text, got 1"),
        ("medal = 1843", "medal = 'x'", "authors.toml: ada: prizes.medal must be a whole number, got 'x'"),
        ("{ medal = 1843 }", "1843", "authors.toml: ada: prizes must be a table, got 1843"),
        ('"novelist"', '"prophet"', "ada: kind must be one of 'novelist', 'poet', got 'prophet'"),
        ("pages = 3", "pgaes = 3", "ada: works[0]: unknown key 'pgaes'; known keys: title, pages"),
        (", pages = 200 }]", ", pages = 200 }, 7]", "authors.toml: ada: works[2] must be a table, got 7"),
        ("[ada]", "carl = 1\n[ada]", "authors.toml: carl must be a table, got 1"),
        ("[ada]", "[ada", "authors.toml is not valid TOML: "),
    ],
)
def test_mistakes_are_refused_with_the_entry(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert FULL.count(old) == 1
    with pytest.raises(FileFormatError) as caught:
        read(tmp_path, FULL.replace(old, new))
    assert message in str(caught.value)
