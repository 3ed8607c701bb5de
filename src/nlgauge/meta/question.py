"""A question to a data set: at which level, by which agreement, tested how. What has no answer is refused early."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from nlgauge.data import JudgementTable, RankedPairs
from nlgauge.errors import RecipeError
from nlgauge.meta.ranks import check_comparison
from nlgauge.scores import LEAST_RESAMPLES

__all__ = ["AGREEMENTS", "BY_ROW", "CORRELATIONS", "LEVELS", "Question", "Significance", "check_question"]

LEVELS = ("segment", "document", "topic", "system")

#: Levels at which every judged row of a table counts on its own.
BY_ROW = ("segment", "document")
CORRELATIONS = ("pearson", "spearman", "kendall")
AGREEMENTS = (*CORRELATIONS, "acc-eq", "differences", "spa", "auc")

#: WMT's tau on relative rankings: it needs ranked pairs instead of scores by people.
_RANKED = "darr"

#: Levels at which an agreement is defined.
_DEFINED = {"acc-eq": "topic", "differences": "topic", "spa": "system", "auc": "segment", _RANKED: "segment"}

#: Agreements that metrics cannot be tested on.
_UNTESTED = ("differences", "spa", "auc", _RANKED)


@dataclass(frozen=True)
class Question:
    """What is asked of judgements and scores::

        level     segment, document (rows that are documents: `nlgauge.data.document_table`), topic, system
        agreement pearson, spearman, kendall, acc-eq, differences, spa (`nlgauge.meta.evaluation` explains them),
                  auc (gold is 0 or 1), darr (WMT's tau on ranked pairs)

    `data` names the data set where it is not at hand already.
    """

    data: str = ""
    level: str = "segment"
    agreement: str = "pearson"
    criterion: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    """Options of `nlgauge.data.load`."""
    aggregate: str = "mean"
    """How a system's scores become one number: mean or median."""

    @property
    def ranked(self) -> bool:
        """Whether people's side is ranked pairs of outputs."""
        return self.agreement == _RANKED

    @property
    def unit(self) -> str | None:
        """What intervals and tests draw where no documents are asked for; None where there is neither."""
        if self.agreement == "spa":
            return "segment"
        units = {"segment": "judged output", "document": "judged document", "topic": "topic", "system": "system"}
        return units[self.level] if self.testable else None

    @property
    def testable(self) -> bool:
        """Whether metrics can be tested against each other on it."""
        return self.agreement not in _UNTESTED


@dataclass(frozen=True, kw_only=True)
class Significance:
    """How metrics are tested against each other, and intervals drawn."""

    test: Literal["default", "permutation", "bootstrap", "williams", "none"] = "default"
    """default: PERM-BOTH; for Pearson over systems Williams' test, because few systems leave little to permute."""
    alpha: float = 0.05
    correction: Literal["bonferroni", "holm"] | None = None
    resamples: int = 1000
    seed: int = 12345
    documents: bool = False
    """Draw whole documents (the table's column `document`): outputs, or topics, of one are not independent."""

    def __post_init__(self) -> None:
        if not isinstance(self.resamples, int) or self.resamples < LEAST_RESAMPLES:
            msg = f"resamples must be at least {LEAST_RESAMPLES}, got {self.resamples!r}"
            raise RecipeError(msg)
        if not isinstance(self.seed, int) or self.seed < 0:
            msg = f"seed must be 0 or more, got {self.seed!r}"
            raise RecipeError(msg)

    def resolved(self, question: Question) -> Significance:
        """With the test that a question really gets; one that does not exist for it is refused."""
        level, agreement = question.level, question.agreement
        if not question.testable:
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
            kind = agreement if agreement in CORRELATIONS else "pearson"
            tested = "item" if level == "topic" else "segment"
            check_comparison(tested, kind, self.test, self.alpha, self.correction, documents=self.documents)
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
    question: Question, table: JudgementTable, *, pairs: RankedPairs | None = None, documents: bool = False
) -> None:
    """Refuse a question that has no answer on this data, before hours of work; `documents`: are those to be drawn?"""
    level, agreement = question.level, question.agreement
    known = (*AGREEMENTS, _RANKED)
    for what, value, allowed in (("level", level, LEVELS), ("agreement", agreement, known)):
        if value not in allowed:
            msg = f"{what} must be one of {', '.join(allowed)}, got {value!r}"
            raise RecipeError(msg)
    if _DEFINED.get(agreement, level) != level:
        msg = f"agreement {agreement!r} is defined at level {_DEFINED[agreement]!r}, not at level {level!r}"
        raise RecipeError(msg)
    if question.aggregate != "mean" and (level != "system" or agreement == "spa"):
        msg = (
            f"aggregate={question.aggregate!r} joins a system's scores; "
            f"it means nothing to {agreement} at level {level!r}"
        )
        raise RecipeError(msg)
    if documents:
        _check_documents(question, table)
    if question.ranked:
        if pairs is None:
            msg = f"agreement {agreement!r} needs ranked pairs of outputs (nlgauge.data.load_wmt_rankings)"
            raise RecipeError(msg)
        return
    criterion = question.criterion
    if agreement == "spa" and table.default_criterion is None and criterion is None:
        msg = f"{table.name} has judgements of whole systems only; 'spa' needs judgements of segments"
        raise RecipeError(msg)
    official = level == "system" and criterion is None and set(table.langpairs) <= set(table.system_scores)
    if not official or agreement == "spa":
        table.gold(criterion)


def _check_documents(question: Question, table: JudgementTable) -> None:
    if question.unit in (None, "system"):
        drawn = "nothing is drawn" if question.unit is None else "systems are drawn"
        where = f"{question.agreement} at level {question.level!r}"
        msg = f"documents mean nothing to {where}, where {drawn}; leave them out"
        raise RecipeError(msg)
    table.document_of_rows()
