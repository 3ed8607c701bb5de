"""The client: the library's calls and results, computed by a service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import numpy as np
import pytest

import nlgauge
from nlgauge.apps.operations import operations
from nlgauge.apps.service import client as clients
from nlgauge.apps.service.client import AsyncClient, Client
from nlgauge.apps.service.exchange import delay
from nlgauge.errors import InputError, ModelNotFoundError, RecipeError, ServiceError

SYSTEMS = {"one": ["a cat sat on the mat .", "the dog slept"], "two": ["the cat sat .", "a dog slept under the tree"]}
REFS = ["the cat sat on a mat .", "a dog slept ."]


def records(scores: Any) -> str:
    return json.dumps([score.to_dict() for score in scores])


def test_scores_are_those_of_the_library(address: str) -> None:
    with Client(address) as client:
        first = client.score(SYSTEMS["one"], REFS, metric="bertscore", model="hash", layer=1)
        several = client.score_systems(SYSTEMS, [[ref, "a"] for ref in REFS], metric=["chrf", "bleu"])
    expected = nlgauge.score(SYSTEMS["one"], REFS, metric="bertscore", model="hash", layer=1)
    assert isinstance(first, nlgauge.Score)
    assert first.to_dict() == expected.to_dict()
    assert np.array_equal(first.f1, expected.f1)
    library = nlgauge.score_systems(SYSTEMS, [[ref, "a"] for ref in REFS], metric=["chrf", "bleu"])
    assert records(several) == records(library)


def test_recipes_signatures_and_reference_streams_are_taken(address: str) -> None:
    recipe = nlgauge.metrics.BERTScore(model="hash", layer=2, multiref="mean")
    streams = [REFS, ["a cat", "a dog"]]
    with Client(address) as client:
        first = client.score(SYSTEMS["one"], metric=recipe, ref_streams=streams)
        again = client.score(SYSTEMS["one"], metric=first.signature, ref_streams=streams)
    assert first.to_dict() == again.to_dict() == recipe.score(SYSTEMS["one"], ref_streams=streams).to_dict()


def test_request_above_the_limit_becomes_a_job(address: str) -> None:
    hyps, refs = SYSTEMS["one"] * 300, REFS * 300
    with Client(address) as client:
        result = client.score(hyps, refs, model="hash", layer=1)
    assert result.to_dict() == nlgauge.score(hyps, refs, model="hash", layer=1).to_dict()


def test_a_job_can_be_watched_found_again_and_removed(address: str) -> None:
    seen: list[str] = []
    with Client(address) as client:
        job = client.submit("score", SYSTEMS, REFS, model="hash", layer=1)
        scores = job.wait(watch=lambda state: seen.append(state.state))
        assert records(scores) == records(nlgauge.score_systems(SYSTEMS, REFS, model="hash", layer=1))
        assert records(client.job(job.id).result()) == records(scores)
        job.remove()
        with pytest.raises(ServiceError, match="unknown job"):
            job.refresh()
    assert seen[-1] == "done"


def test_a_job_that_fails_raises_the_librarys_error(address: str) -> None:
    with Client(address) as client:
        job = client.submit("score", {"one": [""]}, [""], model="hash", layer=1)
        with pytest.raises(nlgauge.errors.EmptyPairError, match="both empty"):
            job.wait()
        with pytest.raises(ServiceError, match="already ended"):
            job.cancel()


def test_sensitivity_is_the_librarys_result(address: str) -> None:
    options = {"metric": ["bertscore:idf=refs"], "model": "hash", "layer": 1, "resamples": 100}
    with Client(address) as client:
        result = client.sensitivity(SYSTEMS, REFS, preset="idf", **options)
    assert [movement.sweep for movement in result.movements] == ["idf", "idf-random"]
    assert type(result).from_dict(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()


def test_a_pair_explained_and_systems_compared(address: str) -> None:
    with Client(address) as client:
        result = client.explain_pair("a cat sat .", ["the cat sat ."], model="hash", layer=1, leave_one_out=True)
        expected = nlgauge.explain_pair("a cat sat .", ["the cat sat ."], model="hash", layer=1, leave_one_out=True)
        assert isinstance(result, nlgauge.Explanation)
        assert result.to_dict() == expected.to_dict()
        settings = {"permutations": 100}
        job = client.submit("compare", SYSTEMS, REFS, metric=["chrf"], **settings)
        comparison = job.wait().comparison
        assert b"<!doctype html>" in job.download("html").lower()
        scores = client.score_systems(SYSTEMS, REFS, metric=["chrf"])
    assert nlgauge.compare_systems(scores, **settings).to_dict() == comparison.to_dict()


def test_errors_are_those_of_the_library(address: str) -> None:
    with Client(address, retries=0) as client:
        with pytest.raises(RecipeError, match="did you mean"):
            client.score(["a"], ["a"], metric="bertscorr")
        with pytest.raises(ModelNotFoundError, match="does not offer model"):
            client.score(["a"], ["a"], model="owner/model")
        with pytest.raises(InputError, match="1 entry for 2 hypotheses"):
            client.score(["a", "b"], ["a"])
        with pytest.raises(RecipeError, match="accepts one metric"):
            client.score(["a"], ["a"], metric=["bleu", "chrf"])


def test_warnings_are_those_of_the_library(address: str) -> None:
    with (
        Client(address) as client,
        pytest.warns(nlgauge.errors.NlgaugeWarning, match="empty hypothesis or ref"),
    ):
        assert client.score([""], ["a cat"], model="hash", layer=1).counts["empty"] == 1


def test_description_has_version_and_limits(address: str) -> None:
    with Client(address) as client:
        assert "bertscore" in {metric["name"] for metric in client.metrics()}
        assert "minilm" in {model["name"] for model in client.models()}
        assert client.describe()["nlgauge"] == nlgauge.__version__


def test_async_client_gives_the_same_results(address: str) -> None:
    async def several() -> list[Any]:
        async with AsyncClient(address) as client:
            single = [client.score([text], [REFS[0]], model="hash", layer=1) for text in SYSTEMS["one"] * 8]
            result = await asyncio.gather(*single)
            job = await client.submit("score", SYSTEMS, REFS, model="hash", layer=1)
            scores = await job.wait()
            again = await (await client.job(job.id)).result()
            await job.remove()
            study = await client.sensitivity(
                SYSTEMS, REFS, preset="idf", metric=["bertscore:idf=refs"], model="hash", layer=1, resamples=100
            )
            explained = await client.explain_pair("a cat", "a dog", model="hash", layer=1)
            assert explained.to_dict() == nlgauge.explain_pair("a cat", "a dog", model="hash", layer=1).to_dict()
            compared = await client.submit("compare", SYSTEMS, REFS, metric=["chrf"], permutations=100)
            await compared.wait()
            assert b"chrf" in await compared.download("pairs")
            large = await client.score(SYSTEMS["one"] * 300, REFS * 300, model="hash", layer=1)
            with pytest.raises(RecipeError):
                await client.score(["a"], ["a"], metric="nonsense")
            assert {metric["name"] for metric in await client.metrics()} >= {"bertscore"}
            assert {model["name"] for model in await client.models()} >= {"minilm"}
            return [result, scores, again, study, large]

    result, scores, again, study, large = asyncio.run(several())
    alone = [nlgauge.score([text], [REFS[0]], model="hash", layer=1) for text in SYSTEMS["one"] * 8]
    assert records(result) == records(alone)
    assert records(scores) == records(again) == records(nlgauge.score_systems(SYSTEMS, REFS, model="hash", layer=1))
    assert study.study == "idf"
    assert len(large) == 600


def test_both_clients_have_the_same_methods() -> None:
    def calls(instance: object) -> set[str]:
        return {name for name in dir(instance) if not name.startswith("_")}

    with Client("http://x") as client:
        names = calls(client)
        assert names == calls(AsyncClient("http://x"))
    assert {operation.method for operation in operations().values()} <= names


class Scripted:
    """A transport that answers by a list, and counts."""

    def __init__(self, *answers: Callable[[], httpx2.Response]) -> None:
        self.answers = list(answers)
        self.asked: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        return self.answers.pop(0)()


def busy(status: int = 429, after: str = "3") -> Callable[[], httpx2.Response]:
    return lambda: httpx2.Response(status, headers={"retry-after": after}, json={"detail": "busy"})


def lost(kind: type[Exception] = httpx2.ConnectError) -> Callable[[], httpx2.Response]:
    def fail() -> httpx2.Response:
        raise kind("gone")

    return fail


def fine() -> httpx2.Response:
    return httpx2.Response(200, json=[])


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    result: list[float] = []
    monkeypatch.setattr(clients.time, "sleep", result.append)
    return result


def test_client_retries_when_the_service_is_busy(slept: list[float]) -> None:
    script = Scripted(busy(), lost(), busy(503, "1"), lambda: fine())
    with Client("http://x", transport=httpx2.MockTransport(script), api_key="k" * 16) as client:
        assert client.metrics() == []
    assert len(script.asked) == 4
    assert slept[0] >= 3
    assert 0.3 < slept[1] < 0.7
    assert slept[2] >= 1
    assert script.asked[0].headers["authorization"] == "Bearer " + "k" * 16


def test_client_gives_up_after_all_retries(slept: list[float]) -> None:
    with Client("http://x", retries=2, transport=httpx2.MockTransport(Scripted(*[busy()] * 3))) as client:
        with pytest.raises(ServiceError, match=r"refused the request \(status 429\): busy") as refused:
            client.metrics()
        assert refused.value.status == 429
    gone = pytest.raises(ServiceError, match="the service at http://x does not answer: gone")
    with Client("http://x", retries=1, transport=httpx2.MockTransport(Scripted(*[lost()] * 2))) as client, gone:
        client.metrics()
    assert len(slept) == 3


def test_a_job_is_not_submitted_twice(slept: list[float]) -> None:
    script = Scripted(lost(httpx2.ReadTimeout))
    with Client("http://x", transport=httpx2.MockTransport(script)) as client, pytest.raises(ServiceError):
        client.submit("score", {"a": ["x"]}, ["x"])
    assert len(script.asked) == 1


def test_malformed_answers_are_errors(slept: list[float]) -> None:
    script = Scripted(lambda: httpx2.Response(200, text="<html>"), lambda: httpx2.Response(502, text="<html>"))
    with Client("http://x", transport=httpx2.MockTransport(script)) as client:
        with pytest.raises(ServiceError, match="cannot read the answer"):
            client.metrics()
        with pytest.raises(ServiceError, match="status 502"):
            client.metrics()


def test_retry_delays_grow_up_to_a_limit() -> None:
    waits = [delay(attempt) for attempt in range(12)]
    assert waits[0] < 0.4
    assert all(0.75 * min(30, 0.25 * 2**index) <= wait <= 1.25 * 30 for index, wait in enumerate(waits))
    assert delay(0, "1000000") == 30
    assert delay(0, "tomorrow") < 1


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(nlgauge.errors.MissingExtraError, match=r"nlgauge\[service\]"):
        Client()
