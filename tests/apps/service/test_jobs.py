"""Jobs over HTTP: submitted, watched, cancelled, downloaded, and what becomes of them at a stop."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient
from tests.apps.service.conftest import listening

import nlgauge
from nlgauge.apps.service import jobs
from nlgauge.apps.service.settings import Limits, Settings
from nlgauge.encoders.load import load_encoder
from nlgauge.studies.sensitivity.measure import StudyOptions, run_study, systems_table
from nlgauge.studies.sensitivity.study import preset
from nlgauge.testing import hash_encoder

HASH = {"model": "hash", "layer": 1}
SYSTEMS = {
    "one": ["a cat sat on the mat .", "the dog slept under a tree", "a bird ran over the sofa ."] * 4,
    "two": ["the cat sat .", "a dog slept", "the bird ran ."] * 4,
}
REFS = ["the cat sat on a mat .", "a dog slept under the tree .", "the bird ran over a sofa ."] * 4
BODY = {"systems": SYSTEMS, "refs": REFS, "options": HASH}


def submitted(service: TestClient, body: dict[str, Any] = BODY, kind: str = "score") -> str:
    answer = service.post(f"/v1/jobs/{kind}", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/jobs/{answer.json()['id']}"
    return str(answer.json()["id"])


def ended(service: TestClient, name: str) -> dict[str, Any]:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        status: dict[str, Any] = service.get(f"/v1/jobs/{name}").json()
        if status["state"] not in {"queued", "running"}:
            return status
        time.sleep(0.02)
    raise AssertionError(status)


def content(answer: Any) -> dict[str, Any]:
    """The result in an answer, without what every answer has."""
    record: dict[str, Any] = answer.json()
    assert record.pop("nlgauge") == nlgauge.__version__
    record.pop("warnings")
    return record


class Held:
    """Holds all encoding of the model `hash` until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        encoder = load_encoder("hash")
        original = encoder.encode
        self.go, self.entered = threading.Event(), threading.Event()

        def encode(ids: Any, layers: Any) -> Any:
            self.entered.set()
            assert self.go.wait(120)
            return original(ids, layers)

        monkeypatch.setattr(encoder, "encode", encode)


def test_a_job_gives_the_scores_of_the_library(service: TestClient) -> None:
    name = submitted(service)
    status = ended(service, name)
    assert (status["state"], status["kind"], status["problem"]) == ("done", "score", None)
    assert status["created"] <= status["started"] <= status["finished"] < status["expires"]
    result = service.get(f"/v1/jobs/{name}/result").json()
    expected = nlgauge.score_systems(SYSTEMS, REFS, **HASH).to_dict()["scores"]
    assert json.dumps(result["scores"]) == json.dumps(expected)


def test_many_texts_are_compared_in_steps_and_give_the_same(service: TestClient) -> None:
    systems = {name: texts * 30 for name, texts in SYSTEMS.items()}
    body = {"systems": systems, "refs": REFS * 30, "options": HASH, "metric": ["bertscore:idf=refs", "chrf"]}
    name = submitted(service, body)
    assert ended(service, name)["state"] == "done"
    expected = nlgauge.score_systems(systems, REFS * 30, metric=body["metric"], **HASH)
    assert service.get(f"/v1/jobs/{name}/result").json()["scores"] == expected.to_dict()["scores"]


def test_results_as_tables(service: TestClient) -> None:
    name = submitted(service)
    ended(service, name)
    table = service.get(f"/v1/jobs/{name}/result?format=tsv")
    assert table.headers["content-disposition"] == f'attachment; filename="nlgauge-score-{name}.tsv"'
    assert len(table.text.splitlines()) == 3
    assert len(service.get(f"/v1/jobs/{name}/result?format=segments").text.splitlines()) == 25


def test_sensitivity_is_a_job_with_the_librarys_result(service: TestClient) -> None:
    body = {**BODY, "preset": "idf", "metric": ["bertscore:idf=refs"], "resamples": 100}
    name = submitted(service, body, "sensitivity")
    assert ended(service, name)["state"] == "done", service.get(f"/v1/jobs/{name}").text
    study = preset("idf", ["bertscore:idf=refs,model=hash,layer=1"])
    expected = run_study(study, systems_table(SYSTEMS, REFS), options=StudyOptions(resamples=100))
    result = content(service.get(f"/v1/jobs/{name}/result"))
    assert result == json.loads(json.dumps(expected.to_dict()))
    assert service.get(f"/v1/jobs/{name}/result?format=tsv").status_code == 200
    assert service.get(f"/v1/jobs/{name}/result?format=segments").status_code == 404


def test_events_report_progress_until_the_end(service: TestClient) -> None:
    name = submitted(service)
    with service.stream("GET", f"/v1/jobs/{name}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in stream.iter_lines() if line]
    names = [line.partition(": ")[2] for line in lines if line.startswith("event")]
    states = [json.loads(line.partition(": ")[2])["state"] for line in lines if line.startswith("data")]
    assert names[-1] == "end"
    assert states[-1] == "done"
    assert set(names[:-1]) <= {"progress"}


def test_running_job_reports_progress_and_can_be_cancelled(
    service: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    name = submitted(service)
    assert held.entered.wait(60)
    status = service.get(f"/v1/jobs/{name}").json()
    assert status["state"] == "running"
    assert status["progress"] == {"done": 0, "total": 12, "unit": "segments"}
    waiting = submitted(service)
    assert service.post(f"/v1/jobs/{waiting}/cancel").json()["state"] == "cancelled"
    assert service.get(f"/v1/jobs/{name}/result").status_code == 409
    assert service.delete(f"/v1/jobs/{name}").status_code == 409
    service.post(f"/v1/jobs/{name}/cancel")
    held.go.set()
    assert ended(service, name)["state"] == "cancelled"
    refused = service.post(f"/v1/jobs/{name}/cancel")
    assert (refused.status_code, refused.json()["state"]) == (409, "cancelled")
    assert service.get(f"/v1/jobs/{name}/result").status_code == 409


def test_requests_are_answered_while_a_job_runs(service: TestClient) -> None:
    large = {"systems": {name: texts * 80 for name, texts in SYSTEMS.items()}, "refs": REFS * 80, "options": HASH}
    name = submitted(service, {**large, "metric": ["moverscore"], "options": {"model": "hash"}})
    answer = service.post("/v1/score", json={"hyps": ["a cat"], "refs": ["a dog"], "options": HASH})
    assert answer.status_code == 200
    assert ended(service, name)["state"] == "done"


def test_a_full_queue_is_refused(made: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch) -> None:
    service = made(limits=Limits(queued_jobs=2))
    held = Held(monkeypatch)
    names = [submitted(service)]
    assert held.entered.wait(60)
    names += [submitted(service) for _ in range(2)]
    refused = service.post("/v1/jobs/score", json=BODY)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    held.go.set()
    assert [ended(service, name)["state"] for name in names] == ["done"] * 3


def test_failed_job_has_a_problem(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    name = submitted(service, {"hyps": ["", "a"], "refs": ["", "a"], "options": HASH})
    status = ended(service, name)
    assert status["state"] == "failed"
    assert status["problem"]["error"] == "EmptyPairError"
    assert "segment 0" in status["problem"]["detail"]
    monkeypatch.setattr(load_encoder("hash"), "encode", lambda *_: 1 / 0)
    status = ended(service, submitted(service))
    assert status["problem"]["status"] == 500
    assert "ZeroDivision" not in json.dumps(status)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**BODY, "metric": ["nonsense"]}, 422),
        ({**BODY, "options": {"model": "/etc"}}, 422),
        ({"hyps": ["a"] * 50_001, "refs": ["a"] * 50_001}, 413),
    ],
)
def test_invalid_jobs_are_refused_before_they_are_queued(
    service: TestClient, body: dict[str, Any], status: int
) -> None:
    assert service.post("/v1/jobs/score", json=body).status_code == status


@pytest.mark.parametrize("lang", ["../../etc/passwd", "en.x", "e" * 30, "en\n"])
def test_a_language_is_a_plain_code(service: TestClient, lang: str) -> None:
    assert service.post("/v1/jobs/sensitivity", json={**BODY, "lang": lang}).status_code == 422


def test_a_study_of_a_signature_fails_with_a_reason(service: TestClient) -> None:
    signature = str(nlgauge.score(["a cat"], ["a dog"], **HASH).signature)
    name = submitted(service, {**BODY, "options": {}, "metric": [signature], "preset": "idf"}, "sensitivity")
    assert "got the signature" in ended(service, name)["problem"]["detail"]


def test_unknown_job_is_not_found(service: TestClient) -> None:
    name = "0" * 32
    for method, path in (("get", ""), ("get", "/events"), ("get", "/result"), ("post", "/cancel"), ("delete", "")):
        answer = getattr(service, method)(f"/v1/jobs/{name}{path}")
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json"
    assert service.get("/v1/jobs/..%2f..%2fetc").status_code in {404, 422}


def test_a_job_can_be_removed(service: TestClient) -> None:
    name = submitted(service)
    ended(service, name)
    assert service.delete(f"/v1/jobs/{name}").status_code == 204
    assert service.get(f"/v1/jobs/{name}").status_code == 404


def test_stop_interrupts_running_job_and_keeps_queued_ones(
    made: Callable[..., TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = made(stop_seconds=0.2)
    held = Held(monkeypatch)
    names = [submitted(service) for _ in range(2)]
    assert held.entered.wait(60)
    threading.Timer(0.5, held.go.set).start()
    service.app.state.service.stop()  # type: ignore[attr-defined]
    monkeypatch.setattr(service.app.state.service, "stop", lambda: None)  # type: ignore[attr-defined]
    again = made()
    assert again.get(f"/v1/jobs/{names[0]}").json()["state"] == "interrupted"
    assert ended(again, names[1])["state"] == "done"


def test_event_streams_are_counted_while_they_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = Settings(folder=tmp_path / "data", preload=(), limits=Limits(streams=1))
    with hash_encoder(), listening(chosen) as url, httpx2.Client(base_url=url, trust_env=False) as service:
        held = Held(monkeypatch)
        name = service.post("/v1/jobs/score", json=BODY).json()["id"]
        with service.stream("GET", f"/v1/jobs/{name}/events") as stream:
            assert stream.status_code == 200
            refused = service.get(f"/v1/jobs/{name}/events")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with service.stream("GET", f"/v1/jobs/{name}/events") as again:
                if again.status_code == 200:
                    break
            time.sleep(0.05)
        assert again.status_code == 200
        held.go.set()


def test_job_queue_survives_a_full_disk(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    store = service.app.state.service.store  # type: ignore[attr-defined]
    whole = store.end
    calls: list[str] = []

    def full(name: str, *rest: Any, **more: Any) -> bool:
        calls.append(name)
        if len(calls) == 1:
            raise OSError("no space left on device")
        done: bool = whole(name, *rest, **more)
        return done

    monkeypatch.setattr(store, "end", full)
    submitted(service)
    assert ended(service, submitted(service))["state"] == "done"


def test_stop_does_not_wait_for_blocked_work(
    made: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = made(stop_seconds=0.2)
    running = service.app.state.service  # type: ignore[attr-defined]
    monkeypatch.setattr(jobs, "_LAST_WAIT", 0.1)
    held = Held(monkeypatch)
    name = submitted(service)
    assert held.entered.wait(60)
    running.stop()  # had it waited, the job would have failed in the end
    monkeypatch.setattr(running, "stop", lambda: None)
    assert made().get(f"/v1/jobs/{name}").json()["state"] == "interrupted"
    held.go.set()


def test_a_job_of_too_many_texts_names_the_way_out(made: Callable[..., TestClient]) -> None:
    service = made(limits=Limits(job_texts=5))
    answer = service.post("/v1/jobs/score", json={"hyps": ["a"] * 3, "refs": ["a"] * 3})
    assert answer.status_code == 413
    assert answer.json()["detail"] == (
        "too many texts (6; limit 5); use fewer systems or segments, or ask the operator to raise --max-job-texts"
    )
