"""IBM1: probability of a translation and its source under IBM model 1, without a reference.

What it computes
----------------

    P(h | s)  = 1 / (S + 1)^H  prod over j of sum over i of p(h_j | s_i)    h: H words; s: S words, and s_0 for none
    forward   = log P(h | s) / H         backward = log P(s | h) / S         ibm1 = (forward + backward) / 2

The probabilities of words are those of a lexicon from parallel text (`nlgauge align lexicon`), and at least `floor`.
Logarithms are natural. An empty text has the value of a word without any translation, log(floor).

Worked example
--------------

The source "das haus" has S = 2, and the lexicon has p(the | das) = p(house | haus) = 1. So "the house" has P = 1/3^2,
and log P / 2 = log(1/3). Nothing leads to "book", whose factor is 1e-7, so "the book" has (log(1/3) + log(1e-7)) / 2,
in both directions.

    >>> import nlgauge
    >>> from nlgauge.studies.alignment.lexicon import train_lexicon
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lexicon.npz"
    >>> texts = ["das", "haus", "ein", "buch"], ["the", "house", "a", "book"]
    >>> train_lexicon(*texts, rounds=50, least=0.9).save(path)
    >>> score = nlgauge.score(["the house", "the book"], None, f"ibm1:lexicon={path}", sources=["das haus"] * 2)
    >>> score.segments["ibm1"].round(3).tolist()
    [-1.099, -8.608]

Profiles and deviations
-----------------------

There are no profiles. Popović also scores morphemes and 4-grams of parts of speech; this is the score of words. Texts
of morphemes or tags, separated by spaces, can be given instead. `floor` and the mean of both directions are ours.

Relations
---------

- XMoverScore, its neighbour in tables of WMT19, compares vectors in place of a lexicon.
- `nlgauge align words` links words by a model with positions.

Citation
--------

Popović: "Morpheme- and POS-based IBM1 and language model scores for translation quality estimation", WMT 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Float
from nlgauge.core.metric import SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.lexicon import NONE, Lexicon, LexiconFile, Translations, load_lexicon
from nlgauge.text.words import bare_words


@dataclass(frozen=True, kw_only=True)
class IBM1(TextMetric):
    """Log-probability of translation and source under IBM model 1, per word."""

    name: ClassVar[str] = "ibm1"
    title: ClassVar[str] = "IBM1"
    components: ClassVar[tuple[str, ...]] = ("ibm1", "forward", "backward")
    main: ClassVar[str] = "ibm1"
    against: ClassVar[str] = "source"
    citation: ClassVar[str] = cite("popovic-2012-morpheme")

    lexicon: str = option("none", LexiconFile(), help="probabilities of words (required)", required=True)
    floor: float = option(1e-7, Float(above=0, below=1), help="lowest probability of a pair of words")

    @property
    def table(self) -> Lexicon:
        """The lexicon of the file, which is read once."""
        if self.lexicon == "none":
            msg = "ibm1 needs a lexicon from parallel text ('nlgauge align lexicon'); set ibm1:lexicon=FILE"
            raise RecipeError(msg)
        return load_lexicon(self.lexicon)

    def versions(self) -> dict[str, str]:
        return {"lexicon": self.table.label}

    def describe_empty(self) -> str:
        return "scored as a text without a known word"

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        lexicon, rows = self.table, []
        for hypothesis, (source,) in report_progress(zip(hypotheses, references, strict=True)):
            words, origins = bare_words(hypothesis), bare_words(source)
            forward = self._log_probability(lexicon.forward, origins, words)
            backward = self._log_probability(lexicon.backward, words, origins)
            rows.append(((forward + backward) / 2, forward, backward))
        return SystemResult(dict(zip(self.components, np.array(rows).T, strict=True)))

    def _log_probability(self, table: Translations, given: Sequence[str], words: Sequence[str]) -> float:
        """log P(words | given) per word."""
        if not words:
            return float(np.log(self.floor))
        chances = np.maximum(table.table((NONE, *given), words), self.floor)
        return float(np.log(chances.mean(axis=1)).mean())
