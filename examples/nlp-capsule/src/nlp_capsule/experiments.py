"""Experiments: train a network and its baseline on a task and evaluate both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nlp_capsule.answers import AnswerPairs, draw_candidates, score_answers, train_answers
from nlp_capsule.baseline import BagOfWords, tfidf, tfidf_cosine
from nlp_capsule.measures import AnswerQuality, answer_quality, label_quality
from nlp_capsule.network import EURLEX, CapsuleConfig
from nlp_capsule.pairs import SplitPairs
from nlp_capsule.tasks import Split
from nlp_capsule.text import Vocabulary, read_vectors, split_english, split_words
from nlp_capsule.training import (
    TrainingPlan,
    new_candidates,
    new_network,
    score_candidates,
    score_labels,
    train,
    train_candidates,
)

__all__ = ["ANSWER_PLAN", "SMALL_PLAN", "Sizes", "Verdict", "compare_answers", "compare_eurlex", "compare_labels"]

_PENALTIES = (0.01, 0.1, 1.0)
#: A few thousand texts need smaller batches and longer steps than EUR-Lex.
SMALL_PLAN = TrainingPlan(epochs=5, batch=64, learning_rate=4e-3)
ANSWER_PLAN = TrainingPlan(epochs=6, batch=32, learning_rate=4e-3, negatives=5)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of a network small enough to train on a CPU; other settings are in `CapsuleConfig`."""

    vocabulary: int = 20_000
    words: int = 32
    dimensions: int = 64
    filters: int = 16
    compressed: int = 32
    widths: tuple[int, ...] = (2, 4, 8)
    final: int = 8
    """Final capsules per question or answer; 1 in the paper."""

    @classmethod
    def of_answers(cls) -> Sizes:
        """Sizes for answers: the paper's filter widths for question answering, and narrower word vectors."""
        return cls(widths=(3, 4, 5), dimensions=32)

    def config(self, vocabulary: int, labels: int) -> CapsuleConfig:
        return CapsuleConfig(
            vocabulary=vocabulary,
            labels=labels,
            words=self.words,
            dimensions=self.dimensions,
            filters=self.filters,
            compressed=self.compressed,
            widths=self.widths,
        )


class Verdict(NamedTuple):
    """Measures of the test set by name, and the loss of every epoch."""

    capsules: dict[str, float]
    baseline: dict[str, float]
    losses: list[float]


def compare_labels(
    split: Split,
    plan: TrainingPlan,
    *,
    sizes: Sizes = Sizes(),  # noqa: B008 - frozen
    change: Callable[[CapsuleConfig], CapsuleConfig] = replace,
) -> Verdict:
    """Train on a task and evaluate on its test set; the baseline's penalty is chosen on the development set.

    `change` may set other fields of the configuration, such as the routing.
    """
    words = Vocabulary.of(split.training.texts, most=sizes.vocabulary)
    training, development, test = (words.encode(part.texts, length=sizes.words) for part in split[:3])
    network = new_network(change(sizes.config(len(words), len(split.labels))), seed=plan.seed)
    losses = train(network, training, split.training.owned, plan)
    several = max(map(len, split.training.owned)) > 1
    ks = (1, 3, 5) if several else (1,)
    fitted = [
        BagOfWords.fit(training, split.training.owned, words=len(words), labels=len(split.labels), penalty=penalty)
        for penalty in _PENALTIES
    ]
    chosen = max(
        fitted, key=lambda model: label_quality(model.scores(development), split.development.owned, ks=(1,))["P@1"]
    )
    return Verdict(
        label_quality(score_labels(network, test), split.test.owned, ks=ks),
        label_quality(chosen.scores(test), split.test.owned, ks=ks),
        losses,
    )


def compare_answers(
    pairs: SplitPairs,
    plan: TrainingPlan,
    *,
    sizes: Sizes = Sizes.of_answers(),  # noqa: B008 - frozen
) -> Verdict:
    """Train answer selection; the baseline is the cosine of tf-idf vectors, which learns only idf."""
    texts = [*pairs.training.questions, *pairs.training.answers]
    words = Vocabulary.of(texts, most=sizes.vocabulary, split=split_act)
    network = new_network(sizes.config(len(words), sizes.final), seed=plan.seed)
    questions, answers = (words.encode(side, length=sizes.words) for side in _sides(pairs.training))
    losses = train_answers(network, questions, answers, pairs.training.right, plan)
    _, idf = tfidf(np.vstack([questions, answers]), len(words))
    questions, answers = (words.encode(side, length=sizes.words) for side in _sides(pairs.test))
    test_questions = draw_candidates(pairs.test, seed=plan.seed)
    cosines = tfidf_cosine(questions, answers, words=len(words), idf=idf)
    right = [question.right for question in test_questions]
    quality = answer_quality(score_answers(network, questions, answers, test_questions), right)
    plain = answer_quality(
        [row[question.candidates] for row, question in zip(cosines, test_questions, strict=True)], right
    )
    return Verdict(_named(quality), _named(plain), losses)


def compare_eurlex(
    split: Split,
    plan: TrainingPlan,
    *,
    base: CapsuleConfig = EURLEX,
    vectors: Path | None = None,
    candidates: int = 200,
) -> Verdict:
    """The published experiment: a network of `base`'s sizes re-ranks the labels of Kim's network, its baseline here.

    NDCG uses the ideal of the released code, so results are comparable with published ones (D7.18).
    """
    words = Vocabulary.of(split.training.texts, most=base.vocabulary - 2, split=split_english)
    table = None if vectors is None else read_vectors(vectors, words, seed=plan.seed)
    dimensions = base.dimensions if table is None else table.shape[1]
    config = replace(base, vocabulary=len(words), labels=len(split.labels), dimensions=dimensions)
    training, test = (words.encode(part.texts, length=config.words) for part in (split.training, split.test))
    network = new_network(config, seed=plan.seed, vectors=table)
    losses = train(network, training, split.training.owned, plan)
    first = new_candidates(len(words), len(split.labels), dimensions=dimensions, seed=plan.seed)
    train_candidates(first, training, split.training.owned, plan)
    depth = tuple(k for k in (1, 3, 5) if k <= len(split.labels))
    return Verdict(
        label_quality(
            score_labels(network, test, candidates=first, count=candidates),
            split.test.owned,
            ks=depth,
            ideal="released",
        ),
        label_quality(score_candidates(first, test), split.test.owned, ks=depth, ideal="released"),
        losses,
    )


def split_act(text: str) -> list[str]:
    """Words of a sentence or a dialogue act, whose names are written together with underscores.

    >>> split_act("inform(price_range=cheap,near='X')")
    ['inform', '(', 'price', 'range', '=', 'cheap', ',', 'near', '=', "'", 'x', "'", ')']
    """
    return split_words(text.replace("_", " "))


def _sides(pairs: AnswerPairs) -> tuple[list[str], list[str]]:
    return pairs.questions, pairs.answers


def _named(quality: AnswerQuality) -> dict[str, float]:
    return {"MAP": quality.mean_average_precision, "MRR": quality.mean_reciprocal_rank}
