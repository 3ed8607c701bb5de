"""DS-Sent: are the sentences of two texts connected in the same way?

What it computes
----------------

    A_ij = 1/(j-i)  or  a/(j-i)          for sentences i < j that share a focus, or a foci; else 0   (-U, -W)
    S^ = (A + I) S                       S: a vector per sentence, the mean of its tokens
    G  = mean, max, min, sum over the rows of S^, concatenated
    DS-Sent = cos(G^hyp, G^ref)                                                                     (equation 3)

It is a similarity. The default is profile `released` with `adjacency=unweighted` (-U).

- Foci: a focus is a noun (`focus=nn`: tags NOUN and PROPN), by its lemma in lower case. Two sentences share it if
  both contain a noun with that lemma. `focus=entity` joins nouns whose word vectors have a cosine above `threshold`.
- Graph: A is upper triangular, so a sentence receives from later sentences only. j - i counts all sentences of the
  text. `adjacency=none` leaves the graph out (Table 3).
- Sentences: a token belongs to the sentence around it, [CLS] to the first one, the end token to none. The rows of S^
  are scaled to unit length before G is computed.
- If the reference has one sentence, the score is the mean cosine of the hypothesis's rows of S^ with that row, and
  the reference has weight 2 in the mean over references. A text without tokens scores 0.
- `match=greedy` and `match=optimal` align the rows of S^ instead of computing statistics (Table 4): the F of greedy
  matching as in BERTScore, and 1 - min_T sum T_ij (1 - cos(x_i, y_j)) with equal weights.

Worked example
--------------

The sentences of the hypothesis share the cat, so A_12 = 1; those of the reference share nothing.

    >>> import numpy as np
    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"cat": [1, 0], "dog": [0, 1], "ran": [0.8, 0.6], ".": [1, 1]}
    >>> def graph(s_hat):
    ...     rows = s_hat / np.linalg.norm(s_hat, axis=1, keepdims=True)
    ...     g = np.concatenate([rows.mean(axis=0), rows.max(axis=0), rows.min(axis=0), rows.sum(axis=0)])
    ...     return g / np.linalg.norm(g)
    >>> cat_ran, cat_dog_ran, dog_ran = np.array([2.8, 1.6]) / 3, np.array([2.8, 2.6]) / 4, np.array([1.8, 2.6]) / 3
    >>> hyp = np.array([cat_ran + cat_dog_ran, cat_dog_ran])  # (A + I) S
    >>> round(float(graph(hyp) @ graph(np.array([cat_ran, dog_ran]))), 4)
    0.9946
    >>> hyp, ref = "cat:N ran . | cat:N dog:N ran .", "cat:N ran . | dog:N ran ."
    >>> toy_scores("ds-sent", hyp, ref, vectors=vectors, tagged=True)
    {'score': [0.9946]}

Profiles and deviations
-----------------------

All profiles tag and encode the texts as given; the released code converts them to lower case first, as
`lowercase=yes` does. Paper and released code disagree (D6.5 to D6.7); a profile is one consistent set:

    profile    rows of S^   [CLS]          a reference of one sentence          entities: cosine above
    released   unit length  in sentence 1  mean of cosines, counted twice       .5
    paper      unscaled     left out       a graph like any other               .8
    corrected  unscaled     left out       a graph like any other               .8

For DS-Sent, `corrected` is what the paper describes. `released` differs from the released code as it does for
DS-Focus (`metrics/ds_focus.py`). The end token of a text belongs to no sentence. A sentence without tokens (all of
them over the model's limit) has no row.

Relations
---------

- Without the graph it compares statistics of sentence vectors. On SummEval (Kendall's tau with coherence, systems)
  the graph adds .09 with MiniLM (p .22) and .18 with mpnet (p .02), and it hurts at summary level (.133 with, .175
  without).
- It is not significantly ahead of BERTScore on coherence (by .09 with MiniLM, p .30, and by .03 with mpnet, p .46).
- Sentence splitting has an effect of that size: .39 with sentences by rules, .51 with spaCy's parser. See
  docs/findings.
- DS-Focus compares the foci themselves; `discoscore` has both in one result.

Citation
--------

Zhao, Strube, Eger: "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.kinds import Choice, NameList
from nlgauge.core.metric import Comparison, Pair, Profile, SystemResult, profile_option
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.score import Note
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State
from nlgauge.metrics.parts.foci import (
    NO_TIES,
    DiscoMetric,
    adjacency,
    find_token_offsets,
    focus_option,
    focus_sentences,
    layer_option,
    noun_sentences,
    sum_runs,
    threshold_option,
    vectors_option,
)
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.greedy import greedy_match
from nlgauge.vectors.transport import exact_transport

#: DS-Sent as in the released code and as in the paper. The paper's threshold is the one for summaries; for
#: translation it is 0.5 (D6.5).
SENT_PROFILES = {
    "released": Profile(
        threshold=0.5, start_token="first-sentence", sentence_lengths="unit", single_reference="twice"
    ),
    "paper": Profile(threshold=0.8, start_token="left-out", sentence_lengths="own", single_reference="graph"),
    "corrected": Profile(threshold=0.8, start_token="left-out", sentence_lengths="own", single_reference="graph"),
}


def unused_by(match: str) -> dict[str, str]:
    """Options that apply to statistics only, if sentences are aligned instead."""
    if match == "statistics":
        return {}
    reason = f"has no effect with match={match} (only with match=statistics)"
    return dict.fromkeys(("statistics", "single_reference", "sentence_lengths"), reason)


def sentence_vectors(
    text: TextView, annotation: Hashable, layer: int, start_token: str
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Numbers of the sentences that have a token, and S: the means of their token vectors."""
    offsets = text.once(find_token_offsets)
    sentence_of, rows = offsets.sentences_in(text.features[annotation]), offsets.rows
    if start_token == "first-sentence" and len(rows) and rows[0] > 0 and text.tokens.is_special[0]:
        sentence_of, rows = np.r_[0, sentence_of], np.r_[0, rows]
    numbers, first, sizes = np.unique(sentence_of, return_index=True, return_counts=True)
    sums = sum_runs(text.layers[layer][rows], first, first + sizes)
    return numbers, sums.astype(np.float64) / sizes[:, None]


@dataclass(frozen=True, eq=False)
class SentenceGraph:
    """The sentence vectors of a text after the graph was applied."""

    unit: NDArray[np.float64]
    """The rows of S^, scaled to length 1."""
    vector: NDArray[np.float64]
    """G, scaled to length 1."""
    tied: bool = True
    """Whether two sentences share a focus; always True without a graph."""

    def __len__(self) -> int:
        return len(self.unit)


@dataclass(frozen=True, kw_only=True)
class DSSent(DiscoMetric[SentenceGraph]):
    """Similarity of two documents as graphs of sentences linked by shared nouns or entities."""

    name: ClassVar[str] = "ds-sent"
    title: ClassVar[str] = "DS-Sent"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    notes: ClassVar[tuple[Note, ...]] = (NO_TIES,)
    profiles: ClassVar[Mapping[str, Profile]] = SENT_PROFILES

    profile: str = profile_option("released", SENT_PROFILES)
    threshold: float = threshold_option()
    adjacency: str = option(
        "unweighted",
        Choice("unweighted", "weighted", "none"),
        help="sentence graph; unweighted: DS-Sent-U; weighted by shared foci: DS-Sent-W; none: no graph",
        in_profile=False,
    )
    match: str = option(
        "statistics",
        Choice("statistics", "greedy", "optimal"),
        help="how to compare the sentences: by statistics of each text, by greedy or by optimal alignment",
        in_profile=False,
    )
    statistics: str = option(
        "mean+max+min+sum",
        NameList("mean", "max", "min", "sum"),
        help="statistics taken over the sentences of a text",
        in_profile=False,
    )
    start_token: str = option(
        BY_PROFILE,
        Choice("first-sentence", "left-out"),
        help="whether the start token ([CLS]) belongs to the first sentence",
    )
    sentence_lengths: str = option(
        BY_PROFILE, Choice("unit", "own"), help="whether to scale sentence vectors to length 1"
    )
    single_reference: str = option(
        BY_PROFILE,
        Choice("twice", "graph"),
        help="one-sentence reference; twice: mean cosine with it, counted twice; graph: like any other",
    )
    focus: str = focus_option()
    vectors: str = vectors_option()
    annotator: str = AnnotatedTextMetric.same_option("annotator")
    sentences: str = AnnotatedTextMetric.same_option("sentences")
    layer: int | None = layer_option()

    @property
    def unused(self) -> Mapping[str, str]:
        """Some options apply only if graphs are compared by statistics."""
        return dict(super().unused) | unused_by(self.match)

    def represent(self, text: TextView, state: State) -> SentenceGraph:
        annotation = self.annotation_key(state)
        numbers, s = text.once(sentence_vectors, annotation, state.layers[0], self.start_token)
        s_hat, tied = s, self.adjacency == "none"
        if self.adjacency != "none" and len(numbers) > 1:
            nouns = noun_sentences(text.features[annotation])
            foci = focus_sentences(nouns, self.entities(text, tuple(nouns), self.threshold, state))
            a = adjacency(foci, len(text.features[annotation].sentences), weighted=self.adjacency == "weighted")
            a = a[np.ix_(numbers, numbers)]
            s_hat, tied = s + a @ s, bool(a.any())  # S^ = (A + I) S
        unit = unit_rows(s_hat, pairwise=True)
        rows = unit if self.sentence_lengths == "unit" else s_hat
        names = self.statistics.split("+")  # numpy functions of the same names
        g = [getattr(np, name)(rows, axis=0) for name in names] if len(rows) else [np.zeros(s.shape[1])]
        return SentenceGraph(unit, unit_rows(np.concatenate(g)[None], pairwise=True)[0], tied)

    def compare(self, x: SentenceGraph, y: SentenceGraph, state: State, *, align: bool) -> Pair:
        value, weight = self._similarity(x, y)
        return Pair([value, weight, float(x.tied and y.tied)])  # `finish` needs the last two

    def _similarity(self, x: SentenceGraph, y: SentenceGraph) -> tuple[float, float]:
        """The similarity of two graphs, and the weight of the reference."""
        if not len(x) or not len(y):
            return 0.0, 1.0
        if self.match == "statistics":
            if self.single_reference == "twice" and len(y) == 1:  # D6.7
                return float((x.unit @ y.unit[0]).mean()), 2.0
            return float(x.vector @ y.vector), 1.0  # equation 3
        cosines = x.unit @ y.unit.T
        weights = np.ones(len(x)), np.ones(len(y))
        if self.match == "greedy":
            return float(greedy_match(cosines.astype(np.float32), *weights).f1), 1.0
        return 1 - exact_transport(*weights, np.maximum(1 - cosines, 0.0)).cost, 1.0

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """Average over references, by their weights."""
        results = {}
        for system, segments in comparisons.items():
            means = [np.average(pairs.values[:, 0], weights=pairs.values[:, 1]) for pairs in segments]
            notes = {NO_TIES.name: tuple(i for i, pairs in enumerate(segments) if not pairs.values[:, 2].all())}
            results[system] = replace(self.joined(segments), segments={"score": np.array(means)}, notes=notes)
        return results
