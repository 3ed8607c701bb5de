"""Scores of texts with words left out: leave-one-out importance and Shapley values.

    phi_i = sum over coalitions S without i of |S|! (n - |S| - 1)! / n!  (v(S + i) - v(S))

Shapley values sum to v(all) - v(none). Up to ten players they are computed exactly; beyond that over sampled orders
(Castro, Gomez, Tejada 2009), which sum to the same, with the standard error of each mean.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import Corpus
from nlgauge.core.metric import Metric
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import InputError, NlgaugeWarning
from nlgauge.studies.explain.explanation import Attribution, Side
from nlgauge.text.words import WordSpan

#: Players whose coalitions are all looked at: 1,024.
MOST_EXACT = 10

#: From coalitions (a row each, True for a player that is in it) to their values.
Game: TypeAlias = Callable[[NDArray[np.bool_]], NDArray[np.float64]]


class Shapley(NamedTuple):
    """A value per player."""

    values: NDArray[np.float64]
    error: NDArray[np.float64] | None
    """Standard errors; None where the values are exact."""
    total: float
    """Value of the coalition of all minus that of the empty one."""


def shapley_values(players: int, game: Game, *, samples: int = 25, seed: int = 12345) -> Shapley:
    """Exact values for few players; else the mean over `samples` orders (at least 2) drawn with a seed.

    >>> shapley_values(2, lambda rows: rows.sum(axis=1) * 2.0).values.tolist()
    [2.0, 2.0]
    """
    return _exact(players, game) if players <= MOST_EXACT else _sampled(players, game, samples, seed)


def _exact(players: int, game: Game) -> Shapley:
    numbers = np.arange(2**players)
    members = (numbers[:, None] >> np.arange(players) & 1).astype(np.bool_)
    worth = game(members)
    sizes = members.sum(axis=1)
    factorial = [math.factorial(n) for n in range(players + 1)]
    weight = np.array([factorial[s] * factorial[max(players - s - 1, 0)] / factorial[players] for s in sizes])
    values = np.zeros(players)
    for player in range(players):
        without = numbers[~members[:, player]]
        values[player] = (weight[without] * (worth[without | 1 << player] - worth[without])).sum()
    return Shapley(values, None, float(worth[-1]) - float(worth[0]))


def _sampled(players: int, game: Game, samples: int, seed: int) -> Shapley:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(players) for _ in range(samples)]
    rows = np.zeros((samples, players + 1, players), dtype=np.bool_)
    for sample, order in enumerate(orders):
        for place, player in enumerate(order):
            rows[sample, place + 1 :, player] = True
    distinct, back = np.unique(rows.reshape(-1, players), axis=0, return_inverse=True)
    worth = game(distinct)[back.reshape(samples, players + 1)]
    added = np.empty((samples, players))
    for sample, order in enumerate(orders):
        added[sample, order] = np.diff(worth[sample])
    error = added.std(axis=0, ddof=1) / math.sqrt(samples)
    return Shapley(added.mean(axis=0), error, float(worth[0, -1]) - float(worth[0, 0]))


#: Words of a text that Shapley values are computed for; each sampled order scores as many texts.
MOST_WORDS = 200


def without_words(text: str, words: Sequence[WordSpan], kept: NDArray[np.bool_]) -> str:
    """The text of the words that are kept, each with the white space before it; words do not run together.

    >>> from nlgauge.text.words import split_words
    >>> without_words("A cat sat.", split_words("A cat sat."), np.array([True, False, True, True]))
    'A sat.'
    """
    made, end, kept_end = "", 0, 0
    for word, keep in zip(words, kept.tolist(), strict=True):
        if keep:
            gap = text[end : word.start]
            dropped = text[kept_end:end]
            if not gap and made[-1:].isalnum() and word.text[0].isalnum() and any(map(str.isspace, dropped)):
                gap = " "  # "a (big" without the bracket
            made += gap + word.text
            kept_end = word.end
        end = word.end
    return made.strip()


@dataclass(frozen=True, eq=False)
class MaskedText:
    """A text of a segment whose words are left out; variants are scored with the idf of the run's texts."""

    metric: Metric
    corpus: Corpus
    """Of one system, as the metric sees it, with the documents of idf spelt out."""
    options: RunOptions
    component: str
    index: int
    side: Side
    """Hypothesis, or what it is compared with."""
    text: str
    words: Sequence[WordSpan]

    def score(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The component for each row of kept words; the whole text is scored as it is, white space included."""
        texts = [self.text if row.all() else without_words(self.text, self.words, row) for row in kept]
        ((system, hypotheses),) = self.corpus.systems.items()
        changed = self.side == "reference"
        hyps = [hypotheses[self.index]] * len(texts) if changed else texts
        refs = [(text,) for text in texts] if changed else [self.corpus.references[self.index]] * len(texts)
        sources = None
        if self.corpus.sources is not None:
            replaced = changed and self.corpus.against_source
            sources = texts if replaced else [self.corpus.sources[self.index]] * len(texts)
        rows = replace(self.corpus, systems={system: hyps}, references=refs, sources=sources)
        metric = self.metric
        if "unknown" in metric.options() and getattr(metric, "unknown", "") == "error":
            metric = metric.with_options(unknown="score")  # a variant may be left with unknown words only
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NlgaugeWarning)  # variants are shorter and poorer by intent
            run = replace(self.options, alignments=False, progress=False, empty="zero")
            (score,) = run_metrics([metric], rows, run)
        return np.array(score.segments[self.component])

    def leave_one_out(self) -> Attribution:
        """What the score loses when a word is left out: score of the text minus score without the word."""
        kept = ~np.eye(len(self.words) + 1, len(self.words), k=-1, dtype=np.bool_)
        scores = self.score(kept)
        values = tuple((scores[0] - scores[1:]).tolist())
        return Attribution("leave-one-out", self.component, self.side, values, 0.0, None)

    def shapley(self, *, samples: int, seed: int) -> Attribution:
        """Shapley values of the words: they sum to the score minus that of the empty text."""
        if len(self.words) > MOST_WORDS:
            limit = f"at most {MOST_WORDS} words, got {len(self.words)}"
            msg = f"Shapley values need a text of {limit}; use leave-one-out"
            raise InputError(msg)
        result = shapley_values(len(self.words), self.score, samples=samples, seed=seed)
        error = None if result.error is None else tuple(result.error.tolist())
        return Attribution(
            "shapley", self.component, self.side, tuple(result.values.tolist()), 0.0, result.total, error
        )
