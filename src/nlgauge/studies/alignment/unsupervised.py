"""Unsupervised alignment: fit a re-mapping to non-parallel texts without a dictionary.

    vocabulary      the frequent words of each language, each with its mean vector over occurrences. They consist of
                    letters, are lower-cased, not too short, and occur at least four times, because vectors of rarer
                    words are too noisy                                         vocabulary.py
    one width       PCA of the wider space, if widths differ                    word_spaces.py
    pairs           of words, from the identity or by self-learning
    centred         the rotation between the centred paired words               vectors/remap.py

Where both sides are one multilingual model, their vectors can be compared as they are. This is the start `identity`
(Algorithm 1 of the dissertation, chapter 10): the mutual nearest words by CSLS, and five times the rotation of the
pairs and the pairs under the rotation. Nothing is random. Two models need the start `self-learning`.

Words with the same meaning have neighbours at similar distances, independent of rotation. So its initial pairs are
words with similar distributions of similarities to all words of their own language (Artetxe, Labaka, Agirre 2018),
and then map and dictionary improve each other alternately:

    U S V' <- SVD of the products of paired words;   x <- x U S^1/2,   z <- z V S^1/2
    pairs  <- each word's nearest by CSLS in both directions, with a random share of similarities

The share grows each time the agreement stops rising, so early mistakes can be corrected. The published method has
tens of thousands of words in 300 dimensions; here there are one to two thousand in 384 to 768, and a rotation of that
many dimensions fits wrong pairs as well as right ones. Hence two changes: iterations use the first 100 principal
directions, and each direction is weighted by the agreement of the pairs (the published re-weighting, there only the
last step). The rotation of all dimensions comes last, from the final pairs.

The result depends on the seed: runs are repeated, and the result is the run with the highest mean cosine of pairs
(the semantic criterion, which needs no gold). A failed run has close pairs too, depending on the number of words and
dimensions. So the criterion is compared with that of a run against a scrambled target (`gain`), and pairs must be
recovered by the rotation of the other half of them (`agreement`). Both see only whether pairs are consistent, and
characters that are parts of words can be paired consistently: of Chinese characters paired with English words 43 %
are wrong, of longer words 14 %. So a map whose words are mostly single characters is refused, unless known
translations, which take no part in the fit, are found again (`precision`). Below a threshold no alignment was found,
and no file is written, because scores would not reveal a wrong map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import AlignmentNotFoundError, InputError, RecipeError
from nlgauge.studies.alignment.from_texts import origin_of
from nlgauge.studies.alignment.vocabulary import (
    Vocabulary,
    frequent_words,
    is_single_character,
    vocabulary_of_texts,
)
from nlgauge.studies.alignment.word_spaces import (
    ModelLayer,
    Pairs,
    csls,
    csls_pairs,
    induction_precision,
    mutual_pairs,
    reduction_steps,
    same_width,
)
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import Origin, Remapping, check_finite, fit_remapping, principal_directions

#: Initial share of similarities, and its factor when the agreement has settled.
_FIRST_SHARE, _GROWTH = 0.1, 2.0
#: Rounds without improvement until it has settled, and the minimum improvement.
_PATIENCE, _LEAST_GAIN = 10, 1e-6
_MOST_ROUNDS = 300

#: Number of most frequent words per side.
_MOST_WORDS = 1500

#: Number of words for initial pairs and iterations: vectors of frequent words are most reliable.
_START_WORDS, _LEARNING_WORDS = 500, 1000
#: Number of principal directions for iterations.
_DIRECTIONS = 100
#: Final iterations with all words in all dimensions.
_LAST_TURNS = 5


STARTS = ("identity", "self-learning")


class Attempt(NamedTuple):
    """Run from one seed; from the identity there is one run without randomness."""

    seed: int
    criterion: float
    """Mean cosine of the final pairs, which separates good from bad runs without gold."""
    pairs: Pairs
    """Rows of mutual nearest words."""
    rounds: int
    agreement: float
    """Share of pairs recovered by the rotation of the other half of pairs. A rotation with as many dimensions as
    pairs fits anything, and then recovers almost none."""


class SelfLearned(NamedTuple):
    """Result of several runs."""

    best: Attempt
    attempts: tuple[Attempt, ...]
    """All runs in order of seeds."""
    chance: float
    """Criterion of a run against a scrambled target, as reached by unrelated pairs (below 1)."""


def learn_alignment(
    source: ArrayLike,
    target: ArrayLike,
    *,
    start: str = "self-learning",
    restarts: int = 5,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> SelfLearned:
    """Learn word pairs of two languages from a vector per word, most frequent first.

    Both sides need the same width (`fit_unsupervised` reduces the wider side). Runs of self-learning use `seed`,
    `seed` + 1, ...; `advance` receives the number of finished runs.
    """
    x, z = (_prepared(rows, name)[:_MOST_WORDS] for rows, name in ((source, "source"), (target, "target")))
    if x.shape[1] != z.shape[1]:
        msg = f"vectors of both sides must have the same width, got {x.shape[1]} and {z.shape[1]}"
        raise InputError(msg)
    if restarts < 1:
        msg = f"restarts must be 1 or more, got {restarts}"
        raise RecipeError(msg)
    attempts = []
    with one_blas_thread:  # another order of sums can change a tie and thus the whole run
        unrelated = _scrambled(z, seed)
        if start == "identity":
            attempts.append(_refined(x, z, csls_pairs(x, z)[0], seed))
            chance = _refined(x, unrelated, csls_pairs(x, unrelated)[0], seed).criterion
            if advance is not None:
                advance(restarts)
        else:
            first = _first_pairs(x, z)
            for number in range(restarts):
                attempts.append(_attempt(x, z, first, seed + number))
                if advance is not None:
                    advance(1)
            chance = _attempt(x, unrelated, _first_pairs(x, unrelated), seed).criterion
    best = max(attempts, key=lambda attempt: attempt.criterion)
    return SelfLearned(best, tuple(attempts), chance)


def _scrambled(rows: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """Scramble rows: keep the distribution along each principal direction, but not the combinations."""
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    along: NDArray[np.float32] = rows @ axes.T
    return unit_rows(np.random.default_rng(seed).permuted(along, axis=0), pairwise=True)


def _prepared(rows: ArrayLike, name: str) -> NDArray[np.float32]:
    """Normalise: centre, scale to unit length, and repeat both.

    Centring comes first, so that the result does not depend on the position of a space; the published method scales
    first (Artetxe et al. 2018).
    """
    vectors = np.asarray(rows, dtype=np.float32)
    if vectors.ndim != 2:
        msg = f"the {name} vectors must be a matrix with a row per word, got an array of shape {vectors.shape}"
        raise InputError(msg)
    check_finite(vectors, name)
    if len(vectors) < 2:
        msg = f"the {name} has {len(vectors)} words; give more text"
        raise InputError(msg)
    unit = unit_rows(vectors - vectors.mean(axis=0), pairwise=True)
    return unit_rows(unit - unit.mean(axis=0), pairwise=True)


def _first_pairs(x: NDArray[np.float32], z: NDArray[np.float32]) -> Pairs:
    """Find initial pairs: words with similar distributions of similarities to words of their own language."""
    words = min(len(x), len(z), _START_WORDS)
    spread = []
    for rows in (x[:words], z[:words]):
        u, sizes, _ = np.linalg.svd(rows, full_matrices=False)
        own = np.sort((u * sizes) @ u.T, axis=1)  # square root of the matrix of similarities, as published
        own = unit_rows(own, pairwise=True)
        spread.append(unit_rows(own - own.mean(axis=0), pairwise=True))
    return _both_ways(csls(spread[0] @ spread[1].T))


def _both_ways(similarity: NDArray[np.float32]) -> Pairs:
    """Find each word's nearest word on the other side, in both directions."""
    rows, columns = np.arange(similarity.shape[0]), np.arange(similarity.shape[1])
    forward, backward = similarity.argmax(axis=1), similarity.argmax(axis=0)
    return Pairs(np.concatenate([rows, backward]), np.concatenate([forward, columns]))


def _attempt(x: NDArray[np.float32], z: NDArray[np.float32], start: Pairs, seed: int) -> Attempt:
    few = [_principal(rows[:_LEARNING_WORDS]) for rows in (x, z)]
    pairs, rounds = _turns(few[0], few[1], start, np.random.default_rng(seed))
    return _refined(x, z, pairs, seed, rounds)


def _refined(x: NDArray[np.float32], z: NDArray[np.float32], pairs: Pairs, seed: int, rounds: int = 0) -> Attempt:
    """Alternate rotation and pairs with all words in all dimensions."""
    criterion = 0.0
    for _ in range(_LAST_TURNS):
        pairs, criterion = csls_pairs(unit_rows(x @ _rotation(x[pairs.source], z[pairs.target]), pairwise=True), z)
    return Attempt(seed, criterion, pairs, rounds, held_out_agreement(x, z, pairs))


def _principal(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Project rows to their principal directions."""
    axes = principal_directions(rows, count=min(_DIRECTIONS, *rows.shape)).astype(np.float32)
    along: NDArray[np.float32] = rows @ axes
    return unit_rows(along, pairwise=True)


def _turns(
    x: NDArray[np.float32], z: NDArray[np.float32], start: Pairs, chance: np.random.Generator
) -> tuple[Pairs, int]:
    """Alternate map and pairs until nothing improves with all similarities; return mutual pairs and rounds."""
    pairs, share, best, waited, rounds = start, _FIRST_SHARE, -np.inf, 0, 0
    while True:
        rounds += 1
        u, sizes, vt = np.linalg.svd(x[pairs.source].T @ z[pairs.target])
        weights = np.sqrt(sizes)
        turned = [unit_rows(rows * weights, pairwise=True) for rows in (x @ u, z @ vt.T)]
        cosines: NDArray[np.float32] = turned[0] @ turned[1].T
        similarity = csls(cosines)
        reached = float(similarity.max(axis=1).mean() + similarity.max(axis=0).mean()) / 2
        if reached > best + _LEAST_GAIN:
            best, waited = reached, 0
        else:
            waited += 1
        if waited >= _PATIENCE:
            share, best, waited = share * _GROWTH, -np.inf, 0
        if rounds >= _MOST_ROUNDS or share >= _GROWTH:  # settled with all similarities
            return mutual_pairs(similarity), rounds
        if share < 1:
            similarity[chance.random(similarity.shape, dtype=np.float32) >= share] = -np.inf
        pairs = _both_ways(similarity)


def held_out_agreement(x: NDArray[np.float32], z: NDArray[np.float32], pairs: Pairs) -> float:
    """Share of pairs recovered by CSLS under the rotation of the other half of pairs.

    With hundreds of dimensions, a rotation fits hundreds of wrong pairs, but it does not recover unseen ones.
    """
    recovered = 0
    for half, other_half in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        if len(pairs.source[half]) == 0:
            return 0.0
        rotation = _rotation(x[pairs.source[half]], z[pairs.target[half]])
        turned: NDArray[np.float32] = x @ rotation
        answers = csls(turned @ z.T)[pairs.source[other_half]].argmax(axis=1)
        recovered += int((answers == pairs.target[other_half]).sum())
    return recovered / len(pairs)


def _rotation(x: NDArray[np.float32], z: NDArray[np.float32]) -> NDArray[np.float32]:
    """`procrustes` without its check for few pairs: half of the pairs can be fewer than dimensions."""
    u, _, vt = np.linalg.svd(z.T @ x)
    rotation: NDArray[np.float32] = (vt.T @ u.T).astype(np.float32)
    return rotation


#: Minimum gain: position of the best run's criterion between that of a run against a scrambled target (0) and 1.
#: Successful runs on real vectors had .35 and more, failed ones .24 and less; on held-out spaces .364 and more except
#: one run with .269, and .265 and less (docs/alignment.md).
LEAST_GAIN = 0.3

#: Minimum agreement: .55 and more in successful runs, .29 and less in failed ones; on held-out spaces .555 and more
#: except that run with .390, and .234 and less.
LEAST_AGREEMENT = 0.4

#: Minimum share of known translations that are found again; of good maps on real vectors (benchmarks) .5 and more.
LEAST_PRECISION = 0.5

#: Fewest known translations among the frequent words, and share of paired words that may be single characters.
_FEWEST_KNOWN, _MOST_SINGLE = 10, 0.5

#: Minimum number of different words in a text.
FEWEST_TYPES = 1000

#: Share of common words from which two vocabularies of one model count as the same language.
_ONE_LANGUAGE = 0.5


class Unsupervised(NamedTuple):
    """A re-mapping with the reliability of its pairs."""

    remapping: Remapping
    attempts: tuple[Attempt, ...]
    """All runs in order of seeds."""
    pairs: tuple[tuple[str, str], ...]
    """Word pairs, most frequent first."""

    @property
    def criterion(self) -> float:
        """Agreement of the chosen run."""
        return max(attempt.criterion for attempt in self.attempts)


def vocabularies_of_texts(
    sides: tuple[ModelLayer, ModelLayer],
    texts: tuple[Sequence[str], Sequence[str]],
    *,
    origin: Origin | None = None,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] | None = None,
) -> tuple[Vocabulary, Vocabulary, Origin]:
    """Find the frequent words of source and target with their vectors, and the origin of a map between them.

    `advance` receives the number of finished texts.
    """
    if list(texts[0]) == list(texts[1]):
        msg = "nothing to align: both sides are the same text; provide texts in two languages"
        raise InputError(msg)
    made = origin_of(*sides[0], sides[1], origin or Origin())
    # Count first: texts that are too short should fail before the slow encoding.
    source, target = (frequent_words(side.encoder, lines) for side, lines in zip(sides, texts, strict=True))
    _check_words(source, target, min(side.encoder.hidden_size for side in sides), made)
    words, others = (
        vocabulary_of_texts(
            side.encoder, lines, layer=side.layer, frequent=frequent, batch_tokens=batch_tokens, advance=advance
        )
        for side, lines, frequent in zip(sides, texts, (source, target), strict=True)
    )
    return words, others, made


@dataclass(frozen=True, kw_only=True)
class SearchOptions(OptionSet):
    """Number of runs and acceptance thresholds."""

    called: ClassVar[str] = "options of a search"

    start: str | None = option(
        None,
        Choice(*STARTS),
        help="origin of the first word pairs",
        unset="identity for one model, else self-learning",
    )
    restarts: int = option(5, Int(1), help="number of runs of self-learning, the best of which is used")
    seed: int = seed_option(0)
    least_gain: float = option(
        LEAST_GAIN, Float(0, most=1), help="minimum gain of the criterion over chance, relative to the maximum of 1"
    )
    least_agreement: float = option(
        LEAST_AGREEMENT, Float(0, most=1), help="minimum share of word pairs recovered from the other half"
    )
    least_precision: float = option(
        LEAST_PRECISION, Float(0, most=1), help="minimum share of known translations (--known) that the map recovers"
    )

    def start_for(self, origin: Origin) -> str:
        """Return the start; two models have no identity in common."""
        if self.start == "identity" and origin.target_weights:
            msg = "start 'identity' needs one model and layer for both sides; use start='self-learning'"
            raise RecipeError(msg)
        return self.start or ("identity" if origin.weights and not origin.target_weights else "self-learning")


def fit_unsupervised(
    source: Vocabulary,
    target: Vocabulary,
    *,
    origin: Origin | None = None,
    known: Sequence[tuple[str, str]] | None = None,
    advance: Callable[[int], None] | None = None,
    **options: Any,
) -> Unsupervised:
    """Learn word pairs and the centred rotation between them; an error if the best run fails the thresholds.

    If widths differ, the wider side is reduced by PCA, as a step of the map. `known`: translations of words, which
    only decide whether the map is accepted. `advance` receives the number of finished runs. Options are those of
    `SearchOptions`.
    """
    search = SearchOptions.of(options)
    made = origin or Origin()
    start = search.start_for(made)
    gold = None if known is None else _known_rows(source, target, known)
    _check_words(source, target, min(source.vectors.shape[1], target.vectors.shape[1]), made)
    for name, side in (("source", source), ("target", target)):
        bad = np.flatnonzero(~np.isfinite(side.vectors).all(axis=1))
        if bad.size:
            msg = f"the vector of word {side.words[bad[0]]!r} of the {name} is not finite ({bad.size} such words)"
            raise InputError(msg)
    x, z, reductions = same_width(source.vectors, target.vectors)
    learned = learn_alignment(x, z, start=start, restarts=search.restarts, seed=search.seed, advance=advance)
    best = learned.best
    runs = ", ".join(f"{attempt.criterion:.3f}" for attempt in learned.attempts)
    _check_found(learned, runs, x.shape[1], search)
    outcome = f"criterion {best.criterion:.3f} of runs {runs} from seed {search.seed}, by chance {learned.chance:.3f}"
    if start == "identity":
        outcome = f"start identity, criterion {best.criterion:.3f}, by chance {learned.chance:.3f}"
    note = f"{made.note}; {outcome}, agreement {best.agreement:.3f}".removeprefix("; ")
    if reductions:
        note += f"; PCA of widths {source.vectors.shape[1]} and {target.vectors.shape[1]} to {x.shape[1]}"
    with one_blas_thread:
        rotation = fit_remapping(x[best.pairs.source], z[best.pairs.target], method="centred", origin=made)
    operations = (*reduction_steps(reductions), *rotation.operations)
    words = tuple(
        (source.words[i], target.words[j]) for i, j in zip(best.pairs.source, best.pairs.target, strict=True)
    )
    method = "unsupervised-identity" if start == "identity" else "unsupervised"
    if gold is not None:
        share = _check_known(rotation, x, z, gold, search)
        note += f", precision {share:.3f} of {len(gold)} known translations"
    else:
        _check_characters(words)
    named = rotation.origin._replace(method=method, note=note)
    return Unsupervised(Remapping(operations, named), learned.attempts, words)


def _known_rows(source: Vocabulary, target: Vocabulary, known: Sequence[tuple[str, str]]) -> Pairs:
    """Rows of the known translations whose words are frequent on both sides."""
    rows, columns = ({word: i for i, word in enumerate(side.words[:_MOST_WORDS])} for side in (source, target))
    folded = dict.fromkeys((left.casefold(), right.casefold()) for left, right in known)
    pairs = [(rows[left], columns[right]) for left, right in folded if left in rows and right in columns]
    if len({row for row, _ in pairs}) < _FEWEST_KNOWN:
        msg = (
            f"{len(pairs)} of {len(folded)} known translations are frequent words of both texts, but {_FEWEST_KNOWN} "
            "different source words are needed; provide more translations of common words"
        )
        raise InputError(msg)
    return Pairs(*np.array(pairs, dtype=np.intp).T)


def _check_known(
    rotation: Remapping, x: NDArray[np.float64], z: NDArray[np.float64], gold: Pairs, search: SearchOptions
) -> float:
    """Raise an error for a map that does not recover known translations; return the share that it recovers."""
    moved, kept = (
        unit_rows((rows - z.mean(axis=0)).astype(np.float32), pairwise=True)
        for rows in (rotation.apply(x[:_MOST_WORDS]), z[:_MOST_WORDS])
    )
    share = induction_precision(moved, kept, gold)
    if share < search.least_precision:
        msg = (
            f"no alignment found: the map recovers {share:.3f} of {len(gold)} known translations (minimum "
            f"{search.least_precision:g}). Use more text of the same kind in both languages, another layer or model, "
            "or parallel text"
        )
        raise AlignmentNotFoundError(msg)
    return share


def _check_characters(words: Sequence[tuple[str, str]]) -> None:
    """Raise an error for pairs that are mostly single characters of a script without blanks."""
    single = sum(any(map(is_single_character, pair)) for pair in words) / max(len(words), 1)
    if single > _MOST_SINGLE:
        msg = (
            f"no alignment found: {single:.0%} of {len(words)} paired words are single characters, which are often "
            "only parts of words. Separate the words of the text by spaces, or check the map with known "
            "translations (--known FILE)"
        )
        raise AlignmentNotFoundError(msg)


def _check_found(learned: SelfLearned, runs: str, width: int, search: SearchOptions) -> None:
    """Raise an error for pairs that could be due to chance."""
    best = learned.best
    gain = (best.criterion - learned.chance) / (1 - learned.chance)
    if gain >= search.least_gain and best.agreement >= search.least_agreement and len(best.pairs) >= width:
        return
    msg = (
        f"no alignment found: {len(learned.attempts)} runs have mean cosines of {runs}, chance is "
        f"{learned.chance:.3f}; gain {gain:.3f} (minimum {search.least_gain:g}), agreement {best.agreement:.3f} of "
        f"{len(best.pairs)} pairs (minimum {search.least_agreement:g} of {width} pairs). "
        "Use more text of the same kind in both languages, another layer or model, or parallel text"
    )
    raise AlignmentNotFoundError(msg)


def _check_words(source: Vocabulary, target: Vocabulary, width: int, origin: Origin) -> None:
    """Raise an error for too little text, and for the same language and model on both sides: no map is needed."""
    for name, side in (("source", source), ("target", target)):
        if side.types < FEWEST_TYPES:
            msg = (
                f"the {name} text has {side.types} different words, but {FEWEST_TYPES} are needed; provide more text"
            )
            raise InputError(msg)
        if len(side.words) < width:
            msg = f"{len(side.words)} frequent words of the {name} do not span {width} dimensions; provide more text"
            raise InputError(msg)
    if origin.target_weights:
        return
    shared = len(set(source.words) & set(target.words)) / min(len(source.words), len(target.words))
    stated = origin.source and origin.source == origin.target
    if stated or shared > _ONE_LANGUAGE:
        language = f"language {origin.source!r}" if stated else f"one language ({shared:.0%} of words are shared)"
        msg = f"nothing to align: both sides have the same model and {language}; provide two languages or two models"
        raise InputError(msg)
