"""Endpoints that answer at once: the numbers are the library's, to the bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.apps.service.settings import Limits
from nlgauge.core.registry import METRICS

#: Texts of the small vocabulary of the model `hash`.
CATS = ["a cat sat on the mat .", "the dog slept under a tree"]
DOGS = ["the cat sat on a mat .", "a dog slept under the tree ."]


def same_bytes(answer: Any, scores: list[nlgauge.Score]) -> bool:
    return json.dumps(answer.json()["scores"]) == json.dumps(nlgauge.ScoreTable(tuple(scores)).to_dict()["scores"])


def test_score_is_bit_identical_to_the_library(service: TestClient) -> None:
    metrics = ["bertscore", "moverscore", "chrf", "bertscore:layer=2,idf=refs"]
    answer = service.post("/v1/score", json={"hyps": HYPS, "refs": REFS, "metric": metrics})
    assert answer.status_code == 200, answer.text
    assert same_bytes(answer, nlgauge.score_systems({"": HYPS}, REFS, metric=metrics))


def test_several_systems_with_several_references_and_alignments(service: TestClient) -> None:
    systems, refs = {"one": CATS, "two": DOGS}, [[CATS[0], DOGS[0]], [DOGS[1]]]
    body = {"systems": systems, "refs": refs, "metric": ["bertscore"], "options": {"model": "hash", "layer": 1}}
    answer = service.post("/v1/score", json={**body, "alignments": True})
    expected = nlgauge.score_systems(systems, refs, metric="bertscore", model="hash", layer=1, alignments=True)
    assert same_bytes(answer, expected)
    assert "alignment" in answer.json()["scores"][0]["segments"][0]


def test_against_sources_without_references(service: TestClient) -> None:
    body = {"hyps": ["A cat."], "sources": ["Eine Katze."], "metric": ["xmoverscore"], "options": {"src_lang": "de"}}
    expected = nlgauge.score(["A cat."], sources=["Eine Katze."], metric="xmoverscore", src_lang="de")
    assert same_bytes(service.post("/v1/score", json=body), [expected])


def test_signature_recomputes_its_score(service: TestClient) -> None:
    first = service.post("/v1/score", json={"hyps": HYPS, "refs": REFS, "options": {"layer": 3}}).json()["scores"][0]
    again = service.post("/v1/score", json={"hyps": HYPS, "refs": REFS, "metric": [first["signature"]]})
    assert again.json()["scores"] == [first]


def test_a_signature_of_another_engine_is_refused(service: TestClient) -> None:
    signature = str(nlgauge.score(HYPS, REFS).signature).replace("onnxruntime-", "openvino-")
    answer = service.post("/v1/score", json={"hyps": HYPS, "refs": REFS, "metric": [signature]})
    assert answer.status_code == 422
    assert "openvino" in answer.json()["detail"]


def test_a_larger_request_gives_the_same(service: TestClient) -> None:
    hyps, refs = CATS * 50, DOGS * 50  # 200 texts: not among the small ones
    body = {"hyps": hyps, "refs": refs, "options": {"model": "hash", "layer": 2}}
    assert same_bytes(service.post("/v1/score", json=body), [nlgauge.score(hyps, refs, model="hash", layer=2)])


@pytest.mark.parametrize("copies", [1, 40])
def test_request_can_score_long_texts_in_windows(service: TestClient, copies: int) -> None:
    """Small requests share batches with others, larger ones do not."""
    hyps, refs = ["the cat sat on the mat . " * 30, "a dog"] * copies, ["a black dog ran . " * 40, "the dog"] * copies
    metrics, options = ["bertscore", "moverscore"], {"model": "hash", "layer": 1, "idf": "none"}
    body = {"hyps": hyps, "refs": refs, "metric": metrics, "options": options}
    answer = service.post("/v1/score", json=body | {"long": "windows"})
    with pytest.warns(nlgauge.errors.WindowsWarning):
        expected = nlgauge.score_systems({"": hyps}, refs, metric=metrics, long="windows", **options)
    assert answer.status_code == 200, answer.text
    assert same_bytes(answer, expected)
    assert any("read in windows of 64" in text for text in answer.json()["warnings"])
    recipe = service.post("/v1/score", json=body | {"options": options | {"window": "model"}})
    assert same_bytes(recipe, expected)


def test_what_the_library_warns_of_is_in_the_answer(service: TestClient) -> None:
    answer = service.post("/v1/score", json={"hyps": [""], "refs": ["A text."]}).json()
    assert answer["scores"][0]["counts"]["empty"] == 1
    assert any("empty hypothesis or reference" in text for text in answer["warnings"])


def test_tables_have_the_numbers_too(service: TestClient) -> None:
    body = {"systems": {"one": CATS, "two": DOGS}, "refs": DOGS, "options": {"model": "hash", "layer": 1}}
    by_segment = service.post("/v1/score?format=segments", json=body)
    assert by_segment.headers["content-type"].startswith("text/tab-separated-values")
    lines = by_segment.text.splitlines()
    assert lines[0].split("\t")[:4] == ["system", "metric", "better", "segment"]
    assert len(lines) == 5
    by_system = service.post("/v1/score?format=tsv", json=body).text.splitlines()
    assert len(by_system) == 3
    json_answer = service.post("/v1/score", json={**body, "segments": False}).json()
    assert "segments" not in json_answer["scores"][0]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"refs": CATS}, 422, "hyps"),
        ({"hyps": CATS, "systems": {"a": CATS}, "refs": CATS}, 422, "both 'hyps' and 'systems'"),
        ({"hyps": CATS, "refs": CATS[:1]}, 422, "1 entry for 2 hypotheses"),
        ({"hyps": CATS}, 422, "nothing to compare with; add references ('refs') or sources ('sources')"),
        ({"hyps": [""], "refs": [""]}, 422, "or score it 0 ('empty': 'zero')"),
        ({"hyps": CATS, "refs": DOGS, "metric": ["bertscorr"]}, 422, "did you mean"),
        ({"hyps": CATS, "refs": DOGS, "options": {"laier": 3}}, 422, "laier"),
        ({"hyps": CATS, "refs": DOGS, "options": {"layer": 99}}, 422, "layer must be"),
        ({"hyps": CATS, "refs": DOGS, "options": {"engine": "torch"}}, 422, "set by the service"),
        (
            {"hyps": CATS, "refs": DOGS, "options": {"long": "error"}},
            422,
            "'long' belongs at the top level of the request, not in 'options'",
        ),
        ({"hyps": CATS, "refs": DOGS, "metric": ["bertscore"] * 17}, 413, "too many metrics (17; limit 16)"),
        (
            {"hyps": ["a"] * 501, "refs": ["a"] * 501},
            413,
            "submit a job (--max-job-texts 100,000), use fewer systems or segments",
        ),
        ({"hyps": ["a" * 100_001], "refs": ["a"]}, 413, "100,001; limit 100,000"),
        ({"hyps": CATS, "refs": DOGS, "color": "red"}, 422, "color"),
        ({"hyps": "a cat", "refs": DOGS}, 422, "body.hyps"),
        ({"hyps": ["\ud800"], "refs": ["a"]}, 422, "hyps"),
        ({"systems": {"\ud800": ["a"]}, "refs": ["a"]}, 422, ""),
    ],
    ids=lambda value: str(value)[:40].encode("ascii", "replace").decode() if isinstance(value, dict) else None,
)
def test_invalid_requests_get_problem_details(
    service: TestClient, body: dict[str, Any], status: int, says: str
) -> None:
    content = json.dumps(body)
    answer = service.post("/v1/score", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert says in problem["detail"] or any(says in item["where"] for item in problem.get("errors", ()))
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b'{"hyps": NaN}', b"1e999999", b"null"])
def test_malformed_bodies_are_refused(service: TestClient, content: bytes) -> None:
    answer = service.post("/v1/score", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in {400, 422}
    assert answer.headers["content-type"] == "application/problem+json"


def test_web_form_is_not_accepted_as_json(service: TestClient) -> None:
    body = json.dumps({"hyps": CATS, "refs": DOGS})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        assert service.post("/v1/score", content=body, headers={"content-type": kind}).status_code == 415, kind


def test_metrics_are_listed_with_what_requests_may_set(service: TestClient) -> None:
    listed = {item["name"]: item for item in service.get("/v1/metrics").json()}
    assert set(listed) == set(METRICS)
    idf = next(option for option in listed["bertscore"]["options"] if option["name"] == "idf")
    assert idf["values"] == "none or refs or both"
    assert listed["bertscore"]["main"] == "f1"


def test_models_are_listed(service: TestClient) -> None:
    listed = {item["name"]: item for item in service.get("/v1/models").json()}
    assert listed["minilm"]["available"]
    assert listed["minilm"]["weights"] == "53aa51172d14"


def test_health_description_and_unknown_paths(service: TestClient) -> None:
    assert service.get("/healthz").text == "ok\n"
    assert service.get("/readyz").text == "ok\n"
    assert service.get("/v1").json()["limits"]["texts"] == 1000
    for answer in (service.get("/v2"), service.delete("/v1/score")):
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
    assert service.delete("/v1/score").headers["allow"] == "POST"


def test_figures_count_requests_by_route(service: TestClient) -> None:
    service.post("/v1/score", json={"hyps": CATS, "refs": DOGS, "options": {"model": "hash", "layer": 1}})
    service.get("/no/such/path")
    text = service.get("/metrics").text
    assert 'nlgauge_requests_total{method="POST",route="/v1/score",status="200"} 1.0' in text
    assert "/no/such" not in text
    assert "nlgauge_segments_total 2.0" in text
    assert "process_resident_memory_bytes" in text


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        ({"hyps": ["a", "x" * 21], "refs": ["a", "b"]}, "hyps, segment 1"),
        ({"systems": {"{a}": ["a", "x" * 21]}, "refs": ["a", "b"]}, "system '{a}', segment 1"),
        ({"hyps": ["a"], "refs": [["a", "x" * 21]]}, "refs, segment 0"),
        ({"hyps": ["a"], "refs": ["a"], "sources": ["x" * 21]}, "sources, segment 0"),
    ],
)
def test_a_text_over_the_limit_is_named(made: Callable[..., TestClient], texts: dict[str, Any], place: str) -> None:
    answer = made(limits=Limits(text_characters=20)).post("/v1/score", json=texts)
    assert answer.status_code == 413
    assert answer.json()["detail"] == (
        f"{place}: too many characters (21; limit 20); "
        "shorten the text, or ask the operator to raise --max-text-characters"
    )


def test_limits_are_whole_numbers_where_they_count(service: TestClient) -> None:
    assert '"texts":1000,' in service.get("/v1").text


def test_warnings_name_fields_of_the_request(service: TestClient) -> None:
    body = {"hyps": ["the cat สวัสดี"], "refs": ["a cat สวัสดีครับ"]}
    answer = service.post("/v1/score", json=body)
    assert answer.status_code == 200, answer.text
    warnings = answer.json()["warnings"]
    assert any("use 'options': {'model': 'muse'}, which supports Thai" in warning for warning in warnings), warnings
