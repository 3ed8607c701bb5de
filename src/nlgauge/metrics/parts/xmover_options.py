"""Options of XMoverScore, and what goes together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import Encoder
from nlgauge.errors import RecipeError
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.metrics.parts.fluency import score_fluency
from nlgauge.metrics.parts.ngram_options import NGramProfile
from nlgauge.metrics.parts.sentence_similarity import encode_sentences
from nlgauge.recipes.kinds import Choice, Number, Whole
from nlgauge.recipes.options import BY_PROFILE, option
from nlgauge.recipes.profile import profile_option
from nlgauge.recipes.resources import LanguageModelName, SentenceModelName
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.vector_metric import State, WindowTexts
from nlgauge.text.windows import NO_WINDOWS
from nlgauge.transport.solvers import EXACT

__all__ = ["PROFILES", "XMoverOptions"]

PROFILES = {
    "paper": NGramProfile("last both all keep", unit="", squared=False, score="-cost", n=1, trim=0.0),
    "2020": NGramProfile("last none first drop-ascii", unit="points", squared=True, score="1-cost", n=2, trim=0.0),
    "head": NGramProfile("two-thirds none all keep", unit="points", squared=False, score="1/(1+cost)", n=2, trim=0.3),
}

#: Options that mean nothing where a text is one vector.
_WORD_OPTIONS = (
    "n",
    "aggregation",
    "exponents",
    "idf",
    "subwords",
    "punctuation",
    "stopwords",
    "specials",
    "trim",
    "solver",
)


@dataclass(frozen=True, kw_only=True)
class XMoverOptions(MoverScore):
    """Which unit is compared, and with which models."""

    against: str = option("source", Choice("source", "refs"), help="what a text is compared with", signed=False)
    profile: str = profile_option("2020", PROFILES)
    unit: str = option(
        "word",
        Choice("word", "sentence"),
        help="transport of n-grams, or sentence vectors",
        short="un",
        in_profile=False,
    )
    n: int | str = option(BY_PROFILE, Whole(1), help="tokens per n-gram", in_profile=False)
    trim: float = option(
        BY_PROFILE, Number(0, 1), help="share of the flow's smallest masses that is dropped", short="tm"
    )
    sentence: str = option(
        "", SentenceModelName(), help="model of sentence vectors", short="se", unset="the model", in_profile=False
    )
    lm: str = option("none", LanguageModelName(), help="language model of the fluency term", in_profile=False)
    lm_weight: float = option(0.1, Number(), help="weight of the fluency term, .1 by the authors", short="lw")

    def check(self) -> None:
        """Trimming is of an exact flow."""
        if self.unit == "word" and self.trim and self.solver != EXACT:
            msg = (
                f"trim={self.trim:g} drops masses of the exact flow, and solver={self.solver!r} has none; give trim=0"
            )
            raise RecipeError(msg)

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # the sign of a distance is turned
        """Always a similarity."""
        return True

    @property
    def unused(self) -> Mapping[str, str]:
        """Options of the other unit, and of a language model that is not there."""
        without_lm = {"lm_weight": "weighs a language model, and none is named (lm=)"} if self.lm == "none" else {}
        if self.unit == "word":
            reason = "is the model of unit=sentence, and the unit is word"
            return dict(super().unused) | {"sentence": reason} | without_lm
        reason = "is about n-grams, and unit=sentence has none"
        return (
            dict(super().unused) | dict.fromkeys((*_WORD_OPTIONS, "max_tokens", "prefix_space"), reason) | without_lm
        )

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return super().layers(encoder) if self.unit == "word" else ()

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> State:
        state = super().prepare(corpus, options)
        if self.unit == "sentence" and state.transforms is not None:
            sentences = state["sentence"]
            state.transforms.check(sentences.digest, layers=(-1,), width=sentences.encode([""]).shape[1])
        return state

    @property
    def length_normalised_twice(self) -> bool:
        """Whether the fluency term is normalised by length twice (D8.6)."""
        return self.profile == "head"

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        if self.unit == "sentence":
            encode_sentences(texts, state["sentence"], against=self.against, transforms=state.transforms)
        if state["lm"] is not None:
            score_fluency(
                texts,
                state["lm"],
                length_normalised_twice=self.length_normalised_twice,
                whole=self.window != NO_WINDOWS,
            )
