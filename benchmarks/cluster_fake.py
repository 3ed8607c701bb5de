"""Run a sleeping scorer on many logical workers of a real Ray cluster: `python -m benchmarks.cluster_fake`.

Measures the overhead of the cluster and the driver: the share of worker time spent on shards of `--seconds` (+- 50 %,
longest first), with some workers killed by SIGKILL. The first start of workers is not counted; restarts are. Logical
workers sleep, so they need no processor each.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from nlgauge.apps.cluster.executors import Tasks, run_on_actors
from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.worker import Pass, Report

__all__ = ["main"]

_SEED = 18


class SleepingActor:
    """Sleeps for the duration of a shard."""

    def __init__(self, lengths: Sequence[float]) -> None:
        self._lengths = lengths

    def process(self) -> int:
        """Process id."""
        return os.getpid()

    def run(self, step: Pass, shard: int) -> Report:
        """Sleep for the duration of the shard, and report it."""
        time.sleep(self._lengths[shard])
        return Report(shard, 1, 0, self._lengths[shard], 0)


def main(argv: list[str] | None = None) -> int:
    """Print the efficiency as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_fake", description=__doc__)
    parser.add_argument("--address", help="address of the cluster (default: start a local one)")
    parser.add_argument("--workers", type=int, default=64, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--shards", type=int, default=20, metavar="N", help="shards per worker (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=3.0, metavar="S", help="duration of a shard, +- 50 %% (default: %(default)s)"
    )
    parser.add_argument(
        "--kill", type=float, default=0.0, metavar="SHARE", help="share of workers to kill (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    import ray

    os.environ.setdefault("RAY_worker_niceness", "0")
    options: dict[str, Any] = {} if args.address else {"num_cpus": args.workers, "include_dashboard": False}
    ray.init(address=args.address or "local", logging_level=logging.WARNING, log_to_driver=False, **options)
    draws = random.Random(_SEED)
    lengths = [args.seconds * draws.uniform(0.5, 1.5) for _ in range(args.workers * args.shards)]
    actor = ray.remote(SleepingActor).options(num_cpus=1, max_restarts=-1, max_task_retries=0)
    actors = [actor.remote(lengths) for _ in range(args.workers)]
    processes = ray.get([worker.process.remote() for worker in actors])
    killed = draws.sample(processes, round(args.kill * args.workers))
    shards = [RowShard(number, number, number + 1, 0, (0,), 1) for number in range(len(lengths))]
    tasks = Tasks(sorted(shards, key=lambda shard: -lengths[shard.number]))
    began = time.perf_counter()
    _kill_later(killed, sum(lengths) / args.workers, draws)
    run_on_actors(ray, actors, Pass("score"), tasks)
    seconds = time.perf_counter() - began
    result = {
        "workers": args.workers,
        "shards": len(tasks.reports),
        "failed": len(tasks.failed),
        "killed": len(killed),
        "seconds": seconds,
        "efficiency": sum(lengths) / args.workers / seconds,
    }
    print(json.dumps(result))
    ray.shutdown()
    return 0


def _kill_later(processes: Sequence[int], span: float, draws: random.Random) -> None:
    """Kill each process at a random time within the run."""
    for process in processes:
        timer = threading.Timer(draws.uniform(0.1, 0.8) * span, os.kill, (process, signal.SIGKILL))
        timer.daemon = True
        timer.start()


if __name__ == "__main__":
    sys.exit(main())
