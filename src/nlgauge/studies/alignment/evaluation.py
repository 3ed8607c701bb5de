"""Quality of a map between two languages, on texts that it was not fitted on.

    induction   a linked word's nearest word of the other language, among all linked words, is its translation: P@1 by
                cosine and by CSLS. A word in its place counts, not its spelling (contextual lexicon induction).
    retrieval   a text's nearest text of the other language is its translation: P@1; a text is the mean of its words
    alignment   words that are each other's nearest within a pair of texts, against gold links: F1
    correlation Pearson's r of XMoverScore under the map with human scores of translations

Links come from a word aligner or from people; without them they are mutual nearest neighbours before any map, which
favours leaving vectors as they are, and there is no F1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.scoring import score
from nlgauge.errors import InputError
from nlgauge.stats.correlation import correlate
from nlgauge.studies.alignment.linear import Pairs, induction_precision
from nlgauge.studies.alignment.parallel_words import AlignmentInputs, Links, mutual_nearest, texts_as_words
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.transforms import FittedTransform

#: Links that lexicon induction asks about, in the order of texts.
_MOST_LINKS = 3000

Rows = NDArray[np.float32]


class HeldOut(NamedTuple):
    """Words of parallel texts, and which of them translate each other."""

    source: tuple[Rows, ...]
    """A row per word, of each pair of texts."""
    target: tuple[Rows, ...]
    links: tuple[Links, ...]
    gold: bool
    """Whether the links were given."""
    left_out: int
    """Pairs of texts that are empty, too long, or whose words the tokenizer does not keep apart."""


class MapQuality(NamedTuple):
    """Shares between 0 and 1; nan where nothing can be said."""

    induction_cosine: float
    induction_csls: float
    retrieval: float
    alignment_f1: float
    links: int
    """That lexicon induction asked about."""
    texts: int


def held_out_words(inputs: AlignmentInputs) -> HeldOut:
    """Encode held-out texts once, for any number of maps."""
    inputs.check_links()
    alignments = inputs.alignments
    found = list(texts_as_words(inputs, by_blanks=alignments is not None))
    if len(found) < 2:
        msg = f"{len(found)} of {len(inputs.source)} pairs of texts have words to compare; give two or more"
        raise InputError(msg)
    links = [mutual_nearest(x, z) if alignments is None else alignments[n] for n, x, z in found]
    if not any(links):
        msg = "no word is linked to another; give links of the words that translate each other"
        raise InputError(msg)
    sides = tuple(x for _, x, _ in found), tuple(z for _, _, z in found)
    return HeldOut(*sides, tuple(links), alignments is not None, len(inputs.source) - len(found))


def evaluate_map(words: HeldOut, transform: FittedTransform | None) -> MapQuality:
    """What the map (None: none at all) makes of the words."""
    source = [_moved(transform, rows, "source") for rows in words.source]
    target = [_moved(transform, rows, "target") for rows in words.target]
    x, z = (
        unit_rows(
            np.concatenate(
                [rows[[link[place] for link in links]] for rows, links in zip(side, words.links, strict=True)]
            ),
            pairwise=True,
        )
        for place, side in ((0, source), (1, target))
    )
    x, z = x[:_MOST_LINKS], z[:_MOST_LINKS]
    gold = Pairs(np.arange(len(x)), np.arange(len(x)))
    by_cosine, by_csls = (induction_precision(x, z, gold, by=by) for by in ("cosine", "csls"))
    means = [unit_rows(np.stack([rows.mean(axis=0) for rows in side]), pairwise=True) for side in (source, target)]
    texts = Pairs(np.arange(len(means[0])), np.arange(len(means[0])))
    retrieved = induction_precision(means[0], means[1], texts, by="cosine")
    f1 = float("nan")
    if words.gold:
        f1 = link_f1([mutual_nearest(a, b) for a, b in zip(source, target, strict=True)], words.links)
    return MapQuality(by_cosine, by_csls, retrieved, f1, len(x), len(source))


def link_f1(found: Sequence[Links], gold: Sequence[Links]) -> float:
    """F1 over all links of all texts.

    >>> link_f1([((0, 0), (1, 1))], [((0, 0), (1, 2), (2, 2))])
    0.4
    """
    right = sum(len(set(ours) & set(theirs)) for ours, theirs in zip(found, gold, strict=True))
    return 2 * right / max(sum(map(len, found)) + sum(len(set(links)) for links in gold), 1)


def _moved(transform: FittedTransform | None, rows: Rows, side: str) -> Rows:
    return rows if transform is None else transform.apply(rows, side="source" if side == "source" else "target")


def check_rated(sources: Sequence[str], hyps: Sequence[str], human: Sequence[float]) -> None:
    """Refuse translations that cannot be correlated with people's scores."""
    if not len(sources) == len(hyps) == len(human):
        msg = f"expected as many sources, outputs and scores, got {len(sources)}, {len(hyps)} and {len(human)}"
        raise InputError(msg)
    if len(human) < 3 or not np.isfinite(human).all():
        msg = "a correlation needs three or more finite scores of people"
        raise InputError(msg)


def xmoverscore_correlation(
    sources: Sequence[str], hyps: Sequence[str], human: Sequence[float], *, transforms: str = "none", **options: Any
) -> float:
    """Pearson's r of people's scores with XMoverScore without a language model, under the transforms of a file.

    The chapter's RFEval leaves the language model out, so that only vectors count.
    """
    check_rated(sources, hyps, human)
    found = score(hyps, sources=sources, metric="xmoverscore", lm="none", transforms=transforms, **options)
    return correlate(found.segments[found.main], human).value
