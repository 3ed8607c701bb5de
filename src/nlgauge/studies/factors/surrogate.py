"""Surrogates of metrics: linear models that see only factors of each pair (`nlgauge.explain_factors`).

    m(x, y) = a SEM + b SYN + c LEX + d MOR + e

Kaster, Zhao, Eger (2021) explain metrics this way, on a data set or on a table of scores. All columns are
standardised: a coefficient is the change of the score, in standard deviations, if the factor changes by one standard
deviation and the others do not change. R2 is the share of the metric's variance that the factors explain. With
correlated factors the coefficients are uncertain, so each has an interval and a variance inflation factor.
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
from nlgauge.core.scoring import AnyMetric, Metrics, metric_list
from nlgauge.core.short_signature import format_signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.score_files import read_score_rows
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import COLOURS, WIDEST, finish_figure, new_panels, panel_grid, series_styles, shorten
from nlgauge.io.table import LINE, Cell, Probability, Table
from nlgauge.stats.least_squares import least_squares, standardise
from nlgauge.stats.numeric import Vector, numbers
from nlgauge.studies.factors.columns import CLB, COMPUTED, FactorMaker, FactorOptions
from nlgauge.studies.meta.row_scores import RowScores, check_distinct, released_rows
from nlgauge.studies.meta.score_judgements import score_judgements

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords

#: Inches for a metric in a panel, and for the margins.
_ROW, _FRAME = 0.3, 0.9
#: Points of a panel; more make a blot.
_MOST_POINTS = 2000


class Effect(NamedTuple):
    """Effect of a factor on a metric, with the other factors held constant."""

    factor: str
    coefficient: float
    error: float
    """Standard error."""
    p: float
    low: float
    high: float
    partial_r2: float
    """Share of the variance that the other factors leave unexplained."""
    vif: float
    """Variance inflation factor of the coefficient; 1 if factors are uncorrelated."""


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
    """Standardised scores of the metric; not in JSON."""
    fitted: Vector = field(default_factory=lambda: np.empty(0))
    """Predictions of the surrogate; not in JSON."""

    def __repr__(self) -> str:
        parts = ", ".join(f"{effect.factor} {effect.coefficient:.3f}" for effect in self.effects)
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
        return tuple(effect.factor for effect in self.effects)


@dataclass(frozen=True, kw_only=True)
class Intervals(OptionSet):
    """Options of confidence intervals of coefficients."""

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
    """Rows of the data, including those left out."""
    dropped: Mapping[str, int]
    """Rows left out, by missing column; a row may lack several."""
    factors: Mapping[str, str]
    """Description of each factor."""
    intervals: Intervals
    surrogates: tuple[Surrogate, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        used = self.surrogates[0].rows
        names = ", ".join(surrogate.metric for surrogate in self.surrogates)
        return f"<FactorStudy {self.data}: {names} by {', '.join(self.factors)}; {used} of {self.rows} rows>"

    def surrogate(self, metric: str) -> Surrogate:
        """The surrogate of a metric."""
        metrics = [surrogate.metric for surrogate in self.surrogates]
        if metric not in metrics:
            msg = f"the study has no metric {metric!r}; it has {', '.join(metrics)}"
            raise InputError(msg)
        return self.surrogates[metrics.index(metric)]

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric in LaTeX and HTML, as in papers; in other formats a row per metric and factor."""
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
        """Coefficients with confidence intervals: a panel per factor, a line per metric."""
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
            f"parentheses: R2, the share that all factors explain together. {self.surrogates[0].rows} pairs."
        )
        finish_figure(figure, title=f"{self.data}: linguistic factors of metrics", caption=caption)
        return figure

    def fit_figure(self) -> Any:
        """Each metric against the predictions of its surrogate, a point per pair."""
        if not all(surrogate.fitted.size for surrogate in self.surrogates):
            msg = "the study was read from JSON, which contains no scores of pairs; compute it again to draw them"
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
            f"Points: pairs ({len(chosen)}{some} shown), in standard deviations. On the line metric and surrogate "
            f"are equal. Factors: {', '.join(self.factors)}."
        )
        finish_figure(figure, title=f"{self.data}: metrics and their surrogates", caption=caption)
        return figure

    def _notes(self) -> Iterator[str]:
        used = self.surrogates[0].rows
        yield f"rows: {used} of {self.rows}"
        for name, count in self.dropped.items():
            yield f"left out: {count} rows without {name}"
        for name, label in self.factors.items():
            yield f"{name}: {label}"
        options = self.intervals
        method = f"bootstrap of rows, {options.resamples} resamples, seed {options.seed}"
        method = method if used >= 30 else "Student's t"
        yield f"low, high: {100 * options.level:g} % intervals ({method})"
        yield "partial R2: share of the variance left unexplained by the other factors"
        yield "VIF: variance inflation factor; 1 if factors are uncorrelated"
        yield from self.notes
        for signature in dict.fromkeys(surrogate.signature for surrogate in self.surrogates if surrogate.signature):
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
    """Fit each metric by the factors; both are numeric columns with a value per row.

    `own` are factors with a separate column for each metric, by factor and metric: each metric is then fitted with
    and without them. A row in which a metric or a factor has no value (NaN) is left out for all metrics, and counted.
    `labels` describe the factors.

    >>> study = fit_surrogates({"m": [1.0, 2.0, 4.0, 3.0]}, {"LEX": [1.0, 2.0, 3.0, 4.0]})
    >>> study.surrogate("m")
    <Surrogate of m: LEX 0.800; R2 0.640, 4 rows>
    """
    intervals, own = intervals or Intervals(), own or {}
    if both := set(scores) & {*factors, *own}:
        msg = f"{min(both)!r} is both a metric and a factor; remove one of them"
        raise InputError(msg)
    if not scores or not {*factors, *own}:
        msg = f"a surrogate needs a metric and a factor, got {len(scores)} metrics and {len(factors)} factors"
        raise InputError(msg)
    columns = {name: _column(name, values) for name, values in (*scores.items(), *factors.items())}
    of_metric = {
        (factor, metric): _column(f"{factor} of {metric}", by_metric[metric])
        for factor, by_metric in own.items()
        for metric in scores
    }
    everything = columns | {f"{factor} of {metric}": values for (factor, metric), values in of_metric.items()}
    mask = _complete_rows(everything)
    shared = [columns[name][mask] for name in factors]
    surrogates = []
    for name in scores:
        signature = (signatures or {}).get(name, "")
        separate = [of_metric[factor, name][mask] for factor in own]
        values = columns[name][mask]
        if separate and shared:
            label = f"{name} (without {', '.join(own)})"
            surrogates.append(_fit(label, values, list(factors), shared, intervals, signature))
        surrogates.append(_fit(name, values, [*factors, *own], [*shared, *separate], intervals, signature))
    return FactorStudy(
        data,
        len(mask),
        {name: lacking for name, values in everything.items() if (lacking := int(np.isnan(values).sum()))},
        {name: (labels or {}).get(name, "a column of the data") for name in (*factors, *own)},
        intervals,
        tuple(surrogates),
        tuple(notes),
    )


def _complete_rows(columns: Mapping[str, Vector]) -> NDArray[np.bool_]:
    """Mask of rows in which every column has a value; raises an error if columns differ in length."""
    first, values = next(iter(columns.items()))
    for name, other in columns.items():
        if len(other) != len(values):
            msg = f"{name} has {len(other)} values, but {first} has {len(values)}; give one value per row"
            raise InputError(msg)
    lacking = {name: int(np.isnan(other).sum()) for name, other in columns.items()}
    mask = ~np.any([np.isnan(other) for other in columns.values()], axis=0)
    if not mask.any():
        missing = ", ".join(f"{name} in {count} rows" for name, count in lacking.items() if count)
        msg = f"none of {len(values)} rows has values of all metrics and factors; missing: {missing}"
        raise InputError(msg)
    return np.asarray(mask, dtype=np.bool_)


def _column(name: str, values: ArrayLike) -> Vector:
    column = numbers(values, name)
    if column.ndim != 1 or np.isinf(column).any():
        problem = f"shape {column.shape}" if column.ndim != 1 else "an infinite number"
        msg = f"{name} must have a finite number or NaN per row, got {problem}"
        raise InputError(msg)
    return column


def _fit(
    metric: str, values: Vector, factors: list[str], columns: Sequence[Vector], intervals: Intervals, signature: str
) -> Surrogate:
    fit = least_squares(
        values,
        np.column_stack(columns),
        names=[metric, *factors],
        level=intervals.level,
        resamples=intervals.resamples,
        seed=intervals.seed,
    )
    figures = (fit.coefficients, fit.errors, fit.p, fit.low, fit.high, fit.partial_r2, fit.vif)
    effects = tuple(
        Effect(name, *map(float, row))
        for name, *row in zip(factors, *(column.tolist() for column in figures), strict=True)
    )
    return Surrogate(metric, fit.r2, fit.rows, effects, signature, standardise(values), fit.fitted)


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
        metric: Metrics to explain, as in `nlgauge.studies.meta.score_judgements`; distances are negated.
        factors: SEM, SYN, LEX, MOR, CLB in any case, or names of columns of the data.
        released: Scores in the data to explain as well.
        criterion: Human rating used as SEM. Default: set by the data set.
        making: Options of factors: parser, word vectors, lexicon, translations.
        intervals: Level, resamples and seed of the intervals.
        run: Options of a run.
        options: Options of metrics.
    """
    maker = FactorMaker(table, making or FactorOptions())
    names = _check_distinct([maker.name_of(name) for name in factors])
    if CLB in names and not maker.across:
        msg = f"CLB is for metrics that compare with sources, but {table.name} has references; remove CLB"
        raise RecipeError(msg)
    if maker.options.translations is not None and not maker.across:
        msg = f"translations= is for data without references, but {table.name} has references; remove it"
        raise RecipeError(msg)
    columns = {name: maker.column(name, criterion=criterion) for name in names if name != CLB}
    scored = _score_table(table, metric_list(metric), list(released), run=run, **options)
    own = {}
    if CLB in names:
        if list(released):
            msg = "CLB is computed by the metric, so it is not available for released scores; remove released= or CLB"
            raise RecipeError(msg)
        own[CLB] = score_translations(table, metric, maker, run=run, **options)
        maker.labels[CLB] = f"the metric's score of (sentence, translation); translations: {maker.translations.label}"
    return fit_surrogates(
        {scores.name: scores.oriented for scores in scored},
        columns,
        own=own,
        data=table.name,
        intervals=intervals,
        labels=maker.labels,
        signatures={scores.name: next(iter(scores.signatures.values())) for scores in scored},
        notes=[f"pooled language pairs: {', '.join(table.langpairs)}"] if len(table.langpairs) > 1 else (),
    )


def _score_table(
    table: JudgementTable, metrics: Sequence[AnyMetric], released: Sequence[str], **options: Any
) -> list[RowScores]:
    """Released scores, then computed ones; "(released)" is added to names that metrics have too."""
    computed = list(score_judgements(table, metrics, **options).metrics) if metrics else []
    names = {scores.name for scores in computed}
    existing = [
        replace(released_rows(table, name), name=f"{name} (released)" if name in names else name) for name in released
    ]
    check_distinct([scores.name for scores in (*existing, *computed)])
    return [*existing, *computed]


def score_translations(
    table: JudgementTable,
    metric: Metrics,
    maker: FactorMaker,
    *,
    run: RunOptions | None = None,
    **options: Unpack[ScoreKeywords],
) -> dict[str, Vector]:
    """Score each foreign sentence with its machine translation by each metric; nan without a translation."""
    translations = maker.translations.texts
    rows = [row for row in range(len(table)) if maker.foreign(row) in translations]
    if not rows:
        msg = f"{maker.translations.label} has no translation of any foreign sentence of {table.name}"
        raise RecipeError(msg)
    english = [translations[maker.foreign(row)] for row in rows]
    first = [maker.foreign_first(row) for row in rows]
    pairs = list(zip(rows, english, first, strict=True))
    part = replace(
        table.take(rows),
        hypothesis=tuple(text if foreign else table.hypothesis[row] for row, text, foreign in pairs),
        source=tuple(maker.others[row][0] if foreign else text for row, text, foreign in pairs),
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
    """Fit metrics by factors that are numeric columns of a TSV, CSV or JSONL file with a header."""
    name = os.fspath(path)
    rows = list(read_score_rows(name))
    metrics = [metric] if isinstance(metric, str) else list(metric)
    negated = set(lower_is_better)
    if unknown := sorted(negated - set(metrics)):
        msg = f"lower_is_better names {unknown[0]!r}, which is not one of {', '.join(metrics)}"
        raise RecipeError(msg)
    columns = {
        column: np.array([row.number(column) for row in rows]) for column in _check_distinct([*metrics, *factors])
    }
    return fit_surrogates(
        {column: -columns[column] if column in negated else columns[column] for column in metrics},
        {column: columns[column] for column in factors},
        data=os.path.basename(name),
        intervals=intervals,
    )


def _check_distinct(names: Sequence[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            msg = f"column {name!r} is given twice; give each column once"
            raise RecipeError(msg)
    return list(names)
