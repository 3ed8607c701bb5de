"""Slow pairs: a request has a limit of time, keeps no other waiting, and a job is cancelled between two pairs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.service.test_jobs import ended, submitted

import nlgauge
from nlgauge.metrics.rouge import RougeL
from nlgauge.service import service as services
from nlgauge.service.settings import Limits

TEXTS = {"hyps": [f"a cat sat {number}" for number in range(70)], "refs": ["the cat sat"] * 70}
FEW = {"hyps": TEXTS["hyps"][:8], "refs": TEXTS["refs"][:8]}


class Slowed:
    """Each pair of ROUGE-L takes a while, and waits where `go` is cleared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs: list[str] = []
        self.begun, self.go = threading.Event(), threading.Event()
        self.go.set()
        original = RougeL.comparer

        def comparer(metric: RougeL, words: Any) -> Any:
            compare = original(metric, words)

            def slow(reference: str, hypothesis: str) -> Any:
                self.pairs.append(threading.current_thread().name)
                self.begun.set()
                assert self.go.wait(120)
                until = time.thread_time() + 0.05
                while time.thread_time() < until:
                    pass
                return compare(reference, hypothesis)

            return slow

        monkeypatch.setattr(RougeL, "comparer", comparer)


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> Slowed:
    return Slowed(monkeypatch)


def test_a_request_that_takes_too_long_is_sent_to_the_jobs(made: Callable[..., TestClient], slowed: Slowed) -> None:
    service = made(limits=Limits(seconds=0.2))
    for path in ("score", "compare"):
        answer = service.post(f"/v1/{path}", json={**TEXTS, "metrics": ["rougel"]})
        assert answer.status_code == 413
        assert answer.json()["type"].endswith("too-slow")
        assert "not done after 0.2 seconds; post it to /v1/jobs" in answer.json()["detail"]
    assert len(slowed.pairs) < 20
    # A job has no such limit.
    name = submitted(service, {**FEW, "metrics": ["rougel"]})
    assert ended(service, name)["state"] == "done"


def test_a_small_request_that_is_slow_moves_out_of_the_way(
    made: Callable[..., TestClient], slowed: Slowed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_SMALL_SECONDS", 0.1)
    service = made()
    answer = service.post("/v1/score", json={**FEW, "metrics": ["rougel"]})
    assert slowed.pairs.count("nlgauge-inference") < 8
    assert len(slowed.pairs) >= 8
    expected = nlgauge.score(FEW["hyps"], FEW["refs"], metric="rougel").to_dict()
    assert json.dumps(answer.json()["scores"]) == json.dumps([expected])


def test_a_job_is_cancelled_between_two_pairs(service: TestClient, slowed: Slowed) -> None:
    slowed.go.clear()
    name = submitted(service, {**TEXTS, "metrics": ["rougel"]})
    assert slowed.begun.wait(60)
    service.post(f"/v1/jobs/{name}/cancel")
    slowed.go.set()
    assert ended(service, name)["state"] == "cancelled"
    assert len(slowed.pairs) == 1
