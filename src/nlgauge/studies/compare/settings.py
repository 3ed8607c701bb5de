"""Settings of a comparison: every choice that can change a verdict, in one place and one line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from nlgauge._version import __version__
from nlgauge.errors import RecipeError
from nlgauge.stats.numeric import LEAST_RESAMPLES

TiePolicy: TypeAlias = Literal["half", "second", "drop"]
TestName: TypeAlias = Literal["bootstrap", "randomisation", "t", "wilcoxon", "sign", "sign-ties-in", "mood"]
RankBy: TypeAlias = Literal["mean", "median", "bt"]

#: Tests between two systems, by the names that settings, signatures and results have for them.
TESTS: tuple[TestName, ...] = get_args(TestName)


@dataclass(frozen=True)
class CompareSettings:
    """The choices behind a comparison; `signature` has them all."""

    test: TestName = "bootstrap"
    """Decides whether two systems differ."""
    tests_shown: tuple[TestName, ...] = ("bootstrap", "t", "wilcoxon", "sign")
    """Tests whose p values are given as well, uncorrected."""
    correction: Literal["holm", "none"] = "holm"
    """For the number of pairs of systems, within a metric."""
    alpha: float = 0.05
    level: float = 0.95
    """Of intervals."""
    resamples: int = 1000
    """Draws for intervals of strengths."""
    permutations: int = 10_000
    """Draws for tests, and for intervals of scores and differences: so that the two do not contradict each other."""
    seed: int = 12345
    ties: TiePolicy = "half"
    """A tie on an instance is half a win for both, a win for the later column, or nothing (Bradley-Terry, Elo)."""
    tie_tolerance: float = 1e-9
    """Scores tie if they differ by no more than this share of the larger one; 0: only equal ones, as in the paper."""
    ranking: RankBy = "mean"
    """What systems are ranked by; the mean is that of the metric, so for BLEU and chrF the score of the corpus."""
    smallest_difference: float = 0.0
    """Smaller differences are not called significant, whatever their p value."""
    ratings: bool = False
    """Elo and TrueSkill as well; they take instances and systems one after another, and time."""
    shuffles: int = 0
    """Random orders of games to average Elo and TrueSkill over; 0: the order of columns and rows, as in the paper."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests_shown", tuple(self.tests_shown))
        for test in (self.test, *self.tests_shown):
            _check_choice("test", test, TESTS)
        _check_choice("correction", self.correction, ("holm", "none"))
        _check_choice("ties", self.ties, get_args(TiePolicy))
        _check_choice("ranking", self.ranking, get_args(RankBy))
        for name in ("alpha", "level"):
            _check_number(name, getattr(self, name), above=0, below=1)
        for name in ("resamples", "permutations"):
            if getattr(self, name) < LEAST_RESAMPLES:
                msg = f"{name} must be at least {LEAST_RESAMPLES}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        for name in ("seed", "shuffles", "tie_tolerance", "smallest_difference"):
            if not getattr(self, name) >= 0:
                msg = f"{name} must be 0 or more, got {getattr(self, name)!r}"
                raise RecipeError(msg)

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
        fields: dict[str, object] = {name: getattr(self, name) for name in _SIGNED}
        if self.ratings:  # which depend on the order of games
            fields["shuffles"] = self.shuffles
        fields["unit"] = unit
        if documents:
            fields["documents"] = documents
        fields["nlgauge"] = __version__
        shown = (
            f"{name}:{value:.15g}" if isinstance(value, float) else f"{name}:{value}"
            for name, value in fields.items()
        )
        return "|".join(["compare", *shown])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"tests_shown": list(self.tests_shown)}


#: What a signature names, in this order; which other p values are shown changes no verdict.
_SIGNED = (
    "test",
    "correction",
    "alpha",
    "level",
    "resamples",
    "permutations",
    "seed",
    "ties",
    "tie_tolerance",
    "ranking",
    "smallest_difference",
)


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        msg = f"{name} must be one of {', '.join(choices)}, got {value!r}"
        raise RecipeError(msg)


def _check_number(name: str, value: float, *, above: float, below: float) -> None:
    if not above < value < below:
        msg = f"{name} must lie between {above} and {below}, got {value!r}"
        raise RecipeError(msg)
