"""Checks of arguments that the functions of this room share."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.errors import InputError

Vector: TypeAlias = NDArray[np.float64]


def numbers(values: ArrayLike, what: str) -> Vector:
    """Values of any shape as float64; what is no number is named."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{what}: expected numbers in rows of equal length, got something else ({error})"
        raise InputError(msg) from error


def vector(values: ArrayLike, what: str, *, least: int = 1) -> Vector:
    """A list of at least `least` finite numbers."""
    data = numbers(values, what)
    if data.ndim != 1 or data.size < least:
        wanted = "a non-empty list of numbers" if least == 1 else f"a list of at least {least} numbers"
        msg = f"{what} needs {wanted}, got shape {data.shape}"
        raise InputError(msg)
    bad = ~np.isfinite(data)
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        msg = f"{what} needs finite values, got {float(data[index])!r} at index {index}"
        raise InputError(msg)
    return data


def check_level(level: float) -> None:
    """A confidence level lies strictly between 0 and 1."""
    if not 0 < level < 1:
        msg = f"level must lie between 0 and 1, got {level!r}"
        raise InputError(msg)


def check_resampling(resamples: int, seed: int) -> None:
    """At least one draw, from a seed that numpy takes."""
    if resamples < 1:
        msg = f"resamples must be at least 1, got {resamples!r}"
        raise InputError(msg)
    if seed < 0:
        msg = f"seed must be 0 or more, got {seed!r}"
        raise InputError(msg)
