"""Every table of the papers has an entry, or a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nlgauge.published.catalog import PAPER_TABLES
from nlgauge.published.inventory import INVENTORY

#: Files of the papers' texts, and the papers in the inventory that are in them.
TEXTS = {"bertscore.txt": "BERTScore", "moverscore.txt": "MoverScore", "reproducibility.txt": "reproducibility study",
         "sentsim.txt": "SentSim"}  # fmt: skip
#: Chapter of the dissertation by the line that begins it.
CHAPTER = re.compile(r"(?:^|\. )Chapter (\d+)$")
CAPTION = re.compile(r"^ ?Table ([\d.]*\d)(?::|\.\s)")


def test_each_item_has_an_entry_or_a_reason_and_each_entry_an_item() -> None:
    for item in INVENTORY:
        assert bool(item.entries) != bool(item.reason), item
        assert set(item.entries) <= set(PAPER_TABLES), item
    assert {name for item in INVENTORY for name in item.entries} == set(PAPER_TABLES)
    named = [(item.paper, item.name) for item in INVENTORY]
    assert len(set(named)) == len(named)


def test_no_table_of_the_texts_is_left_out(data_folder: Path) -> None:
    papers = data_folder.parent / "papers"
    if not papers.is_dir():
        pytest.skip("the texts of the papers are not beside the data")
    listed = {(item.paper, item.name) for item in INVENTORY}
    printed = set()
    for file, paper in TEXTS.items():
        for line in (papers / file).read_text(encoding="utf-8").splitlines():
            if match := CAPTION.match(line):
                printed.add((paper, f"Table {match[1]}"))
    chapter = ""
    for line in (papers / "dissertation.txt").read_text(encoding="utf-8").splitlines():
        if match := CHAPTER.search(line):
            chapter = match[1]
        elif match := CAPTION.match(line):
            printed.add((f"dissertation, chapter {chapter}", f"Table {match[1]}"))
    assert len(printed) >= 115
    assert printed <= listed
