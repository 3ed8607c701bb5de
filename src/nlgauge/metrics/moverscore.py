"""MoverScore (Zhao et al., "MoverScore: Text Generation Evaluating with Contextualized Embeddings and Earth
Mover Distance", EMNLP 2019).

A text becomes the cloud of its n-grams; the score is what it costs to move one cloud onto the other:

    E(x_i^n) = sum_k idf(x_k) E(x_k)   over the n-gram         (equation 1)
    f(x_i^n) ~ sum_k idf(x_k)                                   (equation 2)
    WMD(x^n, y^n) = min_F <C, F>,  C_ij = ||E(x_i^n) - E(y_j^n)||

Paper and released code disagree (D5.1 to D5.8), and so do the two released versions. A profile names one
consistent set:

    profile  vector of a token                vector of an n-gram   cost       score       kept tokens      idf
    v1       min + mean + max of the last 5   average by idf, of    squared    1 - cost    first pieces,    each
             layers, each of unit length      unit length                                  no ASCII punct.  side's
    v2       last layer                       unit length; n = 1    Euclidean  1/(1+cost)  as v1            as v1
    paper    min + mean + max of the last 5   sum by idf            Euclidean  cost        all              as v1
    web      as v1                            as v1                 squared    1 - cost    all              none

`v1` is `moverscore.py`, which the authors name as the reproducible version; `v2` is `moverscore_v2.py`, the
default of their README, whose `n_gram` does nothing: another n than 1 shows here as `v2*`. `web` is the web
service. `paper` is a distance. Special tokens are kept in all of them; an idf computed from texts gives them
0. Any other choice of a field but n shows as `v1*`.

Where this file differs from the released code on purpose: weights sum to exactly 1 (the code adds 1e-5 to
the sum, and moves the missing mass at the highest cost); a text that idf leaves without weight gets uniform
weights (the code scores 1 or an artefact, issue 7 of its repository).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.aggregate import barycentre_of_layers, power_means, routing
from nlgauge.clouds.cloud import LabelledCloud, unit_rows
from nlgauge.clouds.filters import TokenFilter, kept_tokens, surfaces_of, words_of
from nlgauge.clouds.ngrams import ngrams
from nlgauge.clouds.token_cloud import TokenCloud, TokenPoints
from nlgauge.corpus.idf_tables import IdfBySide, counts_idf, idf_by_side, idf_side
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import EncodedText, Encoder
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts.transport_metric import Moved, TransportMetric
from nlgauge.recipes.metric import option
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text import StopWords, TextTokenizer, load_stopwords
from nlgauge.transport import Plan, squared_distances, trim_flow

__all__ = ["MoverScore", "parse_n"]


@dataclass(frozen=True)
class MoverProfile:
    """What a profile fixes: defaults of the options, and the conventions that no option changes."""

    aggregation: str
    idf: str
    subwords: str
    punctuation: str
    unit_layers: bool
    points: str
    """Vector of an n-gram: `unit` (of unit length) or `sum`."""
    squared: bool
    score: str
    trim: float = 0.0
    """Share of the flow's smallest masses that is dropped (XMoverScore)."""


PROFILES = {
    "v1": MoverProfile("pmeans", "both", "first", "drop-ascii", True, "unit", True, "1-cost"),
    "v2": MoverProfile("last", "both", "first", "drop-ascii", False, "unit", False, "1/(1+cost)"),
    "paper": MoverProfile("pmeans", "both", "all", "keep", False, "sum", False, "cost"),
    "web": MoverProfile("pmeans", "none", "all", "keep", True, "unit", True, "1-cost"),
}
_AGGREGATIONS = "pmeans, routing, barycentre, last, two-thirds (layer 8 of 12), or layer-N"

#: What becomes of the cost.
_SCORES: dict[str, Callable[[float], float]] = {
    "cost": lambda cost: cost,
    "-cost": lambda cost: -cost,
    "1-cost": lambda cost: 1 - cost,
    "1/(1+cost)": lambda cost: 1 / (1 + cost),
}

#: Layers that power means, routing and barycentre look at.
_LAYERS = 5

#: Smallest, mean and largest, in the order of the released code (D5.7).
_EXPONENTS = "-inf+1+inf"


@dataclass(frozen=True, eq=False)
class MoverState:
    """What a run of MoverScore fixed before the first pair."""

    layers: tuple[int, ...]
    idf: IdfBySide
    filter: TokenFilter
    stopwords: StopWords
    encoder: Encoder
    vectors: tuple[object, ...]
    """All that a token's vector depends on beside the text: recipes that agree on it share the vectors."""


def parse_n(text: str) -> int | str:
    """A number of tokens, or `sentence`."""
    return text if text == "sentence" else int(text)


@dataclass(frozen=True, kw_only=True)
class MoverScore(TransportMetric[MoverState]):
    """Exact transport between clouds of n-grams; options left at '' are the profile's."""

    name: ClassVar[str] = "moverscore"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    profiles: ClassVar[Mapping[str, MoverProfile]] = PROFILES
    signature_fields: ClassVar[tuple[str, ...]] = (
        "profile",
        "n",
        "aggregation",
        "exponents",
        "layers",
        "idf",
        "subwords",
        "punctuation",
        "stopwords",
        "specials",
        "multiref",
    )
    citation: ClassVar[str] = """\
@inproceedings{zhao-etal-2019-moverscore,
  title     = {{M}over{S}core: Text Generation Evaluating with Contextualized Embeddings and Earth Mover Distance},
  author    = {Zhao, Wei and Peyrard, Maxime and Liu, Fei and Gao, Yang and Meyer, Christian M. and Eger, Steffen},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year      = {2019},
  url       = {https://aclanthology.org/D19-1053}
}"""

    profile: str = option("v1", parse=str, help="v1, v2, paper or web")
    n: int | str = option(1, parse=parse_n, help="length of n-grams, or 'sentence' for one point per text (SMD)")
    aggregation: str = option("", parse=str, help=f"{_AGGREGATIONS} (default: the profile's)")
    exponents: str = option(_EXPONENTS, parse=str, help="of the power means, joined by +")
    idf: str = option("", parse=str, help="both (each side's own), refs, none, or a file (default: the profile's)")
    subwords: str = option("", parse=str, help="first, all or average (default: the profile's)")
    punctuation: str = option("", parse=str, help="keep, drop-ascii or drop-unicode (default: the profile's)")
    stopwords: str = option("none", parse=str, help="none, spacy-LANG, iso-LANG, nltk-LANG, or a file of words")
    specials: str = option("keep", parse=str, help="special tokens such as [CLS]: keep (as published) or drop")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.profile not in self.profiles:
            msg = f"profile must be one of {', '.join(self.profiles)}, got {self.profile!r}"
            raise RecipeError(msg)
        if not re.fullmatch(r"|pmeans|routing|barycentre|last|two-thirds|layer-\d+", self.aggregation):
            msg = f"aggregation must be one of {_AGGREGATIONS}, got {self.aggregation!r}"
            raise RecipeError(msg)
        whole = isinstance(self.n, int) and not isinstance(self.n, bool) and self.n >= 1
        if not whole and self.n != "sentence":
            msg = f"n is a whole number from 1 upwards, or 'sentence', got {self.n!r}"
            raise RecipeError(msg)
        _ = self._powers  # complains about what is no number

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # the profile decides
        """Whether this profile's score is a similarity."""
        return self._fixed.score != "cost"

    @property
    def _fixed(self) -> MoverProfile:
        return self.profiles[self.profile]

    @property
    def trimmed(self) -> float:
        """Share of the flow's smallest masses that is dropped before the cost is added up."""
        return self._fixed.trim

    @property
    def _powers(self) -> tuple[float, ...]:
        try:
            powers = tuple(float(text) for text in self.exponents.split("+"))
        except ValueError:
            powers = (math.nan,)
        if any(math.isnan(power) for power in powers):
            msg = f"exponents are numbers, inf or -inf, joined by + (such as {_EXPONENTS}), got {self.exponents!r}"
            raise RecipeError(msg)
        return powers

    def _chosen(self, name: str) -> str:
        """An option, or what the profile says."""
        return str(getattr(self, name) or getattr(self._fixed, name))

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        top, kind = encoder.layers, self._chosen("aggregation")
        if kind.startswith("layer-"):
            layer = int(kind.removeprefix("layer-"))
            if layer > top:
                msg = f"layer {layer} asked for, but model {encoder.model!r} has layers 0 to {top}"
                raise RecipeError(msg)
            return (layer,)
        if kind in {"last", "two-thirds"}:
            return (top if kind == "last" else round(top * 2 / 3),)
        return tuple(range(min(top, max(1, top - _LAYERS + 1)), top + 1))  # static vectors have layer 0 only

    @property
    def published_idf(self) -> str:
        """What the published evaluation counts idf on."""
        return self._fixed.idf

    @property
    def counts_idf(self) -> bool:
        """Whether idf is that of the texts at hand."""
        return counts_idf(self._chosen("idf"))

    def side(self, system: str | None) -> str:
        return idf_side(self._chosen("idf"), system)

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> MoverState:
        stopwords = load_stopwords(self.stopwords)
        keep = TokenFilter(self._chosen("subwords"), self._chosen("punctuation"), stopwords.words, self.specials)
        idf = idf_by_side(self._chosen("idf"), corpus)
        layers = self.layers(corpus.encoder)
        by_word = keep.subwords == "average"
        vectors = (layers, self._chosen("aggregation"), self.exponents, self._fixed.unit_layers, by_word)
        return MoverState(layers, idf, keep, stopwords, corpus.encoder, vectors)

    def represent(self, text: EncodedText, state: MoverState, side: str) -> LabelledCloud:
        tokens, tokenizer = text.tokens, state.encoder.tokenizer
        if tokens.empty:
            return LabelledCloud.empty()
        kept = kept_tokens(text, state.filter, tokenizer)
        if not len(kept):  # every token was to be removed
            return LabelledCloud(np.empty((0, 1)), np.empty(0), (), zero_weight=True)
        by_word = state.filter.subwords == "average"
        table = state.idf.of(side)
        weights = np.ones(len(tokens)) if table is None else table.weights[tokens.ids]
        weights = (tokens.average_pieces(weights) if by_word else weights)[kept]
        zero = not weights.sum() > 0
        if zero:
            special = tokens.is_special[tokens.starts_word] if by_word else tokens.is_special
            weights = np.where(special[kept], 0.0, 1.0)
            weights = weights if weights.sum() > 0 else np.ones(len(kept))
        if self.n == 1 and self._fixed.points == "unit":
            whole = text.derived(
                ("points", state.vectors),
                lambda: TokenPoints(
                    unit_rows(self._vectors(text, state, by_word), floor=1e-6), self._words(text, tokenizer, by_word)
                ),
            )
            return TokenCloud(whole, kept, weights, zero)
        vectors = text.derived(("vectors", state.vectors), lambda: self._vectors(text, state, by_word))
        size = len(kept) if self.n == "sentence" else int(self.n)
        points, mass = ngrams(vectors[kept], weights, size)
        if self._fixed.points == "unit":
            points = unit_rows(points, floor=1e-6)
        else:  # equation 1 is a sum, which ngrams gives as an average
            points = points * mass[:, None].astype(np.float32)
        words = self._words(text, tokenizer, by_word)
        labels = _labels([words[place] for place in kept], size)
        return LabelledCloud(points.astype(np.float64), mass, labels, zero)

    def _vectors(self, text: EncodedText, state: MoverState, by_word: bool) -> NDArray[np.float32]:
        vectors = self._aggregate([text.layers[layer] for layer in state.layers])
        return text.tokens.average_pieces(vectors) if by_word else vectors

    def _words(self, text: EncodedText, tokenizer: TextTokenizer, by_word: bool) -> tuple[str, ...]:
        return words_of(text, tokenizer) if by_word else surfaces_of(text, tokenizer)

    def _aggregate(self, layers: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        kind = self._chosen("aggregation")
        if kind == "routing" or self._fixed.unit_layers:
            layers = [unit_rows(layer) for layer in layers]
        if len(layers) == 1:
            return layers[0]
        if kind == "barycentre":
            return barycentre_of_layers(layers, np.ones(len(layers[0]))).points.astype(np.float32)
        return routing(layers) if kind == "routing" else power_means(layers, self._powers)

    def costs(self, hypothesis: LabelledCloud, reference: LabelledCloud) -> NDArray[np.float64]:
        if isinstance(hypothesis, TokenCloud) and isinstance(reference, TokenCloud):
            return hypothesis.distances(reference, squared=self._fixed.squared)
        squared = squared_distances(hypothesis.points, reference.points)
        return squared if self._fixed.squared else np.sqrt(squared)

    def moved(
        self, hypothesis: LabelledCloud, reference: LabelledCloud, costs: NDArray[np.float64], plan: Plan
    ) -> Moved:
        cost = trim_flow(plan.flow, costs, share=self.trimmed).cost if self.trimmed else plan.cost
        return Moved([_SCORES[self._fixed.score](cost)])

    def value_of_empty(self, cloud: LabelledCloud) -> float:
        if self._fixed.score not in {"cost", "-cost"} or not len(cloud):
            return 0.0
        return _SCORES[self._fixed.score](
            float(np.linalg.norm(cloud.points, axis=1) @ cloud.weights / cloud.weights.sum())
        )

    def describe(self, state: MoverState) -> dict[str, str]:
        changed = any(getattr(self, name) not in ("", getattr(self._fixed, name)) for name in _PROFILED)
        changed = changed or self.specials != "keep" or self.stopwords != "none" or self.multiref != "mean"
        changed = changed or (self.profile == "v2" and self.n != 1)
        changed = changed or (self._chosen("aggregation") == "pmeans" and self.exponents != _EXPONENTS)
        return {
            "profile": self.profile + "*" * changed,
            "n": str(self.n),
            "aggregation": self._chosen("aggregation"),
            "exponents": self.exponents,
            "layers": f"{state.layers[0]}-{state.layers[-1]}" if len(state.layers) > 1 else str(state.layers[0]),
            "idf": state.idf.label,
            "subwords": self._chosen("subwords"),
            "punctuation": self._chosen("punctuation"),
            "stopwords": state.stopwords.label,
            "specials": self.specials,
            "multiref": self.multiref,
        }

    def describe_run(self, state: MoverState, system: str) -> dict[str, str]:
        return state.idf.run_fields(self.side(system))

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        options = {key: value for key, value in recipe.items() if key in cls.options()}
        options["profile"] = options.get("profile", "v1").removesuffix("*")
        for key in {"idf", "stopwords"} & options.keys():
            options[key] = options[key].partition("[")[0]
        return options


_PROFILED = tuple(f.name for f in fields(MoverProfile) if f.name in MoverScore.options())


def _labels(strings: Sequence[str], size: int) -> tuple[str, ...]:
    size = min(size, len(strings))
    return tuple(" ".join(strings[start : start + size]) for start in range(len(strings) - size + 1))
