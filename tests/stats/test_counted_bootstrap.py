"""Bootstrap of AUC and of WMT's tau: each draw is the statistic of the drawn rows."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.correlation import relative_ranking, roc_auc
from nlgauge.stats.counted_bootstrap import bootstrap_auc, bootstrap_tau, pair_outcomes
from nlgauge.stats.resampling import bootstrap_counts

RNG = np.random.default_rng(3)
LABELS = np.tile([0.0, 1.0, 1.0], 8)
SCORES = np.stack([LABELS + RNG.integers(0, 3, 24), RNG.random(24)])  # with ties, without


@pytest.mark.parametrize("documents", [None, np.repeat(np.arange(6), 4)], ids=["rows", "documents"])
def test_each_draw_is_the_auc_of_the_drawn_rows(documents: np.ndarray | None) -> None:
    drawn = bootstrap_auc(SCORES, LABELS, clusters=documents, resamples=100, seed=5)
    assert drawn.observed.tolist() == [roc_auc(row, LABELS) for row in SCORES]
    units = np.arange(24) if documents is None else documents
    (counts,) = bootstrap_counts(int(units.max()) + 1, 100, 5)
    for draw, count in zip(drawn.draws, counts, strict=True):
        rows = np.repeat(np.arange(24), count[units])
        assert draw == pytest.approx([roc_auc(row[rows], LABELS[rows]) for row in SCORES])


def test_interval_of_auc_has_the_size_of_the_formula_of_hanley_and_mcneil() -> None:
    # Hanley, McNeil 1982 (Radiology 143), for scores that are exponential: their Q1 and Q2 are exact there.
    rng = np.random.default_rng(8)
    truth = np.repeat([0.0, 1.0], [300, 200])
    scores = rng.exponential(np.where(truth == 1, 3.0, 1.0))
    drawn = bootstrap_auc(scores[None], truth, resamples=1000)
    area = drawn.observed[0]
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    error = np.sqrt((area * (1 - area) + 199 * (q1 - area**2) + 299 * (q2 - area**2)) / (200 * 300))
    assert drawn.draws.std() == pytest.approx(error, rel=0.1)
    interval = drawn.interval()
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * error, rel=0.12)


def test_each_draw_of_tau_is_that_of_the_pairs_of_the_drawn_segments() -> None:
    better, worse = RNG.integers(0, 3, (2, 2, 20)).astype(float)
    segments = np.repeat(np.arange(5), 4)
    outcomes = np.stack([pair_outcomes(*pair) for pair in zip(better, worse, strict=True)])
    drawn = bootstrap_tau(outcomes, segments, resamples=100, seed=5)
    taus = [relative_ranking(*pair).value for pair in zip(better, worse, strict=True)]
    assert drawn.observed == pytest.approx(taus)
    (counts,) = bootstrap_counts(5, 100, 5)
    for draw, count in zip(drawn.draws, counts, strict=True):
        pairs = np.repeat(np.arange(20), count[segments])
        expected = [relative_ranking(b[pairs], w[pairs]).value for b, w in zip(better, worse, strict=True)]
        assert draw == pytest.approx(expected)


def test_unusable_labels_and_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="labels of both kinds"):
        bootstrap_auc(SCORES, np.ones(24))
    with pytest.raises(InputError, match="at least 2 units"):
        bootstrap_tau([[1.0, -1.0]], ["a", "a"])
    with pytest.raises(InputError, match="metrics x 24"):
        bootstrap_auc(SCORES[:, 1:], LABELS)
