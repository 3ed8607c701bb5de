"""DS-Focus: do two texts mention the same things, in the same sense and equally often?

What it computes
----------------

    F_v = sum_(u in N(v)) Z_u                                  over the mentions u of focus v           (equation 1)
    DS-Focus = 1/N sum_(v in Omega) ||F_v^hyp - F_v^ref||       Omega: foci of both, N: of the hypothesis (equation 2)

It is a distance: lower is better. The default profile is `released`, in which equation 2 has the squared distance:

    1. Foci (`focus=nn`): the lemmas of the text's nouns (tags NOUN and PROPN), in lower case.
    2. A mention of v is a run of characters between blanks that is spelt like v in lower case. "minutes" and
       "minute," are not mentions of minute; a verb spelt like a noun of the text is.
    3. Z_u is the vector of the mention's last token, scaled to unit length. The tokens of a mention are the tokens,
       other than special ones, that overlap its characters. A mention without tokens does not count.
    4. N is the number of foci of the hypothesis that have a mention. Omega are the foci with a mention in both texts;
       if there are none, the distance is 0.

All three components are computed; `measure` chooses the main one. precision is the distance above. recall divides the
same sum by the number of foci of the reference that have a mention. f is (P + R) / 2, the paper's DS-Focus* (D6.12).
`min_mentions=2` leaves out foci that a text mentions once (*DS-Focus of Table 6). `focus=entity` joins nouns whose
word vectors have a cosine above `threshold`. Several references are averaged.

Worked example
--------------

Both texts have the foci cat and dog. The hypothesis mentions the cat twice: F_cat = (2, 0) there and (1, 0) in the
reference, at a squared distance of 1; the dog is at a distance of 0. With N = 2 that makes (1 + 0) / 2.

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"cat": [1, 0], "dog": [0, 1], "ran": [0.8, 0.6], ".": [1, 1]}
    >>> hyp, ref = "cat:N ran . | cat:N dog:N ran .", "cat:N ran . | dog:N ran ."
    >>> toy_scores("ds-focus", hyp, ref, vectors=vectors, tagged=True)
    {'precision': [0.5], 'recall': [0.5], 'f': [0.5]}

Profiles and deviations
-----------------------

All profiles tag and encode the texts as given, and compare lemmas and spellings in lower case. The released code
converts the texts to lower case before it tags them, as `lowercase=yes` does. Paper and released code disagree (D6.1
to D6.4); a profile is one consistent set:

    profile    a mention is                       its vector           distance  a focus of one side only
    released   a word spelt as a noun's lemma     last piece, unit     squared   ignored; none common: 0
    paper      a noun, by its lemma               mean of its pieces   norm      ignored; none common: 0
    corrected  a noun, by its lemma               mean, unit           norm      compared with a zero vector

Under the first two, a hypothesis that shares no focus with its reference gets 0, the best possible distance; such
segments are counted, with a warning. `corrected` compares a focus of one side only with a zero vector, and divides by
the number of distinct foci of both texts, so no overlap is the worst case. It was chosen after looking at SummEval
and still needs to be tested on other data.

Differences between `released` and the released code: the attention mask is all ones (D6.3), the text ends with the
model's own end token, a text over the model's limit is cut and counted instead of failing, and tags and sentences
come from another annotator.

Relations
---------

- `focus-frequency` is DS-Focus with an encoder that gives all mentions the same vector. On SummEval it has
  Kendall's tau .51 (average over aspects, systems), DS-Focus .54 with MiniLM and .60 with mpnet: the encoder adds
  .03 to .09.
- On Newsroom, 37 % of the released scores are 0 because no focus is shared, and the distance correlates positively
  with quality. On 2,400 other summaries r is -.036; `corrected` has .194, BERTScore .432. See docs/findings.
- DS-Sent compares the sentences that foci connect; `discoscore` has both in one result.

Citation
--------

Zhao, Strube, Eger: "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.kinds import Choice, Int
from nlgauge.core.metric import Comparison, Pair, Profile, SystemResult, profile_option
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.score import Note
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State
from nlgauge.metrics.parts.foci import (
    MENTIONS,
    NO_FOCUS,
    DiscoMetric,
    Entity,
    FocusTable,
    Mention,
    describe_no_focus,
    find_mentions,
    find_token_offsets,
    focus_option,
    layer_option,
    sum_runs,
    threshold_option,
    vectors_option,
)
from nlgauge.vectors.cloud import unit_rows

#: DS-Focus as in the released code, as in the paper, and with its zeros for unmatched foci corrected.
FOCUS_PROFILES = {
    "released": Profile(
        threshold=0.8, mentions="surface", subwords="last", lengths="unit", distance="squared",
        unmatched="ignored",
    ),
    "paper": Profile(
        threshold=0.8, mentions="lemma", subwords="average", lengths="own", distance="norm",
        unmatched="ignored",
    ),
    "corrected": Profile(
        threshold=0.8, mentions="lemma", subwords="average", lengths="unit", distance="norm",
        unmatched="origin",
    ),
}  # fmt: skip


def mention_vectors(
    text: TextView, annotation: Hashable, layer: int, rule: str, subwords: str, lengths: str
) -> tuple[list[Mention], NDArray[np.float32]]:
    """The mentions that have a token, and Z with a row for each of them."""
    mentions, offsets = find_mentions(text.features[annotation], rule), text.once(find_token_offsets)
    first, stop = offsets.spans_of(mentions)
    with_tokens = np.flatnonzero(stop > first)
    first, stop = first[with_tokens], stop[with_tokens]
    tokens = text.layers[layer][offsets.rows]
    if subwords == "last":
        z = tokens[stop - 1]
    else:
        z = sum_runs(tokens, first, stop)
        z /= (stop - first)[:, None].astype(np.float32)
    return [mentions[i] for i in with_tokens.tolist()], unit_rows(z) if lengths == "unit" else z


def sum_mentions(
    mentions: Sequence[Mention], z: NDArray[np.float32], entities: Mapping[str, Entity], *, least: int
) -> FocusTable:
    """F_v = sum_(u in N(v)) Z_u (equation 1), for foci with at least `least` mentions."""
    counts = Counter(entities[u.lemma] for u in mentions)
    rows = {v: row for row, v in enumerate(v for v, count in counts.items() if count >= least)}
    of_foci = [i for i, u in enumerate(mentions) if entities[u.lemma] in rows]
    focus_of = np.array([rows[entities[mentions[i].lemma]] for i in of_foci], dtype=np.intp)
    by_focus = np.array(of_foci, dtype=np.intp)[np.argsort(focus_of, kind="stable")]
    stop = np.cumsum(np.bincount(focus_of, minlength=len(rows)))
    first = np.concatenate([[0], stop[:-1]])[: len(rows)]
    return FocusTable(rows, sum_runs(z[by_focus], first, stop), [mentions[i] for i in of_foci], focus_of)


def compare_foci(x: FocusTable, y: FocusTable, *, squared: bool, origin: bool) -> tuple[float, float, float, int]:
    """P, R and (P + R) / 2 (equation 2, D6.12), and the number of foci in both texts.

    Without a common focus they are 0. With `origin`, a focus of one side only is compared with a zero vector (D6.4),
    and the sum is divided by the number of distinct foci of both texts.
    """
    omega_hyp, omega_ref = x.common(y)
    f_hyp, f_ref = x.vectors[omega_hyp].astype(np.float64), y.vectors[omega_ref]
    total, n = float(_lengths(f_hyp - f_ref, squared).sum()), len(omega_hyp)
    if origin:
        unmatched = np.concatenate([np.delete(x.vectors, omega_hyp, axis=0), np.delete(y.vectors, omega_ref, axis=0)])
        total += float(_lengths(unmatched.astype(np.float64), squared).sum())
        value = total / (n + len(unmatched)) if n + len(unmatched) else 0.0
        return value, value, value, n
    p, r = (total / len(side) if n else 0.0 for side in (x, y))
    return p, r, (p + r) / 2, n


def _lengths(vectors: NDArray[np.float64], squared: bool) -> NDArray[np.float64]:
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors)
    return squares if squared else np.sqrt(squares)


@dataclass(frozen=True, kw_only=True)
class DSFocus(DiscoMetric[FocusTable]):
    """Distance between the foci (nouns or entities) of two documents."""

    name: ClassVar[str] = "ds-focus"
    title: ClassVar[str] = "DS-Focus"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f")
    higher_is_better: ClassVar[bool] = False
    notes: ClassVar[tuple[Note, ...]] = (NO_FOCUS,)
    profiles: ClassVar[Mapping[str, Profile]] = FOCUS_PROFILES

    profile: str = profile_option("released", FOCUS_PROFILES)
    threshold: float = threshold_option()
    mentions: str = option(
        BY_PROFILE,
        Choice(*MENTIONS),
        help="what counts as a mention; lemma: each noun; surface: each word spelt like the lemma of a noun",
    )
    subwords: str = option(
        BY_PROFILE,
        Choice("last", "average"),
        help="word pieces to use: the last of each mention, or the average of all",
    )
    lengths: str = option(BY_PROFILE, Choice("unit", "own"), help="whether to scale mention vectors to length 1")
    distance: str = option(
        BY_PROFILE, Choice("norm", "squared"), help="distance between focus vectors: Euclidean norm or its square"
    )
    unmatched: str = option(
        BY_PROFILE,
        Choice("ignored", "origin"),
        help="treatment of a focus found in only one text; ignored: left out; origin: compared with a zero vector",
    )
    min_mentions: int = option(1, Int(1), help="minimum mentions for a focus to count", in_profile=False)
    measure: str = option(
        "precision",
        Choice("precision", "recall", "f"),
        help="component reported as the score",
        in_profile=False,
    )
    focus: str = focus_option()
    vectors: str = vectors_option()
    annotator: str = AnnotatedTextMetric.same_option("annotator")
    sentences: str = AnnotatedTextMetric.same_option("sentences")
    layer: int | None = layer_option()

    def describe_note(self, note: Note) -> str:
        """Add how foci without a counterpart are treated."""
        return describe_no_focus(self.unmatched) if note == NO_FOCUS else super().describe_note(note)

    @property
    def main(self) -> str:  # type: ignore[override]  # the caller's choice
        """The chosen measure."""
        return self.measure

    def represent(self, text: TextView, state: State) -> FocusTable:
        choices = self.mentions, self.subwords, self.lengths
        mentions, z = text.once(mention_vectors, self.annotation_key(state), state.layers[0], *choices)
        lemmas = tuple(dict.fromkeys(u.lemma for u in mentions))
        entities = self.entities(text, lemmas, self.threshold, state)
        return sum_mentions(mentions, z, entities, least=self.min_mentions)

    def compare(self, x: FocusTable, y: FocusTable, state: State, *, align: bool) -> Pair:
        flags = {"squared": self.distance == "squared", "origin": self.unmatched == "origin"}
        # `finish` needs the number of common foci.
        return Pair([*map(float, compare_foci(x, y, **flags))], x.flow(y, **flags) if align else None)

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """Average over references, and note the segments that share no focus with any of their references."""
        results = {}
        for system, segments in comparisons.items():
            unmatched = tuple(i for i, pairs in enumerate(segments) if not pairs.values[:, 3].any())
            results[system] = replace(self.joined(segments), notes={NO_FOCUS.name: unmatched})
        return results
