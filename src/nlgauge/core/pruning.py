"""Minimum Bayes risk with pruning: candidates that are unlikely to win are compared with fewer references.

The references of a segment, which are its candidates, come in a random order. After the first of them, then after
twice as many and so on, a bootstrap over the references seen so far estimates how often each candidate is at least as
good as the current best. A candidate that reaches this in too few resamples is dropped (Cheng and Vlachos, EMNLP
2023, Faster Minimum Bayes Risk Decoding with Confidence-based Pruning). The paper begins with 8 references and has a
confidence of .99. With these, 6 % of lists of 64 similar candidates get another winner (`benchmarks/pruning.py`), so
the confidence is .9995 here, and lists of more than 32 begin with up to 16.

Candidates that are left at the end have been compared with all references, so their utilities are exact. The order
of the references follows from digests of seed and text. It depends neither on other segments nor on the order of the
candidates.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.engine import Block, Place
from nlgauge.core.kinds import Flag
from nlgauge.core.metric import Metric
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.pairs import PairNotes, TextPairs, compare_pairs
from nlgauge.core.prepare import Prepared
from nlgauge.core.signature import Signature
from nlgauge.errors import RecipeError

#: A candidate is dropped if it is worse than the best in this share of resamples.
CONFIDENCE = 0.9995

#: Fewest and most references before the first drop, a quarter of the list between them; each later step doubles them.
FIRST = (8, 16)

#: Bootstrap resamples.
RESAMPLES = 2000


@dataclass(frozen=True, kw_only=True)
class PruneOptions(OptionSet):
    """Options of `rank` without references or sources."""

    called: ClassVar[str] = "pruning"

    prune: bool = option(
        False,
        Flag(),
        help="faster, approximate: stop comparing a candidate once it is unlikely to win",
    )
    seed: int = seed_option(needs="prune")


@dataclass(frozen=True)
class Pruning:
    """Rule and cost of a ranking with pruning."""

    rule: str
    seed: int
    pairs: int
    """Pairs that were scored."""
    all_pairs: int
    """Pairs of an exact ranking."""
    references: tuple[tuple[int, ...], ...]
    """By segment, the number of references behind the utility of each candidate."""

    @property
    def share(self) -> float:
        """Share of all pairs that was scored."""
        return self.pairs / self.all_pairs if self.all_pairs else 1.0

    def sign(self, signature: Signature) -> Signature:
        """The signature with rule, seed and number of pairs."""
        run = {"prune": self.rule, "seed": str(self.seed), "scored": f"{self.pairs}of{self.all_pairs}"}
        return Signature(signature.metric, signature.recipe, {**signature.run, **run})


class PrunedSegment(NamedTuple):
    """The result of one segment."""

    utilities: NDArray[np.float64]
    """Mean scores against the references seen."""
    order: tuple[int, ...]
    """Candidates, best first; those dropped later come before those dropped earlier."""
    references: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CandidatePairs(TextPairs):
    """Candidates with the pairs that have been scored so far, by segment."""

    scored: Sequence[NDArray[np.bool_]] = ()

    def count(self, numbers: Iterable[int]) -> int:
        """Number of scored pairs that contain one of these texts."""
        flags = np.zeros(len(self.texts), dtype=bool)
        flags[list(numbers)] = True
        total = 0
        for grid, scored in zip(self.grids, self.scored, strict=True):
            own = flags[grid.rows.start : grid.rows.stop]
            total += int(np.count_nonzero(scored & (own[:, None] | own)))
        return total


def refuse_pruning(recipe: Metric) -> None:
    """Refuse recipes of several metrics, whose scores are joined over all segments."""
    if len(recipe.base_metrics) > 1:
        msg = f"{recipe.name} combines several metrics, which prune cannot; leave prune out or choose one of them"
        raise RecipeError(msg)


class Elimination:
    """The candidates of one segment, and which of them can still win."""

    def __init__(self, texts: Sequence[str], *, seed: int, sign: int) -> None:
        count = len(texts)
        self._sign, self._seed = sign, seed
        self._scores = np.full((count, count), np.nan)
        self.scored = np.zeros((count, count), dtype=bool)
        twins: dict[str, int] = {}
        self._twin = [twins.setdefault(text, index) for index, text in enumerate(texts)]
        """The first candidate with the same text, which has the same utility."""
        self.alive = list(twins.values())
        self._order = sorted(range(count), key=lambda index: (_digest(seed, texts[index]), index))
        self._rounds = np.zeros(count, dtype=int)
        """By candidate, the number of rounds survived."""

    def rounds(self) -> Iterator[tuple[list[int], list[int]]]:
        """Candidates and references to compare next; `add` must get their scores before the next round."""
        count, seen = len(self._order), 0
        first = max(FIRST[0], min(FIRST[1], count // 4))
        while seen < count:
            until = min(count, max(first, 2 * seen))
            yield self.alive, self._order[seen:until]
            seen = until
            if seen < count:
                self._drop(self._order[:seen])
            self._rounds[self.alive] += 1
            if len(self.alive) == 1:
                return

    def add(self, rows: Sequence[int], columns: Sequence[int], scores: NDArray[np.float64]) -> None:
        """Add scores; those of a candidate with itself are nan."""
        self._scores[np.ix_(rows, columns)] = scores
        self.scored[np.ix_(rows, columns)] = np.not_equal.outer(rows, columns)

    def _drop(self, seen: Sequence[int]) -> None:
        """Drop candidates that are rarely as good as the best on resampled references."""
        scores = self._sign * self._scores[np.ix_(self.alive, seen)]
        own = np.equal.outer(self.alive, seen)
        means = np.where(own, 0.0, scores).sum(axis=1) / np.maximum(1, len(seen) - own.sum(axis=1))
        best = int(np.argmax(np.where(np.isnan(means), -np.inf, means)))
        # A candidate is not its own reference, so neither of the two is a reference of both.
        differences = np.where(own | own[best], 0.0, scores - scores[best])
        sums = differences @ bootstrap_counts(len(seen), self._seed).T
        wins = (~(sums < 0)).mean(axis=1)
        self.alive = [row for row, share in zip(self.alive, wins, strict=True) if share > 1 - CONFIDENCE]

    def result(self) -> PrunedSegment:
        """Utilities and order after the last round."""
        count = len(self._twin)
        utilities, references = np.full(count, np.nan), [0] * count
        for index in set(self._twin):
            values = self._scores[index, self.scored[index]]
            references[index] = len(values)
            if len(values):
                utilities[index] = math.fsum(values.tolist()) / len(values)
        utilities = utilities[self._twin]
        # nan comes last, as in an exact ranking.
        keys = np.where(np.isnan(utilities), np.inf, -self._sign * utilities)
        order = sorted(range(count), key=lambda i: (-self._rounds[self._twin[i]], keys[i], i))
        return PrunedSegment(utilities, tuple(order), tuple(references[twin] for twin in self._twin))


@lru_cache(maxsize=32)
def bootstrap_counts(references: int, seed: int) -> NDArray[np.float64]:
    """How often each resample contains each reference, (resamples, references)."""
    rng = np.random.default_rng([seed, references])
    return rng.multinomial(references, np.full(references, 1 / references), size=RESAMPLES).astype(np.float64)


def _digest(seed: int, text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=str(seed).encode(), digest_size=8).digest()


def compare_with_pruning(
    prepared: Prepared, segments: Sequence[Elimination], options: PruneOptions
) -> tuple[PairNotes, list[PrunedSegment], Pruning]:
    """Compare candidates round by round, as far as they can win."""
    pairs = prepared.corpus
    assert isinstance(pairs, TextPairs)
    main = prepared.metrics[0].metric.main

    def blocks(number: int) -> Iterator[Block]:
        start = pairs.grids[number].rows.start
        for rows, columns in segments[number].rounds():
            yield Block(
                [Place(pairs.texts[start + row], "", start + row) for row in rows],
                [Place(pairs.texts[start + column], None, start + column) for column in columns],
                others=True,
                grid=number,
            )

    def add_scores(_: int, block: Block, scores: Mapping[str, NDArray[np.float64]]) -> None:
        start = pairs.grids[block.grid].rows.start
        rows, columns = ([place.number - start for place in places] for places in (block.rows, block.columns))
        segments[block.grid].add(rows, columns, scores[main])

    notes = compare_pairs(prepared, add_scores, blocks)
    results = [segment.result() for segment in segments]
    scored = sum(int(np.count_nonzero(segment.scored)) for segment in segments)
    rule = f"bootstrap-{CONFIDENCE:g}-from-{FIRST[0]}-to-{FIRST[1]}"
    references = tuple(result.references for result in results)
    return notes, results, Pruning(rule, options.seed, scored, pairs.pairs, references)
