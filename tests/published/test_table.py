"""The declarations hold together: every row names columns, recipes and data sets that exist."""

from __future__ import annotations

import pytest

from nlgauge.data import DATA_CARDS
from nlgauge.errors import RecipeError
from nlgauge.published.catalog import PAPER_TABLES, find_paper_table
from nlgauge.published.papers.zhao_2022 import DensityTable
from nlgauge.published.rankings.table import RankingTable
from nlgauge.published.table import Mean, PaperTable, PublishedModel
from nlgauge.registry import parse_metric

TABLES = pytest.mark.parametrize("table", PAPER_TABLES.values(), ids=list(PAPER_TABLES))


@TABLES
def test_labels_rows_and_data_sets_are_known(table: PaperTable) -> None:
    labels = [column.label for column in table.columns]
    assert len(set(labels)) == len(labels)
    names = [row.name for row in table.rows]
    assert len(set(names)) == len(names)
    for row in table.rows:
        assert set(row.published) <= set(labels), row.name
        assert not (row.recipe and row.released), row.name
        # What is only shown says why, here or for the whole table.
        assert row.computed or row.note or table.unavailable, row.name
    for column in table.columns:
        if isinstance(column, Mean):
            assert set(column.over) <= set(labels)
        elif column.question is not None:
            options = DATA_CARDS[column.question.data].options
            assert {name for name, _ in column.question.options} <= set(options)
    assert set(table.data) <= set(DATA_CARDS)
    drawn = isinstance(table, DensityTable) or (isinstance(table, RankingTable) and not table.frames)
    assert bool(table.data) + bool(table.unavailable) + drawn == 1


@TABLES
def test_every_recipe_parses(table: PaperTable) -> None:
    for row in table.rows:
        recipes = [text.replace("top-", "") for text in (row.recipe, row.recipe_for_other_models) if text]
        for text in [*recipes, *(f"{row.recipe},{extra}" for extra in row.exceptions.values())]:
            metric = parse_metric(text)
            assert hasattr(metric, "model") == (row.model is not None), row.name
            assert not row.component or row.component in metric.components


@TABLES
def test_printed_averages_are_those_of_the_printed_values(table: PaperTable) -> None:
    # Catches a slip of the keyboard in a row; print rounds values and average on their own.
    for row in table.rows:
        for column in table.columns:
            if isinstance(column, Mean) and {column.label, *column.over} <= set(row.published):
                mean = sum(row.published[label] for label in column.over) / len(column.over)
                assert mean == pytest.approx(row.published[column.label], abs=1.1 * 10.0**-table.decimals), row.name


def test_the_papers_are_all_there() -> None:
    wanted = {f"repro-table{number}" for number in range(1, 9)} | {f"moverscore-table{n}" for n in range(1, 7)}
    wanted |= {f"bertscore-table{number}" for number in (1, 6, 13, 15, 19)} | {"sentsim-table5"}
    wanted |= {f"bt-{name}" for name in ("table1", "table3", "table4", "table11.1", "figure2", "figure3", "figure4")}
    wanted |= {"bt-figure6", "bt-ties"}
    assert wanted <= set(PAPER_TABLES)
    assert find_paper_table("table3") is PAPER_TABLES["repro-table3"]
    with pytest.raises(RecipeError, match=r"no published table is known as 'nothing'; known are repro-table1"):
        find_paper_table("nothing")


def test_a_model_is_known_by_the_last_part_of_its_name() -> None:
    model = PublishedModel("bert-base-uncased", ("bert",))
    for name in ("bert-base-uncased", "google-bert/bert-base-uncased", "/models/bert-base-uncased/", "./bert"):
        assert model.matches(name)
    assert not model.matches("bert-base-cased")
    assert not model.matches("minilm")
