"""Learned metrics over HTTP: the shipped ones, and no file of the service's machine."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

import nlgauge

TEXTS = {"hyps": ["a cat sat here"], "refs": ["the cat sat"]}


@pytest.mark.filterwarnings("ignore::nlgauge.errors.ExtrapolationWarning")
def test_a_shipped_metric_is_scored(service: TestClient) -> None:
    answer = service.post("/v1/score", json=TEXTS | {"metric": ["learned:mt-en-minilm"]})
    assert answer.status_code == 200, answer.text
    (result,) = answer.json()["scores"]
    expected = nlgauge.score(TEXTS["hyps"], TEXTS["refs"], metric="learned:mt-en-minilm")
    assert result["score"] == expected.system_score
    assert result["signature"] == str(expected.signature)


@pytest.mark.parametrize("metric", ["learned:/etc/passwd", "learned:fit=/etc/none", "/etc/passwd.json", "mine.json"])
def test_files_are_refused_unread(service: TestClient, metric: str) -> None:
    answer = service.post("/v1/score", json=TEXTS | {"metric": [metric]})
    assert answer.status_code == 422
    assert "fit must be mt-en-minilm or mt-en-mpnet in a request" in answer.text
    assert "root:" not in answer.text
