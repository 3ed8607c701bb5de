"""What a published table on robustness is: triples that try to fool metrics, and gains of ensembles.

Scores are those that were released with the study; no text is scored.

    overlap    mean overlap of words in triples, and their number                         Table 6
    wins       share of triples whose paraphrase scores above the lookalike               Figure 3 shows distributions
    gains      correlation of two metrics' average over that of the better one, per cent  Table 13
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nlgauge.published.table import PaperTable, TableRow

__all__ = ["RobustnessRow", "RobustnessTable"]


@dataclass(frozen=True)
class RobustnessRow(TableRow):
    """A data set of triples, a metric, or a pair of metrics."""

    key: tuple[str, ...] = ()
    """A data set, a released metric, or the released metrics of an ensemble."""
    card: str = ""
    """Data set with the released scores."""

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.key)


@dataclass(frozen=True)
class RobustnessTable(PaperTable):
    """A published table on triples or ensembles."""

    rows: tuple[RobustnessRow, ...]
    experiment: Literal["overlap", "wins", "gains"] = "wins"
    cards: tuple[str, ...] = ()

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs, by name."""
        return self.cards
