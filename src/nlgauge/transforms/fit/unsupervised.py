"""A re-mapping from two texts of two languages that are no translations of each other.

    vocabulary      mean vectors of each language's frequent words             fit/vocabulary.py
    self-learning   pairs of words, from several seeds; the best by criterion  fit/self_learning.py
    centred         the rotation between the paired words, about their means   transforms/remap.py

Below a criterion there is no file: a wrong map is worse than none, and nothing in a score would show it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nlgauge.errors import AlignmentNotFoundError, InputError
from nlgauge.transforms.fit.self_learning import Attempt, learn_alignment
from nlgauge.transforms.fit.vocabulary import Vocabulary
from nlgauge.transforms.remap import Origin, Remapping, fit_remapping

__all__ = ["FEWEST_TYPES", "LEAST_CRITERION", "Unsupervised", "fit_unsupervised"]

#: Mean cosine of the pairs below which a run found nothing.
LEAST_CRITERION = 0.75

#: Different words that a text must have for its vocabulary to say anything.
FEWEST_TYPES = 1000


class Unsupervised(NamedTuple):
    """A re-mapping, and how sure its pairs are."""

    remapping: Remapping
    attempts: tuple[Attempt, ...]
    """Every run, in the order of seeds."""
    pairs: tuple[tuple[str, str], ...]
    """Words that were found to belong together, most frequent first."""

    @property
    def criterion(self) -> float:
        """Of the run that was taken."""
        return max(attempt.criterion for attempt in self.attempts)


def fit_unsupervised(
    source: Vocabulary,
    target: Vocabulary,
    *,
    restarts: int = 5,
    seed: int = 0,
    least_criterion: float = LEAST_CRITERION,
    origin: Origin | None = None,
    advance: Callable[[int], None] | None = None,
) -> Unsupervised:
    """Learn pairs of words, and the centred rotation between them; raises where no run reaches the criterion."""
    _check(source, target)
    learned = learn_alignment(source.vectors, target.vectors, restarts=restarts, seed=seed, advance=advance)
    best = learned.best
    if best.criterion < least_criterion:
        runs = ", ".join(f"{attempt.criterion:.3f}" for attempt in learned.attempts)
        msg = (
            f"no alignment found: the paired words of {len(learned.attempts)} runs have mean cosines of {runs}, and "
            f"{least_criterion:g} is needed; give more text of the same kind in both languages, another layer or "
            "model, or parallel texts"
        )
        raise AlignmentNotFoundError(msg)
    x, z = source.vectors[best.pairs.source], target.vectors[best.pairs.target]
    remapping = fit_remapping(x, z, method="centred", origin=origin)
    made = remapping.origin._replace(method="unsupervised")
    words = tuple(
        (source.words[i], target.words[j]) for i, j in zip(best.pairs.source, best.pairs.target, strict=True)
    )
    return Unsupervised(Remapping(remapping.operations, made), learned.attempts, words)


def _check(source: Vocabulary, target: Vocabulary) -> None:
    for name, side in (("source", source), ("target", target)):
        if side.types < FEWEST_TYPES:
            msg = f"the {name} text has {side.types} different words, and {FEWEST_TYPES} are needed; give more text"
            raise InputError(msg)
        if len(side.words) < side.vectors.shape[1]:
            msg = (
                f"{len(side.words)} frequent words of the {name} do not span {side.vectors.shape[1]} dimensions; "
                "give more text"
            )
            raise InputError(msg)
    if source.words == target.words and (source.vectors == target.vectors).all():
        msg = "both sides are the same words with the same vectors: there is nothing to align; give two languages"
        raise InputError(msg)
