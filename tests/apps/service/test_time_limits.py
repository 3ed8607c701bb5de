"""Slow pairs: a request has a limit of time, keeps no other waiting, and a job is cancelled between two pairs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.apps.service.test_jobs import ended, submitted

import nlgauge
from nlgauge.apps.service import service as services
from nlgauge.apps.service.policy import estimated_seconds
from nlgauge.apps.service.settings import Limits
from nlgauge.core.corpus import make_corpus
from nlgauge.core.prepare import prepare
from nlgauge.core.scoring import resolve_call
from nlgauge.metrics.rouge import RougeL

TEXTS = {"hyps": [f"a cat sat {number}" for number in range(70)], "refs": ["the cat sat"] * 70}
FEW = {"hyps": TEXTS["hyps"][:8], "refs": TEXTS["refs"][:8]}


class Slowed:
    """Each pair of ROUGE-L takes a while, and waits where `go` is cleared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs: list[str] = []
        self.begun, self.go = threading.Event(), threading.Event()
        self.go.set()
        original = RougeL.pair_function

        def pair_function(metric: RougeL, words: Any) -> Any:
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

        monkeypatch.setattr(RougeL, "pair_function", pair_function)


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> Slowed:
    return Slowed(monkeypatch)


def test_slow_request_is_refused_with_advice_to_submit_a_job(made: Callable[..., TestClient], slowed: Slowed) -> None:
    service = made(limits=Limits(seconds=0.2))
    for path in ("score", "compare"):
        answer = service.post(f"/v1/{path}", json={**TEXTS, "metric": ["rougel"]})
        assert answer.status_code == 413
        assert answer.json()["type"].endswith("too-slow")
        assert "not finished after 0.2 seconds; submit a job" in answer.json()["detail"]
    assert len(slowed.pairs) < 20
    # A job has no such limit.
    name = submitted(service, {**FEW, "metric": ["rougel"]})
    assert ended(service, name)["state"] == "done"


def test_slow_small_request_moves_to_its_own_thread(
    made: Callable[..., TestClient], slowed: Slowed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_SMALL_SECONDS", 0.1)
    service = made()
    answer = service.post("/v1/score", json={**FEW, "metric": ["rougel"]})
    assert slowed.pairs.count("nlgauge-inference") < 8
    assert len(slowed.pairs) >= 8
    expected = nlgauge.ScoreTable((nlgauge.score(FEW["hyps"], FEW["refs"], metric="rougel"),))
    assert json.dumps(answer.json()["scores"]) == json.dumps(expected.to_dict()["scores"])


#: Words of one token each; entropic transport with regularisation .001 between two such texts takes a minute or more.
WORDS = [str(number) for number in range(1, 251)]
HEAVY = {"metric": ["baryscore:measures=all"]}


def test_request_with_long_estimate_is_refused_in_advance(made: Callable[..., TestClient]) -> None:
    service = made()
    texts = {"hyps": [" ".join(WORDS)] * 8, "refs": [" ".join(reversed(WORDS))] * 8}
    for path in ("score", "compare"):
        begin = time.monotonic()
        answer = service.post(f"/v1/{path}", json={**texts, **HEAVY})
        assert time.monotonic() - begin < 30  # it would take many minutes
        assert answer.status_code == 413
        assert answer.json()["type"].endswith("too-slow")
        assert "(limit 60); submit a job" in answer.json()["detail"]
    job = service.post("/v1/jobs/score", json={**texts, **HEAVY})
    assert job.status_code == 202
    service.post(f"/v1/jobs/{job.json()['id']}/cancel")


def test_single_pair_is_stopped_at_the_time_limit(
    made: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_ESTIMATE_MARGIN", 1e9)  # as if the estimate were far too low
    service = made(limits=Limits(seconds=0.5))
    begin = time.monotonic()
    answer = service.post("/v1/score", json={"hyps": [" ".join(WORDS)], "refs": [" ".join(WORDS[::-1])], **HEAVY})
    assert time.monotonic() - begin < 30
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:nlgauge:problem:too-slow")


def test_the_estimate_grows_with_tokens_and_lets_normal_requests_pass() -> None:
    def seconds(metric: str, words: int, count: int, **options: Any) -> float:
        corpus = make_corpus({"a": [" ".join(WORDS[:words])] * count}, [" ".join(WORDS[:words])] * count)
        recipes, run, _ = resolve_call([metric], options)
        return estimated_seconds(prepare(recipes, corpus, run))

    # Measured on one core with minilm: 17 s of 125 x 125 tokens and 72 s of 250 x 250 at regularisation .001.
    assert 17 / 3 < seconds("baryscore:measures=SD_0.001", 125, 1) < 17 * 3
    assert seconds("baryscore:measures=SD_0.001", 100, 4) == pytest.approx(
        4 * seconds("baryscore:measures=SD_0.001", 100, 1)
    )
    assert seconds("moverscore", 100, 1, solver="sinkhorn-0.001") > 5
    # As many texts as one request may have, of 30 words, under metrics that take milliseconds.
    for metric in ("bertscore", "moverscore", "baryscore", "baryscore:measures=SD_1", "chrf"):
        assert seconds(metric, 30, 500) < 1


def test_a_job_is_cancelled_between_two_pairs(service: TestClient, slowed: Slowed) -> None:
    slowed.go.clear()
    name = submitted(service, {**TEXTS, "metric": ["rougel"]})
    assert slowed.begun.wait(60)
    service.post(f"/v1/jobs/{name}/cancel")
    slowed.go.set()
    assert ended(service, name)["state"] == "cancelled"
    assert len(slowed.pairs) == 1
