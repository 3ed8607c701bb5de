"""Explanations and comparisons over HTTP are the library's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.apps.service.test_jobs import HASH, REFS, SYSTEMS, content, ended, submitted

import nlgauge
from nlgauge.apps.service.settings import Limits
from nlgauge.studies.compare.tables import plain_verdicts

BODY = {"systems": SYSTEMS, "refs": REFS, "options": HASH, "metric": ["bertscore", "chrf"], "permutations": 200}


def expected(**settings: Any) -> tuple[Any, list[nlgauge.Score]]:
    scores = nlgauge.score_systems(SYSTEMS, REFS, metric=["bertscore", "chrf"], **HASH)
    return nlgauge.compare_systems(scores, permutations=200, **settings), scores


def test_a_comparison_is_that_of_the_library(service: TestClient) -> None:
    answer = service.post("/v1/compare", json={**BODY, "alpha": 0.1, "test": "t"})
    assert answer.status_code == 200, answer.text
    comparison, scores = expected(alpha=0.1, test="t")
    assert json.dumps(answer.json()["comparison"]) == json.dumps(comparison.to_dict())
    assert json.dumps(answer.json()["scores"]) == json.dumps([score.to_dict() for score in scores])


def test_a_comparison_of_scores_from_a_service_is_the_same(service: TestClient) -> None:
    result = service.post("/v1/score", json={name: BODY[name] for name in ("systems", "refs", "options", "metric")})
    scores = [nlgauge.Score.from_dict(record) for record in result.json()["scores"]]
    comparison, _ = expected()
    assert nlgauge.compare_systems(scores, permutations=200).to_dict() == comparison.to_dict()


def test_comparisons_as_tables(service: TestClient) -> None:
    ranking = service.post("/v1/compare?format=tsv", json=BODY).text.splitlines()
    pairs = service.post("/v1/compare?format=pairs", json=BODY).text.splitlines()
    assert len(ranking) == 1 + 4
    assert len(pairs) == 1 + 2


def test_a_comparison_as_a_job_has_a_report(service: TestClient) -> None:
    name = submitted(service, BODY, "compare")
    assert ended(service, name)["state"] == "done", service.get(f"/v1/jobs/{name}").text
    comparison, _ = expected()
    assert service.get(f"/v1/jobs/{name}/result").json()["comparison"] == json.loads(json.dumps(comparison.to_dict()))
    report = service.get(f"/v1/jobs/{name}/result?format=html")
    assert report.headers["content-type"].startswith("text/html")
    assert report.headers["content-disposition"] == f'attachment; filename="nlgauge-compare-{name}.html"'
    assert "default-src 'none'" in report.text
    assert len(service.get(f"/v1/jobs/{name}/result?format=pairs").text.splitlines()) == 3


def test_an_explanation_is_that_of_the_library(service: TestClient) -> None:
    pair = {"hyp": "a cat sat on the mat .", "ref": ["the dog ran", "the cat sat on a mat ."]}
    asked = {"leave_one_out": True, "beside": True, "matrix": True}
    answer = service.post("/v1/explain", json={**pair, "options": HASH, **asked})
    assert answer.status_code == 200, answer.text
    result = nlgauge.explain_pair(pair["hyp"], pair["ref"], leave_one_out=True, beside=True, matrix=True, **HASH)
    assert content(answer) == result.to_dict()


def test_an_explanation_can_be_read_back() -> None:
    result = nlgauge.explain_pair("A cat sat.", "The cat sat.", shapley=True)
    again = nlgauge.Explanation.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.to_dict() == result.to_dict()
    for wrong in ({}, {**result.to_dict(), "format": "other"}, {**result.to_dict(), "links": [{}]}):
        with pytest.raises(nlgauge.errors.InputError):
            nlgauge.Explanation.from_dict(wrong)


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/v1/explain", {"hyp": "a cat", "ref": "a dog", "metric": "nonsense"}, 422, "unknown metric"),
        ("/v1/explain", {"hyp": "a cat"}, 422, "add references ('ref') or sources ('source')"),
        ("/v1/explain", {"hyp": "a cat " * 1000, "ref": "a dog"}, 413, "limit 4,000"),
        ("/v1/explain", {"hyp": "a cat", "ref": "a dog", "samples": 10**9}, 422, "samples"),
        ("/v1/explain", {"hyp": "a cat " * 100, "ref": "a dog", "samples": 1000}, 413, "too many samples"),
        ("/v1/explain", {"hyp": "a", "ref": "a", "metric": "chrf", "options": {"words": 2}}, 422, "chrf:words=VALUE"),
        ("/v1/explain", {"hyp": "a", "ref": "a", "options": {"model": "/etc"}}, 422, "does not offer model"),
        ("/v1/compare", {"systems": {"a": ["a"], "b": ["a", "b"]}, "refs": ["a"]}, 422, "2 segments"),
        ("/v1/compare", {**BODY, "permutations": 10**9}, 422, "permutations"),
    ],
)
def test_invalid_requests_are_refused(
    service: TestClient, path: str, body: dict[str, Any], status: int, says: str
) -> None:
    answer = service.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert says in answer.text


def test_too_many_systems_are_refused(made: Callable[..., TestClient]) -> None:
    service = made(limits=Limits(systems=1))
    assert service.post("/v1/compare", json=BODY).status_code == 413
    assert service.post("/v1/jobs/compare", json=BODY).status_code == 413


def test_verdicts_equal_those_of_the_report(service: TestClient) -> None:
    comparison, _ = expected()
    verdicts = plain_verdicts(comparison)
    assert service.post("/v1/compare", json=BODY).json()["verdicts"] == verdicts
    assert len(verdicts) == 3, "a sentence for each metric, and one on who comes first"


def test_an_alignment_for_a_page(service: TestClient) -> None:
    """Worked out by hand: the words are the same but for the first, whose best match is the other first."""
    pair = {"hyp": "a cat sat", "ref": "the cat sat", "options": HASH, "beside": True}
    answer = service.post("/v1/explain?format=alignment", json=pair)
    assert answer.status_code == 200, answer.text
    result = answer.json()["alignment"]
    assert result["words"] == [["a", "cat", "sat"], ["the", "cat", "sat"]]
    assert [alignment["kind"] for alignment in result["alignments"]] == ["greedy", "flow"]
    assert [alignment["costs"] for alignment in result["alignments"]] == [False, True]
    greedy, flow = result["alignments"]
    whole = service.post("/v1/explain", json=pair).json()
    assert result["score"] == whole["score"]
    assert [1, 1] in [link[:2] for link in greedy["links"]]
    assert [1, 1] in [link[:2] for link in flow["links"]]
    assert greedy["contributions"][0][0] == "precision"
    assert flow["contributions"] == [None, None]
    assert greedy["range"][1] == max(link[2] for link in greedy["links"]), "the nearest is the darkest"
    assert flow["range"][1] == min(link[2] for link in flow["links"]), "the cheapest is the darkest"


@pytest.mark.parametrize("metric", ["bertscore:idf=refs,layer=1", "moverscore"])
def test_a_pair_is_explained_with_the_idf_of_its_corpus(service: TestClient, metric: str) -> None:
    hyps = ["a cat sat on the mat .", "the dog slept", "a bird ran under the sofa ."]
    refs = ["the cat sat on a mat .", "a dog slept under the tree .", "the bird ran over a sofa ."]
    options = {"model": "hash"}
    body = {"hyp": hyps[1], "ref": refs[1], "metric": metric, "options": options, "shapley": False}
    others = {"hyps": [hyps[0], *hyps[2:]], "refs": [refs[0], *refs[2:]]}
    answer = service.post("/v1/explain", json={**body, "others": others})
    assert answer.status_code == 200, answer.text
    scored = nlgauge.score(hyps, refs, metric=metric, **options)
    assert answer.json()["score"] == pytest.approx(scored.segments[scored.main][1], abs=1e-9)
    alone = service.post("/v1/explain", json=body).json()["score"]
    assert alone != pytest.approx(scored.segments[scored.main][1], abs=1e-6), "the corpus moves it"


def test_texts_of_the_corpus_count_as_texts(made: Callable[..., TestClient]) -> None:
    service = made(limits=Limits(texts=5))
    body = {"hyp": "a cat", "ref": "a cat", "options": HASH, "others": {"hyps": ["a"] * 2, "refs": ["a"] * 2}}
    assert service.post("/v1/explain", json=body).status_code == 413
    body["others"] = {"hyps": ["a"], "refs": ["a", "b"]}
    answer = service.post("/v1/explain", json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "refs: 3 entries for 2 hypotheses; pass one per hypothesis"
