"""Which tokens a recipe keeps, computed once per text and filter, and how a signature names a list of stop words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.filters import TokenFilter
from nlgauge.encoders import EncodedText
from nlgauge.files.digests import short_digest
from nlgauge.text import StopWords, TextTokenizer

__all__ = ["kept_tokens", "stopwords_label", "surfaces_of"]


def surfaces_of(text: EncodedText, tokenizer: TextTokenizer) -> tuple[str, ...]:
    """The text's tokens as a reader writes them."""
    return text.derived("surfaces", lambda: tokenizer.surfaces(text.tokens))


def kept_tokens(text: EncodedText, keep: TokenFilter, tokenizer: TextTokenizer) -> NDArray[np.intp]:
    """Places of the tokens that stay; where pieces are averaged, numbers of the words that do."""

    def make() -> NDArray[np.intp]:
        pieces = text.derived("pieces", lambda: tokenizer.pieces(text.tokens)) if keep.stopwords else ()
        kept = keep.kept(text.tokens, surfaces_of(text, tokenizer), pieces)
        return np.flatnonzero(kept[text.tokens.starts_word] if keep.subwords == "average" else kept)

    return text.derived(("kept", keep), make)


def stopwords_label(stopwords: StopWords) -> str:
    """The list's name and the digest of its words."""
    return f"{stopwords.name}[{short_digest(stopwords.digest)}]" if stopwords.words else "none"
