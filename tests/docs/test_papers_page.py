"""The page on what of the papers works agrees with its table, and the table with the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.make_papers import STATES, Item, find_place_problem, find_problems, read_items

from docs import make_papers


def test_page_and_table_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    status = make_papers.main(["--check"])
    assert status == 0, f"{capsys.readouterr().out}run: python -m docs.make_papers"


def test_every_item_has_a_known_state_and_open_ones_a_reason() -> None:
    items = read_items()
    assert {item.state for item in items} <= set(STATES)
    assert all(item.reason for item in items if item.state != "works")
    # 89 items of four papers and 189 of the dissertation.
    counts = [sum(item.id.isdigit() == of_dissertation for item in items) for of_dissertation in (False, True)]
    assert counts == [89, 189]


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("bertscoer", "'bertscoer' is no metric, command, table, data set or file"),
        ("bertscore:multiref=never", "multiref"),
        ("moverscore:stopwords=english", "no list of stop words 'english'"),
        ("nlgauge study nothing", "no command 'study nothing'"),
        ("nlgauge study meta --nothing", "command 'study meta' has no option --nothing"),
        ("bertscore-table99", "'bertscore-table99' is no metric"),
        ("src/nlgauge/nothing.py", "no file 'src/nlgauge/nothing.py'"),
    ],
)
def test_place_that_does_not_exist_is_named(place: str, problem: str) -> None:
    assert problem in find_place_problem(place)


@pytest.mark.parametrize(
    "place", ["chrf:words=2", "nlgauge study meta --level", "repro-figure*", "wmt17", "docs/index.md"]
)
def test_existing_place_has_no_problem(place: str) -> None:
    assert find_place_problem(place) == ""


def test_wrong_rows_are_listed() -> None:
    good = Item("X1", "p", "i", "works", "bertscore", "")
    wrong = {
        "X1: the id is not unique": good,
        "X2: unknown state 'fine'": Item("X2", "p", "i", "fine", "bertscore", ""),
        "X3: 'works' needs where it is": Item("X3", "p", "i", "works", "", ""),
        "X5: 'missing' needs a reason": Item("X5", "p", "i", "missing", "", ""),
    }
    reasoned = Item("X4", "p", "i", "works", "bertscore", "one model is in no registry")
    problems = list(find_problems([good, reasoned, *wrong.values()]))
    assert len(problems) == len(wrong)
    for problem, start in zip(problems, wrong, strict=True):
        assert problem.startswith(start)


def test_table_with_a_short_row_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "papers.tsv"
    path.write_text("\t".join(Item._fields) + "\nB1\tBERTScore\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"papers.tsv, line 2: expected 6 cells, got 2"):
        read_items(path)
