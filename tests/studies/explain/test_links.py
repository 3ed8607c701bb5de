"""Links of words, hard and soft, on alignments that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.studies.explain.build import is_whole_text, linear_attributions, other_links, own_links, word_links
from nlgauge.studies.explain.explanation import WordView
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
    found = word_links(own_links(FLOW), VIEWS)
    assert [(link.kind, link.hypothesis, link.reference) for link in found] == [
        ("flow", 0, 0),
        ("flow", 0, 1),
        ("flow", 1, 1),
    ]
    assert sum(link.weight * (link.cost or 0) for link in found) == pytest.approx(0.225)
    whole = WordView.of(split_words("ab"), (((0, 1),), ((1, 2),)))
    (one,) = word_links(own_links(FLOW), (whole, whole))
    assert (one.weight, one.cost) == (1.0, pytest.approx(0.225))


def test_a_match_with_a_special_token_is_a_link_to_nothing() -> None:
    found = word_links(own_links(GREEDY), GREEDY_VIEWS)
    forward = {link.hypothesis: link for link in found if link.kind == "forward"}
    assert (forward[0].reference, forward[1].reference) == (0, None)
    assert forward[0].weight == 0.75
    assert sum(link.weight for link in found if link.kind == "backward") == 1


def test_beside_a_transport_each_point_goes_to_its_nearest() -> None:
    found = other_links(FLOW)
    assert found is not None
    assert [(link.kind, link.hypothesis, link.reference, link.cost) for link in found] == [
        ("forward", 0, 0, 0.1),
        ("forward", 1, 1, 0.2),
        ("backward", 0, 0, 0.1),
        ("backward", 1, 1, 0.2),
    ]


def test_beside_greedy_matches_the_same_weights_are_moved_at_one_minus_cosine() -> None:
    found = other_links(GREEDY)
    assert found is not None
    # a has 3/4 and only 1/2 fits into a, so 1/4 goes on to b; the special token weighs nothing and gets nothing.
    moved = {(link.hypothesis, link.reference): link.weight for link in found}
    assert moved == {(0, 0): pytest.approx(0.5), (0, 1): pytest.approx(0.25), (1, 1): pytest.approx(0.25)}
    costs = {(link.hypothesis, link.reference): link.cost for link in found}
    assert costs[0, 1] == pytest.approx(0.8, rel=1e-6)


def test_similarities_that_a_file_does_not_have_leave_no_other_alignment() -> None:
    from nlgauge.core.records import from_plain

    again = from_plain(type(GREEDY), GREEDY.to_dict())
    assert again is not None
    assert other_links(again) is None


def test_a_text_that_is_one_point_gives_its_words_no_share() -> None:
    point = Flow(
        0, ("a b",), ("a b",), np.ones(1), np.ones(1), np.ones((1, 1)), np.ones((1, 1)), (SPANS[0] + SPANS[1],), ()
    )
    one = WordView.of(split_words("a b"), (SPANS[0] + SPANS[1],))
    assert is_whole_text(point, (one, one))
    assert not is_whole_text(FLOW, VIEWS)
