"""The second stage of a run: each hypothesis beside its references, for any range of segments.

What is found for a segment does not depend on the range it is computed in, nor on what was computed before. (Steps
that look at neighbours by definition get all of them, whatever the range.) Ranges may be computed at the same time,
in threads, or in processes that prepare for themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from nlgauge.encoders import EmbeddingCache, Encoder, encode_texts
from nlgauge.encoders.blas import one_blas_thread
from nlgauge.encoders.load import default_threads
from nlgauge.engine.comparisons import Comparisons
from nlgauge.engine.interrupts import between_pairs
from nlgauge.engine.notes import SEGMENTS
from nlgauge.engine.prepare import Prepared, PreparedMetric
from nlgauge.engine.progress import Progress
from nlgauge.engine.representations import Representations, run_text_models
from nlgauge.engine.windows import distinct_texts, windows
from nlgauge.errors import InputError, TooLongError
from nlgauge.recipes.results import Comparison, Pair
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text import Tokens
from nlgauge.transport import sharing_long_matches

__all__ = ["compare", "planned_encodings"]


def compare(prepared: Prepared, segments: range | None = None, *, only: Collection[int] | None = None) -> Comparisons:
    """Compare the segments (default: all) under every metric that looks at vectors, or `only` those numbers."""
    segments = _checked(prepared, segments)
    found: dict[int, Mapping[str, Mapping[int, Comparison]]] = {}
    for group in prepared.groups:
        chosen = {number: one for number, one in group.metrics.items() if only is None or number in only}
        if chosen:
            found |= _compare_group(chosen, group.encoder, segments, prepared.options)
    return Comparisons({number: prepared.metrics[number].signature.recipe_part for number in sorted(found)}, found)


def planned_encodings(prepared: Prepared) -> Iterator[tuple[Encoder, tuple[int, ...], list[Tokens]]]:
    """What `compare` will encode: distinct texts, by encoder and layers.

    For whoever encodes the texts of several runs together, before each is compared.
    """
    for group in prepared.groups:
        members = list(group.metrics.values())
        tokens = members[0].tokenized.tokens
        texts = distinct_texts(members, prepared.segments)
        yield group.encoder, _layers(members), [tokens[text] for text in texts]


def _layers(metrics: Iterable[PreparedMetric]) -> tuple[int, ...]:
    return tuple(sorted({layer for one in metrics for layer in one.state.layers}))


def _checked(prepared: Prepared, segments: range | None) -> range:
    if segments is None:
        return prepared.segments
    if segments.step != 1 or not 0 <= segments.start <= segments.stop <= len(prepared):
        msg = f"segments must be a range within 0 to {len(prepared)} in steps of 1, got {segments!r}"
        raise InputError(msg)
    return segments


def _compare_group(
    metrics: Mapping[int, PreparedMetric], encoder: Encoder, segments: range, options: RunOptions
) -> dict[int, dict[str, dict[int, Comparison]]]:
    """Metrics that share an encoding; each text of a window is encoded once for all of them."""
    members = list(metrics.values())
    tokens = members[0].tokenized.tokens
    layers = _layers(members)
    planned = [(window, distinct_texts(members, window)) for window in windows(members, segments, len(layers))]
    total = sum(len(tokens[text]) for _, texts in planned for text in texts)
    cache = None
    if options.cache is not None and encoder.cacheable:
        cache = EmbeddingCache(options.cache, gigabytes=options.cache_size)
    found: dict[int, dict[str, dict[int, Comparison]]] = {
        number: {system: {} for system in one.corpus.systems} for number, one in metrics.items()
    }
    threads = options.threads or default_threads()
    with Progress(total, show=options.progress) as advance:
        for window, texts in planned:
            vectors = encode_texts(
                encoder,
                [tokens[text] for text in texts],
                layers,
                batch_tokens=options.batch_tokens,
                advance=advance,
                cache=cache,
            )
            encoded = dict(zip(texts, vectors, strict=True))
            for number, one in metrics.items():
                run_text_models(one, window, encoded)
                with one_blas_thread, sharing_long_matches(threads, between_pairs):
                    _compare_window(one, Representations(one, encoded), window, found[number], options.alignments)
    return found


def _compare_window(
    prepared: PreparedMetric,
    representations: Representations,
    window: range,
    found: Mapping[str, dict[int, Comparison]],
    align: bool,
) -> None:
    for system in prepared.corpus.systems:
        for index in window:
            between_pairs()
            found[system][index] = _comparison(prepared, representations, system, index, align=align)


def _comparison(
    prepared: PreparedMetric, representations: Representations, system: str, index: int, *, align: bool
) -> Comparison:
    """One hypothesis against each of its references; what is too long for the metric is named."""
    try:
        return _compared(prepared, representations, system, index, align=align)
    except TooLongError as error:
        msg = f"{SEGMENTS.place(system, index)}: {error}"
        raise TooLongError(msg) from error


def _compared(
    prepared: PreparedMetric, representations: Representations, system: str, index: int, *, align: bool
) -> Comparison:
    """Row by row, one for each reference; a side without a token is None."""
    metric, corpus, tokens = prepared.metric, prepared.corpus, prepared.tokenized.tokens
    x, references = representations.hypothesis(system, index), representations.references(index)
    sides = prepared.counted_empty.get((system, index), [None] * len(references))
    pairs = []
    for y, side in zip(references, sides, strict=True):
        left = representations.empty(system) if side == "hypothesis" else x
        right = representations.empty(None) if side == "reference" else y
        if metric.empty_value is not None and (left is None or right is None):
            pairs.append(Pair([metric.empty_value] * len(metric.components)))
        else:
            pairs.append(metric.compare(left, right, prepared.state, align=align))
    texts = [corpus.systems[system][index], *corpus.references[index]]
    zero_weight = any(
        getattr(made, "zero_weight", False) or (made is None and not tokens[text].empty)
        for made, text in zip([x, *references], texts, strict=True)
    )
    alignments = None
    if align:
        alignments = tuple(
            None if pair.alignment is None else replace(pair.alignment, reference_index=row)
            for row, pair in enumerate(pairs)
        )
    values = np.array([pair.values for pair in pairs], dtype=np.float64)
    return Comparison(values, alignments, zero_weight, not all(pair.converged for pair in pairs))
