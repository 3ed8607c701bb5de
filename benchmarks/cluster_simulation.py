"""Simulate a cluster of up to 1,000 workers and 50 million pairs: `python -m benchmarks.cluster_simulation`.

A simulation of discrete events. Workers start one after the other and run shards, longest first, with varying
durations. A worker that dies restarts and loses its shard. One driver hands out shards and handles reports one at a
time, so workers wait when reports arrive faster. `--rate`, `--overhead` and `--driver` set the time per shard;
benchmarks/README.md has the measurements behind their defaults.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nlgauge.io.canvas import finish_figure, new_panels, save_figure

__all__ = ["Cluster", "Outcome", "main", "simulate"]

_SEED = 18
_WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_SHARD_PAIRS = (100, 1_000, 5_000, 20_000)


@dataclass(frozen=True)
class Cluster:
    """Size and speed of a cluster."""

    workers: int
    rate: float = 120.0
    """Pairs per second and worker."""
    spread: float = 0.3
    """Variation of the duration of equal shards: +- this share, uniformly distributed."""
    overhead: float = 0.02
    """Seconds of a worker per shard in addition to scoring: reading rows, writing a part."""
    driver: float = 0.005
    """Seconds of the driver per shard."""
    startup: float = 10.0
    """Seconds until a worker has loaded its models."""
    launch: float = 0.05
    """Seconds between the starts of two workers."""
    deaths: float = 0.0
    """Deaths per worker and hour."""


class Outcome(NamedTuple):
    """Result of a simulated run."""

    seconds: float
    efficiency: float
    """Share of worker time spent on scoring, without the first start."""
    driver: float
    """Share of the time in which the driver was busy."""
    lost: int
    """Shards repeated because their worker died."""


def simulate(cluster: Cluster, pairs: int, shard_pairs: int) -> Outcome:
    """Simulate the scoring of all pairs in shards of a given size."""
    draws = random.Random(_SEED)
    count = -(-pairs // shard_pairs)
    lengths = [
        shard_pairs / cluster.rate * draws.uniform(1 - cluster.spread, 1 + cluster.spread) for _ in range(count)
    ]
    waiting = sorted(lengths)  # the longest is taken from the end
    work = sum(lengths)
    ready = [(number * cluster.launch + cluster.startup, 0.0) for number in range(min(cluster.workers, count))]
    heapq.heapify(ready)
    free = busy = end = 0.0
    lost = 0
    # An event is a worker that reports a shard and requests the next; the driver answers one at a time.
    while ready:
        time, _ = heapq.heappop(ready)
        answered = max(time, free) + cluster.driver
        free, busy = answered, busy + cluster.driver
        if not waiting:
            end = max(end, answered)
            continue
        length = waiting.pop()
        dies = draws.expovariate(cluster.deaths / 3600) if cluster.deaths else float("inf")
        if dies < length + cluster.overhead:
            waiting.insert(0, length)
            lost += 1
            heapq.heappush(ready, (answered + dies + cluster.startup, length))
        else:
            heapq.heappush(ready, (answered + length + cluster.overhead, length))
    seconds = end
    efficiency = work / (min(cluster.workers, count) * max(seconds - cluster.startup, 1e-9))
    return Outcome(seconds, efficiency, busy / seconds, lost)


def main(argv: list[str] | None = None) -> int:
    """Print a table, and plot it with `--plot`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_simulation", description=__doc__)
    parser.add_argument("--pairs", type=int, default=50_000_000, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--rate", type=float, default=120.0, metavar="N", help="pairs per second and worker (default: %(default)s)"
    )
    parser.add_argument(
        "--overhead", type=float, default=0.02, help="seconds of a worker per shard (default: %(default)s)"
    )
    parser.add_argument(
        "--driver", type=float, default=0.005, help="seconds of the driver per shard (default: %(default)s)"
    )
    parser.add_argument(
        "--deaths", type=float, default=0.1, metavar="N", help="deaths per worker and hour (default: %(default)s)"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the efficiency: .png, .svg or .pdf")
    args = parser.parse_args(argv)
    outcomes: dict[int, list[Outcome]] = {}
    print(f"{args.pairs:,} pairs; hours, efficiency, share of time the driver is busy, shards lost")
    print("workers".rjust(8), *(f"shards of {size:,}".rjust(34) for size in _SHARD_PAIRS))
    for workers in _WORKERS:
        cells = []
        for size in _SHARD_PAIRS:
            options = {"rate": args.rate, "overhead": args.overhead, "driver": args.driver, "deaths": args.deaths}
            outcome = simulate(Cluster(workers, **options), args.pairs, size)
            outcomes.setdefault(size, []).append(outcome)
            cells.append(
                f"{outcome.seconds / 3600:9.2f} h {outcome.efficiency:6.3f} {outcome.driver:6.3f} {outcome.lost:6d}"
            )
        print(f"{workers:8,}", *(cell.rjust(34) for cell in cells))
    if args.plot is not None:
        _draw(outcomes, args.pairs, args.plot)
    return 0


def _draw(results: dict[int, list[Outcome]], pairs: int, path: Path) -> None:
    figure, (axes,) = new_panels(1, 1, width=6.5, height=3.2)
    for size, outcomes in results.items():
        axes.plot(_WORKERS, [outcome.efficiency for outcome in outcomes], marker="o", label=f"{size:,} pairs")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("workers")
    axes.set_ylabel("efficiency")
    handles, labels = axes.get_legend_handles_labels()
    title = f"{pairs:,} pairs on a simulated cluster, by size of shards"
    caption = "Left of the bend the driver keeps up with reports; right of it, workers wait for the driver."
    finish_figure(figure, title=title, caption=caption, legend=(handles, labels))
    save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())
