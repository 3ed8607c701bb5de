"""Rows that no good metric should resemble (Perrella et al. 2024, arXiv 2408.13831).

A sentinel knows nothing of translation quality: the length of an output, how much of it copies the source, the
length of the source, or a random number. A set-up in which a sentinel does well rewards something else than
quality, so every table shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.meta.metric_scores import MetricScores

#: Texts of systems x segments; None where a system has no output.
Outputs = Sequence[Sequence[str | None]]
Unit = Literal["characters", "words"]


def length_sentinel(outputs: Outputs, *, unit: Unit = "characters") -> MetricScores:
    """How long the output is.

    >>> length_sentinel([["a word", ""]]).values.tolist()
    [[6.0, 0.0]]
    """
    _checked(outputs)
    rows = [[np.nan if text is None else _length(text, unit) for text in system] for system in outputs]
    return MetricScores("sentinel-length", np.array(rows), signature=f"sentinel:length|unit:{unit}")


def source_length_sentinel(sources: Sequence[str], systems: int, *, unit: Unit = "characters") -> MetricScores:
    """How short the source is (long ones are harder): the same for all systems, so blind within a segment."""
    lengths = np.array([_length(text, unit) for text in sources])
    table = np.tile(lengths, (systems, 1))
    return MetricScores("sentinel-source", table, higher_is_better=False, signature=f"sentinel:source|unit:{unit}")


def source_copy_sentinel(outputs: Outputs, sources: Sequence[str], *, order: int = 3) -> MetricScores:
    """Share of the output's character n-grams that it has from the source; 0 for an output too short for one.

    >>> source_copy_sentinel([["abcd", "xyz"]], ["abcd", "abc"]).values.tolist()
    [[1.0, 0.0]]
    """
    if order < 1:
        msg = f"order must be at least 1, got {order!r}"
        raise RecipeError(msg)
    segments = _checked(outputs)
    if len(sources) != segments:
        msg = f"there are {len(sources)} sources for {segments} segments"
        raise InputError(msg)
    grams = [_ngrams(source, order) for source in sources]
    rows = [
        [
            np.nan if text is None else _copied(_ngrams(text, order), known)
            for text, known in zip(system, grams, strict=True)
        ]
        for system in outputs
    ]
    return MetricScores("sentinel-copy", np.array(rows), signature=f"sentinel:copy|order:{order}")


def random_sentinel(systems: int, segments: int, *, seed: int = 12345) -> MetricScores:
    """Uniform random numbers; the same ones for the same seed and shape."""
    if systems < 1 or segments < 1 or seed < 0:
        msg = f"systems and segments must be at least 1 and seed 0 or more, got {systems}, {segments}, {seed}"
        raise InputError(msg)
    values = np.random.default_rng(seed).random((systems, segments))
    return MetricScores("sentinel-random", values, signature=f"sentinel:random|seed:{seed}")


def sentinel_rows(outputs: Outputs, sources: Sequence[str] | None = None, *, seed: int = 12345) -> list[MetricScores]:
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


def _length(text: str, unit: str) -> float:
    if unit not in ("characters", "words"):
        msg = f"unit must be 'characters' or 'words', got {unit!r}"
        raise RecipeError(msg)
    return float(len(text) if unit == "characters" else len(text.split()))


def _ngrams(text: str, order: int) -> Counter[str]:
    return Counter(text[at : at + order] for at in range(len(text) - order + 1))


def _copied(grams: Counter[str], known: Counter[str]) -> float:
    total = grams.total()
    return (grams & known).total() / total if total else 0.0
