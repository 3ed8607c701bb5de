"""Files of learned metrics with weights by hand, and ratings to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import nlgauge
from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.metrics.parts.learned_weights import (
    CrossValidation,
    LearnedWeights,
    Training,
    WeightedMember,
    recipe_of_member,
)
from nlgauge.testing import HYPOTHESES, REFERENCES, WORDS


def member_of(recipe: str, *, weight: float = 1.0, mean: float = 0.0, deviation: float = 1.0) -> WeightedMember:
    """A member with these numbers; its training scores were from -1000 to 1000."""
    score = nlgauge.score(HYPOTHESES, REFERENCES, metric=recipe)
    return WeightedMember(recipe, recipe_of_member(score.signature), mean, deviation, weight, -1000.0, 1000.0)


def save_learned(path: Path, members: Sequence[str | WeightedMember], *, intercept: float = 0.0) -> str:
    """Write a file; members that are text have weight 1."""
    weighted = tuple(member_of(member) if isinstance(member, str) else member for member in members)
    training = Training("by hand", "score", 100, 100, ("en",), "00")
    validation = CrossValidation("10 parts of 100 segments", 0.6, weighted[0].recipe, 0.5, 0.1, 0.05, 0.15, 1000, 1)
    LearnedWeights("ridge", 0.1, intercept, weighted, training, validation).save(path)
    return str(path)


def rated(folder: Path, *, rows: int = 300, seed: int = 1, noise: float = 0.1) -> JudgementTable:
    """A user's own ratings: three outputs per reference, rated by a combination of EED and CharacTER, with noise."""
    rng = np.random.default_rng(seed)
    hypotheses, references = [], []
    for row in range(rows):
        reference = np.random.default_rng(row // 3).choice(WORDS, size=12)
        words = reference.copy()
        words[rng.choice(12, size=int(rng.integers(0, 8)), replace=False)] = "zebra"
        hypotheses.append(" ".join(words[: 12 - int(rng.integers(0, 6))]))
        references.append(" ".join(reference))
    eed, character = (nlgauge.score(hypotheses, references, metric=name) for name in ("eed", "character"))
    ratings = character.segments["character"] / 20 - eed.segments["eed"] / 10 + noise * rng.normal(size=rows)
    lines = [
        f"{hypothesis}\t{reference}\t{row // 3}\ts{row % 3}\t{rating:.4f}"
        for row, (hypothesis, reference, rating) in enumerate(zip(hypotheses, references, ratings, strict=True))
    ]
    header = "hypothesis\treference\tsegment\tsystem\trating"
    (folder / "ratings.tsv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return load("custom", folder / "ratings.tsv", human="rating", segment="segment", system="system")
