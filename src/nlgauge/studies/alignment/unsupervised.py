"""Unsupervised alignment: fit a re-mapping to non-parallel texts without a dictionary.

    vocabulary      the frequent words of each language, each with its mean vector over occurrences. Words come from
                    the tokenizer; they consist of letters, are lower-cased, not too short, and occur at least four
                    times, because vectors of rarer words are too noisy
    one width       PCA of the wider space, if widths differ                    word_spaces.py
    self-learning   pairs of words, from several seeds; the best by criterion
    centred         the rotation between the centred paired words               vectors/remap.py

Words with the same meaning have neighbours at similar distances, independent of rotation. So the initial pairs are
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
recovered by the rotation of the other half of them (`agreement`). Below either threshold no alignment was found, and
no file is written, because scores would not reveal a wrong map.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.core.kinds import Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.encoders.base import Encoder, encode_texts
from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import AlignmentNotFoundError, InputError, RecipeError
from nlgauge.studies.alignment.from_texts import origin_of
from nlgauge.studies.alignment.word_spaces import (
    ModelLayer,
    Pairs,
    csls,
    csls_pairs,
    mutual_pairs,
    reduction_steps,
    same_width,
)
from nlgauge.text.tokenizer import Tokens
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import Origin, Remapping, check_finite, fit_remapping, principal_directions

#: Number of texts whose vectors are in memory at once.
_WORD_PORTION = 256

#: Minimum number of letters; one for scripts that write a word with one or two characters.
_FEWEST_LETTERS = 3


class Vocabulary(NamedTuple):
    """Frequent words of a text, most frequent first."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    """A row per word; None before texts are encoded."""
    counts: tuple[int, ...]
    types: int
    """Number of different words, including rare ones."""


def frequent_words(encoder: Encoder, texts: Sequence[str], *, most: int = 3000, fewest_places: int = 4) -> Vocabulary:
    """Find the `most` frequent words with at least `fewest_places` occurrences, without vectors."""
    tokens = encoder.tokenizer.encode(list(texts))
    counts = Counter(word for text, own in zip(texts, tokens, strict=True) for word, _, _ in _words(text, own))
    ranked_words = sorted(
        (word for word, count in counts.items() if count >= fewest_places), key=lambda w: (-counts[w], w)
    )
    words, none = tuple(ranked_words[:most]), np.empty((0, encoder.hidden_size), dtype=np.float32)
    return Vocabulary(words, none, tuple(counts[word] for word in words), len(counts))


def vocabulary_of_texts(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    layer: int,
    frequent: Vocabulary | None = None,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] | None = None,
) -> Vocabulary:
    """Find the frequent words with their vectors; `advance` receives the number of finished texts.

    `frequent`: the `frequent_words` of these texts, if already counted.
    """
    counted = frequent or frequent_words(encoder, texts)
    rows = {word: row for row, word in enumerate(counted.words)}
    sums = np.zeros((len(rows), encoder.hidden_size))
    for start in range(0, len(texts), _WORD_PORTION):
        part = list(texts[start : start + _WORD_PORTION])
        encoded = encode_texts(encoder, encoder.tokenizer.encode(part), (layer,), batch_tokens=batch_tokens)
        for text, own in zip(part, encoded, strict=True):
            for word, first, after in _words(text, own.tokens):
                if word in rows:
                    sums[rows[word]] += own.layers[layer][first:after].mean(axis=0, dtype=np.float64)
        if advance is not None:
            advance(len(part))
    vectors = sums / np.maximum(np.array(counted.counts, dtype=np.float64), 1)[:, None]
    return counted._replace(vectors=vectors.astype(np.float32))


def _words(text: str, tokens: Tokens) -> list[tuple[str, int, int]]:
    """Find the words of a text, each with its first token and the one after its last."""
    words = []
    for first, size in zip(*tokens.word_pieces, strict=True):
        if tokens.is_special[first]:
            continue
        word = text[tokens.offsets[first][0] : tokens.offsets[first + size - 1][1]].casefold()
        if word.isalpha() and len(word) >= (_FEWEST_LETTERS if word[0] < "\u2e80" else 1):
            words.append((word, int(first), int(first + size)))
    return words


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


class Attempt(NamedTuple):
    """Run of self-learning from one seed."""

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
    restarts: int = 5,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> SelfLearned:
    """Learn word pairs of two languages from a vector per word, most frequent first.

    Both sides need the same width (`fit_unsupervised` reduces the wider side). Runs use `seed`, `seed` + 1, ...;
    `advance` is called after each run.
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
        start = _first_pairs(x, z)
        for number in range(restarts):
            attempts.append(_attempt(x, z, start, seed + number))
            if advance is not None:
                advance(1)
        unrelated = _scrambled(z, seed)
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

    restarts: int = option(5, Int(1), help="number of runs, the best of which is used")
    seed: int = seed_option(0)
    least_gain: float = option(
        LEAST_GAIN, Float(0, most=1), help="minimum gain of the criterion over chance, relative to the maximum of 1"
    )
    least_agreement: float = option(
        LEAST_AGREEMENT, Float(0, most=1), help="minimum share of word pairs recovered from the other half"
    )


def fit_unsupervised(
    source: Vocabulary,
    target: Vocabulary,
    *,
    origin: Origin | None = None,
    advance: Callable[[int], None] | None = None,
    **options: Any,
) -> Unsupervised:
    """Learn word pairs and the centred rotation between them; an error if the best run fails the thresholds.

    If widths differ, the wider side is reduced by PCA, as a step of the map. `advance` is called after each run.
    Options are those of `SearchOptions`.
    """
    search = SearchOptions.of(options)
    made = origin or Origin()
    _check_words(source, target, min(source.vectors.shape[1], target.vectors.shape[1]), made)
    for name, side in (("source", source), ("target", target)):
        bad = np.flatnonzero(~np.isfinite(side.vectors).all(axis=1))
        if bad.size:
            msg = f"the vector of word {side.words[bad[0]]!r} of the {name} is not finite ({bad.size} such words)"
            raise InputError(msg)
    x, z, reductions = same_width(source.vectors, target.vectors)
    learned = learn_alignment(x, z, restarts=search.restarts, seed=search.seed, advance=advance)
    best = learned.best
    runs = ", ".join(f"{attempt.criterion:.3f}" for attempt in learned.attempts)
    _check_found(learned, runs, x.shape[1], search)
    told = f"criterion {best.criterion:.3f} of runs {runs} from seed {search.seed}, by chance {learned.chance:.3f}"
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
