"""What is measured of the settings of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nlgauge.errors import RecipeError
from nlgauge.stats.checks import check_resampling

__all__ = ["StudyOptions"]

_LEVELS = ("segment", "topic", "system")


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What is measured of the settings."""

    agreement: Literal["pearson", "spearman", "kendall"] = "pearson"
    criterion: str | None = None
    levels: tuple[str, ...] = ("segment", "system")
    ddof: int = 1
    alpha: float = 0.05
    resamples: int = 1000
    seed: int = 12345
    documents: bool = False
    """Draw whole documents (the table's column `document`) in the test of flips, instead of segments."""
    lang: str = ""
    """Language of the texts, for lists of stop words; default: the target of each language pair."""

    def __post_init__(self) -> None:
        for name, allowed in (("agreement", ("pearson", "spearman", "kendall")), ("ddof", (0, 1))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(map(str, allowed))}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        if not self.levels or not set(self.levels) <= set(_LEVELS):
            msg = f"levels are some of {', '.join(_LEVELS)}, got {self.levels!r}"
            raise RecipeError(msg)
        check_resampling(self.resamples, self.seed)
        if not 0 < self.alpha < 1:
            msg = f"alpha must lie between 0 and 1, got {self.alpha!r}"
            raise RecipeError(msg)
