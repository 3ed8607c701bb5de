"""MoverScore (Zhao et al., "MoverScore: Text Generation Evaluating with Contextualized Embeddings and Earth
Mover Distance", EMNLP 2019).

A text becomes the cloud of its n-grams; the score is what it costs to move one cloud onto the other:

    E(x_i^n) = sum_k idf(x_k) E(x_k)   over the n-gram         (equation 1)
    f(x_i^n) ~ sum_k idf(x_k)                                   (equation 2)
    WMD(x^n, y^n) = min_F <C, F>,  C_ij = ||E(x_i^n) - E(y_j^n)||

Paper and released code disagree (D5.1 to D5.8), and so do the two released versions. A profile names one
consistent set:

    profile  vectors of a token                     cost       score       kept tokens           idf
    v1       min + mean + max of the last 5 layers, squared    1 - cost    first sub-words, no   each side's own
             each layer and n-gram unit length                             ASCII punctuation
    v2       last layer, unit length                Euclidean  1/(1+cost)  as v1; n = 1 only     each side's own
    paper    min + mean + max of the last 5 layers  Euclidean  cost        all                   each side's own
    web      as v1                                  squared    1 - cost    all                   none (1)

`v1` is `moverscore.py`, which the authors name as the reproducible version; `v2` is `moverscore_v2.py`, the
default of their README. `paper` is a distance. Special tokens are kept in all of them; an idf computed from
texts gives them 0. A field set by hand shows as `v1*`.

Where this file differs from the released code on purpose: weights sum to exactly 1 (the code adds 1e-5 to
the sum, and moves the missing mass at the highest cost); a text that idf leaves without weight gets uniform
weights (the code scores 1 or an artefact, issue 7 of its repository).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds import TokenFilter, average_pieces, ngrams, power_means, routing, unit_rows
from nlgauge.encoders import EncodedText, Encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.base import Comparison, Finished, Metric, option
from nlgauge.metrics.corpus import TokenizedCorpus
from nlgauge.signature import short_digest
from nlgauge.text import IdfTable
from nlgauge.transport import exact_transport, squared_distances

__all__ = ["MoverScore"]


@dataclass(frozen=True)
class MoverProfile:
    """What a profile fixes: defaults of the options, and the conventions that no option changes."""

    aggregation: str
    idf: str
    subwords: str
    punctuation: str
    unit_layers: bool
    unit_points: bool
    squared: bool
    score: str


PROFILES = {
    "v1": MoverProfile("pmeans", "both", "first", "drop-ascii", True, True, True, "1-cost"),
    "v2": MoverProfile("last", "both", "first", "drop-ascii", False, True, False, "1/(1+cost)"),
    "paper": MoverProfile("pmeans", "both", "all", "keep", False, False, False, "cost"),
    "web": MoverProfile("pmeans", "none", "all", "keep", True, True, True, "1-cost"),
}
AGGREGATIONS = ("pmeans", "routing", "last")
MULTIREF_RULES = ("mean", "best")

#: Layers that power means and routing look at.
_LAYERS = 5
_EXPONENTS = (-math.inf, 1.0, math.inf)


@dataclass(frozen=True, eq=False)
class MoverState:
    """What a run of MoverScore fixed before the first pair."""

    layers: tuple[int, ...]
    idf: Mapping[str, IdfTable]
    """By side; empty without idf."""
    idf_label: str
    filter: TokenFilter
    stopwords_label: str
    encoder: Encoder


@dataclass(frozen=True, eq=False)
class MoverCloud:
    """A text's n-grams."""

    points: NDArray[np.float32]
    weights: NDArray[np.float64]
    labels: tuple[str, ...]
    zero_weight: bool


def _parse_n(text: str) -> int | str:
    return text if text == "sentence" else int(text)


@dataclass(frozen=True, kw_only=True)
class MoverScore(Metric[MoverState, MoverCloud]):
    """Exact transport between clouds of n-grams; options left at '' are the profile's."""

    name: ClassVar[str] = "moverscore"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    signature_fields: ClassVar[tuple[str, ...]] = (
        "profile",
        "n",
        "aggregation",
        "layers",
        "idf",
        "subwords",
        "punctuation",
        "stopwords",
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
    n: int | str = option(1, parse=_parse_n, help="length of n-grams, or 'sentence' for one point per text (SMD)")
    aggregation: str = option("", parse=str, help="pmeans, routing or last (default: the profile's)")
    idf: str = option("", parse=str, help="both (each side's own), refs, none, or a file (default: the profile's)")
    subwords: str = option("", parse=str, help="first, all or average (default: the profile's)")
    punctuation: str = option("", parse=str, help="keep, drop-ascii or drop-unicode (default: the profile's)")
    stopwords: str = option("none", parse=str, help="none, or a file with a word per line")
    multiref: str = option("mean", parse=str, help="rule for several references: mean (as published) or best")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.profile not in PROFILES:
            msg = f"profile must be one of {', '.join(PROFILES)}, got {self.profile!r}"
            raise RecipeError(msg)
        for name, allowed in (("aggregation", ("", *AGGREGATIONS)), ("multiref", MULTIREF_RULES)):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(filter(None, allowed))}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        whole = isinstance(self.n, int) and not isinstance(self.n, bool) and self.n >= 1
        if not whole and self.n != "sentence":
            msg = f"n is a whole number from 1 upwards, or 'sentence', got {self.n!r}"
            raise RecipeError(msg)

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # the profile decides
        """Whether this profile's score is a similarity."""
        return self._fixed.score != "cost"

    @property
    def _fixed(self) -> MoverProfile:
        return PROFILES[self.profile]

    def _chosen(self, name: str) -> str:
        """An option, or what the profile says."""
        return str(getattr(self, name) or getattr(self._fixed, name))

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        top = encoder.layers
        if self._chosen("aggregation") == "last":
            return (top,)
        return tuple(range(max(1, top - _LAYERS + 1), top + 1))

    def side(self, system: str | None) -> str:
        if self._chosen("idf") != "both":
            return ""
        return "refs" if system is None else f"hyps:{system}"

    def prepare(self, corpus: TokenizedCorpus) -> MoverState:
        idf, label = self._idf_tables(corpus)
        stopwords, stop_label = frozenset[str](), "none"
        if self.stopwords != "none":
            stopwords, stop_label = read_stopwords(self.stopwords)
        subwords = self._chosen("subwords")
        keep = TokenFilter(subwords, self._chosen("punctuation"), stopwords)
        return MoverState(self.layers(corpus.encoder), idf, label, keep, stop_label, corpus.encoder)

    def _idf_tables(self, corpus: TokenizedCorpus) -> tuple[dict[str, IdfTable], str]:
        tokenizer = corpus.encoder.tokenizer
        choice = self._chosen("idf")

        def table(documents: Any) -> IdfTable:
            return IdfTable.build(documents, vocabulary_size=tokenizer.vocabulary_size, tokenizer=tokenizer.digest)

        if choice == "none":
            return {}, "none"
        if choice == "refs":
            found = {"": table(corpus.reference_tokens())}
        elif choice == "both":
            found = {self.side(None): table(corpus.reference_tokens())}
            for system, texts in corpus.corpus.systems.items():
                found[self.side(system)] = table(corpus.tokens[text] for text in texts)
        else:
            loaded = IdfTable.load(Path(choice))
            loaded.check_tokenizer(tokenizer.digest, vocabulary_size=tokenizer.vocabulary_size, path=choice)
            return {"": loaded}, f"file[{short_digest(loaded.digest)}]"
        return found, f"{choice}[{short_digest(found[self.side(None)].digest)}]"

    def represent(self, text: EncodedText, state: MoverState, side: str) -> MoverCloud:
        tokens = text.tokens
        strings = state.encoder.tokenizer.token_strings(tokens)
        if tokens.empty:
            return MoverCloud(np.empty((0, 1), np.float32), np.empty(0), (), False)
        vectors = self._aggregate([text.layers[layer] for layer in state.layers])
        table = state.idf.get(side)
        weights = np.ones(len(tokens)) if table is None else table.weights[tokens.ids]
        keep = state.filter.kept(tokens, strings)
        places = np.arange(len(tokens))
        if state.filter.subwords == "average":
            vectors, weights, places = average_pieces(vectors, weights, tokens)
            keep = keep[places]
        kept = np.flatnonzero(keep)
        vectors, weights = vectors[kept], weights[kept]
        zero = not weights.sum() > 0
        if zero:
            weights = np.where(tokens.is_special[places[kept]], 0.0, 1.0)
            weights = weights if weights.sum() > 0 else np.ones(len(kept))
        size = len(kept) if self.n == "sentence" else int(self.n)
        points, mass = ngrams(vectors, weights, size)
        if self._fixed.unit_points:
            points = unit_rows(points, floor=1e-6)
        labels = _labels([strings[place] for place in places[kept]], size)
        return MoverCloud(points, mass, labels, zero)

    def _aggregate(self, layers: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        kind = self._chosen("aggregation")
        if kind == "routing" or self._fixed.unit_layers:
            layers = [unit_rows(layer) for layer in layers]
        if kind == "last":
            return layers[-1]
        return routing(layers) if kind == "routing" else power_means(layers, _EXPONENTS)

    def compare(
        self, hypothesis: MoverCloud, references: Sequence[MoverCloud], state: MoverState, *, align: bool
    ) -> Comparison:
        values = np.zeros((len(references), 1))
        zero = False
        for row, reference in enumerate(references):
            if len(hypothesis.weights) and len(reference.weights):
                costs = self._costs(reference, hypothesis)
                plan = exact_transport(reference.weights, hypothesis.weights, costs)
                values[row] = self._score(plan.cost)
                zero = zero or hypothesis.zero_weight or reference.zero_weight
            else:
                values[row] = self._score_of_empty(hypothesis, reference)
        return Comparison(values, zero_weight=zero)

    def _costs(self, left: MoverCloud, right: MoverCloud) -> NDArray[np.float64]:
        squared = squared_distances(left.points.astype(np.float64), right.points.astype(np.float64))
        return squared if self._fixed.squared else np.sqrt(squared)

    def _score(self, cost: float) -> float:
        if self._fixed.score == "1-cost":
            return 1 - cost
        return 1 / (1 + cost) if self._fixed.score == "1/(1+cost)" else cost

    def _score_of_empty(self, hypothesis: MoverCloud, reference: MoverCloud) -> float:
        """A similarity is 0; a distance is that to a cloud at the origin."""
        if self.higher_is_better:
            return 0.0
        full = hypothesis if len(hypothesis.weights) else reference
        if not len(full.weights):
            return 0.0
        return float(np.linalg.norm(full.points, axis=1) @ full.weights / full.weights.sum())

    def finish(self, comparisons: Sequence[Comparison], state: MoverState) -> Finished:
        pick = np.argmax if self.higher_is_better else np.argmin
        best = np.array([int(pick(c.values[:, 0])) for c in comparisons], dtype=np.int64)
        if self.multiref == "best":
            scores = np.array([c.values[at, 0] for c, at in zip(comparisons, best, strict=True)])
        else:
            scores = np.array([c.values[:, 0].mean() for c in comparisons])
        return Finished({"score": scores}, best)

    def describe(self, state: MoverState) -> dict[str, str]:
        changed = any(getattr(self, name) not in ("", getattr(self._fixed, name)) for name in _PROFILED)
        return {
            "profile": self.profile + "*" * changed,
            "n": str(self.n),
            "aggregation": self._chosen("aggregation"),
            "layers": f"{state.layers[0]}-{state.layers[-1]}" if len(state.layers) > 1 else str(state.layers[0]),
            "idf": state.idf_label,
            "subwords": self._chosen("subwords"),
            "punctuation": self._chosen("punctuation"),
            "stopwords": state.stopwords_label,
            "multiref": self.multiref,
        }

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        options = {key: value for key, value in recipe.items() if key in cls.options()}
        options["profile"] = options.get("profile", "v1").removesuffix("*")
        for key in {"idf", "stopwords"} & options.keys():
            options[key] = options[key].partition("[")[0]
        return options


_PROFILED = tuple(f.name for f in fields(MoverProfile) if f.name in MoverScore.options())


def read_stopwords(path: str) -> tuple[frozenset[str], str]:
    """Words of a file, one per line, and the label that names them in a signature."""
    try:
        words = frozenset(Path(path).read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        msg = f"stop-word file {path!r} cannot be read: {error}"
        raise InputError(msg) from error
    digest = hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()
    return words, f"file[{short_digest(digest)}]"


def _labels(strings: Sequence[str], size: int) -> tuple[str, ...]:
    size = min(size, len(strings))
    return tuple(" ".join(strings[start : start + size]) for start in range(len(strings) - size + 1))
