"""All three stages of a run in one call, with an estimate of its time where that is more than a minute.

Two parts of a run grow with the length of texts: the encoder, and the products of all token vectors of one text with
all of another. Both are products of matrices, so the speed of one such product on this machine gives the time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nlgauge.core.compare import compare, distinct_texts
from nlgauge.core.corpus import Corpus
from nlgauge.core.finish import finish
from nlgauge.core.metric import Metric
from nlgauge.core.prepare import EncodingGroup, Prepared, SignatureCheck, prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.encoders.base import Encoder, portions
from nlgauge.encoders.load import default_threads
from nlgauge.encoders.run_context import one_blas_thread

#: Seconds from which a run is announced.
_WORTH_SAYING = 60.0

#: Operations a second that no processor core has today: work that is short at this speed is not timed.
_FASTEST = 3e11

#: Rows of the product that is timed; some 10 ms.
_TIMED_ROWS = 1024


def run_metrics(
    metrics: Sequence[Metric],
    corpus: Corpus,
    options: RunOptions,
    *,
    check_signature: SignatureCheck | None = None,
) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order given.

    `check_signature` is shown each metric's number and resolved recipe before anything is encoded; it may raise.
    """
    prepared = prepare(metrics, corpus, options, check_signature=check_signature)
    say_if_long(prepared)
    return finish(prepared, compare(prepared))


class Work(NamedTuple):
    """What a run has to do."""

    tokens: int = 0
    """Tokens to encode; those of overlapping windows count each time."""
    pairs: int = 0
    """Pairs of tokens to compare."""
    operations: float = 0.0
    """Additions and multiplications behind both."""


def expected_work(prepared: Prepared) -> Work:
    """What `compare` will encode and compare."""
    parts = [_work_of_group(group, prepared) for group in prepared.groups]
    return Work(*(sum(column) for column in zip(*parts, strict=True))) if parts else Work()


def say_if_long(prepared: Prepared) -> None:
    """Print an estimate to stderr where a run will take more than a minute and the caller wants to see progress."""
    if not prepared.options.progress:
        return
    work = expected_work(prepared)
    threads = prepared.options.threads or default_threads()
    if work.operations / (_FASTEST * threads) < _WORTH_SAYING / 10 or sys.stderr is None:
        return
    seconds = work.operations / (_operations_per_second() * threads)
    if seconds >= _WORTH_SAYING:
        what = f"{work.tokens:,} tokens to encode, {work.pairs:,} pairs of tokens to compare"
        print(f"nlgauge: expect at least {_in_words(seconds)}: {what}", file=sys.stderr, flush=True)


def _work_of_group(group: EncodingGroup, prepared: Prepared) -> Work:
    members = list(group.metrics.values())
    tokens = members[0].tokenized.tokens
    encoder = group.encoder
    lengths = [len(one.tokens) for one in portions([tokens[t] for t in distinct_texts(members, prepared.segments)])]
    highest = max((layer for one in members for layer in one.state.layers), default=0)
    pairs = sum(
        len(tokens[hypotheses[index]]) * len(tokens[reference])
        for one in members
        for hypotheses in one.corpus.systems.values()
        for index in prepared.segments
        for reference in one.corpus.references[index]
    )
    encoding = 0.0 if _on_gpu(prepared, encoder) else sum(_operations(length, highest, encoder) for length in lengths)
    return Work(sum(lengths), pairs, encoding + 2.0 * pairs * encoder.hidden_size)


def _operations(length: int, layers: int, encoder: Encoder) -> float:
    """Of a transformer whose inner layer is four times as wide, with attention of all tokens to all."""
    width = encoder.hidden_size
    return float(length * layers * (24 * width * width + 4 * length * width))


def _on_gpu(prepared: Prepared, encoder: Encoder) -> bool:
    """Whether the model may run elsewhere than on the processor, so that nothing is known of its speed."""
    return encoder.engine.startswith("torch") and prepared.options.device != "cpu"


def _operations_per_second() -> float:
    """Of one thread, in a product of matrices."""
    x = np.ones((_TIMED_ROWS, 384), dtype=np.float32)
    y = x.copy()
    times = []
    with one_blas_thread:
        for _ in range(4):  # the first one also wakes the library up
            start = time.perf_counter()
            x @ y.T
            times.append(time.perf_counter() - start)
    return float(2 * x.shape[0] * y.shape[0] * x.shape[1] / sorted(times)[1])


def _in_words(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 100:
        return "a minute" if minutes <= 1 else f"{minutes} minutes"
    return f"{round(seconds / 3600)} hours"
