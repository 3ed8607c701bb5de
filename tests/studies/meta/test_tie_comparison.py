"""Tie-calibrated accuracies compared by swapping."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.studies.meta.made_tables import NAN, Array

from nlgauge.stats.permutation import swap_signs
from nlgauge.studies.meta.pairwise import tie_calibrated_accuracy
from nlgauge.studies.meta.ranks import compare_tie_accuracies


def test_compared_accuracies_equal_swapping_pair_by_pair() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(0, 4, size=(5, 40)).astype(float)
    human[2, 3] = NAN
    metrics = {
        f"m{k}": np.nan_to_num(human + noise * rng.normal(size=human.shape)) for k, noise in enumerate((9, 1, 1.1))
    }
    found = compare_tie_accuracies(metrics, human, resamples=200, seed=3)
    values = {name: tie_calibrated_accuracy(scores, human) for name, scores in metrics.items()}
    assert [one.value for one in found.accuracies] == sorted((one.value for one in values.values()), reverse=True)
    comparison = found.comparison
    assert comparison.names[2] == "m0"
    assert comparison.ranks == (1, 1, 2)
    assert comparison.unbeaten == (True, True, False)
    # By the definition: right or wrong of every pair, swapped with the same signs.
    signs = np.concatenate(list(swap_signs(found.accuracies[0].pairs, 200, 3)))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        weighted = []
        for one in (found.accuracies[first], found.accuracies[second]):
            scores, right, weight = metrics[one.metric], [], []
            for i, j in itertools.combinations(range(5), 2):
                for item in np.flatnonzero(~np.isnan(human[i] - human[j])):
                    difference = scores[i, item] - scores[j, item]
                    sign = 0 if abs(difference) <= one.epsilon else np.sign(difference)
                    right.append(sign == np.sign(human[i, item] - human[j, item]))
                    judged = (~np.isnan(human[:, item])).sum()
                    weight.append(1 / math.comb(judged, 2) / 40)
            weighted.append(np.array(right) * weight)
        difference = weighted[0] - weighted[1]
        expected = np.mean(signs.T @ difference >= difference.sum() - 1e-12)
        assert comparison.p_values[first, second] == pytest.approx(expected)


def test_outcomes_of_a_document_are_swapped_together() -> None:
    rng = np.random.default_rng(1)
    human = rng.integers(0, 4, size=(4, 30)).astype(float)
    metrics = {f"m{k}": human + noise * rng.normal(size=human.shape) for k, noise in enumerate((2, 3))}
    documents = np.repeat(np.arange(10), 3)
    found = compare_tie_accuracies(metrics, human, documents=documents, resamples=200, seed=3)
    first, second = (by_pair(metrics[one.metric], human, one.epsilon) for one in found.accuracies)
    signs = np.concatenate(list(swap_signs(10, 200, 3)))[documents]  # of items: a pair of outputs has its item's
    difference = (first - second).sum(axis=0)
    expected = np.mean(signs.T @ difference >= difference.sum() - 1e-9)
    assert found.comparison.p_values[0, 1] == pytest.approx(expected)


def by_pair(metric: Array, human: Array, epsilon: float) -> Array:
    """1 where a pair of outputs (rows) of an item (columns) is right."""
    rows = []
    for i, j in itertools.combinations(range(len(human)), 2):
        difference = metric[i] - metric[j]
        sign = np.where(np.abs(difference) <= epsilon, 0, np.sign(difference))
        rows.append((sign == np.sign(human[i] - human[j])).astype(float))
    return np.array(rows)
