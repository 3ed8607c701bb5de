"""Surrogates of metrics as text, JSON, TSV, LaTeX or Markdown.

LaTeX has a line per metric, as papers print it; the others have one per metric and factor.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from nlgauge._version import __version__
from nlgauge.explain.factors.surrogate import FactorStudy
from nlgauge.report.table import LINE, Cell, Probability, Table

__all__ = ["render_factors"]


def render_factors(study: FactorStudy, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The study as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **study.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    table = _wide(study) if format == "latex" else _long(study, repeat=format == "tsv")
    return table.write(format, width=width, line=LINE)


def _long(study: FactorStudy, *, repeat: bool) -> Table:
    rows: list[list[Cell]] = []
    for one in study.surrogates:
        for place, effect in enumerate(one.effects):
            named: list[Cell] = [one.metric, one.r2] if repeat or place == 0 else ["", None]
            rows.append(
                [
                    *named,
                    effect.factor,
                    effect.coefficient,
                    effect.low,
                    effect.high,
                    effect.error,
                    Probability(effect.p),
                    effect.partial_r2,
                    effect.vif,
                ]
            )
    columns = ["metric", "R2", "factor", "coefficient", "low", "high", "error", "p", "partial R2", "VIF"]
    return Table(columns, rows, caption=_caption(study), notes=list(_notes(study)))


def _wide(study: FactorStudy) -> Table:
    rows: list[list[Cell]] = []
    for one in study.surrogates:
        by_factor = {effect.factor: effect.coefficient for effect in one.effects}
        rows.append([one.metric, *(by_factor.get(name) for name in study.factors), one.r2])
    return Table(["metric", *study.factors, "R2"], rows, caption=_caption(study), notes=list(_notes(study)))


def _caption(study: FactorStudy) -> str:
    return f"{study.data}: metrics by linguistic factors, all columns standardised"


def _notes(study: FactorStudy) -> Iterator[str]:
    used = study.surrogates[0].rows
    yield f"rows: {used} of {study.rows}"
    for name, count in study.dropped.items():
        yield f"left out: {count} rows without {name}"
    for name, label in study.factors.items():
        yield f"{name}: {label}"
    how = study.intervals
    drawn = f"bootstrap of rows, {how.resamples} resamples, seed {how.seed}" if used >= 30 else "Student's t"
    yield f"low, high: {100 * how.level:g} % intervals ({drawn})"
    yield "partial R2: share of what the other factors leave over; VIF: 1 where factors do not go together"
    yield from study.notes
    for signature in dict.fromkeys(one.signature for one in study.surrogates if one.signature):
        yield f"signature: {signature}"
