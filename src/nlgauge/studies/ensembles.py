"""Ensembles of metrics: norms of the members, gain over the best member, and a search for the best pair.

Norms come from a scored data set or from files of saved scores. The gain is that of Table 13 of the linguistic-factor
study:

    gain = (r(ensemble) - max_m r(m)) / max_m r(m)

r is Pearson's correlation with human scores over the segments of a language pair. The gain is relative, so it has no
value where no member agrees with people (r of the best at most 0). Scores are standardised over all language pairs
together.

The best of many pairs looks better on the rows that chose it than it is. So the search compares pairs on random
halves of the segments (`splits` of them, from a seed): norms, the choice of the pair and the choice of the best
single metric are made on the first half, and what is reported of the choice is its correlation on the second. All
outputs for a segment are on one side of a split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Int
from nlgauge.core.metric import base_metrics
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.scoring import Metrics, chosen_metrics, recipes_and_run
from nlgauge.core.signature import Signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.metrics.parts.scales import Norms, recipe_of_member
from nlgauge.stats.correlation import correlate
from nlgauge.stats.numeric import SAME
from nlgauge.stats.resampling import unit_numbers
from nlgauge.studies.meta.score_judgements import score_judgements

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords

__all__ = [
    "EnsembleSearch",
    "Gain",
    "PairOfMetrics",
    "SearchOptions",
    "SplitChoice",
    "ensemble_gains",
    "fit_norms",
    "norms_of_scores",
    "search_ensembles",
    "standardised",
]


def fit_norms(
    table: JudgementTable, metric: Metrics, *, run: RunOptions | None = None, **options: Unpack[ScoreKeywords]
) -> Norms:
    """Means and deviations of metrics over all rows of a data set; people's scores are not looked at.

    An ensemble among the metrics stands for its members. Options are those of `nlgauge.score`.
    """
    recipes, given = recipes_and_run(chosen_metrics(metric), options)
    members = list(dict.fromkeys(base_metrics(recipes)))
    for recipe in members:
        if recipe.whole_corpus:
            msg = (
                f"{recipe.name} scales its scores over the corpus at hand, so that no frozen mean fits it; "
                "freeze its bounds first ('nlgauge build bounds')"
            )
            raise InputError(msg)
    scored = score_judgements(table, members, run=run, **given)
    columns = [(metric.parts[0].score.signature, metric.values) for metric in scored.metrics]
    return Norms.of(columns, data=f"{table.name}, {len(table)} rows")


def norms_of_scores(scores: Sequence[Score], *, data: str = "saved scores") -> Norms:
    """Means and deviations over scores that were computed before; those of one recipe are taken together."""
    if not scores:
        msg = "there are no scores to take means of"
        raise InputError(msg)
    grouped: dict[str, tuple[Signature, list[NDArray[np.float64]]]] = {}
    for score in scores:
        key = f"{score.metric} {sorted(recipe_of_member(score.signature).items())}"
        grouped.setdefault(key, (score.signature, []))[1].append(score.segments[score.main])
    return Norms.of([(signature, np.concatenate(parts)) for signature, parts in grouped.values()], data=data)


Vector = NDArray[np.float64]


class Gain(NamedTuple):
    """An ensemble beside its members, on the segments of one language pair."""

    langpair: str
    ensemble: float
    """Correlation of the ensemble with people."""
    best: float
    """Of its best member."""
    best_member: str
    rows: int

    @property
    def relative(self) -> float | None:
        """The gain over the best member, 0.08 for 8 %; None where the best member does not agree with people."""
        return None if self.best <= 0 else (self.ensemble - self.best) / self.best


def standardised(values: Vector, *, over: NDArray[np.bool_] | None = None, name: str = "the metric") -> Vector:
    """Values in population deviations from the mean; both are taken over all rows, or over those of a mask.

    >>> standardised(np.array([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    part = values if over is None else values[over]
    if not len(part):
        msg = f"there is no score of {name} to take a mean of"
        raise InputError(msg)
    if not np.isfinite(part).all():
        row = int(np.flatnonzero(~np.isfinite(part))[0])
        msg = f"score {row} of {name} is missing ({part[row]}); an ensemble needs every member's score of every row"
        raise InputError(msg)
    mean, deviation = float(part.mean()), float(part.std())
    if deviation <= SAME * max(1.0, abs(mean)):
        msg = f"all {len(part)} scores of {name} are {mean:g}, so that it tells nothing apart; leave it out"
        raise InputError(msg)
    scaled: Vector = (values - mean) / deviation
    return scaled


def ensemble_gains(members: Mapping[str, Vector], human: Vector, langpairs: Sequence[str]) -> list[Gain]:
    """The gain of the members' average on each language pair, in the order in which pairs come first.

    Members are scores by the name of a metric, higher for better outputs; they are standardised over all rows.
    """
    if len(members) < 2:
        msg = f"an ensemble joins at least two metrics, got {len(members)}"
        raise InputError(msg)
    columns = [standardised(scores, name=name) for name, scores in members.items()]
    joined = sum(columns[1:], start=columns[0]) / len(columns)
    pairs = np.array(langpairs)
    gains = []
    for pair in dict.fromkeys(langpairs):
        of_pair = pairs == pair
        if of_pair.sum() < 2:
            msg = f"{pair} has {int(of_pair.sum())} rows here, and a correlation needs at least 2"
            raise InputError(msg)
        *own, ensemble = [correlate(column[of_pair], human[of_pair]).value for column in (*columns, joined)]
        best = int(np.argmax(own))
        gains.append(Gain(pair, ensemble, own[best], list(members)[best], int(of_pair.sum())))
    return gains


class PairOfMetrics(NamedTuple):
    """Two metrics, joined: correlations are averages over language pairs, gains over the better of the two."""

    members: tuple[str, str]
    correlation: float
    """With people, over all rows."""
    gain: float
    """Relative, over all rows; 0.08 is 8 %."""
    held_out_gain: float
    """Mean over splits, on the half that norms are not from."""
    chosen: int
    """Splits whose first half it was the best pair of."""


class SplitChoice(NamedTuple):
    """What one split chose on its first half, and what became of it on the second."""

    pair: tuple[str, str]
    single: str
    """The best metric alone."""
    search_correlation: float
    held_out_correlation: float
    search_gain: float
    """Over the best metric alone, as it looked on the half that chose both."""
    held_out_gain: float
    """Over the best metric alone, on the other half."""


@dataclass(frozen=True)
class EnsembleSearch(Result):
    """All pairs, and what choosing among them is worth."""

    format = "nlgauge-ensemble-search-1"
    decimals = 3
    line = LINE
    computed = ("splits", "search_gain", "held_out_gain", "held_out_range")

    data: str
    rows: int
    langpairs: tuple[str, ...]
    seed: int
    singles: Mapping[str, float]
    """Correlation of each metric alone, averaged over language pairs."""
    pairs: tuple[PairOfMetrics, ...]
    """The best first, by correlation over all rows."""
    choices: tuple[SplitChoice, ...]
    """One per split."""

    @property
    def splits(self) -> int:
        """Random halves."""
        return len(self.choices)

    @property
    def search_gain(self) -> float:
        """Mean gain of the chosen pair over the chosen single metric, on the halves that chose them."""
        return float(np.mean([choice.search_gain for choice in self.choices]))

    @property
    def held_out_gain(self) -> float:
        """The same on the other halves: without the selection effect."""
        return float(np.mean([choice.held_out_gain for choice in self.choices]))

    @property
    def held_out_range(self) -> tuple[float, float]:
        """95 % of the held-out gains over splits; splits share rows, so this is not a confidence interval."""
        tail = 50 * (1 - 0.95)
        low, high = np.percentile([choice.held_out_gain for choice in self.choices], [tail, 100 - tail])
        return float(low), float(high)

    def tables(self, form: str = "text") -> list[Table]:
        """A row per pair, the best first, and then one per metric."""
        rows: list[list[Cell]] = [
            [" + ".join(pair.members), pair.correlation, 100 * pair.gain, 100 * pair.held_out_gain, pair.chosen]
            for pair in self.pairs
        ]
        rows += [[name, value, None, None, None] for name, value in self.singles.items()]
        low, high = self.held_out_range
        notes = [
            f"{self.data}: {self.rows} rows, {', '.join(self.langpairs)}; Pearson with people, averaged over these",
            "gain %: over the better member, all rows; held out: on halves whose other half gave the norms",
            f"chosen: in how many of {self.splits} splits (seed {self.seed}) it was the best of the first half",
            f"best pair over best single metric, both chosen on one half: {100 * self.search_gain:+.1f} % there, "
            f"{100 * self.held_out_gain:+.1f} % on the other (95 % of splits: {100 * low:+.1f} to {100 * high:+.1f})",
        ]
        return [Table(["metrics", "correlation", "gain %", "held out %", "chosen"], rows, "ensembles of two", notes)]


@dataclass(frozen=True, kw_only=True)
class SearchOptions(OptionSet):
    """How pairs of metrics are compared."""

    called: ClassVar[str] = "options of a search for ensembles"

    splits: int = option(50, Int(1), help="random halves of the segments", limit=1000)
    seed: int = seed_option()


def search_ensembles(
    scores: Mapping[str, Vector],
    human: Vector,
    langpairs: Sequence[str],
    segments: Sequence[str],
    *,
    data: str = "",
    **options: Any,
) -> EnsembleSearch:
    """Compare all pairs of metrics; `human`, `langpairs` and `segments` are those of the rows that were scored.

    Scores are by the name of a metric, higher for better outputs.
    A row that people did not judge is left out. Options are `SearchOptions`.
    """
    own = SearchOptions.of(options)
    names = tuple(scores)
    if len(names) < 3:
        msg = f"a search needs at least three metrics to pair up, got {len(names)}"
        raise RecipeError(msg)
    judged = np.isfinite(human)
    columns = np.array([standardised(values, over=judged, name=name) for name, values in scores.items()])[:, judged]
    gold, pairs_of_rows = human[judged], np.array(langpairs)[judged]
    known = tuple(dict.fromkeys(pairs_of_rows.tolist()))
    units = unit_numbers(
        list(zip(pairs_of_rows.tolist(), np.array(segments)[judged].tolist(), strict=True)), len(gold)
    )
    candidates = list(combinations(range(len(names)), 2))
    every = _Agreement(columns, gold, pairs_of_rows, known)
    held_out: list[list[float]] = []
    choices = []
    rng, count = np.random.default_rng(own.seed), int(units.max()) + 1
    for _ in range(own.splits):
        half = np.zeros(count, dtype=bool)
        half[rng.permutation(count)[: count // 2]] = True
        mask = half[units]
        scaled = [standardised(values, over=mask, name=name) for values, name in zip(columns, names, strict=True)]
        search, other = (
            _Agreement(np.array(scaled)[:, side], gold[side], pairs_of_rows[side], known) for side in (mask, ~mask)
        )
        held_out.append([other.gain(pair) for pair in candidates])
        pair = max(candidates, key=search.correlation)
        single = int(np.argmax([search.correlation((index,)) for index in range(len(names))]))
        correlations = search.correlation(pair), other.correlation(pair)
        gains = search.gain(pair, over=single), other.gain(pair, over=single)
        choices.append(SplitChoice((names[pair[0]], names[pair[1]]), names[single], *correlations, *gains))
    pairs = []
    for pair, gain in zip(candidates, np.mean(held_out, axis=0).tolist(), strict=True):
        members = (names[pair[0]], names[pair[1]])
        chosen = sum(choice.pair == members for choice in choices)
        pairs.append(PairOfMetrics(members, every.correlation(pair), every.gain(pair), gain, chosen))
    singles = {name: every.correlation((index,)) for index, name in enumerate(names)}
    ranked = tuple(sorted(pairs, key=lambda pair: -pair.correlation))
    return EnsembleSearch(data, len(gold), known, own.seed, singles, ranked, tuple(choices))


class _Agreement:
    """Correlations with people of metrics, and of averages of metrics, by language pair: from covariances."""

    def __init__(self, columns: Vector, gold: Vector, pairs: NDArray[np.str_], known: Sequence[str]) -> None:
        self._covariances = []
        for pair in known:
            rows = pairs == pair
            if rows.sum() < 3:
                msg = f"half of {pair} has {int(rows.sum())} rows, too few for a correlation; take more rows"
                raise InputError(msg)
            self._covariances.append(np.cov(np.vstack([columns[:, rows], gold[rows]]), bias=True))

    def by_pair(self, members: Sequence[int]) -> Vector:
        """Correlation of the members' average, for each language pair."""
        correlations = []
        for covariance in self._covariances:
            own = covariance[np.ix_(members, members)].sum()
            spread = np.sqrt(own * covariance[-1, -1])
            if not spread > 0:
                msg = "a metric, or people, gave all rows of a language pair the same score in a half of the segments"
                raise InputError(msg)
            correlations.append(covariance[list(members), -1].sum() / spread)
        return np.array(correlations)

    def correlation(self, members: Sequence[int]) -> float:
        """Averaged over language pairs."""
        return float(self.by_pair(members).mean())

    def gain(self, members: Sequence[int], over: int | None = None) -> float:
        """Relative gain over the best of the members (or one metric), on each language pair; averaged."""
        alone = [self.by_pair((metric,)) for metric in (members if over is None else (over,))]
        best = np.max(alone, axis=0)
        if not (best > 0).all():
            msg = "no metric of an ensemble agrees with people on a language pair, so that a gain has no value"
            raise InputError(msg)
        return float(np.mean((self.by_pair(members) - best) / best))
