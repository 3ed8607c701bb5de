"""Parallel texts as joint alignment reads them: tokens, words and links, cut into batches.

Links come from a word aligner, or from mutual nearest neighbours under the model as it is. A word's vector is the
average of its pieces, as everywhere (`parallel_words.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders import Encoder
from nlgauge.errors import InputError
from nlgauge.text import Tokens
from nlgauge.text.word_alignment import Links, check_links, mutual_nearest
from nlgauge.transforms.fit.parallel_words import fits, texts_as_words, white_space_words

__all__ = ["Bitext", "LinkedPair", "Side", "batches_of_epoch", "linked_pairs", "pairs_digest"]

#: Batches among which texts are sorted by length: less padding, and still another order every epoch.
_SORTED_TOGETHER = 32


@dataclass(frozen=True)
class Bitext:
    """Texts of a language, line by line translations of texts of the pivot."""

    source: Sequence[str]
    target: Sequence[str]
    """The pivot, in most cases English: towards which the others move."""
    links: Sequence[Links] | None = None
    """Between words that white space separates; None: mutual nearest neighbours."""
    name: str = "alignments"
    """What messages call the links."""


class Side(NamedTuple):
    """A text: its tokens, and the word that each belongs to (-1 for special tokens)."""

    ids: NDArray[np.int64]
    words: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many words it has."""
        return int(self.words.max()) + 1


class LinkedPair(NamedTuple):
    """A text, its translation, and which words belong together."""

    source: Side
    target: Side
    links: NDArray[np.int64]
    """A row per link: word of the source, word of the target."""


def linked_pairs(
    encoder: Encoder,
    bitexts: Sequence[Bitext],
    *,
    layer: int,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] | None = None,
) -> tuple[list[LinkedPair], int]:
    """All pairs of texts that have a link, and how many were left out."""
    found: list[LinkedPair] = []
    for bitext in bitexts:
        _check(bitext)
        links = bitext.links
        if links is None:
            links = _neighbours(encoder, bitext, layer, batch_tokens, advance)
        tokens = [encoder.tokenizer.encode(list(texts)) for texts in (bitext.source, bitext.target)]
        for number, (own, left, right) in enumerate(zip(links, *tokens, strict=True)):
            if not (own and fits(left) and fits(right)):
                continue
            texts = bitext.source[number], bitext.target[number]
            by_blanks = bitext.links is not None
            sides = [_side(encoder, text, read, by_blanks) for text, read in zip(texts, (left, right), strict=True)]
            if sides[0] is not None and sides[1] is not None:
                found.append(LinkedPair(sides[0], sides[1], np.array(own, dtype=np.int64)))
    return found, sum(len(bitext.source) for bitext in bitexts) - len(found)


def _check(bitext: Bitext) -> None:
    if len(bitext.source) != len(bitext.target):
        msg = f"parallel texts come in pairs, got {len(bitext.source)} and {len(bitext.target)} of the two sides"
        raise InputError(msg)
    if list(bitext.source) == list(bitext.target):
        msg = "both sides are the same text, so there is nothing to bring together; give translations"
        raise InputError(msg)
    if bitext.links is not None:
        sizes = [
            (len(left.split()), len(right.split())) for left, right in zip(bitext.source, bitext.target, strict=True)
        ]
        check_links(bitext.links, sizes, name=bitext.name)


def _neighbours(
    encoder: Encoder, bitext: Bitext, layer: int, batch_tokens: int, advance: Callable[[int], None] | None
) -> list[Links]:
    links: list[Links] = [()] * len(bitext.source)
    for number, *words in texts_as_words(
        encoder,
        bitext.source,
        bitext.target,
        layer=layer,
        by_blanks=False,
        batch_tokens=batch_tokens,
        advance=advance,
    ):
        links[number] = mutual_nearest(*words)
    return links


def _side(encoder: Encoder, text: str, tokens: Tokens, by_blanks: bool) -> Side | None:
    if by_blanks:
        words = white_space_words(encoder.tokenizer, text, tokens)
        if words is None:
            return None
        tokens = replace(tokens, words=words)
    inside = ~tokens.is_special
    numbers = np.cumsum(tokens.starts_word & inside) - 1
    return Side(tokens.ids.astype(np.int64), np.where(inside, numbers, -1).astype(np.int64))


def batches_of_epoch(lengths: Sequence[int], *, batch: int, seed: int, epoch: int) -> list[NDArray[np.intp]]:
    """The pairs of each step: all once, in an order of the seed and the epoch, with pairs of like length together.

    >>> steps = batches_of_epoch([3, 9, 3, 9, 3], batch=2, seed=0, epoch=1)
    >>> sorted(map(len, steps)), sorted(int(pair) for step in steps for pair in step)
    ([1, 2, 2], [0, 1, 2, 3, 4])
    """
    chance = np.random.default_rng([seed, epoch])
    order, sizes = chance.permutation(len(lengths)), np.asarray(lengths)
    parts: list[NDArray[np.intp]] = []
    for start in range(0, len(order), batch * _SORTED_TOGETHER):
        block = order[start : start + batch * _SORTED_TOGETHER]
        block = block[np.argsort(sizes[block], kind="stable")]
        parts += [block[at : at + batch] for at in range(0, len(block), batch)]
    return [parts[at] for at in chance.permutation(len(parts))]


def pairs_digest(pairs: Sequence[LinkedPair]) -> str:
    """Names the texts and their links as the model reads them."""
    hashed = hashlib.sha256()
    for pair in pairs:
        for array in (*pair.source, *pair.target, pair.links):
            hashed.update(str(array.shape).encode())
            hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()
