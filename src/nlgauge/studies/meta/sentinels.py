"""Sentinels: rows that no good metric should resemble (Perrella et al. 2024, arXiv 2408.13831).

A sentinel knows nothing of translation quality: the length of an output, how much of it copies the source, or a
random number. A set-up in which a sentinel does well rewards something else than quality, so every table shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from nlgauge.errors import InputError
from nlgauge.studies.meta.metric_values import MetricValues

#: Texts of systems x segments; None where a system has no output.
Outputs = Sequence[Sequence[str | None]]

#: Length of the n-grams of characters that a copy shares with its source.
_ORDER = 3


def length_sentinel(outputs: Outputs) -> MetricValues:
    """How long the output is, in characters.

    >>> length_sentinel([["a word", ""]]).values.tolist()
    [[6.0, 0.0]]
    """
    _checked(outputs)
    rows = [[np.nan if text is None else float(len(text)) for text in system] for system in outputs]
    return MetricValues("sentinel-length", np.array(rows), signature="sentinel:length|unit:characters")


def source_copy_sentinel(outputs: Outputs, sources: Sequence[str]) -> MetricValues:
    """Share of the output's character n-grams that it has from the source; 0 for an output too short for one.

    >>> source_copy_sentinel([["abcd", "xyz"]], ["abcd", "abc"]).values.tolist()
    [[1.0, 0.0]]
    """
    segments = _checked(outputs)
    if len(sources) != segments:
        msg = f"there are {len(sources)} sources for {segments} segments"
        raise InputError(msg)
    grams = [_ngrams(source) for source in sources]
    rows = [
        [np.nan if text is None else _copied(_ngrams(text), known) for text, known in zip(system, grams, strict=True)]
        for system in outputs
    ]
    return MetricValues("sentinel-copy", np.array(rows), signature=f"sentinel:copy|order:{_ORDER}")


def random_sentinel(systems: int, segments: int, *, seed: int = 12345) -> MetricValues:
    """Uniform random numbers; the same ones for the same seed and shape."""
    if systems < 1 or segments < 1 or seed < 0:
        msg = f"systems and segments must be at least 1 and seed 0 or more, got {systems}, {segments}, {seed}"
        raise InputError(msg)
    values = np.random.default_rng(seed).random((systems, segments))
    return MetricValues("sentinel-random", values, signature=f"sentinel:random|seed:{seed}")


def sentinel_rows(outputs: Outputs, sources: Sequence[str] | None = None, *, seed: int = 12345) -> list[MetricValues]:
    """The rows for a table: length and random, and source copy where the sources are known."""
    rows = [length_sentinel(outputs), random_sentinel(len(outputs), _checked(outputs), seed=seed)]
    if sources is not None:
        rows.append(source_copy_sentinel(outputs, sources))
    return rows


def _checked(outputs: Outputs) -> int:
    """Number of segments, the same for all systems."""
    lengths = [len(system) for system in outputs]
    if not lengths or set(lengths) != {lengths[0]} or lengths[0] == 0:
        msg = f"outputs must be systems x segments of texts, got rows of lengths {lengths}"
        raise InputError(msg)
    for number, system in enumerate(outputs):
        if isinstance(system, str):
            msg = f"outputs of system {number} are one string; give a list of texts"
            raise InputError(msg)
    return lengths[0]


def _ngrams(text: str) -> Counter[str]:
    return Counter(text[start : start + _ORDER] for start in range(len(text) - _ORDER + 1))


def _copied(grams: Counter[str], known: Counter[str]) -> float:
    total = grams.total()
    return (grams & known).total() / total if total else 0.0
