"""LEX: the words that two texts share, as BLEU-1.

    LEX = min(1, exp(1 - |r| / |h|)) * (words of h that are in r, each as often as it stands there) / |h|

The released scores have the translation in the place of r and the human reference in that of h (D11), with case; 0
where no word is shared. Across languages r is the machine translation of the foreign sentence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from nlgauge.text.treebank import treebank_words

__all__ = ["bleu1", "lexical_overlap"]


def bleu1(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """Precision of the hypothesis' words, times the brevity penalty.

    >>> bleu1("the cat sat".split(), "the the cat".split())
    0.6666666666666666
    >>> round(bleu1("the cat sat".split(), ["cat"]), 4)
    0.1353
    """
    shared = (Counter(hypothesis) & Counter(reference)).total()
    if not shared:
        return 0.0
    brevity = min(0.0, 1 - len(reference) / len(hypothesis))
    return math.exp(brevity) * shared / len(hypothesis)


def lexical_overlap(text: str, others: Sequence[str]) -> float:
    """LEX of a hypothesis beside its references (of several, the one it shares most with); nan for an empty text.

    >>> lexical_overlap("A man is playing a large flute.", ["A man is playing a flute."])
    0.8668778997501817
    """
    words = treebank_words(text)
    found = [bleu1(words, treebank_words(other)) for other in others if other.strip()]
    return max(found) if words and found else math.nan
