"""DS-Sent: three sentences and two nouns computed by hand, and every deviation (D6.5 to D6.7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.annotated_texts import text_of, write_conllu, write_vectors

import nlgauge

VECTORS = {"cat": [1.0, 0.0], "mat": [0.0, 1.0], "dog": [0.8, 0.6]}

#: Means of the sentences: (.5, .5), (0, 1), (.5, .5). All share the mat; the first and the last also the cat.
THREE = "mat:N cat:N | mat:N | mat:N cat:N"
#: (1, 0), (0, 1), nothing shared.
TWO = "cat:N | mat:N"
ONE = "cat:N"
#: (.8, .6), (1, 0): tied only where a dog is close enough to a cat.
DOG = "dog:N | cat:N"


@pytest.fixture
def hand_made(tmp_path: Path) -> dict[str, str]:
    """Options that read the documents above with the vectors above."""
    return {
        "metric": "ds-sent",
        "model": write_vectors(tmp_path / "vectors.txt", VECTORS),
        "annotator": write_conllu(tmp_path / "documents.conllu", THREE, TWO, ONE, DOG),
        "sentences": "annotator",
    }


def value(options: dict[str, Any], hypothesis: str, *references: str, **more: Any) -> float:
    refs = [[text_of(reference) for reference in references]]
    return float(nlgauge.score([text_of(hypothesis)], refs, **options, **more).score[0])


def cosine(one: list[float], other: list[float]) -> float:
    return float(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other))


#: Mean, max, min and sum of the rows (1, 0) and (0, 1).
GRAPH_OF_TWO = [0.5, 0.5, 1, 1, 0, 0, 1, 1]


def test_unweighted_graph_computed_by_hand(hand_made: dict[str, str]) -> None:
    # A_12 = 1, A_13 = 1/2, A_23 = 1, so that the rows of (A + I) S are
    #   (.5, .5) + (0, 1) + (.25, .25) = (.75, 1.75)     (0, 1) + (.5, .5) = (.5, 1.5)     (.5, .5)
    graph = [1.75 / 3, 3.75 / 3, 0.75, 1.75, 0.5, 0.5, 1.75, 3.75]
    assert value(hand_made, THREE, TWO, profile="paper") == pytest.approx(cosine(graph, GRAPH_OF_TWO))


def test_weighted_graph_computed_by_hand(hand_made: dict[str, str]) -> None:
    """D6.6: the first and the last sentence share two foci, A_13 = 2/2."""
    # The first row is (.5, .5) + (0, 1) + (.5, .5) = (1, 2).
    graph = [2 / 3, 4 / 3, 1, 2, 0.5, 0.5, 2, 4]
    actual = value(hand_made, THREE, TWO, profile="paper", adjacency="weighted")
    assert actual == pytest.approx(cosine(graph, GRAPH_OF_TWO))


def test_score_without_graph_computed_by_hand(hand_made: dict[str, str]) -> None:
    # Table 3: the sentences as they are.
    graph = [1 / 3, 2 / 3, 0.5, 1, 0, 0.5, 1, 2]
    actual = value(hand_made, THREE, TWO, profile="paper", adjacency="none")
    assert actual == pytest.approx(cosine(graph, GRAPH_OF_TWO))


def test_texts_without_shared_focus_are_counted(hand_made: dict[str, str]) -> None:
    hyps, refs = [text_of(item) for item in (THREE, TWO, THREE)], [text_of(item) for item in (THREE, THREE, ONE)]
    score = nlgauge.score(hyps, refs, **hand_made)
    assert score.notes.get("no_ties", ()) == (1, 2), "nothing shared, and a reference of one sentence"
    assert score.signature.run["no_ties"] == "2"
    alone = nlgauge.score(hyps, refs, **hand_made, adjacency="none")
    assert "no_ties" not in alone.counts, "no graph was asked for"


def test_released_scales_rows_to_length_one(hand_made: dict[str, str]) -> None:
    rows = np.array([[0.75, 1.75], [0.5, 1.5], [0.5, 0.5]])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    graph = np.concatenate([rows.mean(axis=0), rows.max(axis=0), rows.min(axis=0), rows.sum(axis=0)])
    assert value(hand_made, THREE, TWO) == pytest.approx(cosine(graph.tolist(), GRAPH_OF_TWO))


def test_statistics_can_be_chosen(hand_made: dict[str, str]) -> None:
    actual = value(hand_made, THREE, TWO, profile="paper", statistics="max")
    assert actual == pytest.approx(cosine([0.75, 1.75], [1, 1]))


def test_alignments_of_table_4_computed_by_hand(hand_made: dict[str, str]) -> None:
    # (1, 0) and (0, 1) against (1, 0): cosines 1 and 0. Greedy: P = 1/2, R = 1, F = 2/3. Optimal: half of the mass
    # moves at no cost, half at cost 1.
    assert value(hand_made, TWO, ONE, match="greedy") == pytest.approx(2 / 3)
    assert value(hand_made, TWO, ONE, match="optimal") == pytest.approx(1 / 2)
    with pytest.raises(nlgauge.errors.RecipeError, match="statistics='mean' has no effect with match=greedy"):
        nlgauge.metrics.DSSent(match="greedy", statistics="mean")


def test_a_reference_of_one_sentence_counts_twice_as_released(hand_made: dict[str, str]) -> None:
    """D6.7: and is scored by the mean of cosines with it, here of (1, 0) and (0, 1) with (1, 0)."""
    assert value(hand_made, TWO, ONE) == pytest.approx(1 / 2)
    both = value(hand_made, TWO, ONE, TWO)
    assert both == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    # As a graph: mean = max = min = sum = (1, 0), counted once.
    as_graph = cosine(GRAPH_OF_TWO, [1, 0, 1, 0, 1, 0, 1, 0])
    assert value(hand_made, TWO, ONE, profile="corrected") == pytest.approx(as_graph)
    assert value(hand_made, TWO, ONE, TWO, profile="corrected") == pytest.approx((as_graph + 1) / 2)


def test_thresholds_of_entities(hand_made: dict[str, str]) -> None:
    """D6.5: .5 in the released code, .8 in the paper; the cosine of cat and dog is .8, which is not above it."""
    released, paper = nlgauge.metrics.DSSent(focus="entity"), nlgauge.metrics.DSSent(focus="entity", profile="paper")
    assert (released.threshold, paper.threshold) == (0.5, 0.8)
    tied = value(hand_made, DOG, TWO, focus="entity")
    assert tied != pytest.approx(value(hand_made, DOG, TWO))
    untied = value(hand_made, DOG, TWO, focus="entity", threshold=0.81)
    assert untied == pytest.approx(value(hand_made, DOG, TWO))
    at_most = value(hand_made, DOG, TWO, focus="entity", profile="paper", threshold=0.79)
    # (A + I) S with A_12 = 1: (1.8, .6) and (1, 0).
    assert at_most == pytest.approx(cosine([1.4, 0.3, 1.8, 0.6, 1, 0, 2.8, 0.6], GRAPH_OF_TWO))


def test_start_token_belongs_to_first_sentence_in_released() -> None:
    texts = ["the cat sat. the dog ran."], ["a bird slept. it was late."]
    with nlgauge.testing.hash_encoder() as model:
        result = {
            rule: nlgauge.score(*texts, metric="ds-sent", model=model, start_token=rule).score[0]
            for rule in ("first-sentence", "left-out")
        }
        default = nlgauge.score(*texts, metric="ds-sent", model=model)
    assert result["first-sentence"] != result["left-out"]
    assert default.score[0] == result["first-sentence"]


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")
def test_document_of_a_thousand_sentences(tmp_path: Path) -> None:
    model = write_vectors(tmp_path / "vectors.txt", VECTORS)
    text = "The cat met a dog. The dog sat on the mat. " * 500
    score = nlgauge.score([text], ["The cat sat on the mat. The dog ran."], metric="ds-sent", model=model)
    assert 0 < score.score[0] < 1


def test_text_has_highest_score_with_itself() -> None:
    recipe = nlgauge.metrics.DSSent()
    assert recipe.higher_is_better
    text = "The cat met a dog. The dog sat on the mat."
    assert nlgauge.score([text], [text], metric=recipe).score[0] == pytest.approx(1)


def test_an_explanation_has_shapley_values() -> None:
    with nlgauge.testing.hash_encoder() as model:
        explanation = nlgauge.explain_pair("the cat sat. a dog ran.", "the cat ran.", metric="ds-sent", model=model)
    assert "ds-sent does not align words" in explanation.notes
    assert explanation.attribution(kind="shapley").values
