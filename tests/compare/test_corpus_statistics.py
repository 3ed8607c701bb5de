"""Counts of several systems: sums of them score as each system does."""

from __future__ import annotations

from dataclasses import replace

import pytest

import nlgauge
from nlgauge.compare.corpus_statistics import system_counts
from nlgauge.errors import InputError

HYPS = {"a": ["A cat sat on it.", "Rain is near."], "b": ["One cat.", "It rains in the north."]}
REFS = ["The cat sat on it.", "Rain is expected in the north."]


@pytest.mark.parametrize("metric", ["bleu", "chrf:words=2"])
def test_sums_score_as_the_systems_do(metric: str) -> None:
    scores = nlgauge.score_systems(HYPS, REFS, metrics=metric)
    counts = system_counts(scores)
    assert counts is not None
    whole = counts.score(counts.counts.sum(axis=0))
    assert whole == pytest.approx([score.system_score for score in scores], abs=1e-9)
    assert counts.take([1]).counts.shape == (2, 1, counts.counts.shape[2])


def test_means_have_none_and_lost_counts_are_missed() -> None:
    assert system_counts(nlgauge.score_systems(HYPS, REFS, metrics="rouge1")) is None
    scores = nlgauge.score_systems(HYPS, REFS, metrics="bleu")
    with pytest.raises(InputError, match="bleu of 'b' is computed on the whole corpus"):
        system_counts([scores[0], replace(scores[1], statistics=None)])


def test_counts_of_two_metrics_do_not_mix() -> None:
    scores = [nlgauge.score(HYPS["a"], REFS, metric=metric) for metric in ("bleu", "chrf")]
    with pytest.raises(InputError, match="must be alike"):
        system_counts(scores)
