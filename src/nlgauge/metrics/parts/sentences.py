"""Sentence vectors in a metric: the distinct texts of a window are read at once, and a vector stays with its text."""

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
    from nlgauge.encoders.whole_text.sentences import SentenceEncoder


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
