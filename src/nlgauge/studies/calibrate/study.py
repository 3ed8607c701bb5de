"""Fitting of agreement curves: all pairs of systems of a data set, their bands, and how well they predict new pairs.

    tables = [nlgauge.data.load(name, folder, level="system") for name in ("wmt17", "wmt18")]
    study = calibrate(tables, ["bertscore", "chrf"], segments=1000)
    study.save("curves.json")

A pair is two systems of one data set (a year) and language pair. Bands resample years, then language pairs within
them. With fewer than five of these groups in all, as for summaries, systems are resampled. Predictions are checked on
what was left out: each year, each language pair (of all years), or for few groups each pair with all pairs of its two
systems. The same is done for curves over the p values of the pairs (paired t test of segment scores): over 1 - p, and
over -log p, which also tells apart the many pairs with tiny p values.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlgauge.core.kinds import Choice, Float, Int, Many, Text
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import AnyMetric
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.run_context import one_blas_thread
from nlgauge.errors import InputError
from nlgauge.io.numbers import format_level
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.stats.agreement_curve import (
    LEAST_PAIRS,
    AgreementFit,
    ReliabilityBin,
    brier_score,
    calibration_error,
    draw_fits,
    draw_fits_by_item,
    fit_agreement,
    predict_left_out,
    reliability,
)
from nlgauge.stats.numeric import LEAST_RESAMPLES, Vector
from nlgauge.stats.paired_tests import paired_t
from nlgauge.studies.calibrate.curves import AgreementCurve, AgreementCurves, Band, LeftOut, Origin, recipe_fields
from nlgauge.studies.calibrate.figures import draw_curves
from nlgauge.studies.calibrate.scored_groups import ScoredGroup, recipe_texts, score_groups

if TYPE_CHECKING:
    from os import PathLike

#: Fewest groups (years x language pairs) that are resampled; below, systems are.
_LEAST_GROUPS = 5

#: Steps of the grid of a band, which are closer together near 0.
_STEPS = 30

#: Smallest p value that counts: smaller ones are rounding.
_LEAST_P = 1e-300

#: Groups in which the change of differences by another precision is measured.
_CHECKED_GROUPS = 2

#: Agreements whose differences are printed.
_LEVELS = (0.8, 0.9)

#: Significant digits of stored numbers.
_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(OptionSet):
    """How curves are fitted, and what they are called."""

    called: ClassVar[str] = "options of a calibration"

    segments: int | None = option(
        None, Int(10), help="number of segments to draw for each language pair", unset="all segments"
    )
    references: int | None = option(None, Int(1), help="use the first N references", unset="all", metavar="N")
    criterion: str | None = option(None, Text("a criterion"), help="human rating", unset="set by the data set")
    name: str = option(
        "", Text("a name", empty=True), help="name of the data in statements", unset="such as WMT17-18"
    )
    domain: str = option(
        "", Text("a domain", empty=True), help="kind of texts, such as 'news translated into English'"
    )
    check_precision: tuple[str, ...] = option(
        (),
        Many(Choice("fp32", "fp16", "bf16", "int8")),
        help="further precisions that the curves hold for; the change of differences is measured",
        metavar="NAME",
    )
    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(LEAST_RESAMPLES), help="number of resamples", hidden=True, limit=10_000)
    seed: int = seed_option()


@dataclass(frozen=True)
class CalibrateStudy(Result):
    """Fitted curves, their differences at 80 % and 90 % agreement, and their errors on left-out pairs."""

    format = "nlgauge-calibrate-1"
    decimals = 4
    line = LINE
    computed = ("digest",)

    curves: AgreementCurves
    """The content of the file."""
    thresholds: tuple[Thresholds, ...]
    """By metric."""

    @property
    def digest(self) -> str:
        """sha256 of the curves."""
        return self.curves.digest

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file for `curves=PATH` of `nlgauge compare`."""
        self.curves.save(Path(path))

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric: differences at 80 % and 90 % agreement; and a row per metric and what was left out."""
        rows: list[list[Cell]] = []
        errors: list[list[Cell]] = []
        for curve, row in zip(self.curves.curves, self.thresholds, strict=True):
            cells: list[Cell] = [curve.metric, curve.pairs, curve.segments]
            for threshold in row.thresholds:
                cells += [threshold.difference, threshold.low, threshold.high]
            rows.append([*cells, curve.largest])
            for left_out in curve.left_out:
                errors.append(
                    [
                        curve.metric,
                        left_out.groups,
                        left_out.error,
                        left_out.brier,
                        left_out.brier_of_p,
                        left_out.brier_of_log_p,
                    ]
                )
        origin = self.curves.origin
        ends = [f"{100 * agreement:.0f} %{end}" for agreement in _LEVELS for end in ("", " low", " high")]
        notes = [
            f"{origin.name}: {', '.join(origin.data)}; {', '.join(origin.langpairs)}; {origin.criterion}",
            f"80 %, 90 %: difference at which raters prefer the same system in so many pairs, with "
            f"{format_level(origin.level)} interval ({origin.resampled} resampled); empty: never reached",
        ]
        notes += [
            f"{curve.metric}: fitted in {curve.precision}; {name} changes differences by at most {change:.2g}"
            for curve in self.curves.curves
            for name, change in curve.tolerances.items()
        ]
        tables = [Table(["metric", "pairs", "segments", *ends, "largest"], rows, "agreement curves", notes)]
        if form in ("tsv", "csv"):
            return tables
        about = ["error: calibration error in ten bins; of p, of log p: Brier scores of curves over p values"]
        columns = ["metric", "left out", "error", "Brier", "of p", "of log p"]
        return [*tables, Table(columns, errors, "predictions of pairs that were left out", about)]

    def figure(self) -> Any:
        """Curves with their bands, and reliability diagrams of left-out pairs."""
        return draw_curves(self.curves)


@dataclass(frozen=True)
class Threshold:
    """The difference at which a curve reaches an agreement."""

    agreement: float
    difference: float | None
    """None if the curve never reaches it among the pairs."""
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of a metric."""

    metric: str
    thresholds: tuple[Threshold, ...]


def calibrate(
    tables: Iterable[JudgementTable], metrics: Sequence[AnyMetric], *, run: RunOptions | None = None, **options: Any
) -> CalibrateStudy:
    """Fit agreement curves to the systems of data sets; options are those of `CalibrateOptions`.

    Args:
        tables: Complete outputs of systems with human scores, a table per year, from `nlgauge.data.load`.
        metrics: Metrics with their options; each gets a curve of its own.
        run: How the metrics are computed, such as `RunOptions(precision="int8")`.
    """
    chosen = CalibrateOptions.of(options)
    recipe_texts(metrics)
    data = list(tables)
    run = run or RunOptions()
    how: dict[str, Any] = {name: getattr(chosen, name) for name in ("segments", "references", "criterion", "seed")}
    groups = [group for table in data for group in score_groups(table, metrics, run=run, **how)]
    checked: dict[str, list[ScoredGroup]] = {}
    if chosen.check_precision:
        few = data[0].where(langpair=smallest_groups(data[0]))
        for name in chosen.check_precision:
            checked[name] = score_groups(few, metrics, run=run.with_options(precision=name), **how)
    return calibrate_groups(groups, checked=checked, criterion=_criterion(data[0], chosen.criterion), options=chosen)


def smallest_groups(table: JudgementTable) -> list[str]:
    """The language pairs with the fewest systems, in which other precisions are checked."""
    counts = {pair: len(table.where(langpair=pair).systems) for pair in table.langpairs}
    return sorted(counts, key=lambda pair: (counts[pair], pair))[:_CHECKED_GROUPS]


def _criterion(table: JudgementTable, criterion: str | None) -> str:
    official = criterion is None and bool(table.system_scores)
    return "official scores of systems" if official else criterion or table.default_criterion or ""


def calibrate_groups(
    groups: Sequence[ScoredGroup],
    *,
    options: CalibrateOptions,
    criterion: str = "",
    checked: dict[str, list[ScoredGroup]] | None = None,
) -> CalibrateStudy:
    """Fit curves to scored systems; `checked` has groups in other precisions."""
    metrics = list(dict.fromkeys(group.metric for group in groups))
    curves, thresholds = [], []
    for metric in metrics:
        own = [group for group in groups if group.metric == metric]
        others = {name: [group for group in more if group.metric == metric] for name, more in (checked or {}).items()}
        with one_blas_thread:  # small products, which threads slow down
            curve, row = _fit_curve(own, others, options)
        curves.append(curve)
        thresholds.append(row)
    first = [group for group in groups if group.metric == metrics[0]]
    data = list(dict.fromkeys(group.data for group in groups))
    origin = Origin(
        name=options.name or join_years(data),
        domain=options.domain,
        data=tuple(data),
        langpairs=tuple(dict.fromkeys(group.langpair for group in groups)),
        criterion=criterion,
        references=options.references,
        sample=options.segments,
        seed=options.seed,
        level=options.level,
        resampled="years and language pairs" if _by_group(first) else "systems",
        resamples=options.resamples,
    )
    return CalibrateStudy(AgreementCurves(origin, tuple(curves)), tuple(thresholds))


def join_years(names: Sequence[str]) -> str:
    """Names of data sets for a statement; years are joined.

    >>> join_years(["wmt17", "wmt18"]), join_years(["tac2008"]), join_years(["wmt17", "bagel"])
    ('WMT17-18', 'TAC2008', 'WMT17 and BAGEL')
    """
    parts = [re.fullmatch(r"(\D+)(\d+)", name) for name in names]
    years = [part[2] for part in parts if part]
    if len(years) == len(names) > 1 and len({part[1] for part in parts if part}) == 1:
        return f"{names[0].upper()}-{years[-1]}"
    return " and ".join(name.upper() for name in names)


def _by_group(groups: Sequence[ScoredGroup]) -> bool:
    return len(groups) >= _LEAST_GROUPS


@dataclass(frozen=True, eq=False)
class _Pairs:
    """All pairs of systems under one metric."""

    sizes: Vector
    outcomes: Vector
    p_values: Vector
    years: list[str]
    langpairs: list[str]
    systems: list[tuple[int, int]]
    """Numbers of the two systems, over all groups."""


def _make_pairs(groups: Sequence[ScoredGroup]) -> _Pairs:
    sizes, outcomes, p_values = [], [], []
    years: list[str] = []
    langpairs: list[str] = []
    systems: list[tuple[int, int]] = []
    offset = 0
    for group in groups:
        first, second = group.pairs
        differences = group.scores[first] - group.scores[second]
        preferred = np.sign(differences) * np.sign(group.human[first] - group.human[second])
        sizes.append(np.abs(differences))
        outcomes.append(0.5 + 0.5 * preferred)
        by_segment = (group.segments[first] - group.segments[second]).T
        p_values.append(paired_t(by_segment, np.ones(len(by_segment))))
        years += [group.data] * len(first)
        langpairs += [group.langpair] * len(first)
        systems += [(offset + i, offset + j) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
        offset += len(group.systems)
    if len(systems) < LEAST_PAIRS:
        msg = f"{groups[0].metric}: a curve needs at least {LEAST_PAIRS} pairs of systems, got {len(systems)}"
        raise InputError(msg)
    return _Pairs(
        np.concatenate(sizes), np.concatenate(outcomes), np.concatenate(p_values), years, langpairs, systems
    )


def _fit_curve(
    groups: Sequence[ScoredGroup], checked: dict[str, list[ScoredGroup]], options: CalibrateOptions
) -> tuple[AgreementCurve, Thresholds]:
    pairs = _make_pairs(groups)
    fields, precision = recipe_fields(groups[0].signature)
    for group in groups:
        if recipe_fields(group.signature) != (fields, precision):
            msg = f"{group.metric} has another recipe in {group.data} {group.langpair}; fit curves one at a time"
            raise InputError(msg)
    fit = fit_agreement(pairs.sizes, pairs.outcomes)
    drawing = {"resamples": options.resamples, "seed": options.seed}
    if _by_group(groups):
        units = list(zip(pairs.years, pairs.langpairs, strict=True))
        draws = draw_fits(pairs.sizes, pairs.outcomes, units, **drawing)
    else:
        draws = draw_fits_by_item(pairs.sizes, pairs.outcomes, pairs.systems, **drawing)
    largest = float(pairs.sizes.max())
    grid = largest * (np.arange(_STEPS + 1) / _STEPS) ** 2
    tail = 50 * (1 - options.level)
    low, high = np.percentile([draw.predict(grid) for draw in draws], [tail, 100 - tail], axis=0)
    curve = AgreementCurve(
        metric=groups[0].metric,
        fields=fields,
        precision=precision,
        tolerances={name: change for name, more in checked.items() if (change := _change(groups, more)) is not None},
        fit=AgreementFit(*map(_rounded, fit)),
        pairs=len(pairs.sizes),
        segments=round(float(np.mean([group.segments.shape[1] for group in groups]))),
        largest=_rounded(largest),
        band=Band(*(tuple(map(_rounded, values)) for values in (grid, low, high))),
        observed=_rounded_bins(_bins_by_size(pairs)),
        left_out=_check_left_out(pairs, groups),
    )
    return curve, Thresholds(
        groups[0].metric, tuple(_threshold(fit, draws, value, largest, tail) for value in _LEVELS)
    )


def _threshold(
    fit: AgreementFit, draws: Sequence[AgreementFit], agreement: float, largest: float, tail: float
) -> Threshold:
    """The difference at an agreement; an end of its interval is None if too many draws never reach it."""
    size = fit.size_at(agreement)
    drawn = [value if (value := draw.size_at(agreement)) is not None else np.inf for draw in draws]
    ends = np.percentile(drawn, [tail, 100 - tail], method="nearest")
    low, high = (float(end) if end <= largest else None for end in ends)
    return Threshold(agreement, None if size is None or size > largest else size, low, high)


def _change(groups: Sequence[ScoredGroup], others: Sequence[ScoredGroup]) -> float | None:
    """The largest change of a difference between two systems in another precision; None for the same numbers."""
    if not others:
        return None
    by_place = {(group.data, group.langpair): group for group in groups}
    changes = [0.0]
    for other in others:
        group = by_place[other.data, other.langpair]
        if recipe_fields(group.signature)[1] == recipe_fields(other.signature)[1]:
            return None
        first, second = group.pairs
        changes.append(
            float(np.abs(np.diff([_differences(side, first, second) for side in (group, other)], axis=0)).max())
        )
    return _rounded(max(changes))


def _differences(group: ScoredGroup, first: Any, second: Any) -> Vector:
    return np.asarray(group.scores[first] - group.scores[second])


def _bins_by_size(pairs: _Pairs) -> list[ReliabilityBin]:
    return reliability(pairs.sizes, pairs.outcomes)


def _check_left_out(pairs: _Pairs, groups: Sequence[ScoredGroup]) -> tuple[LeftOut, ...]:
    """Predictions of left-out pairs, by the curve over differences and by those over p values."""
    rivals = (1 - pairs.p_values, -np.log10(np.maximum(pairs.p_values, _LEAST_P)))
    sizes = (pairs.sizes, *rivals)
    ways: dict[str, Sequence[Hashable]] = {"year": pairs.years, "langpair": pairs.langpairs}
    results = []
    for name, units in ways.items():
        if _by_group(groups) and len(set(units)) > 1:
            results.append(_left_out(name, [predict_left_out(x, pairs.outcomes, units) for x in sizes], pairs))
    if not results:
        results.append(_left_out("system", [_predict_without_systems(x, pairs) for x in sizes], pairs))
    return tuple(results)


def _left_out(name: str, predictions: Sequence[Vector], pairs: _Pairs) -> LeftOut:
    """Errors of predictions by the difference, by p and by log p."""
    bins = reliability(predictions[0], pairs.outcomes)
    by_size, by_p, by_log_p = (_rounded(brier_score(predicted, pairs.outcomes)) for predicted in predictions)
    return LeftOut(
        groups=name,
        error=_rounded(calibration_error(bins)),
        brier=by_size,
        brier_of_p=by_p,
        brier_of_log_p=by_log_p,
        bins=_rounded_bins(bins),
    )


def _predict_without_systems(sizes: Vector, pairs: _Pairs) -> Vector:
    """Agreement of each pair by a curve of the pairs that have neither of its systems."""
    first, second = np.asarray(pairs.systems).T
    start = fit_agreement(sizes, pairs.outcomes)
    predicted = np.empty(len(sizes))
    for row, (i, j) in enumerate(pairs.systems):
        others = (first != i) & (second != i) & (first != j) & (second != j)
        if others.sum() < LEAST_PAIRS:
            msg = f"checking a curve on left-out systems needs {LEAST_PAIRS} pairs without them, got {others.sum()}"
            raise InputError(msg)
        fit = fit_agreement(sizes[others], pairs.outcomes[others], start=start)
        predicted[row] = fit.predict(sizes[row])
    return predicted


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _rounded_bins(bins: Iterable[ReliabilityBin]) -> tuple[ReliabilityBin, ...]:
    return tuple(ReliabilityBin(_rounded(part.predicted), _rounded(part.observed), part.pairs) for part in bins)
