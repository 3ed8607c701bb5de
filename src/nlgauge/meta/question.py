"""A question to a data set: at which level, by which agreement, tested how. What has no answer is refused early."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from nlgauge.data import JudgementTable
from nlgauge.errors import RecipeError
from nlgauge.meta.ranks import check_comparison

__all__ = ["AGREEMENTS", "LEVELS", "Significance", "check_question"]

LEVELS = ("segment", "topic", "system")
_CORRELATIONS = ("pearson", "spearman", "kendall")
AGREEMENTS = (*_CORRELATIONS, "acc-eq", "differences", "spa")

#: Levels at which an agreement is defined.
_DEFINED = {"acc-eq": "topic", "differences": "topic", "spa": "system"}


@dataclass(frozen=True, kw_only=True)
class Significance:
    """How metrics are tested against each other, and intervals drawn."""

    test: Literal["default", "permutation", "bootstrap", "williams", "none"] = "default"
    """default: PERM-BOTH; for Pearson over systems Williams' test, because few systems leave little to permute."""
    alpha: float = 0.05
    correction: Literal["bonferroni", "holm"] | None = None
    resamples: int = 1000
    seed: int = 12345

    def resolved(self, level: str, agreement: str) -> Significance:
        """With the test that a question really gets; one that does not exist for it is refused."""
        if agreement in ("differences", "spa"):
            if self.test not in ("default", "none"):
                msg = f"there is no significance test for agreement {agreement!r}; leave out test={self.test!r}"
                raise RecipeError(msg)
            return replace(self, test="none")
        if self.test == "default":
            few = level == "system" and agreement == "pearson"
            return replace(self, test="williams" if few else "permutation")
        if agreement == "acc-eq" and self.test not in ("permutation", "none"):
            msg = f"agreement 'acc-eq' is tested by permutation, not by {self.test!r}"
            raise RecipeError(msg)
        if self.test != "none":
            kind = agreement if agreement in _CORRELATIONS else "pearson"
            check_comparison("item" if level == "topic" else "segment", kind, self.test, self.alpha, self.correction)
        return self

    @property
    def draws(self) -> dict[str, int]:
        """What every resampling function takes."""
        return {"resamples": self.resamples, "seed": self.seed}

    @property
    def pairs(self) -> dict[str, Any]:
        """What every comparison of metrics takes."""
        return {"alpha": self.alpha, "correction": self.correction, **self.draws}


def check_question(
    table: JudgementTable,
    level: str,
    agreement: str,
    *,
    criterion: str | None = None,
    aggregate: str = "mean",
    significance: Significance | None = None,
) -> Significance:
    """Refuse a question that has no answer on this data, before hours of work; returns the test it will get."""
    for what, value, allowed in (("level", level, LEVELS), ("agreement", agreement, AGREEMENTS)):
        if value not in allowed:
            msg = f"{what} must be one of {', '.join(allowed)}, got {value!r}"
            raise RecipeError(msg)
    if _DEFINED.get(agreement, level) != level:
        msg = f"agreement {agreement!r} is defined at level {_DEFINED[agreement]!r}, not at level {level!r}"
        raise RecipeError(msg)
    if aggregate != "mean" and (level != "system" or agreement == "spa"):
        msg = f"aggregate={aggregate!r} joins a system's scores; it means nothing to {agreement} at level {level!r}"
        raise RecipeError(msg)
    official = level == "system" and criterion is None and set(table.langpairs) <= set(table.system_scores)
    if agreement == "spa" and table.default_criterion is None and criterion is None:
        msg = f"{table.name} has judgements of whole systems only; 'spa' needs judgements of segments"
        raise RecipeError(msg)
    if not official or agreement == "spa":
        table.gold(criterion)
    return (significance or Significance()).resolved(level, agreement)
