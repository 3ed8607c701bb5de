"""Options of SentSim, and what goes together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import Encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.parts.bounds import BoundsChoice
from nlgauge.metrics.parts.sentence_similarity import encode_sentences
from nlgauge.metrics.parts.solver import solver_option
from nlgauge.recipes.defaults import chosen_layer
from nlgauge.recipes.kinds import Choice, JoinedNames, JoinedNumbers, Whole
from nlgauge.recipes.options import option
from nlgauge.recipes.resources import SentenceModelName
from nlgauge.recipes.results import Comparison
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.vector_metric import State, VectorMetric, WindowTexts

__all__ = ["DISTANCES", "PARTS", "SentSimOptions"]

PARTS = ("sss", "bertscore", "wmd", "wmdo", "smd")

#: Those that are lower for texts that are nearer.
DISTANCES = frozenset({"wmd", "wmdo", "smd"})


@dataclass(frozen=True, kw_only=True)
class SentSimOptions(VectorMetric[tuple[Any, ...]]):
    """Which parts are joined, and how."""

    main: ClassVar[str] = "sentsim"
    distances: ClassVar[frozenset[str]] = DISTANCES
    empty_value: ClassVar[float | None] = None

    against: str = option(
        "source",
        Choice("source", "refs"),
        help="what a text is compared with",
        signed=False,
    )
    combine: str = option("sss+wmd", JoinedNames(*PARTS), help="parts that are joined", short="co")
    weighting: str = option("equal", JoinedNumbers(word="equal"), help="weight of each part", short="wt")
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
    layer: int | None = option(None, Whole(0, word="default"), help="layer whose vectors are compared", short="l")
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
