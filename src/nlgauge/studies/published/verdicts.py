"""Compare recomputed cells with print: which agree, which differ for a stated reason, and which have none.

    as published   equal to the printed decimals, rounded or truncated
    close          a correlation within .02 of print, by the published model or without one
    other model    computed with another model than the published one, whatever the distance
    explained      different, and the row states a reason (a known note, other data, other draws)
    unexplained    different, and the row states none, or the difference is larger than its reason allows
    not printed    the paper has no value

A cell of another model is never counted as published, even if the decimals are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from nlgauge.studies.published.runs import ReproducedCell, ReproducedRow, Reproduction, agrees
from nlgauge.studies.published.tables import PaperTable, TableRow

#: Verdicts with their heading in tables, in this order.
VERDICTS: Mapping[str, str] = {
    "as published": "as published",
    "close": "within .02",
    "other model": "another model",
    "explained": "known reason",
    "unexplained": "unexplained",
    "not printed": "not printed",
}

#: Largest difference of two correlations that counts as close.
CLOSE = 0.02

#: Parts of a row's reason that describe the agreement and explain no difference.
_DESCRIPTION = re.compile(
    r"as published(, truncated)?$|same decimals as|identical to|standard deviation over|not published|not computed|"
    r"published values only|\d+ of \d+ cells within"
)


class ComparedCell(NamedTuple):
    """A cell of a published table that was computed, or a row without computed cells (no column and no verdict)."""

    row: str
    column: str
    published: float | str | None
    ours: float | str | None
    difference: float | None
    verdict: str
    reason: str
    """Why the value differs or is missing."""


def compare_cells(result: Reproduction, table: PaperTable) -> Iterator[ComparedCell]:
    """Compare all computed cells of a table; a row without any has one line with the reason."""
    declared = {row.name: row for row in table.rows}
    correlations = {column.label for column in table.columns if _is_correlation(table)}
    for row in result.rows:
        if not row.has_ours:
            yield ComparedCell(row.name, "", None, None, None, "", row.reason)
        for label, cell in row.cells.items():
            if cell.ours is None:
                continue
            slack = CLOSE * table.scale if label in correlations else 0.0
            verdict = judge_cell(
                cell,
                row,
                label,
                decimals=table.decimals,
                slack=slack,
                other_model=_uses_other_model(declared.get(row.name), result.model),
            )
            yield ComparedCell(row.name, label, *cell, verdict, _why(row, verdict))


def judge_cell(
    cell: ReproducedCell,
    row: ReproducedRow,
    column: str,
    *,
    decimals: int,
    slack: float = 0.0,
    other_model: bool = False,
) -> str:
    """Judge a computed cell; `slack` is the difference that counts as close, on the paper's scale.

    >>> cell = ReproducedCell(0.5, 0.531, 0.031)
    >>> judge_cell(cell, ReproducedRow("BLEU", {"cs-en": cell}, "bleu", ""), "cs-en", decimals=3, slack=0.02)
    'unexplained'
    """
    if cell.published is None:
        return "not printed"
    if other_model:
        return "other model"
    if isinstance(cell.ours, str) or cell.difference is None:
        same = cell.ours == cell.published
    else:
        same = _is_named_as_published(row.reason, column) or bool(agrees([cell], decimals))
    if same:
        return "as published"
    if column in row.beyond:
        return "unexplained"
    if cell.difference is not None and abs(cell.difference) <= slack:
        return "close"
    return "explained" if states_reason(row.reason) else "unexplained"


def _is_named_as_published(reason: str, column: str) -> bool:
    """Whether the reason says that the row is as published, without this column among the exceptions."""
    if not reason.startswith("as published"):
        return False
    exceptions = reason.partition(", except ")[2].partition(": ")[0]
    return column not in exceptions.split(", ")


def states_reason(reason: str) -> bool:
    """Whether a row's reason explains a difference, instead of only describing the agreement.

    >>> states_reason("as published, truncated"), states_reason("30 of 32 cells within 2 points, rounded; D10")
    (False, True)
    """
    return any(part and not _DESCRIPTION.match(part) for part in reason.split("; "))


def count_verdicts(cells: Iterable[ComparedCell]) -> dict[str, int]:
    """Count computed cells by verdict."""
    counts = dict.fromkeys(VERDICTS, 0)
    for cell in cells:
        if cell.verdict:
            counts[cell.verdict] += 1
    return counts


def _is_correlation(table: PaperTable) -> bool:
    return table.kind == "agreement" or (table.kind == "hybrids" and table.experiment == "pearson")


def _uses_other_model(row: TableRow | None, model: str) -> bool:
    return row is not None and row.model is not None and not row.model.matches(model)


def _why(row: ReproducedRow, verdict: str) -> str:
    if verdict in ("as published", "not printed"):
        return VERDICTS[verdict]
    if verdict == "unexplained":
        return f"unexplained; {row.reason}" if states_reason(row.reason) else "unexplained"
    return "within .02 of print" if verdict == "close" else row.reason
