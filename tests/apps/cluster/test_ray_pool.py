"""A real Ray cluster: the same numbers, and nothing lost when an actor or the driver is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.cluster.clusters import Cluster, running_cluster
from tests.apps.cluster.tables import as_bytes, corpus_table, in_one_call, merged_bytes
from tests.core.test_stages import RECIPES
from tests.metrics.test_contracts import resolved

import nlgauge
import nlgauge.apps.cluster as many

pytestmark = [
    pytest.mark.slow,
    # Two clusters on one machine take ports from one range for their clients, and one may find its port taken.
    pytest.mark.alone,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds actors in /proc"),
    *(
        pytest.mark.filterwarnings(f"ignore::nlgauge.errors.{name}")
        for name in ("TruncationWarning", "NoFocusWarning", "NoNounWarning")
    ),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(2) as result:
        yield result


def command(folder: Path, address: str, *more: str) -> list[str]:
    words = ["score", "--table", str(folder / "pairs.parquet"), "--parts", str(folder / "parts")]
    return [sys.executable, "-m", "nlgauge", *words, "--cluster", address, *more]


def wait_for_parts(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + 300
    while len(list((folder / "parts").glob("part-*.parquet"))) < count:
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_every_metric_gives_what_one_call_gives(cluster: Cluster, tmp_path: Path) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet")
    # Counts of all references are needed at once by the others, which are refused.
    metrics = [resolved(recipe) for recipe in RECIPES if recipe not in {"cider", "nist", "tfidf", "yisi0"}]
    columns = "hyp=terse,hyp=fluent,ref=ref,src=src,id=id"
    words = command(tmp_path, cluster.address, "--columns", columns, "--shard-rows", "3", "--metric", *metrics)
    subprocess.run(words, check=True, env=cluster.environment)
    assert merged_bytes(tmp_path / "parts") == as_bytes(in_one_call(corpus, metrics))


def test_an_actor_and_then_the_driver_are_killed_and_nothing_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    # So many that a test that is kept waiting by others still finds some left to do.
    corpus = corpus_table(tmp_path / "pairs.parquet", 480)
    words = command(tmp_path, cluster.client, "--columns", "hyp=fluent,ref=ref,id=id", "--shard-rows", "4")
    driver = subprocess.Popen(words, env=cluster.environment)
    wait_for_parts(tmp_path, 4, driver)
    while not (actors := cluster.actors()):
        assert driver.poll() is None
    os.kill(actors[0], signal.SIGKILL)
    wait_for_parts(tmp_path, 14, driver)
    driver.kill()
    driver.wait()
    there = len(list((tmp_path / "parts").glob("part-*.parquet")))
    assert 14 <= there < 120
    subprocess.run(words, check=True, env=cluster.environment)
    alone = nlgauge.score(corpus.systems["fluent"], corpus.references)
    assert merged_bytes(tmp_path / "parts") == as_bytes([alone])


def test_rows_that_cannot_be_scored(cluster: Cluster, tmp_path: Path) -> None:
    corpus = corpus_table(tmp_path / "pairs.parquet")
    texts = [None if index in {1, 7} else text for index, text in enumerate(corpus.systems["fluent"])]
    corpus_table(tmp_path / "pairs.parquet", fluent=texts)
    words = command(tmp_path, cluster.client, "--columns", "hyp=fluent,ref=ref", "-m", "chrf", "--shard-rows", "2")
    subprocess.run(words, check=True, env=cluster.environment)
    merged = many.merge(tmp_path / "parts")
    left = [index for index in range(10) if index not in {1, 7}]
    alone = nlgauge.score([texts[row] or "" for row in left], [corpus.references[row] for row in left], metric="chrf")
    assert [error.row for error in merged.errors] == [1, 7]
    assert merged.scores[0].system_score == alone.system_score
    strict = subprocess.run(
        [*words[:-1], "4", "--strict", "--parts", str(tmp_path / "strict")],
        env=cluster.environment,
        capture_output=True,
        text=True,
    )
    assert strict.returncode == 1
    # Two workers are at it, and either may be the first to meet such a row.
    assert re.search("row [17]: column 'fluent': expected a text, got None", strict.stderr)


def test_a_cluster_asks_for_its_token(cluster: Cluster, tmp_path: Path) -> None:
    corpus_table(tmp_path / "pairs.parquet")
    words = command(tmp_path, cluster.client, "--columns", "hyp=fluent,ref=ref", "-m", "chrf")
    environment = cluster.environment | {"RAY_AUTH_TOKEN": "0" * 64}
    refused = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "no Ray cluster answers at" in refused.stderr
    assert not list((tmp_path / "parts").glob("part-*"))
