"""Random pairs for building a baseline."""

from __future__ import annotations

from nlgauge.metrics.parts.baseline import random_pairs


def test_random_pairs_are_seeded_and_never_pair_a_sentence_with_itself() -> None:
    sentences = [f"sentence {number}" for number in range(701)]
    first, second = random_pairs(sentences, 1500, seed=1), random_pairs(sentences, 1500, seed=1)
    assert first == second != random_pairs(sentences, 1500, seed=2)
    assert len(first[0]) == len(first[1]) == 1500
    assert all(hyp != ref for hyp, ref in zip(*first, strict=True))
