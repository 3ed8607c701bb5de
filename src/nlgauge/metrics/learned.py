"""Learned metrics: a linear combination of the scores of several metrics, fitted to human ratings.

What it computes
----------------

    score(x, y) = b + sum over members m of  w_m s_m (m(x, y) - mean_m) / deviation_m

Everything but the scores of the members is frozen in a file (`fit`), written by `nlgauge study learn`. s_m is -1
for a distance and 1 for any other member, so a positive weight means that a better member makes a better score. The
score is on the scale of the ratings that the weights were learned from, and the score of a pair does not depend on
other pairs.

A pair with a member's score outside the range of its training scores is extrapolated: it is scored by the same
equation, counted (`outside`) and warned of.

`mt-en-minilm` (default) and `mt-en-mpnet` are shipped. They are supervised: trained on all 2,000 direct assessments
of WMT15, news translated into English. Their score is in standard deviations of these ratings; 0 is an average
translation. docs/metrics/learned.md has their gains, and where they have none.

Worked example
--------------

The score is the intercept and the contribution of each member, which an explanation shows.

    >>> import nlgauge
    >>> explanation = nlgauge.explain_pair("A cat sat on the mat.", "The cat sat on a mat.", metric="learned")
    >>> rest = explanation.score - sum(member.contribution for member in explanation.members)
    >>> round(rest, 4) == round(nlgauge.metrics.Learned().table.intercept, 4)
    True
    >>> round(explanation.score, 3)
    0.746

Profiles and deviations
-----------------------

There are no profiles, because no published metric is reproduced: Blend learns from the same kind of ratings, with a
support vector machine. Published ensembles are averages of scores that are standardised over the scored file (D15);
`study learn --method average` freezes means and deviations.

Relations
---------

- It contains its members and adds only their weights. Equal weights are an average of standardised scores.

Citation
--------

The idea: Ma, Graham, Wang, Liu: "Blend: a Novel Combined MT Metric Based on Direct Assessment", WMT 2017. Cite the
members, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.composite import CompositeMetric, Resolved
from nlgauge.core.kinds import Choice
from nlgauge.core.metric import Metric, SystemResult
from nlgauge.core.options import option
from nlgauge.core.score import Note, declare_note
from nlgauge.core.signature import Signature
from nlgauge.errors import ExtrapolationWarning, RecipeError
from nlgauge.io.storage import short_digest
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.learned_weights import SHIPPED, LearnedWeights, WeightsChoice, load_weights

#: A member's score is outside the range of its training scores.
OUTSIDE = declare_note(
    Note(
        "outside",
        "segments with a member's score outside the range of the training data",
        "a score of a member of {metric} is outside the range of the training data, so the score is extrapolated",
        "a score of a member is outside the range of the training data, so the score is extrapolated",
        ExtrapolationWarning,
    )
)


@dataclass(frozen=True, kw_only=True)
class Learned(CompositeMetric):
    """Linear combination of other metrics, with weights learned from human ratings."""

    name: ClassVar[str] = "learned"
    title: ClassVar[str] = "Learned metric"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    leading_option: ClassVar[str] = "fit"
    citation: ClassVar[str] = cite("ma-etal-2017-blend")
    notes: ClassVar[tuple[Note, ...]] = (OUTSIDE,)

    fit: str = option(SHIPPED[0], WeightsChoice(), help="members and weights, learned from human ratings")
    unknown: str = option(
        "error",
        Choice("error", "zero", "score"),
        help="treatment of texts made only of tokens unknown to a model: error, score 0, or score normally",
        optional=True,
    )

    @cached_property
    def table(self) -> LearnedWeights:
        """The weights."""
        return load_weights(self.fit)

    @cached_property
    def base_metrics(self) -> tuple[Metric, ...]:
        """The members."""
        from nlgauge.core.registry import parse_metric  # here, because it imports modules of metrics

        members = tuple(
            recipe.with_options(unknown=self.unknown)
            if self.unknown != "error" and "unknown" in recipe.options()
            else recipe
            for recipe in (parse_metric(member.recipe) for member in self.table.members)
        )
        for member in members:
            if isinstance(member, CompositeMetric):
                msg = f"{member.name} cannot be a member of {self.name}; {self.fit!r} names it"
                raise RecipeError(msg)
        return members

    def resolve_members(self, signatures: Sequence[Signature]) -> Resolved:
        self.table.check(signatures, name=self.fit)
        origin = self.fit if self.fit in SHIPPED else "file"
        return Resolved({"fit": f"{origin}[{short_digest(self.table.digest)}]"}, self.table)

    def combine(self, members: Sequence[NDArray[np.float64]], resolved: Resolved) -> SystemResult:
        parts = self.contributions(members)
        # Added one by one, because numpy's sum over an axis groups its terms by the number of rows.
        total = np.full(len(members[0]), self.table.intercept)
        outside = np.zeros(len(members[0]), dtype=bool)
        for part, values, member in zip(parts, members, self.table.members, strict=True):
            total += part
            outside |= (values < member.low) | (values > member.high)
        noted = tuple(int(number) for number in np.flatnonzero(outside))
        return SystemResult({"score": total}, notes={OUTSIDE.name: noted} if noted else {})

    def contributions(self, members: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """The summand of each member, from their main components; with the intercept, they sum to the score."""
        signs = [1 if recipe.higher_is_better else -1 for recipe in self.base_metrics]
        return [
            member.weight * sign * (values - member.mean) / member.deviation
            for member, sign, values in zip(self.table.members, signs, members, strict=True)
        ]
