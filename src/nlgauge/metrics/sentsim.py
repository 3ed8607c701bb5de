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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.corpus.views import TextView
from nlgauge.encoders import Encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.metrics.parts.bounds import Bounds, BoundsChoice
from nlgauge.metrics.parts.sentence_similarity import encode_sentences
from nlgauge.metrics.parts.sentsim_parts import DISTANCES, PARTS, Part, make_part
from nlgauge.recipes.defaults import chosen_layer
from nlgauge.recipes.kinds import Choice, JoinedNames, JoinedNumbers, Whole
from nlgauge.recipes.metric import Comparison, Pair, State, SystemResult, VectorMetric, WindowTexts
from nlgauge.recipes.options import Former, option
from nlgauge.recipes.resources import SentenceModelName
from nlgauge.recipes.run_options import RunOptions

__all__ = ["SentSim"]


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
    citation: ClassVar[str] = """\
@inproceedings{song-etal-2021-sentsim,
  title     = {{S}ent{S}im: Crosslingual Semantic Evaluation of Machine Translation},
  author    = {Song, Yurun and Zhao, Junchen and Specia, Lucia},
  booktitle = {Proceedings of NAACL-HLT},
  year      = {2021},
  url       = {https://aclanthology.org/2021.naacl-main.252}
}"""

    against: str = option("source", Choice("source", "refs"), help="SRC-MT or MT-REF", signed=False)
    combine: str = option("sss+wmd", JoinedNames(*PARTS), help="parts that are joined", short="co")
    weighting: str = option("equal", JoinedNumbers(word="equal"), help="weight of each part", short="wt")
    distance_as: str = option(
        "one-minus",
        Choice("one-minus", "negative"),
        help="a distance B enters as e^(1-B), or as e^-B (first release)",
        short="da",
        formerly=Former("flip", {"1-b": "one-minus", "-b": "negative"}),
    )
    wmdo_matches: str = option(
        "flow",
        Choice("flow", "words"),
        help="matches of wmdo: from the flow, or equal words",
        short="wm",
        formerly="links",
    )
    layer: int | None = option(None, Whole(0, word="default"), help="layer whose vectors are compared", short="l")
    sentence: str = option(
        "", SentenceModelName(), help="model of sentence vectors; by default the model", short="se"
    )
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
        return {
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
        if self.whole_corpus and len(corpus.corpus) * len(corpus.corpus.systems) < 2:
            msg = (
                "sentsim scales its parts by their range over the corpus, so one pair has no score; "
                "score it with the bounds of others: bounds=FILE (made by 'nlgauge sentsim calibrate')"
            )
            raise InputError(msg)
        return super().prepare(corpus, options)

    def check_recipe(self, recipe: Mapping[str, str], state: State) -> None:
        if state["bounds"] is not None:
            state["bounds"].check(self.components[1:], recipe, unused=self.unused, path=self.bounds)

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        if "sss" in self.components:
            encode_sentences(texts, state["sentence"])

    def _parts(self, state: State) -> list[Part]:
        return [make_part(name, state, matches=self.wmdo_matches) for name in self.components[1:]]

    def represent(self, text: TextView, state: State) -> tuple[Any, ...]:
        return tuple(part.represent(text) for part in self._parts(state))

    def compare(self, x: tuple[Any, ...] | None, y: tuple[Any, ...] | None, state: State, *, align: bool) -> Pair:
        assert x is not None  # an empty text is represented too
        assert y is not None
        found = [part.compare(a, b) for part, a, b in zip(self._parts(state), x, y, strict=True)]
        return Pair([np.nan, *found])  # what they give together is known when all are

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        parts = self.components[1:]
        values = {
            system: dict(zip(parts, np.array([one.values[:, 1:].mean(axis=0) for one in found]).T, strict=True))
            for system, found in comparisons.items()
        }
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
