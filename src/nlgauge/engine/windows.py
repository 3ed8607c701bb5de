"""Windows: ranges of segments whose vectors fit in memory together.

The vectors of a window are dropped before the next one starts, so memory does not grow with the corpus, and a text
that several systems, references or metrics of a window share is encoded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nlgauge.corpus.texts import Corpus
from nlgauge.engine.prepare import Prepared, PreparedMetric, segment_texts
from nlgauge.transforms.position_norm import POSITION_BATCH

__all__ = ["batch_size", "distinct_texts", "ranges", "whole_batches", "windows"]

#: Bytes of layer vectors that a window may hold.
_WINDOW_BYTES = 128 * 2**20


def windows(metrics: Sequence[PreparedMetric], segments: range, layers: int) -> Iterator[range]:
    """Ranges that make up `segments`, each with at most as many tokens as fit (or a single segment, or batch)."""
    tokens, encoder = metrics[0].tokenized.tokens, metrics[0].tokenized.encoder
    budget = _WINDOW_BYTES // (4 * encoder.hidden_size * max(1, layers))
    start, seen, size = segments.start, set[str](), 0
    for block in _blocks(segments, batch_size(metrics)):
        texts = set(distinct_texts(metrics, block))
        new = texts - seen
        cost = sum(len(tokens[text]) for text in new)
        if block.start > start and size + cost > budget:
            yield range(start, block.start)
            start, seen, size = block.start, set(), 0
            new = texts
            cost = sum(len(tokens[text]) for text in new)
        seen |= new
        size += cost
    if start < segments.stop:
        yield range(start, segments.stop)


def ranges(prepared: Prepared, outputs: int) -> Iterator[range]:
    """All segments in ranges of about so many outputs of systems; where they are cut moves no score."""
    batch = batch_size(list(prepared.compared.values()))
    step = max(1, outputs // len(prepared.corpus.systems) // batch) * batch
    return (range(start, min(start + step, len(prepared))) for start in range(0, len(prepared), step))


def distinct_texts(metrics: Sequence[PreparedMetric], segments: range) -> list[str]:
    """All texts that the segments need, each once: also those of neighbours, where a metric looks at them."""
    views: list[Corpus] = list({id(metric.corpus): metric.corpus for metric in metrics}.values())
    wanted = whole_batches(metrics, segments)
    stand_in = [""] if any(metric.counted_empty for metric in metrics) else []
    return list(dict.fromkeys([*stand_in, *(text for index in wanted for text in segment_texts(views, index))]))


def batch_size(metrics: Sequence[PreparedMetric]) -> int:
    """Segments that are looked at together: 1, unless a metric's vectors depend on neighbours."""
    return POSITION_BATCH if any(metric.uses_neighbours for metric in metrics) else 1


def whole_batches(metrics: Sequence[PreparedMetric], segments: range) -> range:
    """The segments with the rest of the batches that they begin and end in."""
    size, count = batch_size(metrics), len(metrics[0].corpus)
    return range(segments.start - segments.start % size, min(-(-segments.stop // size) * size, count))


def _blocks(segments: range, size: int) -> Iterator[range]:
    """The segments cut at multiples of `size`."""
    start = segments.start
    while start < segments.stop:
        stop = min(start - start % size + size, segments.stop)
        yield range(start, stop)
        start = stop
