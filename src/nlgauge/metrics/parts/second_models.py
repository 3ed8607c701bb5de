"""What a second model says about whole texts: a vector of the sentence, or how likely a language model finds it.

A window's texts are read at once, each once; what was found stays with the encoded text.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders import EncodedText
from nlgauge.encoders.whole_text.language_model import LanguageModel, twice_normalised
from nlgauge.encoders.whole_text.sentences import SentenceEncoder
from nlgauge.recipes.metric import WindowTexts
from nlgauge.transforms.base import VectorSteps
from nlgauge.transforms.remap import Side

__all__ = ["fluency_of", "read_fluency", "read_sentences", "sentence_of"]


def read_sentences(
    texts: WindowTexts, sentences: SentenceEncoder, *, across: bool = False, steps: VectorSteps | None = None
) -> None:
    """A unit vector for every text; `across`: what the hypotheses are compared with is the source."""
    sides: list[tuple[Sequence[str], Side]] = [(texts.hypotheses, "target"), (texts.others, _other(across))]
    for chosen, side in sides:
        key = _sentence_key(sentences, side, steps)
        new = [text for text in chosen if key not in texts.encoded[text].facts]
        if not new:
            continue
        vectors = sentences.encode(new)
        if steps is not None:
            vectors = steps.move(vectors, side)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        for text, unit in zip(new, units, strict=True):
            texts.encoded[text].facts[key] = unit


def sentence_of(
    text: EncodedText, sentences: SentenceEncoder, *, source: bool = False, steps: VectorSteps | None = None
) -> NDArray[np.float32]:
    """The unit vector that `read_sentences` found; at the origin for an empty text."""
    found: NDArray[np.float32] = text.facts[_sentence_key(sentences, _other(source), steps)]
    return found


def read_fluency(texts: WindowTexts, model: LanguageModel, *, twice: bool) -> None:
    """How likely the language model finds each hypothesis; `twice`: normalised by length twice."""
    key = _fluency_key(model, twice)
    new = [text for text in texts.hypotheses if key not in texts.encoded[text].facts]
    if not new:
        return
    found = model.score(new)
    values = twice_normalised(found) if twice else found.log_likelihood
    for text, value in zip(new, values, strict=True):
        texts.encoded[text].facts[key] = float(value)


def fluency_of(text: EncodedText, model: LanguageModel, *, twice: bool) -> float:
    """What `read_fluency` found."""
    found: float = text.facts[_fluency_key(model, twice)]
    return found


def _other(across: bool) -> Side:
    return "source" if across else "target"


def _sentence_key(sentences: SentenceEncoder, side: Side, steps: VectorSteps | None) -> Hashable:
    # Without steps a text has one vector, whichever side it is on.
    return ("sentence", sentences.digest, *((side, steps.digest) if steps is not None else ()))


def _fluency_key(model: LanguageModel, twice: bool) -> Hashable:
    return ("fluency", model.digest, twice)
