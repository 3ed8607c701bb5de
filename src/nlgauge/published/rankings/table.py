"""What a published table on rankings is, and how it can be run.

Scores come from frames (instances x systems, one metric), and no text is scored. A cell says how far two ways to rank
systems disagree, how often a test finds a difference, or how well a ranking finds strengths that are known:

    disagreement    over all rows of every frame                                 Tables 1 and 4
    by-data         per data set and metric, on random parts of the rows         Table 3
    by-metric       per metric, then per task, on random parts                   Figure 4
    tests           what a test finds among the pairs where another does         Figure 6
    simulation      Kendall's tau with strengths that scores were drawn from     Figure 3
    pairing         the same scores, paired in another way                       Figure 2
    ties            how many ties there are, and what becomes of Table 1         not in print
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from nlgauge.errors import RecipeError
from nlgauge.published.table import PaperTable, TableRow

__all__ = ["BT_TOLERANCE", "Experiment", "PublishedFrames", "RankingOptions", "RankingRow", "RankingTable"]

Experiment = Literal["disagreement", "by-data", "by-metric", "tests", "simulation", "pairing", "ties"]


#: Options that an experiment has a use of.
_TIED = ("ties", "tie_tolerance", "reverse")
_DRAWN = (*_TIED, "full", "draws", "seed")
_USED: dict[Experiment, tuple[str, ...]] = {
    "disagreement": (*_TIED, "full"),  # all rows are what it takes
    "by-data": _DRAWN,
    "by-metric": _DRAWN,
    "tests": _DRAWN,
    "simulation": ("seed", "design"),
    "pairing": ("seed",),
    "ties": (),
}


@dataclass(frozen=True)
class PublishedFrames:
    """The frames of a data set: one per metric."""

    label: str
    """As the paper has it."""
    task: str
    instances: int
    systems: int
    metrics: int
    card: str = ""
    """Name of the data set here; empty where its frames are not public."""

    @property
    def pairs(self) -> int:
        """Pairs of systems over all metrics."""
        return self.metrics * self.systems * (self.systems - 1) // 2


@dataclass(frozen=True)
class RankingRow(TableRow):
    """A row of a table on rankings."""

    key: tuple[str, ...] = ()
    """What the experiment knows it by; empty for a row that is only shown."""
    exchanged: bool = False
    """Whether print has its values under Mean/BT and Med/BT exchanged (D7)."""

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.key)


@dataclass(frozen=True)
class RankingTable(PaperTable):
    """A published table or figure on rankings of systems."""

    rows: tuple[RankingRow, ...]
    experiment: Experiment = "disagreement"
    frames: tuple[PublishedFrames, ...] = ()
    """All that the paper used; an experiment on drawn scores has none."""

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs and that are public, by name."""
        return tuple(one.card for one in self.frames if one.card)


#: Squared changes at which the Bradley-Terry iteration of the released code stops.
BT_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """How a table on rankings is run; the defaults are the paper's."""

    ties: Literal["second", "drop", "half"] = "second"
    """Whose win a tie is in Bradley-Terry: the later column's, nobody's, half of each (D1)."""
    tie_tolerance: float = 0.0
    """Scores are tied where they differ by at most this, relative to the larger; 0 takes each bit as it stands."""
    reverse: bool = False
    """Systems in reverse order: what depends on the order of columns shows."""
    full: bool = False
    """All rows of a frame where the paper draws a part of them."""
    draws: int | None = None
    """Random parts of the rows; None for the paper's number of them."""
    seed: int = 12345
    design: Literal["coded", "appendix"] = "coded"
    """The simulation as the released code has it, or as appendix A.2 says (D3)."""

    def check_used(self, table: RankingTable) -> None:
        """Refuse an option that would change nothing of a table."""
        used = _USED[table.experiment]
        for name, value in asdict(self).items():
            if value != getattr(type(self), name) and name not in used:
                takes = f"it takes {', '.join(used)}" if used else "it takes none"
                msg = f"{table.id} has no use of {name}={value}; {takes}"
                raise RecipeError(msg)

    def __post_init__(self) -> None:
        for name, allowed in (("ties", ("second", "drop", "half")), ("design", ("coded", "appendix"))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        if not 0 <= self.tie_tolerance < 1:
            msg = f"tie_tolerance is relative to the scores, at least 0 and below 1, got {self.tie_tolerance!r}"
            raise RecipeError(msg)
        if self.draws is not None and (self.draws < 1 or self.full):
            what = "all rows are taken once; leave out full or draws" if self.full else "draws must be at least 1"
            msg = f"{what}, got draws={self.draws!r}"
            raise RecipeError(msg)
        if self.seed < 0:
            msg = f"seed must be 0 or more, got {self.seed!r}"
            raise RecipeError(msg)
