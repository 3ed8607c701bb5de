"""What a published regression of metrics on linguistic factors is.

A table has groups of columns, one for each data set: a coefficient per factor, and R2. Scores and factors were
released with the data, so that nothing is scored and no text is parsed. What was not released (the cross-lingual
factor CLB) is computed for metrics of nlgauge, in rows of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nlgauge.published.table import Column, PaperTable, TableRow

__all__ = ["R2", "FactorColumns", "FactorRow", "FactorTable"]

R2 = "R2"


@dataclass(frozen=True)
class FactorColumns:
    """The columns of one data set."""

    label: str
    card: str
    langpair: str
    factors: Mapping[str, str]
    """By name in print: the released column; `CLB` is none of them."""
    translations: str = ""
    """File of machine translations, beside the files of the data set."""

    def column(self, factor: str) -> str:
        """The label of a factor's column, or of R2's."""
        return f"{self.label} {factor}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """All of them, R2 last."""
        return tuple(Column(self.column(name), None, self.langpair) for name in (*self.factors, R2))


@dataclass(frozen=True)
class FactorRow(TableRow):
    """A metric of such a table; `released` is its column, `recipe` what nlgauge scores."""

    starred: frozenset[str] = field(default_factory=frozenset)
    """Columns whose values stand in print with an asterisk: not significant."""
    without: str = ""
    """A factor that is left out of the regression of this row."""


@dataclass(frozen=True)
class FactorTable(PaperTable):
    """A published table of coefficients."""

    rows: tuple[FactorRow, ...]
    groups: tuple[FactorColumns, ...] = ()

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs, by name."""
        return tuple(dict.fromkeys(group.card for group in self.groups))
