"""Collects the rows of a file into a `JudgementTable`, and knows where each came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nlgauge.data.table import UNKNOWN_SYSTEM, ErrorSpan, JudgementTable
from nlgauge.errors import FileFormatError
from nlgauge.files.records import Row

__all__ = ["TableBuilder"]

_OPTIONAL = ("source", "topic", "document", "hypothesis_errors", "source_errors")


class TableBuilder:
    """Rows in the order in which they are added; a segment that comes twice is refused with both places."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("segment", "system", "langpair", "hypothesis", "references", *_OPTIONAL)
        }
        self._scores: dict[str, dict[str, list[float]]] = {"human": {}, "released": {}}
        self._places: dict[tuple[str, str, str], str] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(
        self,
        row: Row,
        *,
        segment: str,
        langpair: str,
        hypothesis: str,
        references: tuple[str, ...] = (),
        system: str = UNKNOWN_SYSTEM,
        source: str | None = None,
        topic: str | None = None,
        document: str | None = None,
        hypothesis_errors: tuple[ErrorSpan, ...] | None = None,
        source_errors: tuple[ErrorSpan, ...] | None = None,
        human: Mapping[str, float] | None = None,
        released: Mapping[str, float] | None = None,
    ) -> None:
        """Add a row; a criterion that the row lacks is NaN."""
        key = (langpair, system, segment)
        if key in self._places:
            of = f" of system {system!r}" if system else ""
            msg = f"{row.at()}: duplicate of segment {segment!r}{of}, {langpair}, which stands at {self._places[key]}"
            raise FileFormatError(msg)
        before = len(self._places)
        self._places[key] = row.at()
        errors = hypothesis_errors, source_errors
        values = (segment, system, langpair, hypothesis, references, source, topic, document, *errors)
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)
        for kind, found in (("human", human or {}), ("released", released or {})):
            scores = self._scores[kind]
            for name in found:
                scores.setdefault(name, [math.nan] * before)
            for name, column in scores.items():
                column.append(found.get(name, math.nan))

    def table(self, name: str, *, default_criterion: str | None, **details: Any) -> JudgementTable:
        """The table of all rows; `details` are further fields of it."""
        columns: dict[str, Any] = {column: tuple(values) for column, values in self._columns.items()}
        for optional in _OPTIONAL:
            absent = [value is None for value in columns[optional]]
            if all(absent):
                del columns[optional]
            elif any(absent):
                msg = f"{name}: the segment {columns['segment'][absent.index(True)]!r} has no {optional}; others have"
                raise FileFormatError(msg)
        scores: dict[str, Any] = dict(self._scores)
        return JudgementTable(name=name, default_criterion=default_criterion, **columns, **scores, **details)
