"""Tables of scores: what they hold, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.compare.made_scores import Ratio, table

from nlgauge.errors import InputError
from nlgauge.studies.compare.system_scores import SystemScores


def test_a_distance_is_turned_round_once() -> None:
    scores = table([[1.0, 2.0], [3.0, 4.0]], higher_is_better=False)
    assert scores.oriented.tolist() == [[-1, -2], [-3, -4]]
    assert scores.values.tolist() == [[1, 2], [3, 4]]
    assert (scores.n, scores.k) == (2, 2)
    assert scores.instances == ("0", "1")
    assert "lower is better" in repr(scores)


def test_scores_cannot_be_changed() -> None:
    given = np.ones((2, 2))
    scores = table(given)
    given[0, 0] = 7
    assert scores.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 7


def test_some_systems_in_another_order() -> None:
    counts = np.arange(12.0).reshape(2, 3, 2)
    taken = table([[1.0, 2.0, 3.0]] * 2, statistics=Ratio(counts)).take(["c", "a"])
    assert taken.systems == ("c", "a")
    assert taken.values.tolist() == [[3, 1]] * 2
    assert taken.statistics is not None
    assert np.array_equal(taken.statistics.counts, counts[:, [2, 0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"systems": ("a", "a")}, "two systems are called 'a'"),
        ({"systems": ("a", "b", "c")}, "2 columns, but 3 systems"),
        ({"values": [1.0, 2.0]}, r"instances x systems, got shape \(2,\)"),
        ({"values": np.empty((0, 2))}, r"instances x systems, got shape \(0, 2\)"),
        ({"values": [[1.0, 2.0], [3.0]]}, "rows of equal length"),
        ({"values": [["x", "y"]]}, "expected numbers"),
        ({"values": [[1.0, 2.0], [3.0, float("nan")]]}, "system 'b' has nan for instance '1'"),
        ({"values": [[1.0, float("inf")], [3.0, float("nan")]]}, "has inf for instance '0', and 1 more"),
        ({"instances": ("one",)}, "2 rows, but 1 instances"),
        ({"documents": ("one",) * 3}, "2 rows, but 3 documents"),
        ({"statistics": Ratio(np.ones((2, 3, 2)))}, "2 instances x 2 systems"),
    ],
)
def test_what_is_no_table(fields: dict[str, object], message: str) -> None:
    whole: dict[str, object] = {"metric": "bleu", "systems": ("a", "b"), "values": [[1.0, 2.0], [3.0, 4.0]]}
    with pytest.raises(InputError, match=message) as caught:
        SystemScores(**{**whole, **fields})  # type: ignore[arg-type]
    assert "'bleu'" in str(caught.value)


def test_a_system_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="for system 'x'"):
        table([[1.0, 2.0]]).take(["a", "x"])


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_sizes_whose_squares_are_no_numbers_are_refused(size: float) -> None:
    with pytest.raises(InputError, match=r"the largest is .*2e.*system 'b' for instance '1'.*scale all scores"):
        table([[0.0, size], [size, -2 * size]])
    assert table(np.zeros((2, 2))).n == 2
