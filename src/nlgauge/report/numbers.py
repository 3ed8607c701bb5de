"""Numbers in sentences and on pages: decimals by the size of a metric's scores, true minus signs, short p-values."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["counted", "decimals_for", "level_text", "number", "p_text", "signed", "ticks"]


def counted(count: int, noun: str) -> str:
    """So many of them.

    >>> counted(1, "segment"), counted(1200, "segment")
    ('1 segment', '1,200 segments')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def decimals_for(scores: Iterable[float]) -> int:
    """Decimals of a metric: 4 for scores around 1, 2 where they go to 100.

    >>> decimals_for([0.91, 0.88]), decimals_for([34.2])
    (4, 2)
    """
    return 2 if max((abs(score) for score in scores), default=0.0) >= 10 else 4


def number(value: float | None, decimals: int) -> str:
    """The number with a minus sign that is as wide as a plus; an empty text for None.

    >>> number(-0.5, 2), number(-0.001, 2), number(None, 2)
    ('−0.50', '0.00', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text.replace("-", "−")


def signed(value: float, decimals: int) -> str:
    """The number with its sign, for differences.

    >>> signed(0.05, 2), signed(-0.05, 2), signed(0.0, 2)
    ('+0.05', '−0.05', '0.00')
    """
    text = number(value, decimals)
    return f"+{text}" if value > 0 and float(text) else text


def p_text(p: float) -> str:
    """A p-value as it stands in a sentence.

    >>> p_text(0.0001), p_text(0.0123), p_text(1.0)
    ('p < 0.001', 'p = 0.012', 'p = 1.000')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def level_text(level: float) -> str:
    """The level of an interval in per cent.

    >>> level_text(0.95), level_text(0.995)
    ('95 %', '99.5 %')
    """
    return f"{100 * level:g} %"


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round numbers between two ends, at most so many.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(at * step, digits) for at in range(first, last + 1)]
