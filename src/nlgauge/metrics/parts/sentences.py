"""Models of whole texts in a metric: cosine of two sentence vectors, and fluency by a language model (XMoverScore).

The distinct texts of a window are read at once. What a model found is kept with the encoded tokens of a text.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import WindowTexts
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import Side
from nlgauge.vectors.transforms import Transforms

if TYPE_CHECKING:
    from nlgauge.encoders.language_model import LanguageModel
    from nlgauge.encoders.sentences import SentenceEncoder


def encode_sentences(
    texts: WindowTexts, sentences: SentenceEncoder, *, against: str = "refs", transforms: Transforms | None = None
) -> None:
    """A unit vector for every text of a window."""
    other: Side = "source" if against == "source" else "target"
    sides: list[tuple[Sequence[str], Side]] = [(texts.hypotheses, "target"), (texts.references, other)]
    for chosen, side in sides:
        key = _key(sentences, side, transforms)
        new = [text for text in chosen if key not in texts.encoded[text].text_features]
        if not new:
            continue
        vectors = sentences.encode(new)
        if transforms is not None:
            vectors = transforms.move(vectors, side)
        for text, unit in zip(new, unit_rows(vectors), strict=True):
            texts.encoded[text].text_features[key] = unit


def sentence_vector(
    text: TextView, sentences: SentenceEncoder, transforms: Transforms | None = None
) -> NDArray[np.float32]:
    """The unit vector that `encode_sentences` found; at the origin for an empty text."""
    side: Side = "source" if text.role.kind == "source" else "target"
    found: NDArray[np.float32] = text.features[_key(sentences, side, transforms)]
    return found


def _key(sentences: SentenceEncoder, side: Side, transforms: Transforms | None) -> Hashable:
    # Without transforms a text has one vector, whichever side it is on.
    return ("sentence", sentences.digest, *((side, transforms.digest) if transforms is not None else ()))


def score_fluency(
    texts: WindowTexts, model: LanguageModel, *, length_normalised_twice: bool, whole: bool = False
) -> None:
    """Ask the language model about every hypothesis of a window, each once; `whole`: what it would cut is refused."""
    from nlgauge.encoders.language_model import twice_normalised

    key = _fluency_key(model, length_normalised_twice)
    new = [text for text in texts.hypotheses if key not in texts.encoded[text].text_features]
    if not new:
        return
    if whole:
        model.refuse_long(new)
    found = model.score(new)
    values = twice_normalised(found) if length_normalised_twice else found.log_likelihood
    for text, value in zip(new, values, strict=True):
        texts.encoded[text].text_features[key] = float(value)


def fluency(text: TextView, model: LanguageModel | None, *, length_normalised_twice: bool) -> float:
    """What `score_fluency` found; 0 without a model, and for what is no hypothesis."""
    if model is None or text.role.kind != "hypothesis":
        return 0.0
    found: float = text.features[_fluency_key(model, length_normalised_twice)]
    return found


def _fluency_key(model: LanguageModel, twice: bool) -> Hashable:
    return ("fluency", model.digest, twice)
