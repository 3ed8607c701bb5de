"""Settings of a comparison: every choice that can change a verdict, in one place and one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from nlgauge._version import __version__
from nlgauge.core.kinds import Choice, Flag, Float, Int, Many
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.signature import Signature
from nlgauge.stats.numeric import LEAST_RESAMPLES

TiePolicy: TypeAlias = Literal["half", "second", "drop"]
TestName: TypeAlias = Literal["bootstrap", "randomisation", "t", "wilcoxon", "sign", "sign-ties-in", "mood"]
RankBy: TypeAlias = Literal["mean", "median", "bt"]

#: Tests between two systems, by the names that settings, signatures and results have for them.
TESTS: tuple[TestName, ...] = get_args(TestName)


@dataclass(frozen=True, kw_only=True)
class CompareSettings(OptionSet):
    """The choices behind a comparison; `signature` has all that can change a verdict."""

    called: ClassVar[str] = "settings of a comparison"

    test: TestName = option("bootstrap", Choice(*TESTS), help="test that decides whether two systems differ")
    tests_shown: tuple[TestName, ...] = option(
        ("bootstrap", "t", "wilcoxon", "sign"),
        Many(Choice(*TESTS)),
        help="further tests whose p values are reported, uncorrected",
        signed=False,
        hidden=True,
    )
    correction: Literal["holm", "none"] = option(
        "holm", Choice("holm", "none"), help="correction for the number of pairs of systems", hidden=True
    )
    alpha: float = option(0.05, Float(above=0, below=1), help="significance level", metavar="P")
    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(
        1000, Int(LEAST_RESAMPLES), help="bootstrap resamples for intervals of strengths", hidden=True, limit=10_000
    )
    # As many for tests as for intervals of scores and differences, so that the two do not contradict each other.
    permutations: int = option(
        10_000,
        Int(LEAST_RESAMPLES),
        help="draws for tests, and for intervals of scores and differences",
        hidden=True,
        limit=20_000,
    )
    seed: int = seed_option()
    ties: TiePolicy = option(
        "half",
        Choice(*get_args(TiePolicy)),
        help="a tied segment counts as half a win for each system, a win for the second, or not at all",
        hidden=True,
    )
    tie_tolerance: float = option(
        1e-9, Float(0), help="scores tie if they differ by at most this share of the larger one", hidden=True, limit=1
    )
    ranking: RankBy = option("mean", Choice(*get_args(RankBy)), help="statistic that ranks systems", hidden=True)
    smallest_difference: float = option(
        0.0, Float(0), help="smaller differences are never called significant", hidden=True, limit=1e6
    )
    ratings: bool = option(False, Flag(), help="report Elo and TrueSkill as well", signed=False, hidden=True)
    shuffles: int = option(
        0,
        Int(0),
        help="random orders of games to average Elo and TrueSkill over; 0 keeps the order of systems and segments",
        needs="ratings",
        hidden=True,
        limit=1000,
    )

    @property
    def tests(self) -> tuple[TestName, ...]:
        """The test that decides, then the others that are shown."""
        return (self.test, *(name for name in dict.fromkeys(self.tests_shown) if name != self.test))

    @property
    def score_draws(self) -> int:
        """Bootstrap resamples of scores, for intervals and, where it is asked for, the test."""
        return max(self.resamples, self.permutations)

    def signature(self, unit: str = "instance", documents: str = "") -> str:
        """All choices in one line; `unit` is what was drawn: an instance, or a document, with a digest of which.

        >>> CompareSettings(ties="drop").signature()[:54]
        'compare|test:bootstrap|correction:holm|alpha:0.05|leve'
        """
        drawn = {"unit": unit} | ({"documents": documents} if documents else {})
        return str(Signature("compare", self.signed() | drawn | {"nlgauge": __version__}))
