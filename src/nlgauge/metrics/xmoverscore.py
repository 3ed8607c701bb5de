"""XMoverScore (Zhao et al., "On the Limitations of Cross-lingual Encoders as Exposed by Reference-Free Machine
Translation Evaluation", ACL 2020): MoverScore between a source and its translation, and how fluent that is.

    word       m(x, y) = WMD(x^n, y^n),  C_ij = ||E(x_i^n) - E(y_j^n)||      (section 3; n-grams as in MoverScore)
    sentence   m(x, y) = 1 - cos(E(x), E(y))
    score      similarity(m) + 0.1 LM(y)                                      (0 without a language model)

The vectors of the source are re-mapped to the target's language before (`transforms`: CLP, UMD; `nlgauge align fit`).
Paper and code disagree (D8.1 to D8.10), and so do the two versions of the code. A profile names one of them:

    profile  layer       n  tokens                   weights  cost       score        LM(y)
    paper    last        1  all                      idf      Euclidean  -cost        mean log-likelihood
    2020     last        2  first pieces, no ASCII   uniform  squared    1 - cost     mean log-likelihood
                            punctuation
    head     two thirds  2  all                      uniform  Euclidean  1/(1+cost)   exp(log-likelihood / tokens)
             (8 of 12)                                        trimmed .3

`2020` is nearest to the published tables. The paper defines a distance and uses it as a similarity (D8.14): its sign
is turned here. Trimming drops the smallest masses of the flow, which the code calls dropout although nothing in it is
random (D8.5); of several optimal flows it does not treat all alike, so a trimmed score belongs to the version of the
solver, and is exempt from what nlgauge promises of others. Re-mapping works on the source; UMD on both sides where it
was fitted so (D8.7). Moses detokenisation and truecasing of the translation are the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from nlgauge.corpus.views import TextView
from nlgauge.metrics.parts.fluency import fluency
from nlgauge.metrics.parts.ngram_options import SCORES, NGramProfile
from nlgauge.metrics.parts.sentence_similarity import sentence_vector
from nlgauge.metrics.parts.transport_metric import Alone, Problem
from nlgauge.metrics.parts.xmover_options import PROFILES, XMoverOptions
from nlgauge.recipes.results import Pair
from nlgauge.recipes.vector_metric import State
from nlgauge.transport import trim_flow

__all__ = ["XMoverScore"]


class Translation(NamedTuple):
    """A text: its n-grams (None: nothing is left), or its one vector; and its fluency if it is a hypothesis."""

    meaning: Any
    fluency: float
    zero_weight: bool = False


@dataclass(frozen=True, kw_only=True)
class XMoverScore(XMoverOptions):
    """Transport of n-grams, or sentence vectors, and the fluency of a language model; against the source."""

    name: ClassVar[str] = "xmoverscore"
    profiles: ClassVar[Mapping[str, NGramProfile]] = PROFILES
    citation: ClassVar[str] = """\
@inproceedings{zhao-etal-2020-limitations,
  title     = {On the Limitations of Cross-lingual Encoders as Exposed by Reference-Free
               Machine Translation Evaluation},
  author    = {Zhao, Wei and Glava{\\v{s}}, Goran and Peyrard, Maxime and Gao, Yang and West, Robert and
               Eger, Steffen},
  booktitle = {Proceedings of ACL},
  year      = {2020},
  url       = {https://aclanthology.org/2020.acl-main.151}
}"""

    @property
    def components(self) -> tuple[str, ...]:  # type: ignore[override]  # by what was asked for
        """The parts of the score too, where it has two."""
        return ("score",) if self.lm == "none" else ("score", "similarity", "fluency")

    def represent(self, text: TextView, state: State) -> Translation:  # type: ignore[override]  # more than a cloud
        fluent = fluency(text, state["lm"], length_normalised_twice=self.length_normalised_twice)
        if self.unit == "sentence":
            return Translation(sentence_vector(text, state["sentence"], state.transforms), fluent)
        cloud = super().represent(text, state)
        left_out = cloud is None and not text.tokens.empty
        return Translation(cloud, fluent, left_out or (cloud is not None and cloud.zero_weight))

    def compare(self, x: Any, y: Any, state: State, *, align: bool) -> Pair:
        if self.unit == "sentence":
            moved = Pair([float(x.meaning @ y.meaning)])  # 1 - m(x, y) = cos(E(x), E(y))
        else:
            moved = super().compare(x.meaning, y.meaning, state, align=align)
        similarity = moved.values[0]
        if self.lm == "none":
            return moved
        # section 3: score = similarity(m) + 0.1 LM(y), where y is the translation
        return moved._replace(values=(similarity + self.lm_weight * x.fluency, similarity, x.fluency))

    def value(self, problem: Problem | Alone) -> Pair:
        if self.trim and isinstance(problem, Problem):
            trimmed = trim_flow(problem.plan.flow, problem.costs, share=self.trim)  # D8.5
            return Pair([SCORES[self.published.score](trimmed.cost)])
        return super().value(problem)
