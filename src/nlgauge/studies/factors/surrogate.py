"""Surrogates of metrics: linear models that see only factors of each pair (`nlgauge.explain_factors`).

    m(x, y) = a SEM + b SYN + c LEX + d MOR + e

Kaster, Zhao, Eger (2021) explain metrics this way, on a data set or on a table of scores. All columns are
standardised, so a coefficient says by how many standard deviations the score moves with one of the factor, the others
unchanged; R2 says how much of the metric the factors explain at all. Factors that are correlated share what they
explain, and how they share it is uncertain: each coefficient has an interval and its variance inflation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.core.kinds import Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import AnyMetric, Metrics, chosen_metrics
from nlgauge.core.short_signature import format_signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.score_files import read_score_rows
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import COLOURS, WIDEST, finish_figure, new_panels, panel_grid, series_styles, shorten
from nlgauge.io.table import LINE, Cell, Probability, Table
from nlgauge.stats.least_squares import least_squares, standardised
from nlgauge.stats.numeric import Vector, numbers
from nlgauge.studies.factors.columns import CLB, COMPUTED, FactorMaker, FactorOptions
from nlgauge.studies.meta.row_scores import RowScores, check_distinct, released_rows
from nlgauge.studies.meta.score_judgements import score_judgements

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords

#: Inches for a metric in a panel, and for what stands around them.
_ROW, _FRAME = 0.3, 0.9
#: Points of a panel; more make a blot.
_MOST_POINTS = 2000


class Effect(NamedTuple):
    """What a factor has to do with a metric, the other factors unchanged."""

    factor: str
    coefficient: float
    error: float
    """Standard error."""
    p: float
    low: float
    high: float
    partial_r2: float
    """Share of what the other factors leave over."""
    vif: float
    """By how much the variance of the coefficient is inflated because factors go together; 1 where they do not."""


@dataclass(frozen=True, eq=False, repr=False)
class Surrogate(Result):
    """A metric as a linear combination of factors."""

    format = "nlgauge-surrogate-1"
    decimals = 3
    unwritten = ("observed", "fitted")

    metric: str
    r2: float
    rows: int
    effects: tuple[Effect, ...]
    signature: str = ""
    observed: Vector = field(default_factory=lambda: np.empty(0))
    """The metric, standardised; neither this nor the next is in JSON."""
    fitted: Vector = field(default_factory=lambda: np.empty(0))
    """What the surrogate says instead."""

    def __repr__(self) -> str:
        parts = ", ".join(f"{one.factor} {one.coefficient:.3f}" for one in self.effects)
        return f"<Surrogate of {self.metric}: {parts}; R2 {self.r2:.3f}, {self.rows} rows>"

    def tables(self, form: str = "text") -> list[Table]:
        """A row per factor."""
        rows: list[list[Cell]] = [[*effect[:3], Probability(effect.p), *effect[4:]] for effect in self.effects]
        caption = f"{self.metric}: R2 {self.r2:.3f} on {self.rows} rows"
        return [
            Table(
                Effect._fields,
                rows,
                caption,
                [f"signature: {format_signature(self.signature)}"] if self.signature else [],
            )
        ]

    def effect(self, factor: str) -> Effect:
        """The effect of a factor."""
        if factor not in self.factors:
            msg = f"the surrogate of {self.metric} has no factor {factor!r}; it has {', '.join(self.factors)}"
            raise InputError(msg)
        return self.effects[self.factors.index(factor)]

    @property
    def _label(self) -> str:
        return f"{shorten(self.metric, 26)} ({self.r2:.2f})"

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(one.factor for one in self.effects)


@dataclass(frozen=True, kw_only=True)
class Intervals(OptionSet):
    """How intervals of coefficients are made."""

    called: ClassVar[str] = "options of intervals"

    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(1), help="bootstrap resamples of rows", hidden=True, limit=10_000)
    seed: int = seed_option()


@dataclass(frozen=True, eq=False, repr=False)
class FactorStudy(Result):
    """Surrogates of metrics on the same rows of the same data."""

    format = "nlgauge-factors-1"
    decimals = 3
    line = LINE

    data: str
    rows: int
    """Before any was left out."""
    dropped: Mapping[str, int]
    """Rows that were left out, by what they lack; a row may lack several."""
    factors: Mapping[str, str]
    """How each factor was made."""
    intervals: Intervals
    surrogates: tuple[Surrogate, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        used = self.surrogates[0].rows
        names = ", ".join(one.metric for one in self.surrogates)
        return f"<FactorStudy {self.data}: {names} by {', '.join(self.factors)}; {used} of {self.rows} rows>"

    def surrogate(self, metric: str) -> Surrogate:
        """The surrogate of a metric."""
        metrics = [surrogate.metric for surrogate in self.surrogates]
        if metric not in metrics:
            msg = f"no metric {metric!r} here; there are: {', '.join(metrics)}"
            raise InputError(msg)
        return self.surrogates[metrics.index(metric)]

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric in LaTeX, as papers print it, and one per metric and factor elsewhere."""
        caption = f"{self.data}: metrics by linguistic factors, all columns standardised"
        rows: list[list[Cell]] = []
        if form in ("latex", "html"):
            columns = ["metric", *self.factors, "R2"]
            for surrogate in self.surrogates:
                by_factor = {effect.factor: effect.coefficient for effect in surrogate.effects}
                rows.append([surrogate.metric, *map(by_factor.get, self.factors), surrogate.r2])
            return [Table(columns, rows, caption, list(self._notes()))]
        columns = ["metric", "R2", "factor", "coefficient", "low", "high", "error", "p", "partial R2", "VIF"]
        for surrogate in self.surrogates:
            for place, effect in enumerate(surrogate.effects):
                repeat = place == 0 or form in ("tsv", "csv")
                metric: list[Cell] = [surrogate.metric, surrogate.r2] if repeat else ["", None]
                ends: list[Cell] = [effect.low, effect.high, effect.error, Probability(effect.p)]
                rows.append([*metric, effect.factor, effect.coefficient, *ends, effect.partial_r2, effect.vif])
        return [Table(columns, rows, caption, list(self._notes()))]

    def figure(self) -> Any:
        """Coefficients with their intervals: a panel per factor, a line per metric, so that metrics are compared."""
        names = list(self.factors)
        rows, columns = panel_grid(len(names), most_columns=4)
        height = _FRAME + _ROW * len(self.surrogates)
        figure, panels = new_panels(rows, columns, width=min(WIDEST, 2.6 * columns + 1.6), height=height)
        effects = [effect for surrogate in self.surrogates for effect in surrogate.effects]
        ends = [end for effect in effects for end in (effect.low, effect.high)]
        low, high = min(0.0, *ends) - 0.05, max(0.0, *ends) + 0.05
        styles = series_styles(surrogate.metric for surrogate in self.surrogates)
        for number, (axes, name) in enumerate(zip(panels, names, strict=False)):
            for row, surrogate in enumerate(self.surrogates):
                if name in surrogate.factors:
                    effect, style = surrogate.effect(name), styles[surrogate.metric]
                    axes.plot([effect.low, effect.high], [row, row], color=style.colour, linewidth=1.6)
                    axes.plot([effect.coefficient], [row], marker=style.mark, markersize=5, color=style.colour)
            axes.axvline(0, color="#888888", linewidth=0.8)
            axes.set_xlim(low, high)
            axes.set_ylim(len(self.surrogates) - 0.5, -0.5)
            labels = [surrogate._label if number % columns == 0 else "" for surrogate in self.surrogates]
            axes.set_yticks(range(len(labels)), labels, fontsize=8)
            for text in axes.get_yticklabels():
                text.set_parse_math(False)  # a "$" in a name is a "$"
            axes.set_title(shorten(name), fontsize=9)
            axes.tick_params(axis="x", labelsize=8)
            axes.grid(axis="y", visible=False)
            axes.grid(axis="x", color="#dddddd", linewidth=0.8)
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        caption = (
            f"Coefficients of standardised columns; lines: {100 * self.intervals.level:.10g} % intervals. In "
            f"brackets: R2, what the factors explain of the metric together. {self.surrogates[0].rows} pairs."
        )
        finish_figure(figure, title=f"{self.data}: what metrics look at", caption=caption)
        return figure

    def fit_figure(self) -> Any:
        """Each metric beside what its surrogate says instead, a point per pair."""
        if not all(surrogate.fitted.size for surrogate in self.surrogates):
            msg = "the study was read from JSON, which has no scores of pairs; compute it again to draw them"
            raise InputError(msg)
        count = len(self.surrogates)
        rows, columns = panel_grid(count, most_columns=3)
        figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.2 * columns), height=3.0)
        total = self.surrogates[0].rows
        # All pairs, or evenly spread ones.
        chosen = np.linspace(0, total - 1, min(total, _MOST_POINTS)).astype(np.intp)
        for axes, surrogate in zip(panels, self.surrogates, strict=False):
            fitted, observed = surrogate.fitted[chosen], surrogate.observed[chosen]
            axes.plot(fitted, observed, "o", markersize=2.5, alpha=0.35, color=COLOURS[0], markeredgewidth=0)
            ends = [float(min(fitted.min(), observed.min())), float(max(fitted.max(), observed.max()))]
            axes.plot(ends, ends, color=COLOURS[5], linewidth=1.2)
            axes.set_title(surrogate._label, fontsize=9).set_parse_math(False)
            axes.set_xlabel("surrogate", fontsize=8)
            axes.set_ylabel("metric", fontsize=8)
            axes.tick_params(labelsize=8)
        for axes in panels[count:]:
            axes.set_visible(False)
        some = f" of {total}" if len(chosen) < total else ""
        caption = (
            f"A point per pair ({len(chosen)}{some} are drawn), in standard deviations; the line is where metric and "
            f"surrogate agree. Factors: {', '.join(self.factors)}."
        )
        finish_figure(figure, title=f"{self.data}: metrics beside their surrogates", caption=caption)
        return figure

    def _notes(self) -> Iterator[str]:
        used = self.surrogates[0].rows
        yield f"rows: {used} of {self.rows}"
        for name, count in self.dropped.items():
            yield f"left out: {count} rows without {name}"
        for name, label in self.factors.items():
            yield f"{name}: {label}"
        how = self.intervals
        drawn = f"bootstrap of rows, {how.resamples} resamples, seed {how.seed}" if used >= 30 else "Student's t"
        yield f"low, high: {100 * how.level:g} % intervals ({drawn})"
        yield "partial R2: share of what the other factors leave over; VIF: 1 where factors do not go together"
        yield from self.notes
        for signature in dict.fromkeys(one.signature for one in self.surrogates if one.signature):
            yield f"signature: {format_signature(signature)}"


def fit_surrogates(
    scores: Mapping[str, ArrayLike],
    factors: Mapping[str, ArrayLike],
    *,
    own: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    data: str = "",
    intervals: Intervals | None = None,
    labels: Mapping[str, str] | None = None,
    signatures: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> FactorStudy:
    """Fit each metric by the factors; both are columns of numbers, a value per row.

    `own` are factors of which each metric has its own column, by factor and metric: each metric is then fitted with
    and without them. A row in which a metric or a factor has no value (NaN) is left out for all metrics, and counted.
    `labels` say how factors were made.

    >>> study = fit_surrogates({"m": [1.0, 2.0, 4.0, 3.0]}, {"LEX": [1.0, 2.0, 3.0, 4.0]})
    >>> study.surrogate("m")
    <Surrogate of m: LEX 0.800; R2 0.640, 4 rows>
    """
    how, own = intervals or Intervals(), own or {}
    if both := set(scores) & {*factors, *own}:
        msg = f"{min(both)!r} is both a metric and a factor; a column cannot explain itself"
        raise InputError(msg)
    if not scores or not {*factors, *own}:
        msg = f"a surrogate needs a metric and a factor, got {len(scores)} and {len(factors)}"
        raise InputError(msg)
    columns = {name: _column(name, values) for name, values in (*scores.items(), *factors.items())}
    of_metric = {
        (factor, metric): _column(f"{factor} of {metric}", by_metric[metric])
        for factor, by_metric in own.items()
        for metric in scores
    }
    everything = columns | {f"{factor} of {metric}": values for (factor, metric), values in of_metric.items()}
    kept = _complete(everything)
    shared = [columns[name][kept] for name in factors]
    found = []
    for name in scores:
        signature = (signatures or {}).get(name, "")
        more = [of_metric[factor, name][kept] for factor in own]
        if more and shared:
            label = f"{name} (without {', '.join(own)})"
            found.append(_surrogate(label, columns[name][kept], list(factors), shared, how, signature))
        found.append(_surrogate(name, columns[name][kept], [*factors, *own], [*shared, *more], how, signature))
    return FactorStudy(
        data,
        len(kept),
        {name: lacking for name, values in everything.items() if (lacking := int(np.isnan(values).sum()))},
        {name: (labels or {}).get(name, "a column of the data") for name in (*factors, *own)},
        how,
        tuple(found),
        tuple(notes),
    )


def _complete(columns: Mapping[str, Vector]) -> NDArray[np.bool_]:
    """Rows in which every column has a value; of unequal columns the first that is unlike the others is named."""
    first, values = next(iter(columns.items()))
    for name, other in columns.items():
        if len(other) != len(values):
            msg = f"{name} has {len(other)} values, but {first} has {len(values)}; give a value per row"
            raise InputError(msg)
    lacking = {name: int(np.isnan(other).sum()) for name, other in columns.items()}
    kept = ~np.any([np.isnan(other) for other in columns.values()], axis=0)
    if not kept.any():
        said = ", ".join(f"{name} in {count}" for name, count in lacking.items() if count)
        msg = f"no row of {len(values)} has a value of every metric and factor; there is none of {said}"
        raise InputError(msg)
    return np.asarray(kept, dtype=np.bool_)


def _column(name: str, values: ArrayLike) -> Vector:
    column = numbers(values, name)
    if column.ndim != 1 or np.isinf(column).any():
        problem = f"shape {column.shape}" if column.ndim != 1 else "an infinite one"
        msg = f"{name} needs a finite number per row, or NaN for none, got {problem}"
        raise InputError(msg)
    return column


def _surrogate(
    metric: str, values: Vector, factors: list[str], columns: Sequence[Vector], how: Intervals, signature: str
) -> Surrogate:
    explained = np.column_stack(columns)
    fit = least_squares(
        values, explained, names=[metric, *factors], level=how.level, resamples=how.resamples, seed=how.seed
    )
    found = (fit.coefficients, fit.errors, fit.p, fit.low, fit.high, fit.partial_r2, fit.vif)
    effects = tuple(
        Effect(name, *map(float, row)) for name, *row in zip(factors, *(one.tolist() for one in found), strict=True)
    )
    return Surrogate(metric, fit.r2, fit.rows, effects, signature, standardised(values), fit.fitted)


def explain_factors(
    table: JudgementTable,
    metric: Metrics = (),
    *,
    factors: Sequence[str] = COMPUTED,
    released: Iterable[str] = (),
    criterion: str | None = None,
    making: FactorOptions | None = None,
    intervals: Intervals | None = None,
    run: RunOptions | None = None,
    **options: Unpack[ScoreKeywords],
) -> FactorStudy:
    """Fit metrics by linguistic factors of each pair, on all rows of a data set together.

    Args:
        table: The data set, from `nlgauge.data.load`.
        metric: What to score it with, as in `nlgauge.studies.meta.score_judgements`; a distance is turned round.
        factors: SEM, SYN, LEX, MOR, CLB in any case, or columns of the data, as they are called there.
        released: Scores that came with the data, explained beside the metrics.
        criterion: What of people is SEM; by default the data set's own.
        making: What factors are made with: parser, word vectors, lexicon, translations.
        intervals: Level, resamples and seed of the intervals.
        run: How to compute.
        options: Those of the metrics.
    """
    made = FactorMaker(table, making or FactorOptions())
    names = _distinct([made.name_of(name) for name in factors])
    if CLB in names and not made.across:
        msg = f"CLB is for metrics that compare with sources; {table.name} has references"
        raise RecipeError(msg)
    if made.options.translations is not None and not made.across:
        msg = f"translations= is for data that is compared with sources; {table.name} has references; leave it out"
        raise RecipeError(msg)
    columns = {name: made.column(name, criterion=criterion) for name in names if name != CLB}
    scored = _scored(table, chosen_metrics(metric), list(released), run=run, **options)
    own = {}
    if CLB in names:
        if list(released):
            msg = "CLB is a score of the metric itself, which released scores do not have; leave out released= or CLB"
            raise RecipeError(msg)
        own[CLB] = score_translations(table, metric, made, run=run, **options)
        made.labels[CLB] = f"the metric's score of (sentence, translation); translations: {made.translations.label}"
    return fit_surrogates(
        {one.name: one.oriented for one in scored},
        columns,
        own=own,
        data=table.name,
        intervals=intervals,
        labels=made.labels,
        signatures={one.name: next(iter(one.signatures.values())) for one in scored},
        notes=[f"language pairs together: {', '.join(table.langpairs)}"] if len(table.langpairs) > 1 else (),
    )


def _scored(
    table: JudgementTable, metrics: Sequence[AnyMetric], released: Sequence[str], **options: Any
) -> list[RowScores]:
    """Released scores, then those of metrics; a released one that is called like a metric says what it is."""
    computed = list(score_judgements(table, metrics, **options).metrics) if metrics else []
    names = {one.name for one in computed}
    found = [
        replace(released_rows(table, name), name=f"{name} (released)" if name in names else name) for name in released
    ]
    check_distinct([one.name for one in (*found, *computed)])
    return [*found, *computed]


def score_translations(
    table: JudgementTable,
    metric: Metrics,
    made: FactorMaker,
    *,
    run: RunOptions | None = None,
    **options: Unpack[ScoreKeywords],
) -> dict[str, Vector]:
    """By metric: its score of each foreign sentence beside the machine translation, in the places of the pair.

    nan for a sentence without a translation.
    """
    known = made.translations.texts
    rows = [row for row in range(len(table)) if made.foreign(row) in known]
    if not rows:
        msg = f"{made.translations.label} has no translation of any foreign sentence of {table.name}"
        raise RecipeError(msg)
    english = [known[made.foreign(row)] for row in rows]
    first = [made.foreign_first(row) for row in rows]
    places = list(zip(rows, english, first, strict=True))
    part = replace(
        table.take(rows),
        hypothesis=tuple(text if foreign else table.hypothesis[row] for row, text, foreign in places),
        source=tuple(made.others[row][0] if foreign else text for row, text, foreign in places),
    )
    columns = {}
    for scores in score_judgements(part, metric, run=run, **options).metrics:
        columns[scores.name] = np.full(len(table), np.nan)
        columns[scores.name][rows] = scores.oriented
    return columns


def explain_columns(
    path: str | os.PathLike[str],
    metric: str | Sequence[str],
    factors: Sequence[str],
    *,
    lower_is_better: Iterable[str] = (),
    intervals: Intervals | None = None,
) -> FactorStudy:
    """The same of a table that was scored before: columns of numbers in a TSV, CSV or JSONL file with a header.

    A cell that is no number is an error with its place.
    """
    name = os.fspath(path)
    rows = list(read_score_rows(name))
    metrics = [metric] if isinstance(metric, str) else list(metric)
    turned = set(lower_is_better)
    if unknown := sorted(turned - set(metrics)):
        msg = f"{unknown[0]!r} is said to be better when lower, but the metrics are {', '.join(metrics)}"
        raise RecipeError(msg)
    columns = {column: np.array([row.number(column) for row in rows]) for column in _distinct([*metrics, *factors])}
    return fit_surrogates(
        {column: -columns[column] if column in turned else columns[column] for column in metrics},
        {column: columns[column] for column in factors},
        data=os.path.basename(name),
        intervals=intervals,
    )


def _distinct(names: Sequence[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            msg = f"{name!r} is named twice; name each column once"
            raise RecipeError(msg)
    return list(names)
