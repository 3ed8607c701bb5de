"""Words of a text: points of a metric (pieces, words, n-grams) assigned to them; files of word tags and scores."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError
from nlgauge.io.lines import read_lines
from nlgauge.io.tables import read_jsonl
from nlgauge.io.textfiles import parse_source
from nlgauge.text.words import WordSpan
from nlgauge.vectors.cloud import PointSpans

#: What stands for a word of several pieces: the worst matched one, the mean, or the first.
PIECES = ("max", "mean", "first")


@dataclass(frozen=True, eq=False)
class WordView:
    """Which words each point stands for.

    A point divides what it has equally among its tokens, and a token among the words that it covers, by characters:
    a piece may reach over the end of a word, and an n-gram stands for several. Sums over points are sums over words,
    but for points that stand nowhere in the text, such as [CLS].
    """

    words: tuple[WordSpan, ...]
    shares: tuple[dict[int, float], ...]
    """For each point the words it stands for, and the share of each; the shares sum to 1, or there are none."""

    @classmethod
    def of(cls, words: Sequence[WordSpan], points: Sequence[PointSpans]) -> WordView:
        """The words of a text, and where its points stand."""
        ends = [word.end for word in words]
        return cls(tuple(words), tuple(_shares(words, ends, spans) for spans in points))

    def spread(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Values of points as sums over words, and the sum of what belongs to no word."""
        found, rest = np.zeros(len(self.words)), 0.0
        for value, shares in zip(values.tolist(), self.shares, strict=True):
            for word, share in shares.items():
                found[word] += share * value
            rest += 0.0 if shares else value
        return found, rest

    def reduce(self, errors: NDArray[np.float64], counted: NDArray[np.bool_], rule: str) -> list[float | None]:
        """For each word what stands for its pieces, of those that count; None where none does."""
        of_word: list[list[float]] = [[] for _ in self.words]
        for error, counts, shares in zip(errors.tolist(), counted.tolist(), self.shares, strict=True):
            if counts:
                for word in shares:
                    of_word[word].append(error)
        return [reduced(values, rule) if values else None for values in of_word]


def reduced(values: Sequence[float], rule: str) -> float:
    """The highest, the mean or the first of some values."""
    if rule == "max":
        return max(values)
    return values[0] if rule == "first" else sum(values) / len(values)


def _shares(words: Sequence[WordSpan], ends: Sequence[int], spans: PointSpans) -> dict[int, float]:
    found: dict[int, float] = {}
    placed = [one for one in (_overlaps(words, ends, span) for span in spans) if one]
    for overlaps in placed:
        total = sum(overlaps.values())
        for word, size in overlaps.items():
            found[word] = found.get(word, 0.0) + size / total / len(placed)
    return found


def _overlaps(words: Sequence[WordSpan], ends: Sequence[int], span: tuple[int, int]) -> dict[int, int]:
    """Words that a span covers, with the number of characters; words are in order, so the first is searched for."""
    start, end = span
    found = {}
    for number in range(bisect_right(ends, start), len(words)):
        word = words[number]
        if word.start >= end:
            break
        found[number] = min(end, word.end) - max(start, word.start)
    return found


def lowered_spans(text: str, spans: Sequence[PointSpans]) -> tuple[PointSpans, ...]:
    """Places in `text` of spans that were found in `text.lower()`, which may be longer (as of a dotted capital I)."""
    lowered = [len(char.lower()) for char in text]
    if all(size == 1 for size in lowered):
        return tuple(spans)
    origin = [at for at, size in enumerate(lowered) for _ in range(size)]
    return tuple(tuple((origin[start], origin[end - 1] + 1) for start, end in point) for point in spans)


def read_word_tags(path: str) -> list[list[int]]:
    """0 or 1 for each word, blanks between them."""
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        tags = line.split()
        if not tags or not set(tags) <= {"0", "1"}:
            msg = f"{path}, line {number}: expected 0 or 1 for each word, got {line[:60]!r}"
            raise FileFormatError(msg)
        found.append([int(tag) for tag in tags])
    return found


def read_word_scores(path: str, *, lower_is_error: bool = False) -> list[list[float]]:
    """A number for each word, blanks between them, or lists under a key of a JSONL file (`FILE.jsonl:KEY`).

    They are turned where a low one speaks for an error.
    """
    source = parse_source(path)
    name, rows = source.path or path, []
    if source.column is None:
        rows = [(f"{name}, line {n}", line.split()) for n, line in enumerate(read_lines(name), start=1)]
    else:
        for row in read_jsonl(name):
            value = row.value(source.column)
            rows.append((row.at(source.column), value if isinstance(value, list) else [value]))
    sign = -1.0 if lower_is_error else 1.0
    return [[sign * _number(value, place) for value in values] for place, values in rows]


def _number(value: object, place: str) -> float:
    try:
        found = float(value)  # type: ignore[arg-type]  # whatever is no number is refused below
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found) or isinstance(value, bool):
        msg = f"{place}: expected a number for each word, got {value!r}"
        raise FileFormatError(msg)
    return found
