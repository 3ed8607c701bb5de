"""LIME, next to numbers of the PyPI package."""

from __future__ import annotations

import numpy as np
import pytest

import nlgauge
from nlgauge.studies.explain.lime import draw_neighbours, fit_surrogate, kernel_weights, lime_values
from nlgauge.testing import hash_encoder

KEPT = np.array(
    [
        *([1, 1, 1, 1, 1], [1, 0, 1, 1, 1], [0, 0, 1, 1, 0], [1, 1, 0, 1, 0]),
        *([0, 1, 1, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 1, 1], [1, 1, 1, 0, 1]),
    ],
    dtype=np.bool_,
)
SCORES = np.array([0.90, 0.72, 0.35, 0.66, 0.80, 0.12, 0.41, 0.77])


def test_it_is_the_surrogate_of_the_package() -> None:
    # lime 0.2.0.1 with scikit-learn 1.9.1: LimeBase(kernel of LimeTextExplainer, kernel_width=25)
    # .explain_instance_with_data(KEPT, scores, 100 * cosine distances, num_features=5, feature_selection="none").
    surrogate = fit_surrogate(KEPT, SCORES)
    expected = [0.06766536886, 0.12263742266, 0.07560837292, 0.04012110163, 0.09081065679]
    assert surrogate.values == pytest.approx(expected, abs=1e-6)
    assert surrogate.intercept == pytest.approx(0.42207015861, abs=1e-6)
    assert surrogate.fit == pytest.approx(0.73786594128, abs=1e-6)


def test_weights_by_hand() -> None:
    # One of four words: cosine 1/2, distance 50, so sqrt(exp(-(50 / 25)^2)) = exp(-2).
    rows = np.array([[True] * 4, [True, False, False, False], [False] * 4])
    assert kernel_weights(rows) == pytest.approx([1.0, np.exp(-2), np.exp(-8)])


def test_draws_are_seeded_and_the_first_is_the_whole_text() -> None:
    kept = draw_neighbours(6, count=2000)
    assert kept[0].all()
    assert not kept[1:].all(axis=1).any()
    assert np.array_equal(kept, draw_neighbours(6, count=2000))
    assert not np.array_equal(kept, draw_neighbours(6, count=2000, seed=1))
    # The number of words left out is uniform from 1 to 6.
    removed = (~draw_neighbours(6, count=20_001)[1:]).sum(axis=1)
    assert np.bincount(removed)[1:] / 20_000 == pytest.approx(np.full(6, 1 / 6), abs=0.01)


def test_a_sum_over_words_is_found_and_equal_rows_are_scored_once() -> None:
    effects, seen = np.array([0.4, -0.2, 0.0, 0.1]), []

    def game(rows: np.ndarray) -> np.ndarray:
        seen.append(len(rows))
        return rows @ effects

    surrogate = lime_values(4, game, neighbours=3000)
    assert surrogate.values == pytest.approx(effects, abs=0.01)
    assert surrogate.fit > 0.999
    assert seen == [16]


def test_constant_scores_have_no_fit() -> None:
    surrogate = lime_values(3, lambda rows: np.full(len(rows), 0.5), neighbours=20)
    assert surrogate.values == pytest.approx([0, 0, 0])
    assert np.isnan(surrogate.fit)


def test_explanations_have_lime_next_to_shapley() -> None:
    with hash_encoder() as model:
        options = {"metric": f"bertscore:model={model},layer=1", "lime": True, "neighbours": 200}
        explanation = nlgauge.explain_pair("a black cat sat", "a cat sat down", shapley=True, **options)
        again = nlgauge.explain_pair("a black cat sat", "a cat sat down", shapley=False, **options)
    lime = explanation.attribution(kind="lime")
    assert len(lime.values) == 4
    assert lime.total is None
    assert again.attribution(kind="lime") == lime
    assert explanation.attribution(kind="shapley").values != lime.values
    assert min(range(4), key=lambda word: lime.values[word]) == 1  # "black" is not in the reference
    assert any(note.startswith("LIME: R2 of the linear surrogate") for note in explanation.notes)
    assert "By LIME:" in explanation.sentence
    assert "lime f1" in explanation.render("text")
    assert nlgauge.studies.explain.explanation.Explanation.from_dict(explanation.to_dict()).attributions
