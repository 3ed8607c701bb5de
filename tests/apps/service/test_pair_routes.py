"""All pairs and rankings over HTTP: answers, tables, limits, and jobs that can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.apps.service.test_jobs import content, ended
from tests.apps.service.test_time_limits import Slowed, slowed  # noqa: F401 - a fixture

import nlgauge
from nlgauge.apps.service.settings import Limits

A, B = ["a cat sat", "the dog slept"], ["the cat sat", "a dog slept", "the mat"]
CANDIDATES = [["a cat", "the cat", "a dog"], ["it rains", "rain fell"]]
HASH = {"options": {"model": "hash", "layer": 1}}


def test_a_matrix_as_json_and_as_a_table(service: TestClient) -> None:
    answer = service.post("/v1/matrix", json={"a": A, "b": B, **HASH})
    assert answer.status_code == 200, answer.text
    expected = nlgauge.matrix(A, B, **HASH["options"])
    assert content(answer) == expected.to_dict()
    table = service.post("/v1/matrix?format=tsv", json={"a": A, "b": B, **HASH})
    assert table.headers["content-type"].startswith("text/tab-separated-values")
    header, *rows = [line.split("\t") for line in table.text.splitlines()]
    assert header == ["hypothesis", "0", "1", "2"]
    assert [[float(cell) for cell in row[1:]] for row in rows] == expected.scores.tolist()


def test_a_ranking_as_json_and_as_a_table(service: TestClient) -> None:
    answer = service.post("/v1/rank", json={"candidates": CANDIDATES, "metric": "chrf"})
    assert answer.status_code == 200, answer.text
    expected = nlgauge.rank(CANDIDATES, metric="chrf")
    assert content(answer) == expected.to_dict()
    table = service.post("/v1/rank?format=tsv", json={"candidates": CANDIDATES, "metric": "chrf"}).text
    assert len(table.splitlines()) == 6


def test_warnings_are_in_the_answer(service: TestClient) -> None:
    answer = service.post("/v1/matrix", json={"a": ["", "a cat"], "b": ["a cat"], **HASH})
    assert "empty hypothesis or reference" in answer.json()["warnings"][0]


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("matrix", {"a": [], "b": B}, 422, "a: the list is empty"),
        ("matrix", {"b": B}, 422, "body.a"),
        ("matrix", {"a": A, "b": B, "metric": "sentsim"}, 422, "a pair of texts alone has none"),
        ("matrix", {"a": A, "options": {"idf": "/etc/passwd"}}, 422, "idf must be"),
        ("matrix", {"a": A, "options": {"long": "error"}}, 422, "'long' belongs at the top level"),
        ("matrix", {"a": A, "options": {"a": "x"}}, 422, "'a' belongs at the top level"),
        ("matrix", {"a": A, "options": {"threads": 4}}, 422, "set by the service"),
        ("matrix", {"a": A, "metric": "bertscore:model=/etc"}, 422, "does not offer model"),
        ("matrix", {"a": ["x"] * 101, "b": ["x"] * 100}, 413, "(10,100; limit"),
        ("matrix", {"a": ["x", "y" * 100_001]}, 413, "a, segment 1: too many characters (100,001; limit 100,000)"),
        ("matrix", {"a": ["x"] * 1001}, 413, "(1,001; limit"),
        ("rank", {"candidates": [["a"], []]}, 422, "candidates[1]: the list is empty"),
        ("rank", {"candidates": [["a"]], "refs": ["a", "b"]}, 422, "2 entries for 1"),
        ("rank", {"candidates": [["x"] * 102]}, 413, "(10,302; limit"),
        ("rank", {"candidates": [["x", "y" * 100_001]]}, 413, "candidates[0][1]"),
        ("jobs/matrix", {"a": ["x"] * 1001, "b": ["x"] * 1000}, 413, "(1,001,000; limit"),
        ("jobs/rank", {"candidates": [["a"]], "metric": "nonsense"}, 422, "nonsense"),
        ("jobs/explain-pairs", {"hyps": ["a" * 90_000] * 3, "refs": ["a" * 90_000] * 3}, 413, "(540,000; limit"),
        (
            "jobs/explain-pairs",
            {"hyps": ["a"], "refs": ["a"], "options": {"samples": 3}},
            422,
            "'samples' belongs at the top level",
        ),
        ("jobs/explain-corpus", {"hyps": ["a"], "refs": ["a"], "annotator": "x.conllu"}, 422, "annotator must be"),
        ("jobs/discourse", {"systems": {"a": ["x"]}, "annotator": "/etc"}, 422, "annotator must be"),
        ("jobs/discourse", {"systems": {"a": ["x"]}, "vectors": "/etc/passwd"}, 422, "body.vectors"),
    ],
)
def test_invalid_requests_are_refused(service: TestClient, path: str, body: Any, status: int, says: str) -> None:
    answer = service.post(f"/v1/{path}", json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.text


def test_slow_matrix_is_refused_and_its_job_can_be_cancelled(
    made: Callable[..., TestClient],
    slowed: Slowed,  # noqa: F811 - the fixture
) -> None:
    service = made(limits=Limits(seconds=0.2))
    body = {"a": [f"a cat {number}" for number in range(40)], "metric": "rougel"}
    answer = service.post("/v1/matrix", json=body)
    assert answer.status_code == 413
    assert "submit a job" in answer.json()["detail"]
    slowed.begun.clear()
    slowed.go.clear()
    before = len(slowed.pairs)
    name = service.post("/v1/jobs/matrix", json=body).json()["id"]
    assert slowed.begun.wait(60)
    service.post(f"/v1/jobs/{name}/cancel")
    slowed.go.set()
    assert ended(service, name)["state"] == "cancelled"
    assert len(slowed.pairs) == before + 1


def test_job_explaining_a_metric_without_references_says_what_it_needs(service: TestClient) -> None:
    body = {"hyps": ["A cat sat."], "sources": ["x y"], "metric": "lc"}
    answer = service.post("/v1/jobs/explain-corpus", json=body)
    assert answer.status_code == 202, answer.text
    status = ended(service, answer.json()["id"])
    assert status["state"] == "failed"
    assert "lc does not use sources; give references" in str(status)
