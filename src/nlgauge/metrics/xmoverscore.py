"""XMoverScore: MoverScore between a source and its translation, plus the fluency of the translation.

What it computes
----------------

    word       m(x, y) = WMD(x^n, y^n),  C_ij = ||E(x_i^n) - E(y_j^n)||      (section 3; n-grams as in MoverScore)
    sentence   m(x, y) = 1 - cos(E(x), E(y))
    score      similarity(m) + 0.1 LM(y)                                      LM(y) = 0 without a language model

x is the source, y the translation. The default is profile `2020`, unit `word`, without a language model: C is squared
and the score is 1 - WMD. Step by step, for one text:

    1. Take the vectors of the last layer as they are.
    2. Keep special tokens and the first piece of each word; drop the other pieces. A whitespace mark on its own is a
       first piece. Drop every token whose surface, without such marks, is one character of string.punctuation.
    3. Form n-grams of n = 2 neighbours among the remaining tokens, special tokens included; fewer than n tokens form
       one n-gram. The vector of an n-gram is the mean of its vectors, scaled to unit length (divided by its length
       plus 1e-6). All n-grams have the same mass.

`transforms` first map the vectors of the source to the target language (CLP, UMD; `nlgauge align fit`).

Worked example
--------------

Profile `2020` with n = 1 has uniform weights, unit vectors, a squared cost and the score 1 - cost. For the
translation "a cat" of "the dog cat" that is MoverScore's example: 1 - .4 = .6. A language model that gives the
translation a mean log-likelihood of -3.2 would make it .6 + .1 x (-3.2) = .28.

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1], "the": [0.8, 0.6]}
    >>> toy_scores("xmoverscore:n=1", "a cat", "the dog cat", vectors=vectors)
    {'score': [0.6]}

Profiles and deviations
-----------------------

Paper and code disagree (D8.1 to D8.10), and so do the two versions of the code. A profile is one of them:

    profile  layer       n  tokens                   weights  cost       score        LM(y)
    paper    last        1  all                      idf      Euclidean  -cost        mean log-likelihood
    2020     last        2  first pieces, no ASCII   uniform  squared    1 - cost     mean log-likelihood
                            punctuation
    head     two thirds  2  all                      uniform  Euclidean  1/(1+cost)   exp(log-likelihood / tokens)
             (8 of 12)                                        trimmed .3

`2020` is closest to the published tables. The paper defines a distance and uses it as a similarity (D8.14), so its
sign is flipped here. Trimming drops the smallest masses of the flow; the code calls it dropout, although nothing in
it is random (D8.5). Where several flows are optimal, each is trimmed differently. A trimmed score therefore depends
on the version of the solver and is exempt from the reproducibility promised for other scores. `transforms` change the
source vectors; a UMD fitted for both sides changes both (D8.7). Moses detokenisation and truecasing of the
translation are left to the caller.

Relations
---------

- It uses MoverScore's clouds and transport, against the source, and adds the fluency term.
- `unit=sentence,against=refs` is the cosine of two sentence vectors.
- On WMT17 de-en the language model SmolLM2-135M raises the correlation of n = 2 from .274 to .383, by .110 [.062,
  .157]. SentSim's sentence part alone has .323 there without a language model. See docs/findings.

Citation
--------

Zhao, Glavas, Peyrard, Gao, West, Eger: "On the Limitations of Cross-lingual Encoders as Exposed by Reference-Free
Machine Translation Evaluation", ACL 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.metric import Pair, Profile, profile_option
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.resources import (
    LanguageModelName,
    SentenceModelName,
    encode_sentences,
    fluency,
    idf_option,
    score_fluency,
    sentence_vector,
)
from nlgauge.core.run_options import RunOptions
from nlgauge.core.tokens import TextView, TokenizedCorpus
from nlgauge.core.vector_metric import State, VectorMetric, WindowTexts
from nlgauge.encoders.base import Encoder
from nlgauge.errors import RecipeError
from nlgauge.metrics.moverscore import MoverScore, WordMover
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.layers import unused_by
from nlgauge.metrics.parts.transport import multiref_option, solver_option
from nlgauge.text.windows import NO_WINDOWS
from nlgauge.vectors.transport import EXACT

#: Besides options: conventions of MoverScore's profiles, and whether LM(y) is divided by the length twice (D8.6).
PROFILES = {
    "paper": Profile(
        aggregation="last", idf="both", subwords="all", punctuation="keep", n=1, trim=0.0,
        unit_layers=False, unit_points=False, squared=False, score="-cost", lm_twice=False,
    ),
    "2020": Profile(
        aggregation="last", idf="none", subwords="first", punctuation="drop-ascii", n=2, trim=0.0,
        unit_layers=False, unit_points=True, squared=True, score="1-cost", lm_twice=False,
    ),
    "head": Profile(
        aggregation="two-thirds", idf="none", subwords="all", punctuation="keep", n=2, trim=0.3,
        unit_layers=False, unit_points=True, squared=False, score="1/(1+cost)", lm_twice=True,
    ),
}  # fmt: skip

#: Options without effect when a text is one vector.
_WORD_OPTIONS = (
    *("n", "aggregation", "exponents", "idf", "subwords", "punctuation", "stopwords", "specials", "trim", "solver"),
    *("max_tokens", "prefix_space"),
)


class Translation(NamedTuple):
    """A text: its n-grams (None: no token is left) or its sentence vector, and its fluency if it is a hypothesis."""

    meaning: Any
    fluency: float
    zero_weight: bool = False


@dataclass(frozen=True, kw_only=True)
class XMoverScore(VectorMetric[Translation]):
    """Transport of n-grams between source and translation, plus the fluency of the translation."""

    name: ClassVar[str] = "xmoverscore"
    title: ClassVar[str] = "XMoverScore"
    main: ClassVar[str] = "score"
    empty_value: ClassVar[float | None] = None
    profiles: ClassVar[Mapping[str, Profile]] = PROFILES
    citation: ClassVar[str] = cite("zhao-etal-2020-limitations")

    against: str = option(
        "source",
        Choice("source", "refs"),
        help="texts to compare with",
        signed=False,
    )
    profile: str = profile_option("2020", PROFILES)
    unit: str = option(
        "word",
        Choice("word", "sentence"),
        help="word: transport of n-grams; sentence: cosine of sentence vectors",
        in_profile=False,
    )
    n: int | str = option(BY_PROFILE, Int(1), help="tokens per n-gram", in_profile=False)
    trim: float = option(BY_PROFILE, Float(0, 1), help="share of the smallest transport masses to drop")
    sentence: str = option(
        "", SentenceModelName(), help="sentence embedding model", unset="same as model", in_profile=False
    )
    lm: str = option("none", LanguageModelName(), help="language model for the fluency term", in_profile=False)
    lm_weight: float = option(0.1, Float(), help="weight of the fluency term (published: 0.1)")
    aggregation: str = MoverScore.same_option("aggregation")
    exponents: str = MoverScore.same_option("exponents")
    routing_step: float = MoverScore.same_option("routing_step")
    routing_epsilon: float = MoverScore.same_option("routing_epsilon")
    routing_kernel: str = MoverScore.same_option("routing_kernel")
    routing_denominator: str = MoverScore.same_option("routing_denominator")
    idf: str = idf_option(BY_PROFILE)
    subwords: str = MoverScore.same_option("subwords")
    punctuation: str = MoverScore.same_option("punctuation")
    stopwords: str = MoverScore.same_option("stopwords")
    specials: str = MoverScore.same_option("specials")
    solver: str = solver_option()
    multiref: str = multiref_option()

    @cached_property
    def words(self) -> WordMover:
        """MoverScore's clouds and transport, by this recipe."""
        return WordMover.of(self)

    def check(self) -> None:
        """Refuse trimming without an exact flow."""
        if self.unit == "word" and self.trim and self.solver != EXACT:
            msg = (
                f"trim={self.trim:g} needs the exact flow, which solver={self.solver} does not compute; "
                "set trim=0 or solver=exact"
            )
            raise RecipeError(msg)

    @property
    def unused(self) -> Mapping[str, str]:
        """Options of the other unit, and of the language model if there is none."""
        unused = dict(super().unused) | unused_by(self.aggregation)
        if self.unit == "word":
            unused["sentence"] = "has no effect with unit=word (only with unit=sentence)"
        else:
            unused |= dict.fromkeys(_WORD_OPTIONS, "has no effect with unit=sentence (only with unit=word)")
        if self.lm == "none":
            unused["lm_weight"] = "has no effect without a language model (lm=)"
        return unused

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return self.words.aggregation.layers(encoder) if self.unit == "word" else ()

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> State:
        state = super().prepare(corpus, options)
        if self.unit == "sentence" and state.transforms is not None:
            sentences = state["sentence"]
            state.transforms.check(sentences.digest, layers=(-1,), width=sentences.encode([""]).shape[1])
        return state

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        if self.unit == "sentence":
            encode_sentences(texts, state["sentence"], against=self.against, transforms=state.transforms)
        if state["lm"] is not None:
            score_fluency(
                texts,
                state["lm"],
                length_normalised_twice=self.published.lm_twice,
                whole=self.window != NO_WINDOWS,
            )

    @property
    def components(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on `lm`
        """The score, and with a language model its two parts."""
        return ("score",) if self.lm == "none" else ("score", "similarity", "fluency")

    def represent(self, text: TextView, state: State) -> Translation:
        lm = fluency(text, state["lm"], length_normalised_twice=self.published.lm_twice)
        if self.unit == "sentence":
            return Translation(sentence_vector(text, state["sentence"], state.transforms), lm)
        cloud = self.words.cloud(text, state)
        all_dropped = cloud is None and not text.tokens.empty
        return Translation(cloud, lm, all_dropped or (cloud is not None and cloud.zero_weight))

    def compare(self, x: Translation, y: Translation, state: State, *, align: bool) -> Pair:
        if self.unit == "sentence":
            pair = Pair([float(x.meaning @ y.meaning)])  # 1 - m(x, y) = cos(E(x), E(y))
        else:
            pair = self.words.move(x.meaning, y.meaning, align=align, trim=self.trim)  # D8.5
        if self.lm == "none":
            return pair
        similarity, lm_y = pair.values[0], x.fluency  # the hypothesis x is the translation y of section 3
        return pair._replace(values=(similarity + self.lm_weight * lm_y, similarity, lm_y))
