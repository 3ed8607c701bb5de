"""A text as a metric sees it: its tokens and vectors, whose text it is, and what its tokens weigh."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.cloud import PointSpans, unit_rows
from nlgauge.clouds.filters import TokenFilter, kept_tokens, surfaces_of
from nlgauge.encoders import EncodedText
from nlgauge.text import IdfTable, TextTokenizer, Tokens

__all__ = ["Role", "Selection", "TextView", "token_spans"]


class Role(NamedTuple):
    """What a text is in a comparison."""

    kind: Literal["hypothesis", "reference", "source"]
    system: str | None = None
    """Whose hypothesis it is, where a recipe treats the texts of systems differently (idf of each system's own)."""


class Selection(NamedTuple):
    """Tokens, or words, that a recipe keeps."""

    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    zero_weight: bool
    """Whether idf left no weight, so that uniform weights stand in."""


@dataclass(frozen=True, eq=False)
class TextView:
    """A text in its role."""

    encoded: EncodedText
    role: Role
    tokenizer: TextTokenizer
    idf: IdfTable | None = None
    """The table that weighs its tokens; None: all weigh the same."""

    @property
    def tokens(self) -> Tokens:
        """Its tokens."""
        return self.encoded.tokens

    @property
    def layers(self) -> Mapping[int, NDArray[np.float32]]:
        """A row per token, by layer."""
        return self.encoded.layers

    @property
    def features(self) -> Mapping[Hashable, Any]:
        """What models of whole texts found about it."""
        return self.encoded.text_features

    def unit(self, layer: int) -> NDArray[np.float32]:
        """Its token vectors of a layer, scaled to length 1."""
        return self.encoded.derived(("unit", layer), lambda: unit_rows(self.layers[layer]))

    def words(self, *, by_word: bool = False) -> tuple[str, ...]:
        """Its tokens as a reader writes them, or its words, put together from their pieces."""
        surfaces = surfaces_of(self.encoded, self.tokenizer)
        if not by_word:
            return surfaces
        pieces = self.encoded.derived("pieces", lambda: self.tokenizer.pieces(self.tokens))
        starts, sizes = self.tokens.word_pieces
        return tuple(
            surfaces[at] if size == 1 else "".join(pieces[at : at + size])
            for at, size in zip(starts, sizes, strict=True)
        )

    def spans(self, *, by_word: bool = False) -> tuple[PointSpans, ...]:
        """Where its tokens stand in the text, or its words, by the places of their pieces."""
        return token_spans(self.tokens, by_word=by_word)

    def select(self, keep: TokenFilter | None, *, specials_weigh: bool) -> Selection:
        """The tokens that a filter keeps (None: all), or the words where it averages pieces, with their weights.

        A weight is the token's idf; without a table it is 1, of special tokens only where they are to weigh. Where
        that leaves nothing (a corpus of one document gives every token it holds 0) all but special tokens weigh the
        same.
        """
        tokens, by_word = self.tokens, keep is not None and keep.subwords == "average"
        rows = np.arange(len(tokens)) if keep is None else kept_tokens(self.encoded, keep, self.tokenizer)
        special = tokens.is_special[tokens.starts_word] if by_word else tokens.is_special
        if self.idf is not None:
            weights = self.idf.weights[tokens.ids]
            weights = (tokens.average_pieces(weights) if by_word else weights)[rows]
        else:
            weights = np.where(special[rows], float(specials_weigh), 1.0)
        if weights.sum() > 0:
            return Selection(rows, weights, False)
        uniform = np.where(special[rows], 0.0, 1.0)
        return Selection(rows, uniform if uniform.sum() > 0 else np.ones(len(rows)), True)


def token_spans(tokens: Tokens, *, by_word: bool = False) -> tuple[PointSpans, ...]:
    """Where tokens stand in their text, or words by the places of their pieces; special tokens stand nowhere."""
    places: list[PointSpans] = [
        ((start, end),) if end > start and not special else ()
        for (start, end), special in zip(tokens.offsets.tolist(), tokens.is_special.tolist(), strict=True)
    ]
    if not by_word:
        return tuple(places)
    starts, sizes = tokens.word_pieces
    return tuple(
        tuple(span for place in places[at : at + size] for span in place)
        for at, size in zip(starts, sizes, strict=True)
    )
