"""Ensembles over HTTP: by the shipped norms, and by no file of the service's machine."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

import nlgauge

TEXTS = {"hyps": ["a cat sat here"], "refs": ["the cat sat"]}


def test_an_ensemble_is_scored_by_the_shipped_norms(service: TestClient) -> None:
    answer = service.post("/v1/score", json=TEXTS | {"metric": ["ensemble:bertscore+chrf"]})
    assert answer.status_code == 200, answer.text
    (result,) = answer.json()["scores"]
    expected = nlgauge.score(TEXTS["hyps"], TEXTS["refs"], metric="ensemble:bertscore+chrf")
    assert result["score"] == expected.system_score
    assert result["signature"] == str(expected.signature)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ensemble:bertscore+chrf,norms=/etc/passwd", "norms must be shipped in a request"),
        ("ensemble:bertscore(idf=/etc/passwd)+chrf", "idf must be none or refs or both in a request"),
        ("ensemble:bertscore(model=/etc)+chrf", "does not offer model"),
        ("ensemble:bertscore(layer=2)+chrf", "no entry for member bertscore with this recipe"),
    ],
)
def test_options_with_files_are_refused(service: TestClient, metric: str, message: str) -> None:
    answer = service.post("/v1/score", json=TEXTS | {"metric": [metric]})
    assert answer.status_code == 422
    assert message in answer.text
    assert "root:" not in answer.text
