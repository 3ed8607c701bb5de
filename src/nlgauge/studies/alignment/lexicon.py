"""Lexicons from parallel text: IBM model 1 in both directions, for the metric `ibm1`.

    p(h | s) = 1 / (S + 1)^H  prod over j of sum over i = 0 ... S of t(h_j | s_i)         (Brown et al. 1993)

t is fitted by expectation maximisation from uniform values. s_0 is none, a word that is in every source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlgauge.errors import InputError
from nlgauge.metrics.parts.lexicon import NONE, Cells, Lexicon, Translations
from nlgauge.studies.alignment.word_aligner import WordTable, check_parallel, fit_model_1
from nlgauge.text.words import bare_words

#: Lowest probability that is kept by default.
LEAST = 1e-4


def train_lexicon(source: Sequence[str], target: Sequence[str], *, rounds: int = 5, least: float = LEAST) -> Lexicon:
    """Fit the lexicon of parallel texts; probabilities below `least` are left out.

    >>> lexicon = train_lexicon(["das haus", "das buch", "ein buch"], ["the house", "the book", "a book"])
    >>> lexicon.forward.table(["das"], ["the", "house"]).round(2).tolist()
    [[0.86], [0.1]]
    """
    check_parallel(source, target)
    left, right = ([bare_words(text) for text in texts] for texts in (source, target))
    if not any(a and b for a, b in zip(left, right, strict=True)):
        msg = "the parallel texts have no pair with words on both sides; check the two files"
        raise InputError(msg)
    forward = _translations(fit_model_1(left, right, rounds=rounds), least)
    backward = _translations(fit_model_1(right, left, rounds=rounds), least)
    return Lexicon(forward, backward, len(left))


def _translations(table: WordTable, least: float) -> Translations:
    given_words = tuple(NONE if word is None else str(word) for word in table.given_words)
    kept = table.probability >= least
    order = np.lexsort((table.word[kept], table.given[kept]))
    cells = Cells(table.given[kept][order], table.word[kept][order], table.probability[kept][order])
    return Translations(given_words, tuple(map(str, table.words)), cells)
