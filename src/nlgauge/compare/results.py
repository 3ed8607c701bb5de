"""What a comparison finds, as plain data: systems, pairs of systems, metrics, rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nlgauge.compare.settings import CompareSettings
from nlgauge.compare.table import Matrix
from nlgauge.errors import InputError
from nlgauge.files.html import HtmlCell, html_table
from nlgauge.stats import Interval

__all__ = [
    "Diagnostics",
    "MetricComparison",
    "PairRow",
    "RankingDisagreement",
    "SystemComparison",
    "SystemRow",
]


@dataclass(frozen=True)
class SystemRow:
    """One system under one metric."""

    system: str
    score: float
    """The system's score: the mean over instances, or the score of the whole corpus (BLEU, chrF)."""
    interval: Interval | None
    """Of the score; None for fewer than four instances (or documents)."""
    mean: float
    median: float
    bradley_terry: float
    """Strength; the strengths of all systems sum to 1."""
    bt_interval: Interval | None
    elo: float | None
    trueskill: float | None
    """Mean of the skill."""
    rank: int
    """From 1; systems whose values are equal share the better one."""
    cluster: int
    """From 1, as in WMT: every system of a cluster is significantly better than every system of later clusters."""
    worse_than_best: bool
    """Significantly worse than the system that comes first, or than one of those that share the first rank."""
    wins: int
    """Over all other systems and all instances."""
    ties: int
    losses: int
    never_won: bool
    never_lost: bool
    outliers: float
    """Share of the system's scores that lie more than 1.5 interquartile ranges outside of the middle half."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {name: _interval(getattr(self, name)) for name in ("interval", "bt_interval")}


@dataclass(frozen=True)
class PairRow:
    """Two systems under one metric; `first` comes before `second` in the ranking."""

    first: str
    second: str
    difference: float
    """Of the systems' scores, first minus second, turned so that above 0 means that the first is better."""
    low: float | None
    """Of the interval of the difference; None for fewer than four instances."""
    high: float | None
    effect: float | None
    """Cohen's d_z: mean paired difference over its standard deviation; None where there is no deviation.

    It is of the scores of instances, and may have another sign than the difference of corpus scores (BLEU, chrF).
    """
    wins: int
    """Instances on which the first is better."""
    ties: int
    losses: int
    p: Mapping[str, float]
    """Two-sided, by name of the test, uncorrected; empty for fewer than two instances."""
    p_value: float | None
    """Of the test that decides."""
    p_adjusted: float | None
    """The same corrected for the number of pairs."""
    significant: bool
    better: str | None
    """The system that is significantly better."""
    detectable: float | None
    """Smallest true difference that would be found with a chance of 80 per cent; None without any spread."""
    favoured: str | None = None
    """The system on whose side the statistic of the test that decides is, significant or not; None for neither."""
    opposed: bool = False
    """The test finds a difference, but in favour of the system whose score is not the better one: no verdict."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return self.__dict__ | {"p": dict(self.p)}


@dataclass(frozen=True)
class Diagnostics:
    """What the scores of a metric look like, before anybody wins."""

    outliers: float
    """Share of all scores that lie more than 1.5 interquartile ranges outside of the middle half."""
    ties: float
    """Share of comparisons (pairs of systems on an instance) that tie."""
    instance_deviation: float | None
    """Mean over instances of the standard deviation between systems: how far systems are apart on an instance."""
    difficulty_deviation: float | None
    """Standard deviation of the instances' means: how unequal instances are. Pairing takes it out."""
    rank_deviations: Mapping[str, float]
    """By system the standard deviation of its rank on an instance."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return self.__dict__ | {"rank_deviations": dict(self.rank_deviations)}


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparison:
    """All systems under one metric."""

    metric: str
    signature: str
    higher_is_better: bool
    n: int
    """Instances."""
    documents: int | None
    """Documents that the instances come from, where that is known."""
    systems: tuple[SystemRow, ...]
    """Best first."""
    pairs: tuple[PairRow, ...]
    """All pairs, in the order of `systems`."""
    win_matrix: Matrix
    """In the order of `systems`: share of instances on which the row's system beats the column's."""
    condorcet: str | None
    """The system that beats every other one on more instances than it loses to it."""
    bt_winner: str
    connected: bool
    """Whether wins lead from every system to every other one; else strengths have no finite maximum."""
    notes: tuple[str, ...]
    diagnostics: Diagnostics

    def __repr__(self) -> str:
        count = len(self.systems)
        best = f"{self.winner} {'alone ' * self.separated}ahead"
        return f"<MetricComparison {self.metric}: {count} system{'s' * (count != 1)} on {self.n} instances, {best}>"

    def _repr_html_(self) -> str:
        columns = ["cluster", "system", "score", "low", "high", "Bradley-Terry", "wins", "ties", "losses"]
        rows: list[list[HtmlCell]] = [
            [
                row.cluster,
                row.system,
                row.score,
                None if row.interval is None else row.interval.low,
                None if row.interval is None else row.interval.high,
                row.bradley_terry,
                row.wins,
                row.ties,
                row.losses,
            ]
            for row in self.systems
        ]
        return html_table(columns, rows, caption=f"{self.metric}, {self.n} instances", notes=self.notes)

    @property
    def winner(self) -> str:
        """The system that comes first."""
        return self.systems[0].system

    @property
    def separated(self) -> bool:
        """Whether the first system is significantly better than all others."""
        return sum(row.cluster == 1 for row in self.systems) == 1 < len(self.systems)

    def pair(self, first: str, second: str) -> PairRow:
        """The row of two systems, whichever of them comes first in it."""
        for row in self.pairs:
            if {row.first, row.second} == {first, second}:
                return row
        names = [row.system for row in self.systems]
        strange = next((name for name in (first, second) if name not in names), None)
        what = f"no system {strange!r}" if strange else "nothing to compare a system with itself"
        msg = f"there is {what} in the comparison by {self.metric!r}; it has {names}"
        raise InputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        nested = {
            "systems": [row.to_dict() for row in self.systems],
            "pairs": [row.to_dict() for row in self.pairs],
            "win_matrix": np.asarray(self.win_matrix).tolist(),
            "diagnostics": self.diagnostics.to_dict(),
            "notes": list(self.notes),
        }
        return self.__dict__ | nested


@dataclass(frozen=True)
class RankingDisagreement:
    """Two ways to rank the same systems."""

    first: str
    """Such as "bertscore mean" or "bertscore BT"."""
    second: str
    share_of_pairs: float | None
    """Of all pairs of systems, those that one ranking orders one way and the other the other way; None if a ranking
    ties all systems."""
    different_winner: bool
    different_top3: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison:
    """Systems compared by one or several metrics."""

    metrics: tuple[MetricComparison, ...]
    disagreements: tuple[RankingDisagreement, ...]
    """Of a metric's rankings by score and by Bradley-Terry, and of the rankings by score of each two metrics."""
    settings: CompareSettings
    signature: str
    """How systems were compared; how they were scored is in the signature of each metric."""

    def __repr__(self) -> str:
        return f"<SystemComparison by {', '.join(found.metric for found in self.metrics)} | {self.signature}>"

    def _repr_html_(self) -> str:
        return "".join(found._repr_html_() for found in self.metrics)

    @property
    def winners(self) -> dict[str, str]:
        """By metric the system that comes first."""
        return {found.metric: found.winner for found in self.metrics}

    def metric(self, name: str | None = None) -> MetricComparison:
        """The comparison by a metric; without a name by the first one."""
        if name is None:
            return self.metrics[0]
        for found in self.metrics:
            if found.metric == name:
                return found
        msg = f"systems were not compared by {name!r}, but by {[found.metric for found in self.metrics]}"
        raise InputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python values; the same input gives the same JSON bytes."""
        return {
            "metrics": [found.to_dict() for found in self.metrics],
            "disagreements": [found.to_dict() for found in self.disagreements],
            "settings": self.settings.to_dict(),
            "signature": self.signature,
        }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else interval._asdict()
