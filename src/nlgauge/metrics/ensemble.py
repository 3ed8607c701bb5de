"""Ensembles: average of the standardised scores of several metrics.

What it computes
----------------

    score(x, y) = mean over members m of  s_m (m(x, y) - mean_m) / deviation_m

mean_m and deviation_m are frozen (`norms`), so the score of a pair does not depend on other pairs. s_m is -1 for a
distance and 1 for any other member, so higher is better. Norms come from a file made by `nlgauge build norms`, or
from the shipped table: metrics without options, with the models minilm, mpnet and muse, on the rows of
`wmt17-testset` (docs/ensembles.md).

Worked example
--------------

"the cat sat on the mat" has BLEU 37.99 and chrF 61.09 against "the cat lay on the mat". By the shipped norms these
are .88 and .60 deviations above the mean.

    >>> z = (37.9918 - 23.0981) / 16.9576, (61.0887 - 51.9974) / 15.1170
    >>> round(sum(z) / 2, 4)
    0.7398
    >>> import nlgauge
    >>> score = nlgauge.score(["the cat sat on the mat"], ["the cat lay on the mat"], "ensemble:members=bleu+chrf")
    >>> score.segments["score"].round(4).tolist()
    [0.7398]

Profiles and deviations
-----------------------

There are no profiles. The published code standardises over the scored file (D15), so its scores depend on the other
pairs.

Relations
---------

- It contains its members and adds only their norms.
- An ensemble is not automatically better than its best member: the mean of the best pair of metrics with minilm and
  mpnet has .722 on WMT17 (segment-level Pearson), BERTScore with mpnet alone .738. See docs/findings.

Citation
--------

Section 6.2 of Kaster, Zhao, Eger: "Global Explainability of BERT-Based Evaluation Metrics by Disentangling along
Linguistic Factors", EMNLP 2021.
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
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.scales import SHIPPED, NormsChoice, load_norms


@dataclass(frozen=True, kw_only=True)
class Ensemble(CompositeMetric):
    """Average of the standardised scores of other metrics."""

    name: ClassVar[str] = "ensemble"
    title: ClassVar[str] = "Ensemble"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    citation: ClassVar[str] = cite("kaster-etal-2021-global")

    norms: str = option(SHIPPED, NormsChoice(), help="means and standard deviations used to standardise the members")

    def check(self) -> None:
        super().check()
        for member in self.base_metrics:
            if member.whole_corpus:
                reason, fix = member.describe_dependence()
                msg = f"{reason}, so frozen norms do not apply to it; {fix}"
                raise RecipeError(msg)

    def resolve_members(self, signatures: Sequence[Signature]) -> Resolved:
        table = load_norms(self.norms)
        norms = tuple(table.find(signature, name=self.norms) for signature in signatures)
        origin = self.norms if self.norms == SHIPPED else "file"
        return Resolved({"norms": f"{origin}[{short_digest(table.only(norms).digest)}]"}, norms)

    def combine(self, members: Sequence[NDArray[np.float64]], resolved: Resolved) -> SystemResult:
        s = [1 if recipe.higher_is_better else -1 for recipe in self.base_metrics]
        norms = resolved.content
        z = [s_m * (m - n_m.mean) / n_m.deviation for s_m, m, n_m in zip(s, members, norms, strict=True)]
        # Added one by one, because numpy's mean over an axis groups its sums by the number of rows.
        total = z[0].copy()
        for values in z[1:]:
            total += values
        return SystemResult({"score": total / len(z)})
