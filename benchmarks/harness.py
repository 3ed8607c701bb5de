"""Timing contestants against each other on a machine that others use too.

Absolute figures of a shared machine say little. Contestants therefore take turns (A, B, A, B, ...) in one
process, and each keeps its best round: noise only ever adds time. On a machine that is never quiet,
processor time with one thread still compares contestants; with more threads it would count their waiting.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.encoders.load import default_threads

__all__ = [
    "Bar",
    "Clock",
    "Contestant",
    "Scores",
    "Timing",
    "machine",
    "paired_ratio",
    "peak_rss",
    "race",
    "rss",
    "say",
]

Scores: TypeAlias = NDArray[np.float64]
Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True)
class Contestant:
    """Somebody who scores the task's texts: a call from nothing to an array (texts, components)."""

    name: str
    run: Callable[[], Scores]
    flop: int
    """What its encoding needs at least (see `flops`)."""
    alone: Callable[[int], Scores] | None = None
    """Scores of one pair in a call of its own, for somebody whose scores depend on a pair's neighbours."""


@dataclass
class Timing:
    """A contestant's rounds."""

    contestant: Contestant
    scores: Scores
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds of the fastest round."""
        return min(self.seconds)

    @property
    def gflops(self) -> float:
        """GFLOP/s of useful arithmetic in the fastest round; tokenising and matching count as time."""
        return 1e-9 * self.contestant.flop / self.best


@dataclass(frozen=True)
class Bar:
    """A figure with what it should reach."""

    name: str
    value: float
    limit: float
    unit: str = ""
    at_most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the figure is on the right side of its limit."""
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def __str__(self) -> str:
        sign = "<=" if self.at_most else ">="
        verdict = "reached" if self.reached else "missed"
        return f"{self.name:<56}{self.value:>8.3f}{self.unit:<3} bar {sign} {self.limit:.3g}{self.unit:<3} {verdict}"


def race(
    contestants: Sequence[Contestant],
    repeats: int,
    *,
    clock: Clock = time.perf_counter,
    between: Callable[[], None] | None = None,
) -> list[Timing]:
    """Time contestants in turns after one warm-up each; `between` runs before every round."""
    timings = []
    for contestant in contestants:
        say(f"warming up {contestant.name}")
        timings.append(Timing(contestant, contestant.run()))
    for number in range(1, repeats + 1):
        if between is not None:
            between()
        for timing in timings:
            start = clock()
            timing.contestant.run()
            timing.seconds.append(clock() - start)
            say(f"round {number}/{repeats}: {timing.contestant.name} {timing.seconds[-1]:.2f} s")
    return timings


def paired_ratio(slow: Timing, fast: Timing) -> float:
    """Median over rounds of how many times longer one took than the other, for machines too noisy for a best."""
    return statistics.median(a / b for a, b in zip(slow.seconds, fast.seconds, strict=True))


def rss() -> float:
    """Resident memory now, in GB; nan where /proc does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return float("nan")
    return 1e-9 * pages * resource.getpagesize()


def peak_rss() -> float:
    """Highest resident memory of this process so far, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return 1e-9 * unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def machine(packages: Sequence[str]) -> dict[str, str]:
    """What a figure depends on besides the code."""
    found = {
        "cpu": _cpu(),
        "processors": str(default_threads()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "nlgauge": __version__,
    }
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def say(text: str) -> None:
    """Progress goes to stderr; stdout holds the result only."""
    print(text, file=sys.stderr, flush=True)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    widest = next((flag for flag in ("avx512f", "avx2", "avx") if flag in flags), "")
    return f"{name} ({widest})" if widest else name
