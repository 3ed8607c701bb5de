"""What a published sensitivity study is: a table whose cells say how far settings move the agreement with people.

    cv      coefficient of variation over the settings of a grid, in per cent
    rd      relative difference of the second setting to the first, in per cent
    best    the setting with the highest agreement, by its name
    value   the agreement itself, under one setting

Columns and averages are those of any published table; a row is a metric with a grid (`nlgauge.sensitivity.presets`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nlgauge.published.table import Column, PaperTable, PublishedModel, TableRow

__all__ = ["PaperStudy", "StudyRow"]


@dataclass(frozen=True)
class StudyRow(TableRow):
    """A metric and what is varied of it."""

    metric: str = ""
    """Its name in print, without what is measured of it."""
    grid: str = ""
    statistic: Literal["cv", "rd", "best", "value"] = "cv"
    measure: str = ""
    """What print calls the statistic, such as `CV_STOP`."""
    setting: str = ""
    """Of the statistic `value`."""


@dataclass(frozen=True)
class PaperStudy(PaperTable):
    """A published table or figure of a sensitivity study."""

    rows: tuple[StudyRow, ...]
    other_model: PublishedModel | None = None
    """What the paper scored other languages than English with."""
    idf_corpora: str = ""
    """The large corpora that idf was counted on, and where they are published; empty where there are none."""
    sampled: tuple[Column, ...] = ()
    """Columns whose texts random corpora are drawn from: those of all data sets of the paper."""

    @property
    def english_pairs(self) -> tuple[str, ...]:
        """Language pairs whose texts are English."""
        return tuple(pair for pair in self.langpairs if pair.rpartition("-")[2] == "en")

    @property
    def grids(self) -> tuple[str, ...]:
        """What its rows vary, as far as they can be computed."""
        return tuple(dict.fromkeys(row.grid for row in self.rows if row.computed))
