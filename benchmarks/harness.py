"""Time contestants against each other on a shared machine.

Contestants take turns (A, B, A, B, ...) in one process, and the best round of each counts, because noise only adds
time. On a machine that is never quiet, compare CPU time with one thread; with more threads it would include waiting.
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
    """A tool that scores the texts of the task: a call that returns an array (texts, components)."""

    name: str
    run: Callable[[], Scores]
    flop: int
    """FLOP of its encoding (see `flops`)."""
    alone: Callable[[int], Scores] | None = None
    """Scores of one pair in its own call, for tools whose scores depend on the other pairs of a batch."""


@dataclass
class Timing:
    """Times of a contestant's rounds."""

    contestant: Contestant
    scores: Scores
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds of the fastest round."""
        return min(self.seconds)

    @property
    def gflops(self) -> float:
        """GFLOP/s of the encoding in the fastest round; the time includes tokenising and matching."""
        return 1e-9 * self.contestant.flop / self.best


@dataclass(frozen=True)
class Bar:
    """A measured value and its target."""

    name: str
    value: float
    limit: float
    unit: str = ""
    at_most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the value reaches the target."""
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def __str__(self) -> str:
        sign = "<=" if self.at_most else ">="
        verdict = "reached" if self.reached else "missed"
        return (
            f"{self.name:<56}{self.value:>8.3f}{self.unit:<3} target {sign} {self.limit:.3g}{self.unit:<3} {verdict}"
        )


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
    """Median over rounds of the ratio of times, for machines too noisy to use the best round."""
    return statistics.median(a / b for a, b in zip(slow.seconds, fast.seconds, strict=True))


def rss() -> float:
    """Current resident memory in GB; nan without /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return float("nan")
    return 1e-9 * pages * resource.getpagesize()


def peak_rss() -> float:
    """Peak resident memory of this process in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return 1e-9 * unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def machine(packages: Sequence[str]) -> dict[str, str]:
    """Processor, Python and versions of packages, on which measurements depend."""
    properties = {
        "cpu": _cpu(),
        "processors": str(default_threads()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "nlgauge": __version__,
    }
    for package in packages:
        try:
            properties[package] = version(package)
        except PackageNotFoundError:
            properties[package] = "not installed"
    return properties


def say(text: str) -> None:
    """Print progress to stderr; only results go to stdout."""
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
