"""Discourse features as text, JSON, TSV, LaTeX and Markdown: a line per system and feature."""

from __future__ import annotations

import json
from typing import Literal

from nlgauge._version import __version__
from nlgauge.features.run import Discourse
from nlgauge.report.numbers import counted
from nlgauge.report.table import LINE, Cell, Table

__all__ = ["render_discourse"]

_NOTES = (
    "D: share of pairs of a hypothesis and a reference with more of the feature in the hypothesis (Eq. 4 of the "
    "DiscoScore paper). Its Table 11 counts the other way round, as in the last column (D6.10). Pairs of equal texts "
    "are left out.",
)


def render_discourse(
    found: Discourse,
    *,
    format: Literal["text", "json", "tsv", "latex", "markdown"] = "text",  # noqa: A002 - as the flag is called
    segments: bool = False,
    width: int = 4,
) -> str:
    """The features; with `segments` those of every document instead of their means (in JSON, beside them)."""
    if format == "json":
        record = {"nlgauge": __version__, **found.to_dict(segments=segments)}
        return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    table = _documents(found) if segments else _means(found)
    return table.write(format, width=width, line=LINE)


def _means(found: Discourse) -> Table:
    beside = found.references is not None
    columns = ["system", "feature", "mean", *(["references", "D", "equal", "ref higher"] if beside else [])]
    rows: list[list[Cell]] = []
    for system in found.systems:
        for feature in found.features:
            row: list[Cell] = [system, feature, found.mean(system, feature)]
            if beside:
                one = found.separations[system].get(feature)
                row.append(found.reference_mean(feature))
                row += [None] * 3 if one is None else [one.hypothesis_higher, one.equal, one.reference_higher]
            rows.append(row)
    lacking = {name or "hyps": at for name, at in found.no_noun.items()}
    lacking["references"] = found.references_without_noun
    without = [f"{name}: {counted(len(at), 'document')} without a noun" for name, at in lacking.items() if at]
    return Table(columns, rows, notes=[*(_NOTES if beside else ()), *without, f"settings: {found.settings}"])


def _documents(found: Discourse) -> Table:
    rows: list[list[Cell]] = []
    for system in found.systems:
        for at in range(len(found)):
            rows.append(
                [system, at, "hypothesis", *(float(found.hypotheses[system][name][at]) for name in found.features)]
            )
    if found.references is not None:
        for at in range(len(found)):
            for number in range(len(found.references[found.features[0]][at])):
                values = [float(found.references[name][at][number]) for name in found.features]
                rows.append(["", at, f"reference {number}", *values])
    return Table(["system", "document", "text", *found.features], rows)
