"""Options of experiments on rankings of systems."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

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
class RankingOptions:
    """How an experiment on rankings is run; the defaults are those of *Better than Average*."""

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

    def check_used(self, experiment: str, *, what: str) -> None:
        """Refuse an option that would change nothing of an experiment; `what` names it in the message."""
        used = _USED[experiment]
        for name, value in asdict(self).items():
            if value != getattr(type(self), name) and name not in used:
                takes = f"it takes {', '.join(used)}" if used else "it takes none"
                msg = f"{what} has no use of {name}={value}; {takes}"
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
