"""Numbers in sentences: decimals by the size of a metric's scores, true minus signs and short p-values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun.

    >>> format_count(1, "segment"), format_count(1200, "segment")
    ('1 segment', '1,200 segments')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def decimals_for(scores: Iterable[float]) -> int:
    """Decimals for the scores of a metric: 4 for scores around 1, 2 for scores up to 100.

    >>> decimals_for([0.91, 0.88]), decimals_for([34.2])
    (4, 2)
    """
    return 2 if max((abs(score) for score in scores), default=0.0) >= 10 else 4


def format_number(value: float | None, decimals: int) -> str:
    """Format a number with a true minus sign; None gives an empty text.

    >>> format_number(-0.5, 2), format_number(-0.001, 2), format_number(None, 2)
    ('−0.50', '0.00', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text.replace("-", "−")


def format_signed(value: float, decimals: int) -> str:
    """Format a difference with its sign.

    >>> format_signed(0.05, 2), format_signed(-0.05, 2), format_signed(0.0, 2)
    ('+0.05', '−0.05', '0.00')
    """
    text = format_number(value, decimals)
    return f"+{text}" if value > 0 and float(text) else text


def format_p(p: float) -> str:
    """Format a p-value for a sentence.

    >>> format_p(0.0001), format_p(0.0123), format_p(1.0)
    ('p < 0.001', 'p = 0.012', 'p = 1.000')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def format_level(level: float) -> str:
    """Format a confidence level in per cent.

    >>> format_level(0.95), format_level(0.995)
    ('95 %', '99.5 %')
    """
    return f"{100 * level:g} %"


def deviation_notes(texts: Iterable[str]) -> list[str]:
    """A note that explains numbers of deviations, if the texts contain one.

    >>> deviation_notes(["435 rows of lv-en (D8.12)", "aclanthology.org/D19-1053"])
    ['numbers such as D8.12 are rows of docs/deviations.md']
    """
    for text in texts:
        if match := re.search(r"\bD\d+(\.\d+)?(?![\w-])", text):
            return [f"numbers such as {match[0]} are rows of docs/deviations.md"]
    return []
