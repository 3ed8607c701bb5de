"""What a model of whole sentences says about two texts: the cosine of their vectors.

A window's texts are encoded at once, each once; a text's vector stays with its encoded tokens.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nlgauge.corpus.views import TextView
from nlgauge.recipes.vector_metric import WindowTexts
from nlgauge.transforms.base import Transforms
from nlgauge.transforms.remap import Side

if TYPE_CHECKING:  # a second model is loaded where one is used
    from nlgauge.encoders.whole_text.sentences import SentenceEncoder

__all__ = ["encode_sentences", "sentence_vector"]


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
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        for text, unit in zip(new, units, strict=True):
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
