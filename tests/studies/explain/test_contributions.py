"""Links and contributions of words on alignments that can be worked out by hand; scores without words."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from nlgauge.errors import RecipeError
from nlgauge.studies.explain.contributions import (
    MOST_EXACT,
    is_whole_text,
    linear_attributions,
    other_links,
    own_links,
    shapley_values,
    without_words,
    word_links,
)
from nlgauge.studies.explain.explanation import WordView
from nlgauge.studies.explain.pairs import explain_pair
from nlgauge.text.words import split_words
from nlgauge.vectors.cloud import Alignment, Flow

SPANS = (((0, 1),), ((2, 3),))
VIEW = WordView.of(split_words("a b"), SPANS)
VIEWS = VIEW, VIEW

#: Both points move a quarter across: .25 * .1 + .25 * .4 + .5 * .2 = .225
FLOW = Flow(
    reference_index=0,
    hypothesis_tokens=("a", "b"),
    reference_tokens=("a", "b"),
    hypothesis_weight=np.array([0.5, 0.5]),
    reference_weight=np.array([0.25, 0.75]),
    flow=np.array([[0.25, 0.25], [0.0, 0.5]]),
    cost=np.array([[0.1, 0.4], [0.3, 0.2]]),
    hypothesis_spans=SPANS,
    reference_spans=SPANS,
)

#: A special token weighs nothing and is the best match of b.
SIMILARITY = np.array([[0.9, 0.2, 0.1], [0.3, 0.4, 0.8]], dtype=np.float32)
GREEDY = Alignment(
    reference_index=0,
    hypothesis_tokens=("a", "b"),
    reference_tokens=("a", "b", "[SEP]"),
    hypothesis_match=np.array([0, 2]),
    reference_match=np.array([0, 1, 1]),
    hypothesis_similarity=SIMILARITY.max(axis=1).astype(np.float64),
    reference_similarity=SIMILARITY.max(axis=0).astype(np.float64),
    hypothesis_weight=np.array([3.0, 1.0]),
    reference_weight=np.array([1.0, 1.0, 0.0]),
    hypothesis_spans=SPANS,
    reference_spans=(*SPANS, ()),
    similarity=SIMILARITY,
)
GREEDY_VIEWS = VIEW, WordView.of(split_words("a b"), (*SPANS, ()))


def test_contributions_to_a_cost_sum_to_it_on_both_sides() -> None:
    rows, columns = linear_attributions(FLOW, VIEWS)
    assert (rows.of, rows.side, columns.side) == ("cost", "hypothesis", "reference")
    np.testing.assert_allclose(rows.values, [0.125, 0.1])
    np.testing.assert_allclose(columns.values, [0.025, 0.2])
    assert rows.total == columns.total == pytest.approx(0.225)


def test_contributions_to_precision_and_recall_are_weighted_similarities() -> None:
    precision, recall = linear_attributions(GREEDY, GREEDY_VIEWS)
    assert (precision.of, recall.of) == ("precision", "recall")
    np.testing.assert_allclose(precision.values, [0.75 * 0.9, 0.25 * 0.8], rtol=1e-6)
    np.testing.assert_allclose(recall.values, [0.5 * 0.9, 0.5 * 0.4], rtol=1e-6)
    assert precision.total == pytest.approx(0.875, rel=1e-6)


def test_links_of_words_keep_the_sums() -> None:
    result = word_links(own_links(FLOW), VIEWS)
    assert [(link.kind, link.hypothesis, link.reference) for link in result] == [
        ("flow", 0, 0),
        ("flow", 0, 1),
        ("flow", 1, 1),
    ]
    assert sum(link.weight * (link.cost or 0) for link in result) == pytest.approx(0.225)
    whole = WordView.of(split_words("ab"), (((0, 1),), ((1, 2),)))
    (first,) = word_links(own_links(FLOW), (whole, whole))
    assert (first.weight, first.cost) == (1.0, pytest.approx(0.225))


def test_a_match_with_a_special_token_is_a_link_to_nothing() -> None:
    result = word_links(own_links(GREEDY), GREEDY_VIEWS)
    forward = {link.hypothesis: link for link in result if link.kind == "forward"}
    assert (forward[0].reference, forward[1].reference) == (0, None)
    assert forward[0].weight == 0.75
    assert sum(link.weight for link in result if link.kind == "backward") == 1


def test_beside_a_transport_each_point_goes_to_its_nearest() -> None:
    result = other_links(FLOW)
    assert result is not None
    assert [(link.kind, link.hypothesis, link.reference, link.cost) for link in result] == [
        ("forward", 0, 0, 0.1),
        ("forward", 1, 1, 0.2),
        ("backward", 0, 0, 0.1),
        ("backward", 1, 1, 0.2),
    ]


def test_beside_greedy_matches_the_same_weights_are_moved_at_one_minus_cosine() -> None:
    result = other_links(GREEDY)
    assert result is not None
    # a has 3/4 and only 1/2 fits into a, so 1/4 goes on to b; the special token weighs nothing and gets nothing.
    moved = {(link.hypothesis, link.reference): link.weight for link in result}
    assert moved == {(0, 0): pytest.approx(0.5), (0, 1): pytest.approx(0.25), (1, 1): pytest.approx(0.25)}
    costs = {(link.hypothesis, link.reference): link.cost for link in result}
    assert costs[0, 1] == pytest.approx(0.8, rel=1e-6)


def test_similarities_that_a_file_does_not_have_leave_no_other_alignment() -> None:
    from nlgauge.core.result import from_plain

    again = from_plain(type(GREEDY), GREEDY.to_dict())
    assert again is not None
    assert other_links(again) is None


def test_a_text_that_is_one_point_gives_its_words_no_share() -> None:
    point = Flow(
        0, ("a b",), ("a b",), np.ones(1), np.ones(1), np.ones((1, 1)), np.ones((1, 1)), (SPANS[0] + SPANS[1],), ()
    )
    first = WordView.of(split_words("a b"), (SPANS[0] + SPANS[1],))
    assert is_whole_text(point, (first, first))
    assert not is_whole_text(FLOW, VIEWS)


@pytest.mark.parametrize(
    ("text", "left_out", "expected"),
    [
        ("The cat sat.", [], "The cat sat."),
        ("The cat sat.", [0], "cat sat."),
        ("The cat sat.", [2], "The cat."),
        ("The cat sat.", [3], "The cat sat"),
        ("The cat sat.", [0, 1, 2, 3], ""),
        ("a (big) dog", [1], "a big) dog"),
        ("我爱你。", [1], "我你。"),
    ],
)
def test_a_word_goes_with_the_white_space_before_it(text: str, left_out: list[int], expected: str) -> None:
    words = split_words(text)
    kept = np.array([number not in left_out for number in range(len(words))])
    assert without_words(text, words, kept) == expected


def glove_game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Player 0 has a left glove, players 1 and 2 a right one each; a pair is worth 1."""
    return (rows[:, 0] & (rows[:, 1] | rows[:, 2])).astype(np.float64)


def test_the_glove_game_has_its_textbook_values() -> None:
    result = shapley_values(3, glove_game)
    np.testing.assert_allclose(result.values, [2 / 3, 1 / 6, 1 / 6])
    assert (result.error, result.total) == (None, 1.0)


def random_game(players: int) -> NDArray[np.float64]:
    return np.random.default_rng(3).normal(size=2**players)


def test_exact_values_are_means_over_all_orders() -> None:
    players, worth = 5, random_game(5)

    def game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        return worth[rows @ (1 << np.arange(players))]

    expected = np.zeros(players)
    for order in itertools.permutations(range(players)):
        coalition = 0
        for player in order:
            expected[player] += worth[coalition | 1 << player] - worth[coalition]
            coalition |= 1 << player
    result = shapley_values(players, game)
    np.testing.assert_allclose(result.values, expected / math.factorial(players))
    assert result.values.sum() == pytest.approx(worth[-1] - worth[0])


def test_sampled_values_sum_to_the_whole_and_lie_within_their_errors() -> None:
    players = 12
    weights = np.arange(1.0, players + 1)

    def game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        # v(S) = (sum of weights)^2, whose Shapley values are w_i * (sum of all weights)
        return (rows @ weights) ** 2

    result = shapley_values(players, game, samples=400, seed=1)
    assert result.error is not None
    assert result.values.sum() == pytest.approx(weights.sum() ** 2)
    off = np.abs(result.values - weights * weights.sum()) / result.error
    assert off.max() < 4
    assert (off < 2).mean() > 0.6
    again = shapley_values(players, game, samples=400, seed=1)
    np.testing.assert_array_equal(again.values, result.values)
    assert not np.array_equal(shapley_values(players, game, samples=400, seed=2).values, result.values)


def test_up_to_ten_players_nothing_is_sampled_and_a_coalition_is_asked_for_once() -> None:
    asked: list[NDArray[np.bool_]] = []

    def game(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        asked.append(rows)
        return rows.sum(axis=1).astype(np.float64)

    for players in (0, 1, MOST_EXACT, MOST_EXACT + 1):
        asked.clear()
        result = shapley_values(players, game)
        np.testing.assert_allclose(result.values, np.ones(players))
        assert (result.error is None) == (players <= MOST_EXACT)
        assert len(np.unique(asked[0], axis=0)) == len(asked[0])


def test_one_sample_has_no_error() -> None:
    with pytest.raises(RecipeError, match="from 2"):
        explain_pair("a b", "a c", metric="chrf", shapley=True, samples=1)
