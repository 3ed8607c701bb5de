"""FLOP of an encoding, and the peak FLOP/s of this machine.

FLOP follow from the model's definition and are counted over the unpadded tokens of distinct texts. Work on padding or
on repeated texts does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

__all__ = ["EncoderSize", "encoding_flop", "gemm_peak"]

#: Rows, inner size, columns: a cube, and the products of a batch of 4,096 tokens through a block of MiniLM.
_SHAPES = ((2048, 2048, 2048), (4096, 384, 1536), (4096, 1536, 384), (4096, 384, 1152), (4096, 384, 384))

#: Seconds per timing; shorter ones measure the noise of clock and scheduler.
_LEAST_SECONDS = 0.05


class EncoderSize(NamedTuple):
    """Sizes that determine the FLOP of a transformer encoder."""

    layers: int
    hidden: int
    intermediate: int


def encoding_flop(lengths: Iterable[int], size: EncoderSize) -> int:
    """FLOP of encoding texts of n tokens: layers x (2n(4h^2 + 2hf) + 4n^2 h) for each.

    The first term is the products with weights (query, key, value, output; up, down), the second the
    products of attention.

    >>> encoding_flop([2], EncoderSize(layers=1, hidden=3, intermediate=5))
    312
    """
    h, f = size.hidden, size.intermediate
    return sum(size.layers * (2 * n * (4 * h * h + 2 * h * f) + 4 * n * n * h) for n in lengths)


def gemm_peak(threads: int, *, repeats: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Measure the best GFLOP/s of float32 matrix products, of torch if it is installed, else of numpy."""
    best = 0.0
    for rows, inner, columns in _SHAPES:
        product = _product(rows, inner, columns, threads)
        product()
        calls = 1
        while (seconds := _time(product, calls, clock)) < _LEAST_SECONDS:
            calls *= 2
        seconds = min(seconds, *(_time(product, calls, clock) for _ in range(repeats)))
        best = max(best, 2e-9 * rows * inner * columns * calls / seconds)
    return best


def _product(rows: int, inner: int, columns: int, threads: int) -> Callable[[], object]:
    source = np.random.default_rng(0)
    a = source.standard_normal((rows, inner), dtype=np.float32)
    b = source.standard_normal((inner, columns), dtype=np.float32)
    out = np.empty((rows, columns), dtype=np.float32)
    try:
        import torch
    except ImportError:
        from threadpoolctl import threadpool_limits

        threadpool_limits(limits=threads, user_api="blas")  # permanent, like torch's setting below

        def with_numpy() -> object:
            return np.matmul(a, b, out=out)

        return with_numpy
    torch.set_num_threads(threads)
    left, right, result = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(out)

    def with_torch() -> object:
        return torch.mm(left, right, out=result)

    return with_torch


def _time(call: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        call()
    return clock() - start
