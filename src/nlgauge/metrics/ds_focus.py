"""DS-Focus (Zhao, Strube, Eger, "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL
2023): do two texts keep talking about the same things, in the same sense and as often?

    F_v = sum_(u in N(v)) Z_u                                  over the mentions u of focus v           (equation 1)
    DS-Focus = 1/N sum_(v in Omega) ||F_v^hyp - F_v^ref||       Omega: foci of both, N: of the hypothesis (equation 2)

It is a distance: lower is better. All profiles tag and encode the texts as given, and compare lemmas and spellings in
lower case. The released code puts the texts in lower case before it tags them, as `lowercase=yes` does. Paper and
released code disagree (D6.1 to D6.4); a profile names one consistent set:

    profile    a mention is                       its vector           distance  a focus of one side only
    released   a word spelt as a noun's lemma     last piece, unit     squared   ignored; none common: 0
    paper      a noun, by its lemma               mean of its pieces   norm      ignored; none common: 0
    corrected  a noun, by its lemma               mean, unit           norm      is at the origin there

Under the first two a hypothesis that shares no focus with its reference gets 0, the best distance there is; such
segments are counted and warned of. On Newsroom, where 37 % of the released scores are such zeros, the distance
correlates positively with quality. `corrected` divides by the number of foci of either side and lets a focus that
one side lacks be a zero vector, so that no overlap is worst. It is a candidate and not a result: it was chosen after
SummEval had been looked at, and waits for data that it was not chosen on.

`measure=recall` divides by the foci of the reference, `measure=f` is (P + R) / 2, the paper's DS-Focus* (D6.12).
`min_mentions=2` leaves out what a text mentions once (the *DS-Focus of Table 6).

Where `released` differs from the released code on purpose: the attention mask is of ones (D6.3), the text ends with
the model's own end token, a text over the model's limit is cut and counted instead of failing, and tags and sentences
come from another annotator. Several references are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.metric import Comparison, Pair, SystemResult
from nlgauge.core.profiles import Profile, profile_option
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State
from nlgauge.metrics.parts.disco_options import FOCUS_PROFILES, FocusOptions, threshold_option
from nlgauge.metrics.parts.foci import FocusPair, FocusTable, Mention, find_mentions, sums_of_runs
from nlgauge.vectors.cloud import unit_rows


@dataclass(frozen=True, kw_only=True)
class DSFocus(FocusOptions[FocusTable]):
    """Distance between what two documents keep talking about: sums of the vectors of each focus's mentions."""

    name: ClassVar[str] = "ds-focus"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f")
    higher_is_better: ClassVar[bool] = False
    profiles: ClassVar[Mapping[str, Profile]] = FOCUS_PROFILES

    profile: str = profile_option("released", FOCUS_PROFILES)
    threshold: float = threshold_option()

    @property
    def main(self) -> str:  # type: ignore[override]  # the caller's choice
        """The measure that was chosen."""
        return self.measure

    def represent(self, text: TextView, state: State) -> FocusTable:
        mentions, vectors = text.encoded.derived(
            ("mentions", self.annotation_key(state), state.layers, self.mentions, self.subwords, self.lengths),
            lambda: self._vectors(text, find_mentions(self.annotated(text, state), self.mentions), state),
        )
        lemmas = tuple(dict.fromkeys(one.lemma for one in mentions))
        entities = self.entities(text, lemmas, self.threshold, state)
        return FocusTable.of(mentions, vectors, entities, least=self.min_mentions)

    def _vectors(
        self, text: TextView, mentions: Sequence[Mention], state: State
    ) -> tuple[list[Mention], NDArray[np.float32]]:
        """The mentions that have a token, and Z: a row each."""
        places = self.places(text)
        first, stop = places.of_mentions(mentions)
        kept = np.flatnonzero(stop > first)
        first, stop = first[kept], stop[kept]
        tokens = text.layers[state.layers[0]][places.rows]
        if self.subwords == "last":
            vectors = tokens[stop - 1]
        else:
            vectors = sums_of_runs(tokens, first, stop)
            vectors /= (stop - first)[:, None].astype(np.float32)
        return [mentions[at] for at in kept.tolist()], unit_rows(vectors) if self.lengths == "unit" else vectors

    def compare(self, x: FocusTable, y: FocusTable, state: State, *, align: bool) -> Pair:
        pair = FocusPair.of(x, y, squared=self.distance == "squared")
        values = pair.values(unmatched=self.unmatched)  # equation 2
        flow = pair.flow(unmatched=self.unmatched) if align else None
        return Pair([*values, float(len(pair))], flow)  # the last one is for `finish`

    def noted_pairs(self, values: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
        """Texts that share no focus."""
        return {"no_focus": values[:, 3] == 0}

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """The mean over references; segments that share no focus with any of theirs are noted."""
        finished = {}
        for system, found in comparisons.items():
            alone = (at for at, one in enumerate(found) if self.noted_pairs(one.values)["no_focus"].all())
            finished[system] = replace(self.joined(found), no_focus=tuple(alone))
        return finished
