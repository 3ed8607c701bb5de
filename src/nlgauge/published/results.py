"""A published table recomputed: each value in print beside ours, and why they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nlgauge.files.html import HtmlCell, html_table
from nlgauge.published.table import Column, Mean, PaperTable

__all__ = ["ReproducedCell", "ReproducedRow", "Reproduction", "agrees"]


@dataclass(frozen=True)
class ReproducedCell:
    """A value in print beside ours, both on the scale of the print; None where there is none.

    A value is a number, or a name where a table prints names (the best setting of a language pair).
    """

    published: float | str | None
    ours: float | str | None
    absolute: bool = False
    """Whether print hides signs, so that ours is compared without its own."""

    @property
    def difference(self) -> float | None:
        """Ours (or its absolute value) minus the published value; None for names."""
        numbers = [value for value in (self.ours, self.published) if isinstance(value, float | int)]
        if len(numbers) < 2:
            return None
        return (abs(numbers[0]) if self.absolute else numbers[0]) - numbers[1]


@dataclass(frozen=True)
class ReproducedRow:
    """A metric of the table."""

    name: str
    cells: Mapping[str, ReproducedCell]
    """By column."""
    recipe: str
    """With the model at hand; empty for a row that is only shown."""
    reason: str
    """Why ours differs, or is missing."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """By column."""


@dataclass(frozen=True, repr=False)
class Reproduction:
    """A table, recomputed."""

    table: PaperTable
    model: str
    """Empty where nothing is encoded."""
    columns: tuple[Column | Mean, ...]
    rows: tuple[ReproducedRow, ...]
    missing: tuple[str, ...] = ()
    """What is not here, and where it is published."""
    notes: tuple[str, ...] = ()
    """What this run adds to the notes of the table."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How a table on rankings was run."""

    def __repr__(self) -> str:
        computed = sum(any(cell.ours is not None for cell in row.cells.values()) for row in self.rows)
        missing = f", {len(self.missing)} inputs missing" if self.missing else ""
        model = f" with {self.model}" if self.model else ""
        return f"<Reproduction {self.table.id}{model}: {computed} of {len(self.rows)} rows computed{missing}>"

    def _repr_html_(self) -> str:
        labels = [column.label for column in self.columns]
        rows: list[list[HtmlCell]] = []
        for row in self.rows:
            for kind in ("published", "ours"):
                values = [getattr(row.cells[label], kind) for label in labels]
                if any(value is not None for value in values):
                    rows.append([row.name, kind, *values, row.reason if kind == "ours" else ""])
        caption = f"{self.table.id}: {self.table.title}"
        notes = [f"missing: {what}" for what in self.missing]
        return html_table(
            [self.table.row_title, "value", *labels, "reason"],
            rows,
            caption=caption,
            notes=notes,
            width=self.table.width,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "id": self.table.id,
            "title": self.table.title,
            "source": self.table.source,
            "data": list(self.table.data),
            "published_models": [{"name": model.name, "published": model.published} for model in self.table.models],
            "model": self.model,
            "columns": [column.label for column in self.columns],
            "rows": [
                {
                    "metric": row.name,
                    "recipe": row.recipe,
                    "reason": row.reason,
                    "cells": {
                        label: {"published": cell.published, "ours": cell.ours, "difference": cell.difference}
                        for label, cell in row.cells.items()
                    },
                    "signatures": dict(row.signatures),
                }
                for row in self.rows
            ],
            **({"options": dict(self.options)} if self.options else {}),
            "notes": [*self.table.notes, *self.notes],
            "missing": list(self.missing),
        }


def agrees(cells: Iterable[ReproducedCell], decimals: int) -> str:
    """How our values become the printed ones, if they all do; empty where one differs or none is in print.

    >>> agrees([ReproducedCell(0.743, 0.7436)], 3)
    'as published, truncated'
    """
    step = 10.0**-decimals
    # Ours minus print: at most half a step when print is rounded, up to a step of the same sign when it is cut.
    off = [cell.difference / step for cell in cells if cell.difference is not None]
    slack = 1e-6
    if not off:
        return ""
    if all(abs(one) <= 0.5 + slack for one in off):
        return "as published"
    return "as published, truncated" if all(-0.5 - slack <= one < 1 for one in off) else ""
