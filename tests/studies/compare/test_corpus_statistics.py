"""Counts of several systems: sums of them score as each system does."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

import nlgauge
from nlgauge.errors import InputError
from nlgauge.stats.corpus_counts import resampled_scores
from nlgauge.stats.resampling import expanded_p
from nlgauge.studies.compare.system_scores import system_scores

HYPS = {"a": ["A cat sat on it.", "Rain is near."], "b": ["One cat.", "It rains in the north."]}
REFS = ["The cat sat on it.", "Rain is expected in the north."]


@pytest.mark.parametrize("metric", ["bleu", "chrf:words=2"])
def test_sums_score_as_the_systems_do(metric: str) -> None:
    scores = nlgauge.score_systems(HYPS, REFS, metric=metric)
    (view,) = system_scores(scores)
    assert view.counts is not None
    whole = view.corpus_score(view.counts.sum(axis=0))
    assert whole == pytest.approx([score.system_score for score in scores], abs=1e-9)


def test_means_have_none_and_lost_counts_are_missed() -> None:
    assert system_scores(nlgauge.score_systems(HYPS, REFS, metric="rouge1"))[0].counts is None
    scores = nlgauge.score_systems(HYPS, REFS, metric="bleu")
    with pytest.raises(InputError, match="bleu of 'b' is computed on the whole corpus"):
        nlgauge.compare_systems([scores[0], replace(scores[1], statistics=None)])


def sentences(seed: int, count: int) -> list[str]:
    words = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "big", "old", "and", "never"]
    rng = random.Random(seed)
    return [" ".join(rng.choices(words, k=rng.randint(4, 12))) for _ in range(count)]


def noisy(lines: list[str], seed: int, rate: float) -> list[str]:
    rng = random.Random(seed)
    return [" ".join("x" if rng.random() < rate else word for word in line.split()) for line in lines]


@pytest.mark.parametrize(("rate", "metric"), [(0.32, "bleu"), (0.34, "bleu"), (0.33, "chrf")])
def test_tests_agree_with_those_of_sacrebleu(rate: float, metric: str) -> None:
    """Randomisation within what so many draws can tell; the bootstrap draw by draw, for the draws are the same."""
    references = sentences(1, 120)
    first, second = noisy(references, 2, 0.3), noisy(references, 3, rate)
    engine = {"bleu": BLEU(), "chrf": CHRF()}[metric]
    systems, draws = [("a", first), ("b", second)], 5000
    randomisation, bootstrap = (
        PairedTest(systems, {metric: engine}, [references], test_type=kind, n_samples=draws)()[1]
        for kind in ("ar", "bs")
    )
    name = next(key for key in bootstrap if key != "System")
    scores = nlgauge.score_systems(dict(systems), references, metric=metric)
    pair = (
        nlgauge.compare_systems(scores, tests_shown=("bootstrap", "randomisation"), permutations=draws)
        .metrics[0]
        .pair("a", "b")
    )
    difference = abs(bootstrap[name][0].score - bootstrap[name][1].score)
    assert abs(pair.difference) == pytest.approx(difference, abs=1e-9)
    assert pair.p["randomisation"] == pytest.approx(randomisation[name][1].p_value, abs=0.03)
    # sacrebleu counts resamples whose absolute difference exceeds its mean by the observed one: one direction only.
    counts = [score.statistics for score in scores]
    resampled = [
        resampled_scores(count, count.counts, resamples=draws, seed=12345) for count in counts if count is not None
    ]
    apart = np.abs(resampled[0] - resampled[1])
    theirs = ((apart - apart.mean() > difference).sum() + 1) / (draws + 1)
    assert bootstrap[name][1].p_value == pytest.approx(theirs, abs=2 / draws)
    # Both directions, around the observed difference, and corrected for 120 instances: p is larger than theirs.
    signed = resampled[0] - resampled[1]
    ours = ((np.abs(signed - pair.difference) >= difference).sum() + 1) / (draws + 1)
    assert pair.p["bootstrap"] == pytest.approx(float(expanded_p(np.array(ours), 120)), abs=2 / draws)
    assert pair.p["bootstrap"] > theirs


@pytest.mark.parametrize("count", [12, 120])
def test_intervals_are_those_of_the_score_itself(count: int) -> None:
    references = sentences(1, count)
    outputs = {"a": noisy(references, 2, 0.2), "b": noisy(references, 3, 0.4)}
    for metric in ("bleu", "chrf", "rouge1"):
        scores = nlgauge.score_systems(outputs, references, metric=metric)
        rows = nlgauge.compare_systems(scores).metrics[0].systems
        for score in scores:
            (row,) = (item for item in rows if item.system == score.system)
            interval = score.interval(resamples=10_000)
            assert row.interval is not None
            assert row.interval[:3] == pytest.approx(interval[:3], abs=1e-6)
            assert (row.interval.method, row.interval.n) == (interval.method, interval.n)


def test_corpus_scores_are_resampled_by_documents_too() -> None:
    references = sentences(1, 120)
    outputs = {"a": noisy(references, 2, 0.2), "b": noisy(references, 3, 0.4)}
    scores = nlgauge.score_systems(outputs, references, metric="bleu")
    (table,) = system_scores(scores, documents=[str(index // 6) for index in range(120)])
    result = nlgauge.compare_systems([table]).metrics[0]
    assert (result.n, result.documents) == (120, 20)
    assert result.systems[0].score == pytest.approx(scores[0].system_score, abs=1e-9)
    assert result.pair("a", "b").better == "a"
