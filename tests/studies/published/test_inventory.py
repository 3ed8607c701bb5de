"""Every table and figure of the papers has an entry, or a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nlgauge.studies.published.load import INVENTORY, PAPER_TABLES, PrintedItem

#: Files of the papers' texts, and the papers in the inventory that are in them.
TEXTS = {"bertscore.txt": "BERTScore", "moverscore.txt": "MoverScore", "reproducibility.txt": "reproducibility study",
         "sentsim.txt": "SentSim"}  # fmt: skip
#: The first chapter of the dissertation that is a paper; figures of those before it are illustrations.
FIRST_PAPER = 5
#: Chapter of the dissertation by the line that begins it.
CHAPTER = re.compile(r"(?:^|\. )Chapter (\d+)$")
CAPTION = re.compile(r"^ ?(Table|Figure) ([\d.]*\d)(?::|\.\s)")


def test_each_item_has_an_entry_or_a_reason_and_each_entry_an_item() -> None:
    for item in INVENTORY:
        assert bool(item.entries) != bool(item.reason), item
        assert set(item.entries) <= set(PAPER_TABLES), item
    assert {name for item in INVENTORY for name in item.entries} == set(PAPER_TABLES)
    named = [(item.paper, item.name) for item in INVENTORY]
    assert len(set(named)) == len(named)


def item(paper: str, name: str) -> PrintedItem:
    (result,) = (entry for entry in INVENTORY if (entry.paper, entry.name) == (paper, name))
    return result


def test_partly_covered_items_name_the_part() -> None:
    # Data that no loader reads: print is shown, and nothing of ours.
    of_print = {name for entry in INVENTORY if "published values only" in entry.part for name in entry.entries}
    assert of_print == {name for name, table in PAPER_TABLES.items() if table.unavailable and not table.data}


def test_figures_of_the_reproducibility_study_have_entries() -> None:
    levels = {
        question.level
        for column in PAPER_TABLES["repro-figure4"].questions
        if (question := column.question) is not None
    }
    assert levels == {"segment", "system", "topic"}
    assert item("reproducibility study", "Figure 4").entries == ("repro-figure4",)
    assert item("reproducibility study", "Figure 7").entries == ("repro-figure7",)


def names_of(item: PrintedItem) -> list[str]:
    """Tables and figures one by one: `Figures 2 to 4` are three."""
    several = re.fullmatch(r"Figures (\d+) to (\d+)", item.name)
    if several is None:
        return [item.name]
    return [f"Figure {number}" for number in range(int(several[1]), int(several[2]) + 1)]


def test_no_table_or_figure_of_the_texts_is_left_out(data_folder: Path) -> None:
    papers = data_folder.parent / "papers"
    if not papers.is_dir():
        pytest.skip("the texts of the papers are not beside the data")
    listed = {(item.paper, name) for item in INVENTORY for name in names_of(item)}
    printed = set()
    for file, paper in TEXTS.items():
        for line in (papers / file).read_text(encoding="utf-8").splitlines():
            if match := CAPTION.match(line):
                printed.add((paper, f"{match[1]} {match[2]}"))
    chapter = 0
    for line in (papers / "dissertation.txt").read_text(encoding="utf-8").splitlines():
        if match := CHAPTER.search(line):
            chapter = int(match[1])
        elif (match := CAPTION.match(line)) and (chapter >= FIRST_PAPER or match[1] == "Table"):
            printed.add((f"dissertation, chapter {chapter}", f"{match[1]} {match[2]}"))
    assert sum(name.startswith("Table") for _, name in printed) >= 115
    assert sum(name.startswith("Figure") for _, name in printed) >= 60
    assert printed <= listed
