"""A cluster of up to 1,000 workers and 50 million pairs, simulated: `python -m benchmarks.cluster_simulation`.

Discrete events. Workers start one after the other, do shards (longest first; how long one takes varies), and now and
then die and start again, which costs the shard at hand. One driver hands out shards and takes in reports, one at a
time; where reports come faster than it takes them in, workers wait, and the driver is the limit. What a worker and
the driver need for a shard are given (`--rate`, `--overhead`, `--driver`; benchmarks/README.md says from where).
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
    """What a cluster is like."""

    workers: int
    rate: float = 120.0
    """Pairs a second of one worker."""
    spread: float = 0.3
    """How far shards of equally many pairs differ in time: +- so much, uniformly."""
    overhead: float = 0.02
    """Seconds of a worker for each shard beside scoring: reading rows, writing a part."""
    driver: float = 0.005
    """Seconds of the driver for each shard."""
    startup: float = 10.0
    """Seconds until a worker has loaded its models."""
    launch: float = 0.05
    """Seconds between the starts of two workers."""
    deaths: float = 0.0
    """Of each worker in an hour."""


class Outcome(NamedTuple):
    """How a run went."""

    seconds: float
    efficiency: float
    """Share of the workers' time that went into scoring, the first start apart."""
    driver: float
    """Share of the time in which the driver was busy."""
    lost: int
    """Shards that died with their worker and were done again."""


def simulate(cluster: Cluster, pairs: int, shard_pairs: int) -> Outcome:
    """Run all pairs, in shards of so many, through the cluster."""
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
    # An event is a worker that reports a shard and asks for the next; the driver answers one at a time.
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
    """Print a table, and draw it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_simulation", description=__doc__)
    parser.add_argument("--pairs", type=int, default=50_000_000, metavar="N", help="(%(default)s)")
    parser.add_argument("--rate", type=float, default=120.0, metavar="N", help="pairs/s of a worker (%(default)s)")
    parser.add_argument("--overhead", type=float, default=0.02, help="of a worker and shard (%(default)s)")
    parser.add_argument("--driver", type=float, default=0.005, help="of the driver and shard (%(default)s)")
    parser.add_argument("--deaths", type=float, default=0.1, metavar="N", help="of a worker and hour (%(default)s)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the efficiency: .png, .svg or .pdf")
    args = parser.parse_args(argv)
    found: dict[int, list[Outcome]] = {}
    print(f"{args.pairs:,} pairs; hours, efficiency, share of time in which the driver is busy, shards lost")
    print("workers".rjust(8), *(f"shards of {size:,}".rjust(34) for size in _SHARD_PAIRS))
    for workers in _WORKERS:
        cells = []
        for size in _SHARD_PAIRS:
            options = {"rate": args.rate, "overhead": args.overhead, "driver": args.driver, "deaths": args.deaths}
            made = simulate(Cluster(workers, **options), args.pairs, size)
            found.setdefault(size, []).append(made)
            cells.append(f"{made.seconds / 3600:9.2f} h {made.efficiency:6.3f} {made.driver:6.3f} {made.lost:6d}")
        print(f"{workers:8,}", *(cell.rjust(34) for cell in cells))
    if args.plot is not None:
        _draw(found, args.pairs, args.plot)
    return 0


def _draw(found: dict[int, list[Outcome]], pairs: int, path: Path) -> None:
    figure, (axes,) = new_panels(1, 1, width=6.5, height=3.2)
    for size, outcomes in found.items():
        axes.plot(_WORKERS, [one.efficiency for one in outcomes], marker="o", label=f"{size:,} pairs")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("workers")
    axes.set_ylabel("efficiency")
    handles, labels = axes.get_legend_handles_labels()
    title = f"{pairs:,} pairs on a simulated cluster, by size of shards"
    caption = "Below the bend the one driver takes in reports as fast as they come; above it, workers wait for it."
    finish_figure(figure, title=title, caption=caption, legend=(handles, labels))
    save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())
