"""A rotation between two languages from two texts that say different things: no dictionary, no parallel text.

Words with the same meaning have the same neighbours at the same distances, whatever the directions of their space.
So a first guess pairs words whose similarities to all other words of their own language are spread alike (Artetxe,
Labaka, Agirre 2018), and then map and dictionary improve each other in turns:

    U S V' <- SVD of the products of paired words;   x <- x U S^1/2,   z <- z V S^1/2
    pairs  <- each word's nearest by CSLS, either way, among similarities of which only a share is kept

The share grows each time the agreement stops rising, so that early mistakes are not final. Published vectors are of
tens of thousands of words in 300 dimensions; here are a thousand or two of 384 to 768, and a rotation of that many
dimensions fits wrong pairs as well as right ones. Hence two departures: turns take place in the first 100 principal
directions, and each direction counts by how much the pairs agree on it (the published re-weighting, there only a last
step). The rotation of all dimensions comes last, from the pairs found.

Where that ends depends on the seed: runs are repeated, and the one whose pairs have the highest mean cosine is taken
(the semantic criterion, which needs no gold). Too low a criterion means that no alignment was found, and that is what
is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.encoders.blas import one_blas_thread
from nlgauge.errors import InputError, RecipeError
from nlgauge.transforms.fit.neighbours import Pairs, csls, csls_pairs, mutual_pairs
from nlgauge.transforms.fit.procrustes import principal_directions

__all__ = ["Attempt", "SelfLearned", "held_out_agreement", "learn_alignment"]

#: Share of similarities that the first rounds keep, and what it is multiplied by when the agreement has settled.
_FIRST_SHARE, _GROWTH = 0.1, 2.0
#: Rounds without a new best after which it has settled, and the least that counts as better.
_PATIENCE, _LEAST_GAIN = 10, 1e-6
_MOST_ROUNDS = 300

#: Words of the first guess and of the turns: frequent words have the surest vectors.
_START_WORDS, _LEARNING_WORDS = 500, 1000
#: Principal directions that turns take place in.
_DIRECTIONS = 100
#: Turns of all words in all dimensions, at the end.
_LAST_TURNS = 5


class Attempt(NamedTuple):
    """One run, from one seed."""

    seed: int
    criterion: float
    """Mean cosine of the pairs it ended with: what tells good runs from bad ones without gold."""
    pairs: Pairs
    """Rows of the words that are each other's nearest."""
    rounds: int
    agreement: float
    """Share of pairs that the rotation of the other half of pairs finds again: a rotation with as many directions as
    there are pairs fits anything, and then finds near to none."""


class SelfLearned(NamedTuple):
    """What several runs found."""

    best: Attempt
    attempts: tuple[Attempt, ...]
    """All of them, in the order of their seeds."""
    chance: float
    """Criterion of a run against a scrambled target: what pairs reach that have nothing to do with each other (below
    1)."""


def learn_alignment(
    source: ArrayLike,
    target: ArrayLike,
    *,
    most_words: int = 1500,
    restarts: int = 5,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> SelfLearned:
    """Pairs of words of two languages that belong together, from a vector per word, most frequent first.

    Rows may be of different widths only after both were brought to one (`fit_unsupervised` does). Runs start from
    `seed`, `seed` + 1, ...; `advance` is told of each run that is done.
    """
    x, z = (_prepared(rows, name)[:most_words] for rows, name in ((source, "source"), (target, "target")))
    if x.shape[1] != z.shape[1]:
        msg = f"vectors of both sides must be of one width, got {x.shape[1]} and {z.shape[1]}"
        raise InputError(msg)
    if restarts < 1:
        msg = f"restarts must be 1 or more, got {restarts}"
        raise RecipeError(msg)
    attempts = []
    with one_blas_thread:  # a sum in another order may turn a tie, and with it the whole run
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
    """Rows that keep what each principal direction holds, and lose which of it belongs together."""
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    along: NDArray[np.float32] = rows @ axes.T
    return _unit(np.random.default_rng(seed).permuted(along, axis=0))


def _prepared(rows: ArrayLike, name: str) -> NDArray[np.float32]:
    """Unit vectors around the origin: centred, of length 1, and both again.

    Centred first, so that where a space lies changes nothing; published is length 1 first (Artetxe et al. 2018).
    """
    vectors = np.asarray(rows, dtype=np.float32)
    if vectors.ndim != 2:
        msg = f"the {name} vectors must be a matrix with a row per word, got an array of shape {vectors.shape}"
        raise InputError(msg)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        msg = f"row {bad[0]} of the {name} vectors is not finite ({bad.size} such rows)"
        raise InputError(msg)
    if len(vectors) < 2:
        msg = f"the {name} has {len(vectors)} words; give more text"
        raise InputError(msg)
    unit = _unit(vectors - vectors.mean(axis=0))
    return _unit(unit - unit.mean(axis=0))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _first_pairs(x: NDArray[np.float32], z: NDArray[np.float32]) -> Pairs:
    """Words whose similarities to the words of their own language are spread alike, whoever those words are."""
    words = min(len(x), len(z), _START_WORDS)
    spread = []
    for rows in (x[:words], z[:words]):
        u, sizes, _ = np.linalg.svd(rows, full_matrices=False)
        own = np.sort((u * sizes) @ u.T, axis=1)  # the root of the matrix of similarities, as published
        own = _unit(own)
        spread.append(_unit(own - own.mean(axis=0)))
    return _both_ways(csls(spread[0] @ spread[1].T))


def _both_ways(similarity: NDArray[np.float32]) -> Pairs:
    """Each word's first on the other side, from either side."""
    rows, columns = np.arange(similarity.shape[0]), np.arange(similarity.shape[1])
    forward, backward = similarity.argmax(axis=1), similarity.argmax(axis=0)
    return Pairs(np.concatenate([rows, backward]), np.concatenate([forward, columns]))


def _attempt(x: NDArray[np.float32], z: NDArray[np.float32], start: Pairs, seed: int) -> Attempt:
    few = [_principal(rows[:_LEARNING_WORDS]) for rows in (x, z)]
    pairs, rounds = _turns(few[0], few[1], start, np.random.default_rng(seed))
    for _ in range(_LAST_TURNS):
        pairs, criterion = csls_pairs(_unit(x @ _rotation(x[pairs.source], z[pairs.target])), z)
    return Attempt(seed, criterion, pairs, rounds, held_out_agreement(x, z, pairs))


def _principal(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same rows, seen along the directions in which they differ most."""
    axes = principal_directions(rows, count=min(_DIRECTIONS, *rows.shape)).astype(np.float32)
    along: NDArray[np.float32] = rows @ axes
    return _unit(along)


def _turns(
    x: NDArray[np.float32], z: NDArray[np.float32], start: Pairs, chance: np.random.Generator
) -> tuple[Pairs, int]:
    """Map and pairs in turn until all similarities are kept and nothing improves; mutual pairs, and the rounds."""
    pairs, share, best, waited, rounds = start, _FIRST_SHARE, -np.inf, 0, 0
    while True:
        rounds += 1
        u, sizes, vt = np.linalg.svd(x[pairs.source].T @ z[pairs.target])
        weights = np.sqrt(sizes)
        cosines: NDArray[np.float32] = _unit((x @ u) * weights) @ _unit((z @ vt.T) * weights).T
        similarity = csls(cosines)
        reached = float(similarity.max(axis=1).mean() + similarity.max(axis=0).mean()) / 2
        if reached > best + _LEAST_GAIN:
            best, waited = reached, 0
        else:
            waited += 1
        if waited >= _PATIENCE:
            share, best, waited = share * _GROWTH, -np.inf, 0
        if rounds >= _MOST_ROUNDS or share >= _GROWTH:  # settled once more with all of them kept
            return mutual_pairs(similarity), rounds
        if share < 1:
            similarity[chance.random(similarity.shape, dtype=np.float32) >= share] = -np.inf
        pairs = _both_ways(similarity)


def held_out_agreement(x: NDArray[np.float32], z: NDArray[np.float32], pairs: Pairs) -> float:
    """Share of pairs that come out again under the rotation of the other half of them, by CSLS.

    With hundreds of directions a rotation brings hundreds of wrong pairs close; it cannot know those it has not seen.
    """
    again = 0
    for own, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        if len(pairs.source[own]) == 0:
            return 0.0
        rotation = _rotation(x[pairs.source[own]], z[pairs.target[own]])
        turned: NDArray[np.float32] = x @ rotation
        answers = csls(turned @ z.T)[pairs.source[other]].argmax(axis=1)
        again += int((answers == pairs.target[other]).sum())
    return again / len(pairs)


def _rotation(x: NDArray[np.float32], z: NDArray[np.float32]) -> NDArray[np.float32]:
    """As `procrustes`, without its word on few pairs: half of them may well be fewer than directions."""
    u, _, vt = np.linalg.svd(z.T @ x)
    rotation: NDArray[np.float32] = (vt.T @ u.T).astype(np.float32)
    return rotation
