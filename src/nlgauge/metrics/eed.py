"""EED: extended edit distance of characters, with jumps in the output at the words of the reference.

What it computes
----------------

    EED = 100 min(1, (e + 2 j + .3 v) / (r + .3 v))        lower is better

The reference of r characters is covered from left to right by characters of the output. e sums insertions and
substitutions (1 each) and characters of the output that are passed over (0.2 each). j is the number of jumps, which
are possible after a space of the reference. v adds up how often a place of the output is visited more than once, and
1 for each place that is not visited. A place is visited if, after a character of the reference, it has the lowest
cost (the first such place, if there are several). The place before the output is never the cheapest of equal texts,
so they score a little above 0.

Punctuation is separated from words, except in numbers and in abbreviations such as "Mr." or "e.g.". A text starts and
ends with a space. The score of a system is the mean over segments. Of several references, the lowest counts.

Worked example
--------------

" a " and " b " differ by one substitution, so e = 1. The place after the first space is visited twice (after the
first space of the reference and after "b"), the place after the last space once, and the start and the place after
"a" never. So v = 1 + 1 + 1, and the score is 100 (1 + .9) / (3 + .9) = 48.7.

    >>> import nlgauge
    >>> nlgauge.score(["a"], ["b"], "eed").segments["eed"].round(1).tolist()
    [48.7]

Profiles and deviations
-----------------------

There are no profiles. The weights are those of the paper. Costs are whole numbers of fifths here, so that ties of
costs are exact.

Relations
---------

- EED is CDER on characters, with a penalty for coverage.

Citation
--------

Stanchev, Wang, Ney: "EED: Extended Edit Distance Measure for Machine Translation", WMT 2019.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nlgauge.core.kinds import Choice
from nlgauge.core.metric import Comparison, SystemResult, TextMetric
from nlgauge.core.options import option
from nlgauge.core.run_options import report_progress
from nlgauge.metrics.parts import cite

#: Costs in fifths: an insertion or a substitution, a character that is passed over, a jump.
_EDIT, _PASS, _JUMP = 5, 1, 10
_COVERAGE = 0.3

_PUNCTUATION = re.compile(r"([.,?!])")
_NUMBERS = re.compile(r"(\d) ([.,]) (\d)")
_TITLES = re.compile(r"\b(Dr|Jr|Prof|Rev|Gen|Mr|Mt|Mrs|Ms) \.")
_ABBREVIATIONS = ("e.g.", "i.e.", "U.S.")


def separate_punctuation(text: str) -> str:
    """Put spaces around punctuation and around the text, but not into numbers and abbreviations.

    >>> separate_punctuation("Mr. Ray paid 3.5, e.g. twice.")
    ' Mr. Ray paid 3.5 , e.g. twice . '
    """
    text = " ".join(_PUNCTUATION.sub(r" \1 ", text).split())
    text = _TITLES.sub(r"\1.", _NUMBERS.sub(r"\1\2\3", text))
    for abbreviation in _ABBREVIATIONS:
        text = text.replace(" ".join(abbreviation), abbreviation)
    return f" {text} "


def extended_edit_distance(output: str, reference: str) -> float:
    """EED of two texts with separated punctuation, 0 to 1.

    >>> extended_edit_distance(" a ", " a ") < extended_edit_distance(" a ", " b ")
    True
    """
    places = np.arange(len(output) + 1)
    letters = np.array([ord(letter) for letter in output])
    costs = np.full(len(places), _EDIT)  # a jump to any place
    costs[0] = 0
    visits = np.zeros(len(places))
    for letter in reference:
        steps = costs + _EDIT
        np.minimum(steps[1:], costs[:-1] + _EDIT * (letters != ord(letter)), out=steps[1:])
        costs = np.minimum.accumulate(steps - _PASS * places) + _PASS * places
        cheapest = int(costs.argmin())
        visits[cheapest] += 1
        if letter == " ":
            np.minimum(costs, costs[cheapest] + _JUMP, out=costs)
    coverage = _COVERAGE * float(np.abs(visits - 1).sum())
    return min(1.0, (float(costs[-1]) / _EDIT + coverage) / (len(reference) + coverage))


@dataclass(frozen=True, kw_only=True)
class EED(TextMetric):
    """Extended edit distance of characters, with jumps and a penalty for coverage."""

    name: ClassVar[str] = "eed"
    title: ClassVar[str] = "EED"
    table_decimals: ClassVar[int] = 1
    components: ClassVar[tuple[str, ...]] = ("eed",)
    main: ClassVar[str] = "eed"
    higher_is_better: ClassVar[bool] = False
    citation: ClassVar[str] = cite("stanchev-etal-2019-eed")

    case: str = option("mixed", Choice("mixed", "lower"), help="lower: ignore case")

    def describe_empty(self) -> str:
        return "scored as two spaces"

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        comparisons = [
            Comparison(np.array([[self._distance(hypothesis, reference)] for reference in group]))
            for hypothesis, group in report_progress(zip(hypotheses, references, strict=True))
        ]
        return self.joined(comparisons, rule="best")

    def _distance(self, hypothesis: str, reference: str) -> float:
        output, target = (
            separate_punctuation(text.lower() if self.case == "lower" else text) for text in (hypothesis, reference)
        )
        return 100 * extended_edit_distance(output, target)
