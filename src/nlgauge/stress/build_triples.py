"""Triples that are made: nouns in another order, and pairs of PAWS put together.

permute_nouns    C is A with its common nouns in singular permuted (as published: tokens tagged NN, at least two)
paws_triples     of the labelled pairs of PAWS: B the paraphrase of A that shares least, C the lookalike that
                 shares most; kept where B shares less than C, no sentence twice, those with the largest gap (D14)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nlgauge.annotate import AnnotatedText, AnnotatedWord, Annotator
from nlgauge.errors import InputError
from nlgauge.explain.annotation import annotate_each
from nlgauge.explain.factors.overlap import bleu1
from nlgauge.files.lines import read_bytes
from nlgauge.files.records import delimited_rows
from nlgauge.stress.perturbation import drawn, other_order, put_in
from nlgauge.stress.triples import Triple, Triples
from nlgauge.text.treebank import treebank_words

__all__ = ["LabelledPair", "load_paws_pairs", "paws_triples", "permute_nouns", "permuted"]

#: The published seed.
_SEED = 42


class LabelledPair(NamedTuple):
    """Two sentences, and whether they mean the same."""

    first: str
    second: str
    paraphrase: bool


def permute_nouns(
    anchors: Sequence[str], paraphrases: Sequence[str], annotator: Annotator, *, seed: int = _SEED
) -> Triples:
    """Triples whose lookalike is the anchor with its nouns in another order; what has less than two, or that the
    annotator refuses, is left out and counted.

    The order is drawn from the seed and the text, so that the other anchors change nothing. The
    published lookalikes are words joined by blanks; here only the nouns move (D14).
    """
    if len(anchors) != len(paraphrases):
        msg = f"each anchor needs a paraphrase, got {len(anchors)} anchors and {len(paraphrases)} paraphrases"
        raise InputError(msg)
    annotated = annotate_each(annotator, anchors)
    found = []
    for anchor, paraphrase in zip(anchors, paraphrases, strict=True):
        text = annotated[anchor]
        lookalike = None if text is None else permuted(text, seed=seed)
        if lookalike is not None:
            found.append(Triple(anchor, paraphrase, lookalike))
    if not found:
        msg = f"none of the {len(anchors)} anchors has two different nouns to exchange"
        raise InputError(msg)
    return Triples(f"nouns[seed {seed},{annotator.label}]", tuple(found), skipped=len(anchors) - len(found))


def permuted(text: AnnotatedText, *, seed: int = _SEED) -> str | None:
    """The text with its common nouns in another order; None where no order differs from the one it has."""
    nouns = [word for _, word in text.nouns() if _is_common_singular(word)]
    forms = [text.text[word.start : word.end] for word in nouns]
    other = other_order(forms, drawn(seed, "nouns", text.text))
    return None if other is None else put_in(text.text, nouns, other)


def _is_common_singular(word: AnnotatedWord) -> bool:
    """What the published code takes: the tag NN, which is no name and no plural."""
    return word.upos == "NOUN" and word.features.get("Number", "Sing") != "Plur"


def load_paws_pairs(path: str | os.PathLike[str]) -> list[LabelledPair]:
    """The labelled pairs of a file of PAWS: `id`, `sentence1`, `sentence2` and `label`, with a header."""
    name = os.fspath(path)
    rows = delimited_rows(read_bytes(name), name, needed=("sentence1", "sentence2", "label"))
    return [
        LabelledPair(row.text("sentence1"), row.text("sentence2"), row.integer("label", low=0, high=1) == 1)
        for row in rows
    ]


def paws_triples(pairs: Iterable[LabelledPair], *, most: int = 300, name: str = "paws") -> Triples:
    """Triples from labelled pairs, those with the largest gap between the two overlaps first.

    For a sentence A, lookalikes are the second sentences of pairs (A, C) with label 0, and paraphrases the first
    sentences of pairs (B, A) with label 1, as the released code has it.
    """
    listed = list(pairs)
    paraphrases: dict[str, list[str]] = {}
    lookalikes: dict[str, list[str]] = {}
    for pair in listed:
        if pair.paraphrase:
            paraphrases.setdefault(pair.second, []).append(pair.first)
        else:
            lookalikes.setdefault(pair.first, []).append(pair.second)
    found: list[tuple[float, Triple]] = []
    used: set[str] = set()
    for anchor in lookalikes:
        if anchor in used or anchor not in paraphrases:
            continue
        chosen = _nearest_and_farthest(anchor, paraphrases[anchor], lookalikes[anchor], used)
        if chosen is not None:
            used |= set(chosen[1])
            found.append(chosen)
    if not found:
        msg = (
            f"no sentence of the {len(listed)} pairs has a paraphrase that shares less with it than a lookalike does"
        )
        raise InputError(msg)
    best = sorted(found, key=lambda one: -one[0])[:most]
    return Triples(name, tuple(triple for _, triple in best), skipped=len(lookalikes) - len(found))


def _nearest_and_farthest(
    anchor: str, paraphrases: Sequence[str], lookalikes: Sequence[str], used: set[str]
) -> tuple[float, Triple] | None:
    words = treebank_words(anchor)

    def overlap(text: str) -> float:
        return bleu1(words, treebank_words(text))

    of_b = [text for text in paraphrases if text not in used]
    of_c = [text for text in lookalikes if text not in used]
    if not of_b or not of_c:
        return None
    b, c = min(of_b, key=overlap), max(of_c, key=overlap)
    gap = overlap(c) - overlap(b)
    return (gap, Triple(anchor, b, c)) if gap > 0 and b != c else None
