"""The declarations of tables on rankings, and their options."""

from __future__ import annotations

from typing import Any

import pytest

from nlgauge.errors import RecipeError
from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.published.load import PAPER_TABLES

TABLES = {name: table for name, table in PAPER_TABLES.items() if table.kind == "rankings"}


def test_the_numbers_that_the_paper_gives_of_its_frames() -> None:
    """Section 5: 296 setups, 73,471 pairs of systems, 91,197 instances."""
    frames = TABLES["bt-table1"].frames
    assert sum(frame.metrics for frame in frames) == 296
    assert sum(frame.metrics * frame.systems * (frame.systems - 1) // 2 for frame in frames) == 73_471
    assert sum(frame.instances for frame in frames) == 91_197


def test_table_1_is_the_beginning_of_table_4() -> None:
    first, fourth = TABLES["bt-table1"], TABLES["bt-table4"]
    assert first.rows == fourth.rows[:3]
    assert len(fourth.rows) == 10


def test_shares_of_table_3_that_are_thirtieths() -> None:
    """A winner differs in a whole number of 30 draws; families of one metric show it (values are rounded)."""
    rows = [row for row in TABLES["bt-table3"].rows if row.name.split()[1] in ("BLEU", "MoverScore", "BERTScore")]
    of_tac = [row for row in rows if row.name.startswith("TAC")]
    assert len(of_tac) == 9
    for row in of_tac:
        for label, value in row.published.items():
            if label.startswith(("SotA", "Top-3")):
                assert abs(round(value * 30) / 30 - value) < 0.0051, (row.name, label)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ties": "first"}, "ties must be one of second, drop, half"),
        ({"design": "paper"}, "design must be coded or appendix, got 'paper'"),
        ({"tie_tolerance": -1e-9}, "tie_tolerance must be a number from 0, below 1, got -1e-09"),
        ({"tie_tolerance": float("nan")}, "from 0, below 1, got nan"),
        ({"draws": 0}, "draws must be a whole number from 1, got 0"),
        ({"draws": 5, "full": True}, "full and draws=5 exclude each other"),
        ({"seed": -1}, "seed must be a whole number from 0, got -1"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        RankingOptions(**options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bt-table1", {"draws": 3}),
        ("bt-figure3", {"ties": "half"}),
        ("bt-figure2", {"full": True}),
        ("bt-ties", {"seed": 1}),
    ],
)
def test_options_that_change_nothing_are_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=f"{next(iter(options))}=.* has no effect on {name}"):
        RankingOptions(**options).check_used(TABLES[name].experiment, what=name)
