"""The instructions that a processor computes float32 with, as far as rounding to eight bits feels them.

Products of whole numbers are the same on every processor. What stands between them (attention, normalisation,
activation) is float32, whose last bit can depend on the kernels that an engine chooses by what the processor can do;
a value on the edge of two steps then falls to one side or the other. So vectors of two sets are not held to compare.
"""

from __future__ import annotations

import contextlib
import platform
from functools import cache
from importlib import import_module

__all__ = ["instruction_set"]

#: As numpy calls what a processor has, from the newest; older ones than these go by the processor's kind.
_SETS = {"AVX512F": "avx512", "AVX2": "avx2", "AVX": "avx"}


@cache
def instruction_set() -> str:
    """`avx512`, `avx2`, `avx`, or the kind of processor (`arm64`, `x86_64`, ...)."""
    has = _features()
    return next(
        (name for feature, name in _SETS.items() if has.get(feature)), platform.machine().lower() or "unknown"
    )


def _features() -> dict[str, bool]:
    # numpy asks the processor itself, on every system; it has no public name for what it found.
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):  # of numpy 2 and 1
        with contextlib.suppress(ImportError):
            return dict(import_module(name).__cpu_features__)
    return {}
