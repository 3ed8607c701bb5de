"""SentSim (Song, Zhao, Specia, "SentSim: Crosslingual Semantic Evaluation of Machine Translation", NAACL 2021): what
two texts mean as wholes, joined with how their words match.

    sss         cosine of two sentence vectors                                              similarity
    bertscore   F of greedy matching of token vectors, without idf                          similarity
    wmd         min_T sum T_ij ||x_i - y_j||, tokens weigh the same (Eq. 1 to 4)              distance
    wmdo        wmd - 0.2 (1/2 - chunks / matches): wmd, and whether the order is kept       distance
    smd         ||mean x - mean y|| (Eq. 9)                                                  distance

    SentSim(A, B, ...) = w_1 e^A + w_2 e^B + ...     each scaled to 0 ... 1, a distance as 1 - B    (Eq. 7)

Scaling is by the lowest and highest value of the run, over all its systems, as published; `bounds=FILE` freezes it
(`metrics/parts/bounds.py`). The first release let a distance enter as e^-B (D23): `distance_as=negative`. Weights are
equal and sum to 1, as in the paper; the code sums, which correlates the same.

Special tokens are no words here, and all pieces are kept. The released WMDo has its matches from METEOR (equal words
and stems); here from equal words, or from the flow, which works across languages too (`wmdo_matches`). Several
references: each part's mean over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Int, NameList, NumberList
from nlgauge.core.metric import Comparison, Pair, SystemResult
from nlgauge.core.options import option
from nlgauge.core.resources import SentenceModelName
from nlgauge.core.run_options import RunOptions
from nlgauge.core.tokens import TextView, TokenizedCorpus
from nlgauge.core.vector_metric import State, VectorMetric, WindowTexts, chosen_layer
from nlgauge.encoders.base import Encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.storage import short_digest
from nlgauge.metrics.parts.bounds import Bounds, BoundsChoice
from nlgauge.metrics.parts.citations import cite
from nlgauge.metrics.parts.sentences import encode_sentences, sentence_vector
from nlgauge.metrics.parts.transport_metric import solver_option
from nlgauge.metrics.parts.word_mover import Transport, Words, equal_word_links, wmdo
from nlgauge.vectors.cloud import Cloud
from nlgauge.vectors.greedy import greedy_values

if TYPE_CHECKING:
    from nlgauge.encoders.whole_text.sentences import SentenceEncoder


PARTS = ("sss", "bertscore", "wmd", "wmdo", "smd")

#: Those that are lower for texts that are nearer.
DISTANCES = frozenset({"wmd", "wmdo", "smd"})


class Part(Protocol):
    """One number about two texts."""

    def represent(self, text: TextView) -> Any:
        """A text in the form that `compare` takes."""

    def compare(self, x: Any, y: Any) -> float:
        """The part of hypothesis x and reference, or source, y."""


@dataclass(frozen=True)
class SentenceSimilarity:
    """Cosine of two sentence vectors."""

    sentences: SentenceEncoder

    def represent(self, text: TextView) -> NDArray[np.float32]:
        """A unit vector, or the origin for an empty text."""
        return sentence_vector(text, self.sentences)

    def compare(self, x: NDArray[np.float32], y: NDArray[np.float32]) -> float:
        """x.y"""
        return float(x @ y)


@dataclass(frozen=True)
class GreedyMatching:
    """F of greedy matching, without idf, as in BERTScore; 0 for an empty text."""

    layer: int

    def represent(self, text: TextView) -> Cloud | None:
        """Unit vectors; special tokens can be matched, but weigh nothing."""
        if text.tokens.empty:
            return None
        return Cloud(text.unit(self.layer), text.select(None, specials_weigh=False).weights)

    def compare(self, x: Cloud | None, y: Cloud | None) -> float:
        """F"""
        if x is None or y is None:
            return 0.0
        return greedy_values(x.points, y.points, x.weights, y.weights)[2]


@dataclass(frozen=True)
class _TokenPart:
    layer: int

    def represent(self, text: TextView) -> Words:
        """The same for all parts that need it, so that they share a plan."""

        # What spells keeps nothing of the text alive but its tokens.
        tokens, tokenizer, kept = text.tokens, text.tokenizer, np.flatnonzero(~text.tokens.is_special)

        def spell() -> tuple[str, ...]:
            surfaces = tokenizer.surfaces(tokens)
            # A lone mark of white space is not a word.
            return tuple(surfaces[row].lower() for row in kept if surfaces[row])

        def make() -> Words:
            return Words(text.layers[self.layer][kept].astype(np.float64), spell)

        return text.encoded.derived(("sentsim words", self.layer), make)


class MeanDistance(_TokenPart):
    """||mean x - mean y|| (Eq. 9); an empty text is at the origin."""

    def compare(self, x: Words, y: Words) -> float:
        """The distance."""
        centres = [words.vectors.mean(axis=0) if len(words.vectors) else np.zeros(1) for words in (x, y)]
        return float(np.linalg.norm(centres[0] - centres[1]))


@dataclass(frozen=True)
class WordMover(_TokenPart):
    """min_T sum T_ij ||x_i - y_j||, tokens weigh the same (Eq. 1 to 4); to an empty text the mean length."""

    transport: Transport

    def compare(self, x: Words, y: Words) -> float:
        """The distance."""
        if len(x.vectors) and len(y.vectors):
            return x.move_to(y, self.transport).cost
        full = x.vectors if len(x.vectors) else y.vectors
        return float(np.linalg.norm(full, axis=1).mean()) if len(full) else 0.0


class OrderedWordMover(WordMover):
    """The same with what it costs that the order of words is not kept; matches are of the flow, or equal words."""

    def compare(self, x: Words, y: Words) -> float:
        """wmd - 0.2 (1/2 - chunks / matches)"""
        distance = super().compare(x, y)
        if not len(x.vectors) or not len(y.vectors):
            return distance
        links = x.move_to(y, self.transport).links
        return wmdo(distance, equal_word_links(x.spelt, y.spelt) if links is None else links)


@dataclass(frozen=True, kw_only=True)
class SentSim(VectorMetric[tuple[Any, ...]]):
    """Sentence vectors and token vectors, each part scaled over the corpus or by frozen bounds.

    >>> SentSim(combine="sss+bertscore").components
    ('sentsim', 'sss', 'bertscore')
    """

    name: ClassVar[str] = "sentsim"
    main: ClassVar[str] = "sentsim"
    distances: ClassVar[frozenset[str]] = DISTANCES
    empty_value: ClassVar[float | None] = None
    citation: ClassVar[str] = cite("song-etal-2021-sentsim")

    against: str = option(
        "source",
        Choice("source", "refs"),
        help="what a text is compared with",
        signed=False,
    )
    combine: str = option("sss+wmd", NameList(*PARTS), help="parts that are joined", short="co")
    weighting: str = option("equal", NumberList(word="equal"), help="weight of each part", short="wt")
    distance_as: str = option(
        "one-minus",
        Choice("one-minus", "negative"),
        help="a distance B enters as e^(1-B), or as e^-B (first release)",
        short="da",
    )
    wmdo_matches: str = option(
        "flow",
        Choice("flow", "words"),
        help="matches of wmdo: from the flow, or equal words",
        short="wm",
    )
    solver: str = solver_option()
    layer: int | None = option(None, Int(0, word="default"), help="layer whose vectors are compared", short="l")
    sentence: str = option("", SentenceModelName(), help="model of sentence vectors", short="se", unset="the model")
    bounds: str = option("corpus", BoundsChoice(), help="what parts are scaled by", short="bo")

    @property
    def components(self) -> tuple[str, ...]:  # type: ignore[override]  # by what was asked for
        """The score and its parts as they are before scaling."""
        return ("sentsim", *self.combine.split("+"))

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # bounds decide
        """A pair's score depends on the others unless bounds are frozen."""
        return self.bounds == "corpus"

    @property
    def unused(self) -> Mapping[str, str]:
        """Options of parts that are not joined."""
        tokens = frozenset(PARTS) - {"sss"}
        needs = {"wmdo_matches": {"wmdo"}, "distance_as": DISTANCES, "layer": tokens, "max_tokens": tokens}
        needs |= {"prefix_space": tokens, "transforms": tokens, "solver": {"wmd", "wmdo"}}
        return dict(super().unused) | {
            name: f"belongs to {' or '.join(sorted(parts))}, and the parts are {self.combine!r}"
            for name, parts in (needs | {"sentence": frozenset({"sss"})}).items()
            if not parts & set(self.components)
        }

    def check(self) -> None:
        """A weight for each part."""
        if self.weighting != "equal" and self.weighting.count("+") != self.combine.count("+"):
            count = len(self.components) - 1
            msg = f"weighting must be 'equal' or {count} numbers joined by +, got {self.weighting!r}"
            raise RecipeError(msg)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return () if "layer" in self.unused else (chosen_layer(self.layer, encoder),)

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> State:
        alone = corpus.corpus.whole is None and len(corpus.corpus) * len(corpus.corpus.systems) < 2
        if self.whole_corpus and alone:
            msg = (
                "sentsim scales its parts by their range over the corpus, so it needs at least 2 pairs, got 1; "
                "a single pair can be scored with the bounds of a larger corpus: bounds=FILE"
            )
            raise InputError(msg)
        return super().prepare(corpus, options)

    def check_recipe(self, recipe: Mapping[str, str], state: State) -> None:
        if state["bounds"] is not None:
            state["bounds"].check(self.components[1:], recipe, unused=self.unused, path=self.bounds)

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        if "sss" in self.components:
            encode_sentences(texts, state["sentence"])

    def _parts(self, state: State) -> tuple[Part, ...]:
        return state.derived("sentsim parts", lambda: self._make_parts(state))

    def _make_parts(self, state: State) -> tuple[Part, ...]:
        make: dict[str, Callable[[], Part]] = {
            "sss": lambda: SentenceSimilarity(state["sentence"]),
            "bertscore": lambda: GreedyMatching(state.layers[0]),
            "wmd": lambda: WordMover(state.layers[0], self._transport),
            "wmdo": lambda: OrderedWordMover(state.layers[0], self._transport),
            "smd": lambda: MeanDistance(state.layers[0]),
        }
        return tuple(make[name]() for name in self.components[1:])

    def represent(self, text: TextView, state: State) -> tuple[Any, ...]:
        return tuple(part.represent(text) for part in self._parts(state))

    def compare(self, x: tuple[Any, ...], y: tuple[Any, ...], state: State, *, align: bool) -> Pair:
        found = [part.compare(a, b) for part, a, b in zip(self._parts(state), x, y, strict=True)]
        solved = [a.moved.get(b, {}).get(self._transport) for a, b in zip(x, y, strict=True) if isinstance(a, Words)]
        # What the parts give together is known when all are.
        return Pair(found, converged=all(one is None or one.converged for one in solved))

    @property
    def _transport(self) -> Transport:
        return Transport(self.solver, "wmdo" in self.components and self.wmdo_matches == "flow")

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        parts = self.components[1:]
        values = self.part_values(comparisons)
        bounds: Bounds = state["bounds"] or Bounds.of(
            {part: np.concatenate([by_part[part] for by_part in values.values()]) for part in parts}
        )
        run = {"range": short_digest(bounds.digest), "pairs": str(bounds.pairs)} if self.whole_corpus else {}
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
        """By system and part, before scaling; what `Bounds` are taken over."""
        return {
            system: dict(
                zip(self.components[1:], np.array([one.values.mean(axis=0) for one in found]).T, strict=True)
            )
            for system, found in comparisons.items()
        }
