"""DiscoScore: DS-Sent and DS-Focus in one result.

What it computes
----------------

    ds_sent     similarity of graphs of sentences, `metrics/ds_sent.py`           higher is better; the main component
    ds_focus    distance between foci, `metrics/ds_focus.py`                      lower is better

The two measures are never added up, neither in the paper nor here.

Worked example
--------------

The example of the two metrics, scored in one call.

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"cat": [1, 0], "dog": [0, 1], "ran": [0.8, 0.6], ".": [1, 1]}
    >>> hyp, ref = "cat:N ran . | cat:N dog:N ran .", "cat:N ran . | dog:N ran ."
    >>> toy_scores("discoscore", hyp, ref, vectors=vectors, tagged=True)
    {'ds_sent': [0.9946], 'ds_focus': [0.5]}

Profiles and deviations
-----------------------

Equations, profiles and options are those of the two metrics, with one encoder. The paper uses a different encoder
for each (D6.13); use the two metrics separately for that. Each measure has its own entity threshold, as in the
released code (D6.5).

Relations
---------

- It contains a `ds-sent` and a `ds-focus`, and gives the same numbers as the two metrics separately.
- That DiscoScore beats BERTScore on coherence was not confirmed on SummEval: DS-Focus leads by .21 with MiniLM
  (p .09) and .12 with mpnet (p .22). See docs/findings.

Citation
--------

Zhao, Strube, Eger: "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

from nlgauge.core.metric import Comparison, Pair, Profile, SystemResult, profile_option
from nlgauge.core.score import Note
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State
from nlgauge.metrics.ds_focus import FOCUS_PROFILES, DSFocus
from nlgauge.metrics.ds_sent import SENT_PROFILES, DSSent, SentenceGraph, unused_by
from nlgauge.metrics.parts.foci import (
    DiscoMetric,
    FocusTable,
    focus_option,
    layer_option,
    threshold_option,
    vectors_option,
)

PROFILES = {
    name: Profile(**(vars(SENT_PROFILES[name]) | vars(focus)), sent_threshold=SENT_PROFILES[name].threshold)
    for name, focus in FOCUS_PROFILES.items()
}

#: Columns of DS-Sent in a comparison; those of DS-Focus follow.
_SENT_COLUMNS = 3


class Document(NamedTuple):
    """A text as both measures represent it."""

    graph: SentenceGraph
    foci: FocusTable


@dataclass(frozen=True, kw_only=True)
class DiscoScore(DiscoMetric[Document]):
    """DS-Sent and DS-Focus in one call; DS-Focus is a distance."""

    name: ClassVar[str] = "discoscore"
    title: ClassVar[str] = "DiscoScore"
    components: ClassVar[tuple[str, ...]] = ("ds_sent", "ds_focus")
    main: ClassVar[str] = "ds_sent"
    notes: ClassVar[tuple[Note, ...]] = (*DSFocus.notes, *DSSent.notes)
    distances: ClassVar[frozenset[str]] = frozenset({"ds_focus"})
    profiles: ClassVar[Mapping[str, Profile]] = PROFILES

    profile: str = profile_option("released", PROFILES)
    threshold: float = threshold_option()
    sent_threshold: float = threshold_option(of=", in the graph of sentences")
    adjacency: str = DSSent.same_option("adjacency")
    match: str = DSSent.same_option("match")
    statistics: str = DSSent.same_option("statistics")
    start_token: str = DSSent.same_option("start_token")
    sentence_lengths: str = DSSent.same_option("sentence_lengths")
    single_reference: str = DSSent.same_option("single_reference")
    mentions: str = DSFocus.same_option("mentions")
    subwords: str = DSFocus.same_option("subwords")
    lengths: str = DSFocus.same_option("lengths")
    distance: str = DSFocus.same_option("distance")
    unmatched: str = DSFocus.same_option("unmatched")
    min_mentions: int = DSFocus.same_option("min_mentions")
    measure: str = DSFocus.same_option("measure")
    focus: str = focus_option()
    vectors: str = vectors_option()
    annotator: str = DSFocus.same_option("annotator")
    sentences: str = DSFocus.same_option("sentences")
    layer: int | None = layer_option()

    @property
    def unused(self) -> Mapping[str, str]:
        """As in DS-Sent and DS-Focus."""
        return dict(super().unused) | unused_by(self.match)

    @cached_property
    def sent(self) -> DSSent:
        """The recipe of the first component."""
        options = {name: value for name, value in self.given.items() if name != "threshold"}
        if "sent_threshold" in options:
            options["threshold"] = options["sent_threshold"]
        return DSSent(**{name: value for name, value in options.items() if name in DSSent.options()})

    @cached_property
    def foci(self) -> DSFocus:
        """The recipe of the second component."""
        return DSFocus(**{name: value for name, value in self.given.items() if name in DSFocus.options()})

    def describe_note(self, note: Note) -> str:
        """As in DS-Focus."""
        return self.foci.describe_note(note)

    def represent(self, text: TextView, state: State) -> Document:
        return Document(self.sent.represent(text, state), self.foci.represent(text, state))

    def compare(self, x: Document, y: Document, state: State, *, align: bool) -> Pair:
        sent = self.sent.compare(x.graph, y.graph, state, align=False)
        foci = self.foci.compare(x.foci, y.foci, state, align=align)
        return Pair([*sent.values, *foci.values], foci.alignment)

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """Finish each measure separately; the best reference is that of the main one."""
        sent = self.sent.finish(_select_columns(comparisons, slice(None, _SENT_COLUMNS)), state)
        foci = self.foci.finish(_select_columns(comparisons, slice(_SENT_COLUMNS, None)), state)
        return {
            system: replace(
                result,
                segments={
                    "ds_sent": result.segments[self.sent.main],
                    "ds_focus": foci[system].segments[self.foci.main],
                },
                notes={**foci[system].notes, **result.notes},
            )
            for system, result in sent.items()
        }


def _select_columns(comparisons: Mapping[str, Sequence[Comparison]], columns: slice) -> dict[str, list[Comparison]]:
    return {
        system: [replace(pairs, values=pairs.values[:, columns]) for pairs in segments]
        for system, segments in comparisons.items()
    }
