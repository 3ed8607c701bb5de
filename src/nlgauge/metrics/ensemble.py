"""Ensembles: the average of standardised scores (Kaster, Zhao and Eger 2021, section 6.2; D15).

    score(x, y) = mean over members m of  s_m (m(x, y) - mean_m) / deviation_m

mean_m and deviation_m are frozen (`norms`), so that the score of a pair does not depend on the pairs beside it. s_m
is -1 for a member whose lower scores are better, and 1 for the others: a distance enters negated, so that higher is
better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.composite import CompositeMetric, Resolved
from nlgauge.core.metric import SystemResult
from nlgauge.core.options import option
from nlgauge.core.signature import Signature
from nlgauge.errors import RecipeError
from nlgauge.io.storage import short_digest
from nlgauge.metrics.parts.citations import cite
from nlgauge.metrics.parts.norms import SHIPPED, MemberNorms, NormsChoice, load_norms


@dataclass(frozen=True, kw_only=True)
class Ensemble(CompositeMetric):
    """Average of the standardised scores of other metrics."""

    name: ClassVar[str] = "ensemble"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    citation: ClassVar[str] = cite("kaster-etal-2021-global")

    norms: str = option(
        SHIPPED, NormsChoice(), help="means and deviations that members are standardised by", short="nm"
    )

    def check(self) -> None:
        super().check()
        for member in self.recipes:
            if member.whole_corpus:
                msg = (
                    f"{member.name} scales its scores over the corpus at hand, so that no frozen mean fits it; "
                    f"freeze it first: {member.name}(bounds=bounds.json), made by 'nlgauge build bounds'"
                )
                raise RecipeError(msg)

    def resolve_members(self, signatures: Sequence[Signature]) -> Resolved:
        table = load_norms(self.norms)
        found = tuple(table.find(signature, name=self.norms) for signature in signatures)
        origin = self.norms if self.norms == SHIPPED else "file"
        return Resolved({"norms": f"{origin}[{short_digest(table.only(found).digest)}]"}, found)

    def combine(self, members: Sequence[NDArray[np.float64]], resolved: Resolved) -> SystemResult:
        norms: Sequence[MemberNorms] = resolved.content
        scaled = [
            one.standardised(values, higher_is_better=recipe.higher_is_better)
            for one, values, recipe in zip(norms, members, self.recipes, strict=True)
        ]
        # Added one by one: a mean over an axis groups its sums by the number of rows.
        total = scaled[0].copy()
        for values in scaled[1:]:
            total += values
        return SystemResult({"score": total / len(scaled)})
