"""Options of experiments on rankings of systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from nlgauge.core.kinds import Choice, Flag, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.errors import RecipeError

#: Options that an experiment has a use of.
_TIED = ("ties", "tie_tolerance", "reverse")
_DRAWN = (*_TIED, "full", "draws", "seed")
_USED: dict[str, tuple[str, ...]] = {
    "disagreement": (*_TIED, "full"),  # all rows are what it takes
    "by-data": _DRAWN,
    "by-metric": _DRAWN,
    "tests": _DRAWN,
    "simulation": ("seed", "design"),
    "pairing": ("seed",),
    "ties": (),
}


@dataclass(frozen=True, kw_only=True)
class RankingOptions(OptionSet):
    """How an experiment on rankings is run; the defaults are those of *Better than Average*."""

    called: ClassVar[str] = "options of experiments on rankings"

    ties: Literal["second", "drop", "half"] = option(
        "second",
        Choice("second", "drop", "half"),
        help="winner of a tie in Bradley-Terry and Elo: the later system, none, or half of each",
    )
    tie_tolerance: float = option(
        0.0, Float(0, 1), help="scores tie if they differ by at most this share of the larger one"
    )
    reverse: bool = option(False, Flag(), help="systems in reverse order, to see what depends on it")
    full: bool = option(False, Flag(), help="all rows of a frame where the paper draws some of them")
    draws: int | None = option(None, Int(1), help="parts of the rows to draw", unset="as in the paper")
    seed: int = seed_option()
    design: Literal["coded", "appendix"] = option(
        "coded",
        Choice("coded", "appendix"),
        help="the simulation as the released code has it, or as the paper's appendix A.2 says",
    )

    def check_used(self, experiment: str, *, what: str) -> None:
        """Refuse an option that would change nothing of an experiment; `what` names it in the message."""
        used = _USED[experiment]
        for name, entry in self.options().items():
            if getattr(self, name) != entry.default and name not in used:
                takes = f"it takes {', '.join(used)}" if used else "it takes none"
                msg = f"{what} has no use of {name}={getattr(self, name)}; {takes}"
                raise RecipeError(msg)

    def check(self) -> None:
        """All rows are taken once, so there is nothing to draw."""
        if self.full and self.draws is not None:
            msg = f"all rows are taken once; leave out full or draws, got draws={self.draws!r}"
            raise RecipeError(msg)
