"""SentSim: similarity of sentence vectors, combined with how well the words match.

What it computes
----------------

    sss         cosine of two sentence vectors                                              similarity
    bertscore   F of greedy matching of token vectors, without idf (recall: Eq. 5)          similarity
    wmd         min_T sum T_ij ||x_i - y_j||, tokens weigh the same (Eq. 1 to 4)              distance
    wmdo        wmd - 0.2 (1/2 - chunks / matches): wmd, and whether the order is kept       distance
    smd         ||mean x - mean y|| (Eq. 9)                                                  distance

    SentSim(A, B, ...) = w_1 e^A + w_2 e^B + ...     each scaled to 0 ... 1, a distance as 1 - B    (Eq. 7)

The default combines sss and wmd, against the source, with exact transport. Weights are equal and sum to 1. A part A
is scaled to (A - min) / (max - min) by its lowest and highest value in the run, over all systems, as published;
`bounds=FILE` freezes these (`nlgauge build bounds`). The parts are reported before scaling.

Sentence vectors have unit length. wmd, wmdo and smd use the unscaled vectors of one layer, without special tokens.
All word pieces are kept, including whitespace marks on their own. bertscore scales the vectors to unit length. With
several references, each part is averaged over them. A chunk of wmdo is a maximal run of matches that are adjacent in
both texts.

Worked example
--------------

Two pairs, scored with bertscore and wmd. The lowest value of each part is scaled to 0 and the highest to 1, so the
first pair gets e^1/2 + e^(1-0)/2 and the second e^0/2 + e^(1-1)/2.

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1], "the": [0.8, 0.6]}
    >>> toy_scores("sentsim:combine=bertscore+wmd", ["a cat", "a dog"], ["the cat", "the cat"], vectors=vectors)
    {'sentsim': [2.7183, 1.0], 'bertscore': [0.9383, 0.8], 'wmd': [0.3162, 0.6325]}

Profiles and deviations
-----------------------

There are no profiles. In the first release a distance entered as e^-B (D23): `distance_as=negative`. The released
code sums the parts where the paper averages them, which correlates the same, and takes F where the paper prints the
recall (`measure=recall`). The released WMDo takes its matches from METEOR (equal words and stems:
`wmdo_matches=meteor,wmdo_synonyms=none`). The default is the flow, which works across languages.

Relations
---------

- The parts `bertscore`, `wmd` and `smd` are the metrics BERTScore, MoverScore (Euclidean, one layer) and SMD
  without idf.
- The sentence part alone (`combine=sss`) is about as good or better: on WMT17 de-en it has .323 and SentSim .329; on
  the three other pairs and on MLQE-PE it is ahead of the sum. The high published figures came from a wrong column.
  See docs/findings.
- XMoverScore also compares a translation with its source, by transport and a language model.

Citation
--------

Song, Zhao, Specia: "SentSim: Crosslingual Semantic Evaluation of Machine Translation", NAACL 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Int, NameList, NumberList
from nlgauge.core.metric import Comparison, Pair, SystemResult
from nlgauge.core.options import option
from nlgauge.core.resources import SentenceModelName, encode_sentences, sentence_vector
from nlgauge.core.tokens import Selection, TextView
from nlgauge.core.vector_metric import State, VectorMetric, WindowTexts, resolve_layer
from nlgauge.encoders.base import Encoder
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.scales import Bounds, BoundsChoice
from nlgauge.metrics.parts.transport import Problem, solver_option
from nlgauge.metrics.parts.word_matches import chunks, matches_option, stemmer_version, synonyms_option, word_links
from nlgauge.vectors.cloud import Cloud
from nlgauge.vectors.greedy import greedy_values

GAMMA = 0.2


def flow_links(flow: NDArray[np.float64]) -> tuple[tuple[int, int], ...]:
    """Link each row to the column that gets most of its mass (the first of equals), except rows without mass."""
    nearest = flow.argmax(axis=1).tolist()
    return tuple((row, column) for row, column in enumerate(nearest) if flow[row, column] > 0)


def wmdo(distance: float, links: Sequence[tuple[int, int]]) -> float:
    """WMDo (Chow et al. 2019): the distance plus a term for word order, from -gamma/2 to gamma/2; can be below 0.

    Equal order makes a single chunk, a scrambled text one per word. As in SentSim's code, a pair without a match is
    rewarded as if its order were better than perfect.

    >>> wmdo(0.0, [(0, 0), (1, 1), (2, 2), (3, 3)])
    -0.05
    """
    fragments = chunks(links) / len(links) if links else 0.0
    return distance + -GAMMA * (0.5 - fragments)


class TextParts(NamedTuple):
    """The representations of a text that the parts compare; None for those that no part of the recipe uses."""

    sentence: NDArray[np.float32] | None
    """A unit vector; the zero vector for an empty text."""
    units: Cloud | None
    """Unit vectors of tokens; special tokens can be matched but have weight 0. Also None for an empty text."""
    words: Cloud | None
    """Vectors of tokens other than special ones, with equal weights."""


PARTS = ("sss", "bertscore", "wmd", "wmdo", "smd")

#: Values of greedy matching, in their order.
MEASURES = ("precision", "recall", "f1")

#: Parts that are distances: lower is better.
DISTANCES = frozenset({"wmd", "wmdo", "smd"})


@dataclass(frozen=True, kw_only=True)
class SentSim(VectorMetric[TextParts]):
    """Similarity of sentence vectors combined with the similarity of token vectors, against the source.

    >>> SentSim(combine="sss+bertscore").components
    ('sentsim', 'sss', 'bertscore')
    """

    name: ClassVar[str] = "sentsim"
    title: ClassVar[str] = "SentSim"
    main: ClassVar[str] = "sentsim"
    distances: ClassVar[frozenset[str]] = DISTANCES
    empty_value: ClassVar[float | None] = None
    derived_fields: ClassVar[tuple[str, ...]] = (*VectorMetric.derived_fields, "stemmer_engine")
    citation: ClassVar[str] = cite("song-etal-2021-sentsim")

    against: str = option("source", Choice("source", "refs"), help="texts to compare with", signed=False)
    combine: str = option("sss+wmd", NameList(*PARTS), help="similarity parts to combine")
    weighting: str = option("equal", NumberList(word="equal"), help="weights of the parts, in their order")
    distance_as: str = option(
        "one-minus",
        Choice("one-minus", "negative"),
        help="how a distance B enters the sum; one-minus: e^(1-B); negative: e^-B, as in the first release",
    )
    wmdo_matches: str = matches_option()
    wmdo_synonyms: str = synonyms_option()
    measure: str = option("f1", Choice(*MEASURES), help="value of the part bertscore", optional=True)
    solver: str = solver_option()
    layer: int | None = option(None, Int(0, word="default"), help="model layer; default: tuned per model")
    sentence: str = option("", SentenceModelName(), help="sentence embedding model", unset="same as model")
    bounds: str = option("corpus", BoundsChoice(), help="range that scales the parts; corpus: range of this run")

    @property
    def components(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on `combine`
        """The score, and its parts before scaling."""
        return ("sentsim", *self.combine.split("+"))

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # depends on `bounds`
        """Whether a pair's score depends on the other pairs: unless the bounds are frozen."""
        return self.bounds == "corpus"

    @property
    def unused(self) -> Mapping[str, str]:
        """Options of parts that are not combined."""
        tokens = {*PARTS} - {"sss"}
        needs = {"wmdo_matches": {"wmdo"}, "wmdo_synonyms": {"wmdo"}, "measure": {"bertscore"}, "sentence": {"sss"}}
        needs |= {"distance_as": {*DISTANCES}, "solver": {"wmd", "wmdo"}}
        needs |= dict.fromkeys(("layer", "max_tokens", "prefix_space", "transforms"), tokens)
        unused = dict(super().unused)
        if self.wmdo_matches != "meteor":
            unused["wmdo_synonyms"] = "needs wmdo_matches=meteor"
        return unused | {
            name: f"has no effect with combine={self.combine} (only with {' or '.join(sorted(parts))})"
            for name, parts in needs.items()
            if not parts & set(self.components)
        }

    def check(self) -> None:
        """Refuse weights whose number differs from that of the parts."""
        if self.weighting != "equal" and self.weighting.count("+") != self.combine.count("+"):
            count = len(self.components) - 1
            msg = f"weighting must be 'equal' or {count} numbers joined by +, got {self.weighting!r}"
            raise RecipeError(msg)

    def describe(self, state: State) -> dict[str, str]:
        stems = "wmdo" in self.components and self.wmdo_matches == "meteor"
        return super().describe(state) | (stemmer_version() if stems else {})

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return () if "layer" in self.unused else (resolve_layer(self.layer, encoder),)

    def check_recipe(self, recipe: Mapping[str, str], state: State) -> None:
        if state["bounds"] is not None:
            state["bounds"].check(self.components[1:], recipe, unused=self.unused, path=self.bounds)

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        if "sss" in self.components:
            encode_sentences(texts, state["sentence"])

    def represent(self, text: TextView, state: State) -> TextParts:
        parts = {*self.components}
        sentence = sentence_vector(text, state["sentence"]) if "sss" in parts else None
        units = None
        if "bertscore" in parts and not text.tokens.empty:
            units = Cloud(text.unit(state.layers[0]), text.select(None, specials_weigh=False).weights)
        words = None
        if parts & DISTANCES:
            rows = np.flatnonzero(~text.tokens.is_special)
            vectors = text.layers[state.layers[0]][rows].astype(np.float64)
            words = text.cloud(vectors, Selection(rows, np.ones(len(rows)), False))
        return TextParts(sentence, units, words)

    def compare(self, x: TextParts, y: TextParts, state: State, *, align: bool) -> Pair:
        problem = None
        if {"wmd", "wmdo"} & {*self.components} and x.words and y.words:
            problem = Problem(x.words, y.words, lambda a, b: a.distances(b, squared=False), self.solver)
        values = [self._compute_part(part, x, y, problem, state) for part in self.components[1:]]
        # `finish` adds the score itself, which needs the ranges of all parts.
        return Pair(values, converged=problem is None or problem.converged)

    def _compute_part(self, part: str, x: Any, y: Any, problem: Problem | None, state: State) -> float:
        """One of the parts; `problem` is the transport of words, None if a text has no words."""
        if part == "sss":
            return float(x.sentence @ y.sentence)
        if part == "bertscore":
            if x.units is None or y.units is None:  # an empty text
                return 0.0
            values = greedy_values(x.units.points, y.units.points, x.units.weights, y.units.weights)
            return values[MEASURES.index(self.measure)]
        if part == "smd":  # Eq. 9; an empty text is at the origin
            centres = [words.points.mean(axis=0) if len(words) else np.zeros(1) for words in (x.words, y.words)]
            return float(np.linalg.norm(centres[0] - centres[1]))
        if problem is None:  # the distance to an empty text is the mean length
            words = x.words if len(x.words) else y.words
            return float(np.linalg.norm(words.points, axis=1).mean()) if len(words) else 0.0
        if part == "wmd":
            return problem.cost  # min_T sum T_ij ||x_i - y_j||
        if self.wmdo_matches == "flow":
            return wmdo(problem.cost, flow_links(problem.plan.flow))
        synonyms = state["wmdo_synonyms"] if self.wmdo_matches == "meteor" else None
        return wmdo(problem.cost, word_links(self.wmdo_matches, x.words.labels, y.words.labels, synonyms))

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        parts, values = self.components[1:], self.part_values(comparisons)
        bounds: Bounds = state["bounds"] or Bounds.of(
            {part: np.concatenate([by_part[part] for by_part in values.values()]) for part in parts}
        )
        run = bounds.run_fields() if self.whole_corpus else {}
        equal = self.weighting == "equal"
        weights = [1 / len(parts)] * len(parts) if equal else [float(text) for text in self.weighting.split("+")]
        start = 1.0 if self.distance_as == "one-minus" else 0.0
        results = {}
        for system, by_part in values.items():
            total = np.zeros(len(comparisons[system]))
            for w, part in zip(weights, parts, strict=True):
                a = bounds.scaled(part, by_part[part])
                total += w * np.exp(start - a if part in DISTANCES else a)  # equation 7
            results[system] = SystemResult({"sentsim": total} | by_part, run=run)
        return results

    def part_values(
        self, comparisons: Mapping[str, Sequence[Comparison]]
    ) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Values by system and part, before scaling: what `Bounds` are computed from."""
        means = {
            system: np.array([pairs.values.mean(axis=0) for pairs in segments]).T
            for system, segments in comparisons.items()
        }
        return {system: dict(zip(self.components[1:], columns, strict=True)) for system, columns in means.items()}
