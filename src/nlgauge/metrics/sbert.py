"""SBERT: cosine of the sentence vectors of two texts.

What it computes
----------------

    score = cos(E(x), E(y))                E: the sentence vector of the model

The model determines E. Models in the layout of sentence-transformers pool the token vectors of the last layer, as
their folder says (mean, first token, maximum); `muse` has a network for sentences. Several references are averaged,
or the best counts (`multiref`).

Worked example
--------------

The sentence vector of a model without pooling is the mean of its token vectors. For "a cat" and "the dog cat" these
are (.8, .4) and (.467, .8), with the cosine .837.

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1], "the": [0.8, 0.6]}
    >>> toy_scores("sbert", "a cat", "the dog cat", vectors=vectors)
    {'score': [0.837]}

Profiles and deviations
-----------------------

There are no profiles. Texts over the model's limit are truncated and counted, or read in windows.

Relations
---------

- The part `sss` of `sentsim` and `xmoverscore:unit=sentence` are the same cosine, by default against the source.
- `smd` has the mean of the vectors of several layers, with idf, and special tokens and punctuation of its own.

Citation
--------

Reimers, Gurevych: "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.metric import Pair
from nlgauge.core.options import option
from nlgauge.core.resources import SentenceModelName, encode_sentences, sentence_vector
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State, VectorMetric, WindowTexts
from nlgauge.encoders.base import Encoder
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.transport import multiref_option

Vector = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class SBERT(VectorMetric[Vector]):
    """Cosine of the sentence vectors of two texts."""

    name: ClassVar[str] = "sbert"
    title: ClassVar[str] = "SBERT"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    citation: ClassVar[str] = cite("reimers-gurevych-2019-sentence")

    sentence: str = option("", SentenceModelName(), help="sentence embedding model", unset="same as model")
    multiref: str = multiref_option()

    @property
    def unused(self) -> Mapping[str, str]:
        """Options of token vectors."""
        reason = "has no effect on sentence vectors"
        return dict(super().unused) | dict.fromkeys(("max_tokens", "prefix_space", "transforms"), reason)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return ()

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        encode_sentences(texts, state["sentence"])

    def represent(self, text: TextView, state: State) -> Vector | None:
        vector = sentence_vector(text, state["sentence"])
        return vector if vector.any() else None

    def compare(self, x: Vector, y: Vector, state: State, *, align: bool) -> Pair:
        return Pair([float(x @ y)])
