"""Tables of DiscoScore: what is declared, and what public data gives beside print."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.data import load
from nlgauge.errors import RecipeError
from nlgauge.published.catalog import PAPER_TABLES
from nlgauge.published.feature_table import FeatureTable
from nlgauge.published.papers.discoscore_2023 import ABSTRACTIVE, DISCOSCORE_TABLES
from nlgauge.published.reproduce import reproduce
from nlgauge.published.results import ReproducedCell, Reproduction

#: Two of 66 pairs of systems that change places.
TWO_SWAPS = 2 * 100 * 2 / 66 + 0.01


def ours(found: Reproduction, row: str) -> list[float]:
    (cells,) = [one.cells for one in found.rows if one.name == row]
    return [value for cell in cells.values() if isinstance(value := cell.ours, float)]


def test_all_twelve_tables_are_there() -> None:
    assert [table.id for table in DISCOSCORE_TABLES] == [f"disco-table{number}" for number in range(1, 13)]
    assert all(PAPER_TABLES[table.id] is table for table in DISCOSCORE_TABLES)


def test_a_value_without_a_sign_in_print_is_compared_without_ours() -> None:
    # D6.16: tau is -51.52 here, and 45.45 in print.
    assert ReproducedCell(45.45, -51.52, absolute=True).difference == pytest.approx(6.07)
    assert ReproducedCell(45.45, -51.52).difference == pytest.approx(-96.97)


def test_values_of_table_7_that_seven_systems_cannot_have() -> None:
    # D6.11: without ties, tau of 7 systems is an odd multiple of 1/21.
    possible = [100 * number / 21 for number in range(-21, 22, 2)]
    rows = {row.name: row for row in PAPER_TABLES["disco-table7"].rows}
    impossible = {
        (name, label): value
        for name, row in rows.items()
        for label, value in row.published.items()
        if label != "average" and min(abs(value - one) for one in possible) > 0.02
    }
    assert set(impossible.values()) == {42.58, 51.52}
    assert {name for name, _ in impossible} == {"BARTScore", "PRISM"}


def test_what_cannot_be_had_is_said() -> None:
    for number in (6, 12):
        found = reproduce(PAPER_TABLES[f"disco-table{number}"], model="none")
        assert all(cell.ours is None for row in found.rows for cell in row.cells.values())
        assert "mt-metrics-eval" in found.missing[0]
    found = reproduce(PAPER_TABLES["disco-table8"], model="none", rows="BARTScore (max)")
    assert found.rows[0].reason == "no model here"


def test_a_table_of_features_takes_no_model() -> None:
    table = PAPER_TABLES["disco-table9"]
    assert isinstance(table, FeatureTable)
    with pytest.raises(RecipeError, match="disco-table9 is a table on features of texts; leave out model"):
        reproduce(table, model="minilm")
    found = reproduce(table)
    assert [one.partition(":")[0] for one in found.missing] == [
        "data set summeval",
        "data set newsroom",
        "WMT20 documents with their ratings",
    ]


def test_the_abstractive_systems_of_summeval(data_folder: Path) -> None:
    table = load("summeval", data_folder, systems=ABSTRACTIVE)
    assert set(table.systems) == set(ABSTRACTIVE)
    assert len(table) == 1200
    with pytest.raises(RecipeError, match="system 'M3' is not here"):
        load("summeval", data_folder, systems="M3")


@pytest.mark.slow
def test_cohesion_on_summeval_is_within_two_swaps_of_print(data_folder: Path) -> None:
    rows = ("RC", "LC", "Entity Graph", "Lexical Chain", "frequency only")
    found = reproduce(PAPER_TABLES["disco-table1"], at=data_folder, model="none", rows=rows)
    for row in found.rows:
        if row.name != "frequency only":
            assert all(abs(cell.difference or 0.0) <= TWO_SWAPS for cell in row.cells.values()), row.name
            assert all(value < 0 for value in ours(found, row.name)), "all run against people (D6.16)"
    # Without an encoder, counts of common nouns follow people as well as DS-Focus with lower layers of MiniLM.
    assert all(value > 35 for value in ours(found, "frequency only"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nlgauge.NoNounWarning")  # of six summaries of Newsroom
def test_statistics_of_the_data_are_near_print(data_folder: Path) -> None:
    found = reproduce(PAPER_TABLES["disco-table9"], at=data_folder)
    by_name = {row.name: row.cells for row in found.rows}
    for name in ("references", "systems", "hypotheses per system"):
        assert all(cell.difference in (0, None) for cell in by_name[name].values())
    assert by_name["sentences per hypothesis"]["SummEval"].ours == pytest.approx(3.13, abs=0.1)
    assert by_name["foci per hypothesis"]["SummEval"].ours == pytest.approx(15.18, abs=2)
    assert by_name["hypotheses with good foci, %"]["NeR18"].ours == pytest.approx(43.80, abs=5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nlgauge.NoNounWarning")  # of six summaries of Newsroom
def test_references_and_hypotheses_are_told_apart_by_features(data_folder: Path) -> None:
    found = reproduce(PAPER_TABLES["disco-table11"], at=data_folder, data="newsroom", rows=["Frequency (NN)"])
    shares = ours(found, "Frequency (NN)")
    assert sum(shares) == pytest.approx(100)
    assert shares[2] > shares[0], "summaries repeat more than references"
