"""The one table of human judgements: what it refuses, what it chooses, and that nothing in it can change."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from nlgauge.data.judgements import Documents, JudgementTable, RankedPairs
from nlgauge.errors import DataWarning, InputError, RecipeError


def table(**changes: Any) -> JudgementTable:
    """Two pairs, two systems, two segments each in de-en, one in cs-en."""
    values: dict[str, Any] = {
        "name": "small",
        "segment": ("1", "2", "1", "2", "1"),
        "system": ("a", "a", "b", "b", "a"),
        "langpair": ("de-en", "de-en", "de-en", "de-en", "cs-en"),
        "hypothesis": ("ha1", "ha2", "hb1", "hb2", "hc"),
        "references": (("r1",), ("r2", "r2b"), ("r1",), ("r2", "r2b"), ("rc",)),
        "human": {"da": [0.1, 0.2, float("nan"), 0.4, 0.5], "fluency": [1, 2, 3, 4, 5]},
        "released": {"bleu": [10, 20, 30, 40, 50]},
        "default_criterion": "da",
        "system_scores": {"de-en": {"a": 0.3, "b": -0.3}},
        "topic": ("t1", "t2", "t1", "t2", "t3"),
    }
    return JudgementTable(**(values | changes))


def test_names_are_in_order_of_first_occurrence() -> None:
    small = table()
    assert len(small) == 5
    assert small.langpairs == ("de-en", "cs-en")
    assert small.systems == ("a", "b")
    assert small.topics == ("t1", "t2", "t3")
    assert small.criteria == ("da", "fluency")


def test_where_keeps_rows_scores_and_texts_together() -> None:
    part = table().where(langpair="de-en", system=["b"])
    assert part.segment == ("1", "2")
    assert part.hypothesis == ("hb1", "hb2")
    assert part.references == (("r1",), ("r2", "r2b"))
    assert part.topic == ("t1", "t2")
    assert part.source is None
    np.testing.assert_array_equal(part.gold(), [np.nan, 0.4])
    np.testing.assert_array_equal(part.released["bleu"], [30, 40])
    assert table().where(topic="t1").hypothesis == ("ha1", "hb1")


def test_first_rows_are_those_of_each_pair_and_system() -> None:
    assert table().first_rows(1).hypothesis == ("ha1", "hb1", "hc")
    assert len(table().first_rows(2)) == 5
    with pytest.raises(RecipeError, match="at least 1, got 0"):
        table().first_rows(0)


def test_where_lists_existing_values_for_an_unknown_one() -> None:
    with pytest.raises(RecipeError, match=r"small: langpair 'fr-en' does not exist; choose from: 'de-en', 'cs-en'"):
        table().where(langpair="fr-en")
    with pytest.raises(RecipeError, match="the list of names is empty"):
        table().where(system=[])


def test_gold_is_the_named_criterion() -> None:
    small = table()
    np.testing.assert_array_equal(small.gold(), small.human["da"])
    np.testing.assert_array_equal(small.gold("fluency"), [1, 2, 3, 4, 5])
    with pytest.raises(RecipeError, match="no criterion 'DA'; the criteria are 'da', 'fluency', 'bleu'"):
        small.gold("DA")


def test_a_released_score_is_gold_only_with_a_warning() -> None:
    with pytest.warns(DataWarning, match=r"'bleu' is .* not a human score; the human criteria are 'da', 'fluency'"):
        np.testing.assert_array_equal(table().gold("bleu"), [10, 20, 30, 40, 50])


def test_system_scores_are_official() -> None:
    assert table().system_scores == {"de-en": {"a": 0.3, "b": -0.3}}
    assert "de-en" not in table().where(langpair="cs-en").system_scores
    only_systems = table(human={}, default_criterion=None)
    with pytest.raises(InputError, match="human scores of systems only, not of segments"):
        only_systems.gold()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hypothesis": ("x",)}, "column 'hypothesis' has 1 values, but 'segment' has 5"),
        ({"hypothesis": "five!"}, "column 'hypothesis' needs a value per row"),
        ({"human": {"da": [1.0]}}, "column 'da' has 1 values, but 'segment' has 5"),
        ({"human": {"da": [1, 2, 3, 4, float("inf")]}}, "column 'da', segment '1': expected a finite number"),
        ({"human": {"da": [[1], [2], [3], [4], [5]]}}, "one number per row, got shape"),
        ({"default_criterion": "mqm"}, "the gold criterion 'mqm' is not among the human criteria"),
        ({"released": {"da": [1, 2, 3, 4, 5]}}, "'da' is both a human criterion and a released score"),
        ({"segment": ("1", "1", "1", "2", "1")}, "segment '1' of system 'a', de-en, occurs in rows 0 and 1"),
    ],
)
def test_inconsistent_columns_are_errors(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(**changes)


def test_tables_are_immutable() -> None:
    small = table()
    given = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    fresh = table(human={"da": given})
    given[0] = 99.0
    assert fresh.gold()[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        small.gold()[0] = 1.0
    with pytest.raises(TypeError):
        small.human["new"] = given  # type: ignore[index]
    with pytest.raises(AttributeError):
        small.name = "other"  # type: ignore[misc]


def test_tables_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(table()))
    assert copy.hypothesis == table().hypothesis
    np.testing.assert_array_equal(copy.gold(), table().gold())


def test_documents_are_the_rows_of_a_table_without_files() -> None:
    assert table().documents("de-en", "a") == Documents(None, ("ha1", "ha2"), (("r1",), ("r2", "r2b")))


def test_peers_written_by_people_can_be_dropped() -> None:
    small = table(human_systems=frozenset({"b"}))
    assert small.without_humans().systems == ("a",)


def test_ranked_pairs() -> None:
    pairs = RankedPairs("rr", ("de-en", "cs-en"), ("1", "7"), ("a", "b"), ("b", "a"))
    assert len(pairs) == 2
    with pytest.raises(InputError, match="column 'better' has 1 values, but 'segment' has 2"):
        RankedPairs("rr", ("de-en", "cs-en"), ("1", "7"), ("a",), ("b", "a"))
    with pytest.raises(InputError, match="row 0: 'a' is ranked against itself"):
        RankedPairs("rr", ("de-en",), ("1",), ("a",), ("a",))


def test_take_names_the_missing_row() -> None:
    with pytest.raises(InputError, match="no row 999; the table has 5 rows"):
        table().take([0, 999])
    assert table().take([-1]).segment == table().segment[-1:]
    assert len(table().take([])) == 0
