"""A re-mapping from two texts of two languages that are no translations of each other.

    vocabulary      mean vectors of each language's frequent words             fit/vocabulary.py
    one width       the wider space along its principal directions, if need be fit/widths.py
    self-learning   pairs of words, from several seeds; the best by criterion  fit/self_learning.py
    centred         the rotation between the paired words, about their means   transforms/remap.py

A run that fails has pairs too, and they lie close: how close depends on the number of words and dimensions. So the
criterion is compared with that of a run against a scrambled target (`gain`), and pairs must come out again under the
rotation of the other half of them (`agreement`). With few words for the dimensions the second tells a failure, with
many the first. Below either threshold there is no file: a wrong map is worse than none, and nothing in a score would
show it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nlgauge.encoders import Encoder
from nlgauge.encoders.blas import one_blas_thread
from nlgauge.errors import AlignmentNotFoundError, InputError, RecipeError
from nlgauge.transforms.fit.from_texts import origin_of
from nlgauge.transforms.fit.parallel_words import OtherSide
from nlgauge.transforms.fit.self_learning import Attempt, SelfLearned, learn_alignment
from nlgauge.transforms.fit.vocabulary import FrequentWords, Vocabulary, frequent_words, vocabulary_of_texts
from nlgauge.transforms.fit.widths import reduction_steps, same_width
from nlgauge.transforms.remap import Origin, Remapping, fit_remapping

__all__ = [
    "FEWEST_TYPES",
    "LEAST_AGREEMENT",
    "LEAST_GAIN",
    "SideOfAlignment",
    "Unsupervised",
    "check_one_language",
    "check_search",
    "fit_unsupervised",
    "vocabularies_of_texts",
]

#: How much of the way from the criterion of a run against a scrambled target to 1 the best run must have gone.
#: Runs on real vectors that found most words had .35 and more, the others .24 and less; on spaces that had no part in
#: setting it, .364 and more but for one run with .269, and .265 and less (docs/alignment.md).
LEAST_GAIN = 0.3

#: Share of pairs that the other half must find again: .55 and more there, and .29 and less; since then .555 and more
#: but for that run with .390, and .234 and less.
LEAST_AGREEMENT = 0.4

#: Different words that a text must have for its vocabulary to say anything.
FEWEST_TYPES = 1000

#: Share of words in common from which two vocabularies of one model are taken for one language.
_ONE_LANGUAGE = 0.5


class SideOfAlignment(NamedTuple):
    """Texts of a language, and the layer of a model whose vectors are meant."""

    encoder: Encoder
    layer: int
    texts: Sequence[str]


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


def vocabularies_of_texts(
    source: SideOfAlignment,
    target: SideOfAlignment,
    *,
    origin: Origin | None = None,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] | None = None,
) -> tuple[Vocabulary, Vocabulary, Origin]:
    """The frequent words of both sides with their vectors, and what a map between them belongs to.

    `advance` is told how many texts are done.
    """
    if list(source.texts) == list(target.texts):
        msg = "both sides are the same text, which is parallel to itself; give texts of two languages"
        raise InputError(msg)
    made = origin_of(source.encoder, source.layer, OtherSide(target.encoder, target.layer), origin or Origin())
    sides = (source, target)
    # Counted before anything is encoded: too little text need not cost the time of reading it.
    counted = [frequent_words(side.encoder, side.texts) for side in sides]
    _check_words(counted[0], counted[1], min(side.encoder.hidden_size for side in sides), made)
    words = [
        vocabulary_of_texts(
            side.encoder, side.texts, layer=side.layer, found=found, batch_tokens=batch_tokens, advance=advance
        )
        for side, found in zip(sides, counted, strict=True)
    ]
    return words[0], words[1], made


def check_search(*, restarts: int, seed: int, least_gain: float, least_agreement: float) -> None:
    """Refuse numbers that no search can have, before anything is encoded."""
    if restarts < 1:
        msg = f"restarts must be 1 or more, got {restarts}"
        raise RecipeError(msg)
    if seed < 0:
        msg = f"seed must be 0 or more, got {seed}"
        raise RecipeError(msg)
    for name, value in (("least_gain", least_gain), ("least_agreement", least_agreement)):
        if not 0 <= value <= 1:
            msg = f"{name} is a share from 0 to 1, got {value:g}"
            raise RecipeError(msg)


def fit_unsupervised(
    source: Vocabulary,
    target: Vocabulary,
    *,
    restarts: int = 5,
    seed: int = 0,
    least_gain: float = LEAST_GAIN,
    least_agreement: float = LEAST_AGREEMENT,
    origin: Origin | None = None,
    advance: Callable[[int], None] | None = None,
) -> Unsupervised:
    """Learn pairs of words, and the centred rotation between them; raises where the best does not pass.

    Widths may differ: the wider side is brought to the other's along its principal directions, and the map says so.
    `advance` is told of each run that is done.
    """
    check_search(restarts=restarts, seed=seed, least_gain=least_gain, least_agreement=least_agreement)
    made = origin or Origin()
    _check_words(source, target, min(source.vectors.shape[1], target.vectors.shape[1]), made)
    _check_finite(source, target)
    x, z, reductions = same_width(source.vectors, target.vectors)
    learned = learn_alignment(x, z, restarts=restarts, seed=seed, advance=advance)
    best = learned.best
    runs = ", ".join(f"{attempt.criterion:.3f}" for attempt in learned.attempts)
    _check_found(learned, runs, x.shape[1], least_gain, least_agreement)
    told = f"criterion {best.criterion:.3f} of runs {runs} from seed {seed}, by chance {learned.chance:.3f}"
    note = f"{made.note}; {told}, agreement {best.agreement:.3f}".removeprefix("; ")
    if reductions:
        note += f"; PCA of widths {source.vectors.shape[1]} and {target.vectors.shape[1]} to {x.shape[1]}"
    with one_blas_thread:
        rotation = fit_remapping(x[best.pairs.source], z[best.pairs.target], method="centred", origin=made)
    operations = (*reduction_steps(reductions), *rotation.operations)
    words = tuple(
        (source.words[i], target.words[j]) for i, j in zip(best.pairs.source, best.pairs.target, strict=True)
    )
    named = rotation.origin._replace(method="unsupervised", note=note)
    return Unsupervised(Remapping(operations, named), learned.attempts, words)


def _check_found(learned: SelfLearned, runs: str, width: int, least_gain: float, least_agreement: float) -> None:
    """Refuse what may be pairs of chance."""
    best = learned.best
    gain = (best.criterion - learned.chance) / (1 - learned.chance)
    if gain >= least_gain and best.agreement >= least_agreement and len(best.pairs) >= width:
        return
    msg = (
        f"no alignment found: paired words of {len(learned.attempts)} runs have mean cosines of {runs}, by chance "
        f"{learned.chance:.3f}, a gain of {gain:.3f} ({least_gain:g} is needed); {best.agreement:.3f} of "
        f"{len(best.pairs)} pairs come out again from the other half ({least_agreement:g} of {width} or more is "
        "needed). Give more text of the same kind in both languages, another layer or model, or parallel texts"
    )
    raise AlignmentNotFoundError(msg)


def check_one_language(
    source: Vocabulary | FrequentWords, target: Vocabulary | FrequentWords, origin: Origin
) -> None:
    """Refuse one language seen through one model on both sides: the answer is to leave the vectors alone."""
    if origin.target_weights:
        return
    shared = len(set(source.words) & set(target.words)) / min(len(source.words), len(target.words))
    stated = origin.source and origin.source == origin.target
    if stated or shared > _ONE_LANGUAGE:
        language = f"language {origin.source!r}" if stated else f"one language ({shared:.0%} of words are shared)"
        msg = (
            f"both sides are of one model and {language}: there is nothing to align; give two languages or two models"
        )
        raise InputError(msg)


def _check_words(
    source: Vocabulary | FrequentWords, target: Vocabulary | FrequentWords, width: int, origin: Origin
) -> None:
    for name, side in (("source", source), ("target", target)):
        if side.types < FEWEST_TYPES:
            msg = f"the {name} text has {side.types} different words, and {FEWEST_TYPES} are needed; give more text"
            raise InputError(msg)
        if len(side.words) < width:
            msg = f"{len(side.words)} frequent words of the {name} do not span {width} dimensions; give more text"
            raise InputError(msg)
    check_one_language(source, target, origin)


def _check_finite(source: Vocabulary, target: Vocabulary) -> None:
    for name, side in (("source", source), ("target", target)):
        bad = np.flatnonzero(~np.isfinite(side.vectors).all(axis=1))
        if bad.size:
            msg = f"the vector of word {side.words[bad[0]]!r} of the {name} is not finite ({bad.size} such words)"
            raise InputError(msg)
