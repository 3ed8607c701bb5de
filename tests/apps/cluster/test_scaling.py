"""What a cluster costs beside the scoring itself: on many logical workers, and simulated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.cluster_simulation import Cluster as SimulatedCluster
from benchmarks.cluster_simulation import simulate
from tests.apps.cluster.clusters import running_cluster


def on_logical_workers(*words: str) -> dict[str, Any]:
    with running_cluster(64) as cluster:
        command = [sys.executable, "-m", "benchmarks.cluster_fake", "--address", cluster.address, *words]
        made = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, env=cluster.environment, cwd=Path(__file__).parents[3]
        )
    # Ray warns on stdout too, at times after the result.
    (line,) = [line for line in made.stdout.splitlines() if line.startswith(b"{")]
    result: dict[str, Any] = json.loads(line)
    return result


@pytest.mark.long
def test_64_logical_workers_are_hardly_kept_waiting() -> None:
    result = on_logical_workers()
    assert (result["shards"], result["failed"]) == (1280, 0)
    assert result["efficiency"] >= 0.95


@pytest.mark.long
def test_64_logical_workers_of_which_a_tenth_is_killed() -> None:
    result = on_logical_workers("--kill", "0.1")
    assert (result["shards"], result["failed"], result["killed"]) == (1280, 0, 6)
    assert result["efficiency"] >= 0.85


def test_one_simulated_worker_takes_the_time_of_all_shards() -> None:
    # 100 shards of 10 s, 1 s beside each; the driver takes in the last report too.
    quiet = SimulatedCluster(1, rate=100, spread=0, overhead=1, driver=0.5, startup=7, launch=0)
    result = simulate(quiet, 100_000, 1000)
    assert result.seconds == pytest.approx(7 + 100 * (10 + 1 + 0.5) + 0.5)
    assert result.efficiency == pytest.approx(1000 / (100 * 11.5 + 0.5))
    assert result.lost == 0


def test_the_driver_is_the_limit_when_reports_arrive_faster_than_it_reads_them() -> None:
    result = [simulate(SimulatedCluster(workers, driver=0.01, spread=0), 2_000_000, 100) for workers in (10, 1000)]
    assert result[0].efficiency > 0.9
    # 20,000 shards of 10 ms each are 200 s of the driver alone, whatever the workers do.
    assert result[1].seconds >= 200
    assert result[1].driver > 0.9
    assert result[1].efficiency < 0.1


def test_simulated_deaths_cost_the_running_shards() -> None:
    calm, wild = (simulate(SimulatedCluster(50, deaths=deaths), 1_000_000, 5000) for deaths in (0.0, 20.0))
    assert calm.lost == 0
    assert wild.lost > 0
    assert wild.seconds > calm.seconds
