"""Ensembles of metrics: norms of the members, gain over the best member, and a search for the best pair.

Norms come from a scored data set or from files of saved scores. The gain is defined as in Table 13 of the
linguistic-factor study:

    gain = (r(ensemble) - max_m r(m)) / max_m r(m)

r is Pearson's correlation with human scores over the segments of a language pair. The gain is relative, so it is
undefined if no member correlates with human scores (r of the best at most 0). Scores are standardised over all
language pairs together.

The best of many pairs looks better than it is on the rows used for the choice. So the search uses random halves of
the segments (`splits` of them, from a seed): norms, the best pair and the best single metric come from the first
half, and the reported correlation from the second. All outputs for a segment are on one side of a split.
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
from nlgauge.core.scoring import Metrics, metric_list, recipes_and_run
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
    """Compute means and standard deviations of metrics over all rows of a data set, without human scores.

    An ensemble among the metrics is replaced by its members. Options are those of `nlgauge.score`.
    """
    recipes, score_options = recipes_and_run(metric_list(metric), options)
    members = list(dict.fromkeys(base_metrics(recipes)))
    for recipe in members:
        if recipe.whole_corpus:
            reason, fix = recipe.describe_dependence()
            msg = f"{reason}, so fixed means do not fit; {fix}"
            raise InputError(msg)
    judged = score_judgements(table, members, run=run, **score_options)
    columns = [(metric.parts[0].score.signature, metric.values) for metric in judged.metrics]
    return Norms.of(columns, data=f"{table.name}, {len(table)} rows")


def norms_of_scores(scores: Sequence[Score], *, data: str = "saved scores") -> Norms:
    """Compute means and standard deviations of saved scores; scores of the same recipe are pooled."""
    if not scores:
        msg = "no scores to compute means of"
        raise InputError(msg)
    grouped: dict[str, tuple[Signature, list[NDArray[np.float64]]]] = {}
    for score in scores:
        key = f"{score.metric} {sorted(recipe_of_member(score.signature).items())}"
        grouped.setdefault(key, (score.signature, []))[1].append(score.segments[score.main])
    return Norms.of([(signature, np.concatenate(parts)) for signature, parts in grouped.values()], data=data)


Vector = NDArray[np.float64]


class Gain(NamedTuple):
    """Gain of an ensemble over its best member, on the segments of one language pair."""

    langpair: str
    ensemble: float
    """Correlation of the ensemble with human scores."""
    best: float
    """Correlation of its best member."""
    best_member: str
    rows: int

    @property
    def relative(self) -> float | None:
        """Relative gain over the best member, 0.08 for 8 %; None if that member's correlation is not positive."""
        return None if self.best <= 0 else (self.ensemble - self.best) / self.best


def standardised(values: Vector, *, over: NDArray[np.bool_] | None = None, name: str = "the metric") -> Vector:
    """Standardise values with the population standard deviation, over all rows or over those of a mask.

    >>> standardised(np.array([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    part = values if over is None else values[over]
    if not len(part):
        msg = f"no score of {name} to compute a mean of"
        raise InputError(msg)
    if not np.isfinite(part).all():
        row = int(np.flatnonzero(~np.isfinite(part))[0])
        msg = f"score {row} of {name} is missing ({part[row]}); an ensemble needs scores of all members for all rows"
        raise InputError(msg)
    mean, deviation = float(part.mean()), float(part.std())
    if deviation <= SAME * max(1.0, abs(mean)):
        msg = f"all {len(part)} scores of {name} are {mean:g}, so it cannot be standardised; omit this metric"
        raise InputError(msg)
    scaled: Vector = (values - mean) / deviation
    return scaled


def ensemble_gains(members: Mapping[str, Vector], human: Vector, langpairs: Sequence[str]) -> list[Gain]:
    """Compute the gain of the members' average on each language pair, in order of first occurrence.

    `members` has scores by metric name, higher for better outputs; they are standardised over all rows.
    """
    if len(members) < 2:
        msg = f"an ensemble needs at least two metrics, got {len(members)}"
        raise InputError(msg)
    columns = [standardised(scores, name=name) for name, scores in members.items()]
    average = sum(columns[1:], start=columns[0]) / len(columns)
    pairs = np.array(langpairs)
    gains = []
    for pair in dict.fromkeys(langpairs):
        in_pair = pairs == pair
        if in_pair.sum() < 2:
            msg = f"{pair} has {int(in_pair.sum())} rows, but a correlation needs at least 2"
            raise InputError(msg)
        *correlations, ensemble = [correlate(column[in_pair], human[in_pair]).value for column in (*columns, average)]
        best = int(np.argmax(correlations))
        gains.append(Gain(pair, ensemble, correlations[best], list(members)[best], int(in_pair.sum())))
    return gains


class PairOfMetrics(NamedTuple):
    """An ensemble of two metrics: correlations averaged over language pairs, gains over the better metric."""

    members: tuple[str, str]
    correlation: float
    """Correlation with human scores over all rows."""
    gain: float
    """Relative gain over all rows; 0.08 is 8 %."""
    held_out_gain: float
    """Mean gain over splits, on the half not used for norms."""
    chosen: int
    """Number of splits in which it was the best pair on the first half."""


class SplitChoice(NamedTuple):
    """Choice of one split on its first half, and its result on the second."""

    pair: tuple[str, str]
    single: str
    """Best single metric."""
    search_correlation: float
    held_out_correlation: float
    search_gain: float
    """Gain over the best single metric, on the half used for the choice."""
    held_out_gain: float
    """Gain over the best single metric, on the other half."""


@dataclass(frozen=True)
class EnsembleSearch(Result):
    """All pairs of metrics, and the held-out gain of choosing the best."""

    format = "nlgauge-ensemble-search-1"
    decimals = 3
    line = LINE
    computed = ("splits", "search_gain", "held_out_gain", "held_out_range")

    data: str
    rows: int
    langpairs: tuple[str, ...]
    seed: int
    singles: Mapping[str, float]
    """Correlation of each single metric, averaged over language pairs."""
    pairs: tuple[PairOfMetrics, ...]
    """Sorted by correlation over all rows, best first."""
    choices: tuple[SplitChoice, ...]
    """One per split."""

    @property
    def splits(self) -> int:
        """Number of random splits."""
        return len(self.choices)

    @property
    def search_gain(self) -> float:
        """Mean gain of the chosen pair over the chosen single metric, on the halves used for the choice."""
        return float(np.mean([choice.search_gain for choice in self.choices]))

    @property
    def held_out_gain(self) -> float:
        """Mean gain on the other halves, without selection bias."""
        return float(np.mean([choice.held_out_gain for choice in self.choices]))

    @property
    def held_out_range(self) -> tuple[float, float]:
        """Central 95 % of held-out gains over splits; not a confidence interval because splits share rows."""
        tail = 50 * (1 - 0.95)
        low, high = np.percentile([choice.held_out_gain for choice in self.choices], [tail, 100 - tail])
        return float(low), float(high)

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table with a row per pair, best first, and then a row per metric."""
        rows: list[list[Cell]] = [
            [" + ".join(pair.members), pair.correlation, 100 * pair.gain, 100 * pair.held_out_gain, pair.chosen]
            for pair in self.pairs
        ]
        rows += [[name, value, None, None, None] for name, value in self.singles.items()]
        low, high = self.held_out_range
        notes = [
            f"{self.data}: {self.rows} rows; Pearson with human scores, averaged over {', '.join(self.langpairs)}",
            "gain %: over the better member, all rows; held out: on halves not used for norms",
            f"chosen: number of splits (of {self.splits}, seed {self.seed}) in which it was best on the first half",
            f"best pair over best single metric, chosen on one half: {100 * self.search_gain:+.1f} % there, "
            f"{100 * self.held_out_gain:+.1f} % on the other (95 % of splits: {100 * low:+.1f} to {100 * high:+.1f})",
        ]
        return [Table(["metrics", "correlation", "gain %", "held out %", "chosen"], rows, "ensembles of two", notes)]


@dataclass(frozen=True, kw_only=True)
class SearchOptions(OptionSet):
    """Options of a search for ensembles."""

    called: ClassVar[str] = "options of a search for ensembles"

    splits: int = option(50, Int(1), help="number of random splits of the segments", limit=1000)
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
    """Compare all pairs of metrics; `human`, `langpairs` and `segments` belong to the scored rows.

    `scores` are by metric name, higher for better outputs. Rows without a human score are dropped. Options are
    `SearchOptions`.
    """
    opts = SearchOptions.of(options)
    names = tuple(scores)
    if len(names) < 3:
        msg = f"a search for the best pair needs at least three metrics, got {len(names)}; add some with metric="
        raise RecipeError(msg)
    judged = np.isfinite(human)
    columns = np.array([standardised(values, over=judged, name=name) for name, values in scores.items()])[:, judged]
    gold, pairs_of_rows = human[judged], np.array(langpairs)[judged]
    pair_names = tuple(dict.fromkeys(pairs_of_rows.tolist()))
    units = unit_numbers(
        list(zip(pairs_of_rows.tolist(), np.array(segments)[judged].tolist(), strict=True)), len(gold)
    )
    candidates = list(combinations(range(len(names)), 2))
    overall = _Agreement(columns, gold, pairs_of_rows, pair_names)
    held_out: list[list[float]] = []
    choices = []
    rng, count = np.random.default_rng(opts.seed), int(units.max()) + 1
    for _ in range(opts.splits):
        half = np.zeros(count, dtype=bool)
        half[rng.permutation(count)[: count // 2]] = True
        mask = half[units]
        scaled = [standardised(values, over=mask, name=name) for values, name in zip(columns, names, strict=True)]
        search, held_out_half = (
            _Agreement(np.array(scaled)[:, side], gold[side], pairs_of_rows[side], pair_names)
            for side in (mask, ~mask)
        )
        held_out.append([held_out_half.gain(pair) for pair in candidates])
        pair = max(candidates, key=search.correlation)
        single = int(np.argmax([search.correlation((index,)) for index in range(len(names))]))
        correlations = search.correlation(pair), held_out_half.correlation(pair)
        gains = search.gain(pair, over=single), held_out_half.gain(pair, over=single)
        choices.append(SplitChoice((names[pair[0]], names[pair[1]]), names[single], *correlations, *gains))
    pairs = []
    for pair, gain in zip(candidates, np.mean(held_out, axis=0).tolist(), strict=True):
        members = (names[pair[0]], names[pair[1]])
        chosen = sum(choice.pair == members for choice in choices)
        pairs.append(PairOfMetrics(members, overall.correlation(pair), overall.gain(pair), gain, chosen))
    singles = {name: overall.correlation((index,)) for index, name in enumerate(names)}
    ranked = tuple(sorted(pairs, key=lambda pair: -pair.correlation))
    return EnsembleSearch(data, len(gold), pair_names, opts.seed, singles, ranked, tuple(choices))


class _Agreement:
    """Correlations of metrics and averages of metrics with human scores by language pair, from covariances."""

    def __init__(self, columns: Vector, gold: Vector, pairs: NDArray[np.str_], pair_names: Sequence[str]) -> None:
        self._covariances = []
        for pair in pair_names:
            rows = pairs == pair
            if rows.sum() < 3:
                msg = f"half of {pair} has {int(rows.sum())} rows, too few for a correlation; take more rows"
                raise InputError(msg)
            self._covariances.append(np.cov(np.vstack([columns[:, rows], gold[rows]]), bias=True))

    def by_pair(self, members: Sequence[int]) -> Vector:
        """Correlation of the members' average with human scores, per language pair."""
        correlations = []
        for covariance in self._covariances:
            variance = covariance[np.ix_(members, members)].sum()
            spread = np.sqrt(variance * covariance[-1, -1])
            if not spread > 0:
                msg = (
                    "all scores of a metric or all human scores of a language pair are equal in half of the segments"
                )
                raise InputError(msg)
            correlations.append(covariance[list(members), -1].sum() / spread)
        return np.array(correlations)

    def correlation(self, members: Sequence[int]) -> float:
        """Correlation averaged over language pairs."""
        return float(self.by_pair(members).mean())

    def gain(self, members: Sequence[int], over: int | None = None) -> float:
        """Relative gain over the best member (or over one metric), averaged over language pairs."""
        single = [self.by_pair((metric,)) for metric in (members if over is None else (over,))]
        best = np.max(single, axis=0)
        if not (best > 0).all():
            msg = "no member of an ensemble has a positive correlation on a language pair, so its gain is undefined"
            raise InputError(msg)
        return float(np.mean((self.by_pair(members) - best) / best))
