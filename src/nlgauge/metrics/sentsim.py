"""SentSim (Song, Zhao, Specia, "SentSim: Crosslingual Semantic Evaluation of Machine Translation", NAACL 2021): what
two texts mean as wholes, joined with how their words match.

    sss         cosine of two sentence vectors                                              similarity
    bertscore   F of greedy matching of token vectors, without idf                          similarity
    wmd         min_T sum T_ij ||x_i - y_j||, tokens weigh the same (Eq. 1 to 4)              distance
    wmdo        wmd - 0.2 (1/2 - chunks / matches): wmd, and whether the order is kept       distance
    smd         ||mean x - mean y|| (Eq. 9)                                                  distance

    SentSim(A, B, ...) = w_1 e^A + w_2 e^B + ...     each scaled to 0 ... 1, a distance as 1 - B    (Eq. 7)

Scaling is by the lowest and highest value of the run, over all its systems, as published; `bounds=FILE` freezes it
(`metrics/parts/bounds.py`). The first release let a distance enter as e^-B (D23): `flip=-b`. Weights are equal and
sum to 1, as in the paper; the code sums, which correlates the same.

Special tokens are no words here, and all pieces are kept. The released WMDo has its matches from METEOR (equal words
and stems); here from equal words (`links=words`), or from the flow, which works across languages too (`links=flow`).
Several references: each part's mean over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import Cloud
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import EncodedText, Encoder
from nlgauge.encoders.whole_text.sentences import SentenceEncoder, load_sentence_encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.metrics.bertscore import BERTScore, BERTScoreState
from nlgauge.metrics.parts.bounds import Bounds
from nlgauge.metrics.parts.second_models import read_sentences, sentence_of
from nlgauge.metrics.parts.wmdo import flow_links, wmdo
from nlgauge.recipes.metric import CloudMetric, Comparison, Finished, WindowTexts, number_or, option
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text import TextTokenizer
from nlgauge.transport import exact_transport, squared_distances

__all__ = ["PARTS", "SentSim"]

PARTS = ("sss", "bertscore", "wmd", "wmdo", "smd")
_DISTANCES = frozenset({"wmd", "wmdo", "smd"})

#: How a scaled distance becomes an exponent.
_FLIPS = {"1-b": 1.0, "-b": 0.0}


class SentSimForm(NamedTuple):
    """A text as its parts need it."""

    sentence: NDArray[np.float32] | None
    greedy: Cloud | None
    tokens: NDArray[np.float64]
    """Vectors of its tokens without special ones."""
    words: tuple[str, ...]
    """Their spelling, where matches are equal words."""


@dataclass(frozen=True, eq=False)
class SentSimState:
    """What a run of SentSim fixed before the first pair."""

    layer: int
    greedy: BERTScoreState
    sentences: SentenceEncoder | None
    bounds: Bounds | None
    tokenizer: TextTokenizer


@dataclass(frozen=True, kw_only=True)
class SentSim(CloudMetric[SentSimState, SentSimForm]):
    """Parts of a pair, scaled over the corpus (or by frozen bounds) and joined.

    >>> SentSim(combine="sss+bertscore").components
    ('sentsim', 'sss', 'bertscore')
    """

    name: ClassVar[str] = "sentsim"
    main: ClassVar[str] = "sentsim"
    higher_is_better: ClassVar[bool] = True
    distances: ClassVar[frozenset[str]] = _DISTANCES
    signature_fields: ClassVar[tuple[str, ...]] = (
        "combine",
        "weighting",
        "flip",
        "links",
        "layer",
        "sentence",
        "sentence_engine",
        "bounds",
    )
    citation: ClassVar[str] = """\
@inproceedings{song-etal-2021-sentsim,
  title     = {{S}ent{S}im: Crosslingual Semantic Evaluation of Machine Translation},
  author    = {Song, Yurun and Zhao, Junchen and Specia, Lucia},
  booktitle = {Proceedings of NAACL-HLT},
  year      = {2021},
  url       = {https://aclanthology.org/2021.naacl-main.252}
}"""

    against: str = option("source", parse=str, help="what a text is compared with: source (SRC-MT), or refs (MT-REF)")
    combine: str = option("sss+wmd", parse=str, help=f"parts joined by +, or all: {', '.join(PARTS)}")
    weighting: str = option("equal", parse=str, help="equal, or a number for each part, joined by +")
    flip: str = option("1-b", parse=str, help="a distance B enters as e^(1-B) (1-b), or as e^-B (-b, first release)")
    links: str = option("flow", parse=str, help="matches of wmdo: flow, or words (equal ones)")
    layer: int | None = option(None, parse=number_or("default", int), help="a layer's number, or 'default'")
    sentence: str = option("", parse=str, help="model of sentence vectors (default: the model)")
    bounds: str = option("corpus", parse=str, help="corpus (published), or a file of 'nlgauge sentsim calibrate'")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.combine == "all":
            object.__setattr__(self, "combine", "+".join(PARTS))
        if not set(self.parts) <= set(PARTS) or len(set(self.parts)) < len(self.parts):
            self._refuse("combine")
        for name, allowed in (("flip", tuple(_FLIPS)), ("links", ("flow", "words"))):
            if getattr(self, name) not in allowed:
                self._refuse(name)
        needs = {"links": {"wmdo"}, "flip": _DISTANCES, "layer": set(PARTS) - {"sss"}, "cut": set(PARTS) - {"sss"}}
        for name, parts in (needs | {"sentence": {"sss"}}).items():
            if getattr(self, name) != self.options()[name].default and not parts & set(self.parts):
                wanted = " or ".join(sorted(parts))
                msg = f"{name}={getattr(self, name)!r} belongs to {wanted}, and the parts are {self.combine!r}"
                raise RecipeError(msg)
        _ = self._weights, self._greedy

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts, in the order asked for."""
        return tuple(self.combine.split("+"))

    @property
    def components(self) -> tuple[str, ...]:  # type: ignore[override]  # by what was asked for
        """The score and its parts as they are before scaling."""
        return ("sentsim", *self.parts)

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # bounds decide
        """A pair's score depends on the others unless bounds are frozen."""
        return self.bounds == "corpus"

    @property
    def _weights(self) -> tuple[float, ...]:
        if self.weighting == "equal":
            return (1 / len(self.parts),) * len(self.parts)
        try:
            weights = tuple(float(text) for text in self.weighting.split("+"))
        except ValueError:
            weights = ()
        if len(weights) != len(self.parts) or not np.isfinite(weights).all():
            msg = f"weighting is 'equal' or {len(self.parts)} numbers joined by +, got {self.weighting!r}"
            raise RecipeError(msg)
        return weights

    @cached_property
    def _greedy(self) -> BERTScore:
        shared = {name: getattr(self, name) for name in ("model", "lang", "against", "casing", "cut", "layer")}
        return BERTScore(**shared)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return self._greedy.layers(encoder) if self._looks_at_tokens else ()

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> SentSimState:
        sentences = None
        if "sss" in self.parts:
            sentences = load_sentence_encoder(self.sentence or self.model, **options.loading)
        bounds = None
        if not self.whole_corpus:
            bounds = Bounds.load(Path(self.bounds))
        elif len(corpus.corpus) * len(corpus.corpus.systems) < 2:
            msg = (
                "sentsim scales its parts by their range over the corpus, so one pair has no score; "
                "score it with the bounds of others: bounds=FILE (made by 'nlgauge sentsim calibrate')"
            )
            raise InputError(msg)
        greedy = self._greedy.prepare(corpus, options)
        return SentSimState(greedy.layer, greedy, sentences, bounds, corpus.encoder.tokenizer)

    def check_recipe(self, recipe: Mapping[str, str], state: SentSimState) -> None:
        if state.bounds is not None:
            state.bounds.check(self.parts, recipe, path=self.bounds)

    def read(self, texts: WindowTexts, state: SentSimState) -> None:
        if state.sentences is not None:
            read_sentences(texts, state.sentences)

    def represent(self, text: EncodedText, state: SentSimState, side: str) -> SentSimForm:
        sentence = None if state.sentences is None else sentence_of(text, state.sentences)
        if not self._looks_at_tokens:
            return SentSimForm(sentence, None, np.empty((0, 1)), ())
        greedy = self._greedy.represent(text, state.greedy, "") if "bertscore" in self.parts else None
        kept = np.flatnonzero(~text.tokens.is_special)
        vectors = text.layers[state.layer][kept].astype(np.float64)
        words: tuple[str, ...] = ()
        if "wmdo" in self.parts and self.links == "words":
            surfaces = state.tokenizer.surfaces(text.tokens)
            # A lone mark of white space (SentencePiece) is no word.
            words = tuple(surfaces[place].lower() for place in kept if surfaces[place])
        return SentSimForm(sentence, greedy, vectors, words)

    @property
    def _looks_at_tokens(self) -> bool:
        return bool(set(self.parts) - {"sss"})

    def compare(
        self, hypothesis: SentSimForm, references: Sequence[SentSimForm], state: SentSimState, *, align: bool
    ) -> Comparison:
        values = np.zeros((len(references), len(self.parts)))
        zero = False
        for row, reference in enumerate(references):
            found = self._moved(hypothesis, reference)
            if hypothesis.sentence is not None and reference.sentence is not None:
                found["sss"] = float(hypothesis.sentence @ reference.sentence)
            if hypothesis.greedy is not None and reference.greedy is not None:
                greedy = self._greedy.compare(hypothesis.greedy, [reference.greedy], state.greedy, align=False)
                found["bertscore"] = float(greedy.values[0, self._greedy.components.index("f1")])
                zero = zero or greedy.zero_weight
            values[row] = [found[part] for part in self.parts]
        return Comparison(values, None, zero)

    def _moved(self, hypothesis: SentSimForm, reference: SentSimForm) -> dict[str, float]:
        """The distances; that to an empty text is the one to the origin."""
        found: dict[str, float] = {}
        x, y = hypothesis.tokens, reference.tokens
        if "smd" in self.parts:
            centre = [vectors.mean(axis=0) if len(vectors) else np.zeros(1) for vectors in (x, y)]
            found["smd"] = float(np.linalg.norm(centre[0] - centre[1]))
        if {"wmd", "wmdo"} & set(self.parts):
            if not len(x) or not len(y):
                full = x if len(x) else y
                distance = float(np.linalg.norm(full, axis=1).mean()) if len(full) else 0.0
                return found | {"wmd": distance, "wmdo": distance}
            costs = np.sqrt(squared_distances(x, y))
            plan = exact_transport(np.ones(len(x)), np.ones(len(y)), costs)
            found["wmd"] = plan.cost
            if "wmdo" in self.parts:
                links = flow_links(plan.flow) if self.links == "flow" else _equal_words(hypothesis, reference)
                found["wmdo"] = wmdo(plan.cost, links)
        return found

    def finish(self, comparisons: Sequence[Comparison], state: SentSimState) -> Finished:
        return self.finish_all({"": comparisons}, state)[""]

    def finish_all(self, comparisons: Mapping[str, Sequence[Comparison]], state: SentSimState) -> dict[str, Finished]:
        raw = {
            system: dict(zip(self.parts, np.array([c.values.mean(axis=0) for c in found]).T, strict=True))
            for system, found in comparisons.items()
        }
        bounds = state.bounds or Bounds.of(
            {part: np.concatenate([parts[part] for parts in raw.values()]) for part in self.parts}
        )
        run = {"range": short_digest(bounds.digest), "pairs": str(bounds.pairs)} if state.bounds is None else {}
        return {
            system: Finished({"sentsim": self._joined(parts, bounds)} | parts, run=run)
            for system, parts in raw.items()
        }

    def _joined(self, parts: Mapping[str, NDArray[np.float64]], bounds: Bounds) -> NDArray[np.float64]:
        """Equation 7."""
        total = np.zeros(len(next(iter(parts.values()))))
        for weight, part in zip(self._weights, self.parts, strict=True):
            scaled = bounds.scaled(part, parts[part])
            total += weight * np.exp(_FLIPS[self.flip] - scaled if part in _DISTANCES else scaled)
        return total

    def describe(self, state: SentSimState) -> dict[str, str]:
        own = {"combine": self.combine, "weighting": self.weighting, "flip": self.flip}
        if "wmdo" in self.parts:
            own["links"] = self.links
        own["layer"] = str(state.layer)
        if state.sentences is not None:
            own["sentence"] = f"{state.sentences.name}[{short_digest(state.sentences.digest)}]"
            own["sentence_engine"] = state.sentences.engine
        own["bounds"] = "corpus" if state.bounds is None else f"file[{short_digest(state.bounds.digest)}]"
        return own

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        options = {key: value for key, value in recipe.items() if key in cls.options()}
        for key in {"sentence", "bounds"} & options.keys():
            options[key] = options[key].partition("[")[0]
        return options


def _equal_words(hypothesis: SentSimForm, reference: SentSimForm) -> tuple[tuple[int, int], ...]:
    """Each word with the first equal one that is still free, from left to right."""
    free: dict[str, list[int]] = {}
    for place, word in enumerate(reference.words):
        free.setdefault(word, []).append(place)
    return tuple((place, free[word].pop(0)) for place, word in enumerate(hypothesis.words) if free.get(word))
