"""Recompute the figures of the DiscoScore paper on discourse features and human ratings, with their pictures.

    scatter              a feature of each hypothesis against that of its references                 Figure 2
    aspects              Pearson of coherence and each other rating over systems                     Figure 3
    discriminativeness   D of a feature (Eq. 4) next to the result of the metric built on it         Figure 4
    distribution         lowest value, quartiles, highest value and mean of features                 Figure 6

The key of a row is a feature, in a scatter with the statistic, or a human rating.

With several references, "FREQ(ref)" can be that of each reference or their mean; both are computed. A mean over
references is rarely equal to the value of a hypothesis, and never as extreme, so D differs between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nlgauge.data.judgements import JudgementTable
from nlgauge.io.canvas import COLOURS, SeriesStyle, finish_figure, legend_entries, new_panels, series_styles
from nlgauge.stats.correlation import correlate
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.studies.discourse import Discourse
from nlgauge.studies.discourse_figures import all_values, draw_discourse, draw_scatters, feature_pairs
from nlgauge.studies.published.agreement import compute_agreement
from nlgauge.studies.published.released import measure_features
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import (
    NEEDS_VECTORS,
    NOT_COMPUTED,
    ReproducedRow,
    Reproduction,
    Run,
    agrees,
    cells_of,
    compared_cell,
    slice_of,
)
from nlgauge.studies.published.tables import Column

#: The rating that others are compared with.
_COHERENCE = "coherence"

#: Our values by row name and column label.
_Values = dict[tuple[str, str], float]


def compute_figure(request: Request) -> Reproduction:
    """Recompute the values of a figure; its picture shows all texts or systems."""
    return _EXPERIMENTS[request.table.experiment](request)


def _feature_figure(request: Request, draw: Callable[[Discourse, str], Any]) -> Reproduction:
    """Recompute statistics of features; the picture is that of the first data set."""
    run = Run(request)
    columns = run.columns()
    measured = _measure(run, columns)
    values: _Values = {}
    if measured is not None:
        for row in run.table.rows:
            if row.key[0] in measured.features:
                for column in columns:
                    part, statistic = (column.part, row.key[1]) if len(row.key) > 1 else ("each", column.part)
                    values[row.name, column.label] = _statistic(measured, row.key[0], statistic, part)
    result = _result(run, columns, values)
    if measured is None:
        return result
    title = f"{run.table.id}: {run.table.title}"
    return replace(result, drawing=partial(draw, measured, title))


def _measure(run: Run, columns: Sequence[Column]) -> Discourse | None:
    """Features of the texts of the columns' data set; None if they are missing."""
    for column in columns:
        if column.question is None:
            continue
        judged = run.judged(slice_of(column.question, column.langpair))
        measured = measure_features(run, judged.table) if judged is not None else []
        if len(measured) > 1:
            run.missing[f"features of {column.question.data}: its systems have different references"] = None
        elif measured:
            run.notes[str(measured[0].settings)] = None
            return measured[0]
        break
    return None


def _statistic(measured: Discourse, feature: str, statistic: str, part: str) -> float:
    """A quantile or mean of a side (`hyp-0` ... `hyp-4`, `hyp-mean`, `ref-...`), or a share of pairs in per cent."""
    pairs = feature_pairs(measured, feature, means=part == "means")
    side, _, quantile = statistic.partition("-")
    if not quantile:
        separation = pairs.separation
        shares = {
            "below": separation.hypothesis_higher,
            "on": separation.equal,
            "above": separation.reference_higher,
        }
        return 100 * shares[statistic]
    values = pairs.references if part == "means" else all_values(measured, feature)["references"]
    if side == "hyp":
        values = all_values(measured, feature)["hypotheses"]
    return float(values.mean()) if quantile == "mean" else float(np.quantile(values, int(quantile) / 4))


def _result(run: Run, columns: Sequence[Column], values: _Values) -> Reproduction:
    rows = []
    for row in run.table.rows:
        ours = {
            column.label: values[row.name, column.label] for column in columns if (row.name, column.label) in values
        }
        cells = cells_of(row, columns, ours)
        published = any(cell.published is not None for cell in cells.values())
        agreement = agrees(cells.values(), run.table.decimals)
        reason = row.note or agreement or ("another tagger" if published else "not published")
        if not ours:
            lacks = row.key[0].endswith("-entity") and run.request.vectors is None
            reason = NEEDS_VECTORS if lacks else NOT_COMPUTED
        rows.append(ReproducedRow(row.name, cells, "", reason))
    return run.result(rows, columns)


def _draw_scatter(measured: Discourse, title: str) -> Any:
    return draw_scatters(measured, [("freq", True), ("freq", False)], title)


def _draw_distribution(measured: Discourse, title: str) -> Any:
    features = [name for name in measured.features if name.startswith(("freq", "conn"))]
    return draw_discourse(measured, "distribution", features=features, title=title)


def _aspects(request: Request) -> Reproduction:
    """Correlate the systems' mean coherence with their mean of each other rating."""
    run = Run(request)
    columns = run.columns()
    values: _Values = {}
    for column in columns:
        assert column.question is not None
        judged = run.judged(slice_of(column.question, column.langpair))
        if judged is None:
            continue
        for row in run.table.rows:
            if row.key[0] in judged.table.human:
                x, y = (system_ratings(judged.table, criterion) for criterion in (_COHERENCE, row.key[0]))
                values[row.name, column.label] = correlate(list(x.values()), list(y.values()), kind="pearson").value
        run.notes[f"{column.label}: {len(judged.table.systems)} systems"] = None
    result = _result(run, columns, values)
    return replace(result, drawing=partial(_draw_aspects, result))


def system_ratings(table: JudgementTable, criterion: str) -> dict[str, float]:
    """Mean rating of each system over its texts."""
    systems = np.array(table.system)
    ratings = np.asarray(table.human[criterion])
    return {system: float(ratings[systems == system].mean()) for system in table.systems}


def _draw_aspects(result: Reproduction) -> Any:
    groups = {
        column: {row.name: Bar(ours) for row in result.rows if isinstance(ours := row.cells[column].ours, float)}
        for column in result.columns
    }
    return draw_bar_panels(
        [BarPanel("", "Pearson with coherence", {name: bars for name, bars in groups.items() if bars})],
        series_styles(row.name for row in result.rows),
        title=f"{result.id}: {result.title}",
        caption="Pearson over systems, without intervals.",
    )


def _discriminativeness(request: Request) -> Reproduction:
    """Compute the results of metrics like a table of agreement, and D of their features."""
    result = compute_agreement(request)
    run = Run(request)
    columns = run.columns()
    measured = _measure(run, columns)
    if measured is None:
        return replace(result, missing=tuple(dict.fromkeys((*result.missing, *run.missing))))
    features = {row.name: row.key[0] for row in request.table.rows}
    rows = [_with_d(row, measured, features[row.name]) for row in result.rows]
    notes = (*result.notes, *run.notes, *_describe_correlations(rows))
    result = replace(result, rows=tuple(rows), notes=notes)
    return replace(result, drawing=partial(_draw_discriminativeness, result))


#: Columns of D, and whether the hypothesis is compared with the mean of the references.
_D = {"D each": False, "D mean": True}


def _with_d(row: ReproducedRow, measured: Discourse, feature: str) -> ReproducedRow:
    if feature not in measured.features:
        return row
    shares = {
        label: 100 * feature_pairs(measured, feature, means=means).separation.hypothesis_higher
        for label, means in _D.items()
    }
    cells = {label: compared_cell(None, share) for label, share in shares.items()}
    return replace(row, cells={label: cells.get(label, cell) for label, cell in row.cells.items()})


def _points(rows: Sequence[ReproducedRow], label: str, kind: str) -> dict[str, tuple[float, float]]:
    """D and the average result of each metric that has both."""
    points = {}
    for row in rows:
        d, average = row.cells[label].ours, getattr(row.cells["average"], kind)
        if isinstance(d, float) and isinstance(average, float | int):
            points[row.name] = (d, abs(average))
    return points


def _describe_correlations(rows: Sequence[ReproducedRow]) -> list[str]:
    """Pearson of D and the average result, as far as there are three metrics."""
    notes = []
    for label in _D:
        for kind, title in (("published", "published results"), ("ours", "ours")):
            points = list(_points(rows, label, kind).values())
            if len(points) > 2:
                d, average = zip(*points, strict=True)
                r = correlate(d, average, undefined="nan").value
                if np.isfinite(r):
                    notes.append(f"Pearson of {label!r} and the average, {title}: {r:.2f} ({len(points)} metrics)")
    return notes


_KINDS = {
    "published": SeriesStyle(COLOURS[5], "", "o", "white"),
    "ours": SeriesStyle(COLOURS[0], "", "^", "white"),
}


def _draw_discriminativeness(result: Reproduction) -> Any:
    """Draw the average result of each metric by D of its feature."""
    figure, axes = new_panels(1, len(_D), width=9.5, height=3.6)
    for ax, label in zip(axes, _D, strict=True):
        points = {kind: _points(result.rows, label, kind) for kind in _KINDS}
        middle = np.mean([x for marks in points.values() for x, _ in marks.values()] or [0])
        for kind, marks in points.items():
            style = _KINDS[kind]
            for name, (x, y) in marks.items():
                ax.scatter(x, y, s=32, color=style.colour, marker=style.mark)
                # Names are inside the panel: to the left of marks in its right half.
                where = {"xytext": (-5, 5), "ha": "right"} if x > middle else {"xytext": (5, 5), "ha": "left"}
                ax.annotate(name, (x, y), textcoords="offset points", fontsize=7, **where)
        ax.margins(0.1, 0.12)
        ax.set_xlabel(f"{label} (%)", fontsize=8)
        ax.set_ylabel("average result, Kendall x 100", fontsize=8)
        ax.tick_params(labelsize=8)
    names = {"published": "published results", "ours": f"our results with {result.model}"}
    shown = {name: _KINDS[kind] for kind, name in names.items() if _points(result.rows, "D each", kind)}
    finish_figure(
        figure,
        title=f"{result.id}: {result.title}",
        caption="Left: pairs with each reference; right: with the mean of the references. Results without signs.",
        legend=(legend_entries(shown, kind="mark"), list(shown)),
    )
    return figure


_EXPERIMENTS: Mapping[str, Callable[[Request], Reproduction]] = {
    "scatter": partial(_feature_figure, draw=_draw_scatter),
    "distribution": partial(_feature_figure, draw=_draw_distribution),
    "aspects": _aspects,
    "discriminativeness": _discriminativeness,
}
