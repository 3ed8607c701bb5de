"""DS-Focus: do two texts keep talking about the same things, in the same sense and equally often?

What it computes
----------------

    F_v = sum_(u in N(v)) Z_u                                  over the mentions u of focus v           (equation 1)
    DS-Focus = 1/N sum_(v in Omega) ||F_v^hyp - F_v^ref||       Omega: foci of both, N: of the hypothesis (equation 2)

It is a distance: lower is better. The default profile is `released`, in which equation 2 has the squared distance:

    1. Foci: the lemmas of the text's nouns (tags NOUN and PROPN), in lower case.
    2. A mention of v is a run of characters between blanks that, in lower case, is spelt as v: "minutes" and
       "minute," are no mentions of minute, and a verb spelt like a noun of the text is one.
    3. Z_u is the vector of the mention's last token, scaled to unit length. The tokens of a mention are those whose
       characters overlap its own, special tokens aside; a mention without tokens does not count.
    4. N counts the hypothesis's foci that have a mention. Omega are those that have one in both texts; if there is
       none, the distance is 0.

All three components are computed: `measure` chooses the main one. recall divides the same sum by the reference's
foci that have a mention; f is (P + R) / 2, the paper's DS-Focus* (D6.12). `min_mentions=2` leaves out what a text
mentions once (*DS-Focus of Table 6). `focus=entity` joins nouns whose word vectors have a cosine above `threshold`.
Several references are averaged.

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
puts the texts in lower case before it tags them, as `lowercase=yes` does. Paper and released code disagree (D6.1 to
D6.4); a profile is one consistent set:

    profile    a mention is                       its vector           distance  a focus of one side only
    released   a word spelt as a noun's lemma     last piece, unit     squared   ignored; none common: 0
    paper      a noun, by its lemma               mean of its pieces   norm      ignored; none common: 0
    corrected  a noun, by its lemma               mean, unit           norm      is at the origin there

Under the first two a hypothesis that shares no focus with its reference gets 0, the best possible distance; such
segments are counted, with a warning. `corrected` divides by the number of foci of either side and treats a focus
that one side lacks as a zero vector, so that no overlap is worst. It was chosen after SummEval had been looked at,
and needs data that it was not chosen on.

Differences of `released` to the released code: the attention mask is of ones (D6.3), the text ends with the model's
own end token, a text over the model's limit is cut and counted instead of failing, and tags and sentences come from
another annotator.

Relations
---------

- `focus-frequency` is DS-Focus with an encoder that gives all mentions the same vector. On SummEval it has
  Kendall's tau .51 (average over aspects, systems), DS-Focus .54 with MiniLM and .60 with mpnet: the encoder adds
  .03 to .09.
- On Newsroom, where 37 % of the released scores are zeros for want of a common focus, the distance correlates
  positively with quality. On 2,400 other summaries r is -.036; `corrected` has .194, BERTScore .432. See
  docs/findings.md.
- DS-Sent compares the sentences that foci connect; `discoscore` has both in one result.

Citation
--------

Zhao, Strube, Eger: "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

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
    Mention,
    describe_no_focus,
    find_mentions,
    sums_of_runs,
    threshold_option,
)
from nlgauge.vectors.cloud import ORIGIN, Flow, PointSpans, unit_rows
from nlgauge.vectors.transport import squared_distances

#: What DS-Focus is by the released code, by the paper, and as it may be better.
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


@dataclass(frozen=True, eq=False)
class FocusTable:
    """The foci of a text, a row each."""

    rows: Mapping[Entity, int]
    vectors: NDArray[np.float32]
    """F: sums over the mentions of each focus."""
    mentions: Sequence[Mention]
    focus_of: NDArray[np.intp]
    """The row of each mention."""

    @classmethod
    def of(
        cls,
        mentions: Sequence[Mention],
        vectors: NDArray[np.float32],
        entities: Mapping[str, Entity],
        *,
        least: int,
    ) -> FocusTable:
        """F_v = sum over the mentions of v (equation 1), for what is mentioned at least so often."""
        counts = Counter(entities[mention.lemma] for mention in mentions)
        rows = {entity: row for row, entity in enumerate(key for key, count in counts.items() if count >= least)}
        kept = [place for place, mention in enumerate(mentions) if entities[mention.lemma] in rows]
        focus_of = np.array([rows[entities[mentions[place].lemma]] for place in kept], dtype=np.intp)
        order = np.array(kept, dtype=np.intp)[np.argsort(focus_of, kind="stable")]
        stop = np.cumsum(np.bincount(focus_of, minlength=len(rows)))
        first = np.concatenate([[0], stop[:-1]])[: len(rows)]
        return cls(rows, sums_of_runs(vectors[order], first, stop), [mentions[place] for place in kept], focus_of)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def squared_lengths(self) -> NDArray[np.float64]:
        """Squared distances to the origin."""
        return _squares(self.vectors.astype(np.float64))

    @property
    def labels(self) -> tuple[str, ...]:
        """The foci in words."""
        return tuple(" / ".join(entity) for entity in self.rows)

    @property
    def spans(self) -> tuple[PointSpans, ...]:
        """Where each focus is mentioned."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.rows]
        for row, one in zip(self.focus_of.tolist(), self.mentions, strict=True):
            found[row].append((one.start, one.end))
        return tuple(map(tuple, found))


@dataclass(frozen=True, eq=False)
class FocusPair:
    """The foci of a hypothesis beside those of a reference."""

    x: FocusTable
    y: FocusTable
    squared: bool
    """Whether distances are squared."""
    origin: bool
    """Whether a focus that one side lacks is at the origin there; else it is ignored (D6.4)."""

    @cached_property
    def common(self) -> NDArray[np.intp]:
        """Rows of the foci that both have, in x and in y: an entity matches one of the same nouns only."""
        rows = [(row, self.y.rows[entity]) for entity, row in self.x.rows.items() if entity in self.y.rows]
        return np.array(rows, dtype=np.intp).reshape(-1, 2).T

    def __len__(self) -> int:
        return len(self.common[0])

    @cached_property
    def alone(self) -> list[NDArray[np.intp]]:
        """Rows of the foci that the other side lacks, in x and in y."""
        return [
            np.setdiff1d(np.arange(len(side)), rows) for side, rows in zip((self.x, self.y), self.common, strict=True)
        ]

    def values(self) -> tuple[float, float, float]:
        """P, R and (P + R) / 2 (equation 2, D6.12): the sum over foci divided by how many there are of them.

        Nothing in common gives 0, unless what one side lacks is at the origin: then the sum is divided by the number
        of foci of either side.
        """
        x_rows, y_rows = self.common
        apart = self.x.vectors[x_rows].astype(np.float64) - self.y.vectors[y_rows]
        total = float(self._distances(_squares(apart)).sum())
        if self.origin:
            squares = [side.squared_lengths[rows] for side, rows in zip((self.x, self.y), self.alone, strict=True)]
            lengths = self._distances(np.concatenate(squares))
            count = len(self) + len(lengths)
            value = (total + float(lengths.sum())) / count if count else 0.0
            return value, value, value
        p, r = (total / len(side) if len(self) else 0.0 for side in (self.x, self.y))
        return p, r, (p + r) / 2

    def _distances(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return squares if self.squared else np.sqrt(squares)

    def flow(self) -> Flow | None:
        """What was matched, each focus with an equal share, so that the sum of `flow * cost` is P.

        Where a focus that one side lacks is at the origin there, it moves to a point that stands nowhere in the text.
        None where nothing was matched.
        """
        if not len(self) and not (self.origin and (len(self.x) or len(self.y))):
            return None
        x, y = (np.pad(side.vectors.astype(np.float64), ((0, self.origin), (0, 0))) for side in (self.x, self.y))
        mass, parts = np.zeros((len(x), len(y))), len(self.x)
        mass[tuple(self.common)] = 1
        if self.origin:
            x_alone, y_alone = self.alone
            mass[x_alone, -1] = mass[-1, y_alone] = 1
            parts = len(self) + len(x_alone) + len(y_alone)
        flow = mass / parts
        return Flow(
            reference_index=0,
            hypothesis_tokens=self.x.labels + (ORIGIN,) * self.origin,
            reference_tokens=self.y.labels + (ORIGIN,) * self.origin,
            hypothesis_weight=flow.sum(axis=1),
            reference_weight=flow.sum(axis=0),
            flow=flow,
            cost=self._distances(squared_distances(x, y)),
            hypothesis_spans=self.x.spans + ((),) * self.origin,
            reference_spans=self.y.spans + ((),) * self.origin,
        )


def _squares(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    squares: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors)
    return squares


@dataclass(frozen=True, kw_only=True)
class DSFocus(DiscoMetric[FocusTable]):
    """Distance between what two documents keep talking about: sums of the vectors of each focus's mentions."""

    name: ClassVar[str] = "ds-focus"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f")
    higher_is_better: ClassVar[bool] = False
    notes: ClassVar[tuple[Note, ...]] = (NO_FOCUS,)
    profiles: ClassVar[Mapping[str, Profile]] = FOCUS_PROFILES

    profile: str = profile_option("released", FOCUS_PROFILES)
    threshold: float = threshold_option()
    mentions: str = option(
        BY_PROFILE,
        Choice(*MENTIONS),
        help="what counts as a mention: a noun, by its lemma, or a word spelt as one of the text's lemmas of nouns",
        short="mn",
    )
    subwords: str = option(BY_PROFILE, Choice("last", "average"), help="pieces of a word that are kept", short="sw")
    lengths: str = option(
        BY_PROFILE, Choice("unit", "own"), help="whether the vector of a mention is scaled to length 1", short="vl"
    )
    distance: str = option(
        BY_PROFILE, Choice("norm", "squared"), help="distance between the vectors of a focus", short="di"
    )
    unmatched: str = option(
        BY_PROFILE,
        Choice("ignored", "origin"),
        help="a focus that one side lacks: ignored, or at the origin there",
        short="um",
    )
    min_mentions: int = option(
        1, Int(1), help="mentions in a text from which on a focus counts", short="mm", in_profile=False
    )
    measure: str = option(
        "precision",
        Choice("precision", "recall", "f"),
        help="what stands for the metric",
        short="me",
        in_profile=False,
    )

    def describe_note(self, note: Note) -> str:
        """What is done with foci that have no counterpart."""
        return describe_no_focus(self.unmatched) if note == NO_FOCUS else super().describe_note(note)

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
        pair = FocusPair(x, y, squared=self.distance == "squared", origin=self.unmatched == "origin")
        values = pair.values()  # equation 2
        return Pair([*values, float(len(pair))], pair.flow() if align else None)  # the last one is for `finish`

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """The mean over references; segments that share no focus with any of theirs are noted."""
        finished = {}
        for system, found in comparisons.items():
            alone = tuple(segment for segment, one in enumerate(found) if not one.values[:, 3].any())
            finished[system] = replace(self.joined(found), notes={NO_FOCUS.name: alone})
        return finished
