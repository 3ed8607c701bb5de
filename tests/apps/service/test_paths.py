"""HEAD as GET, and a service that a proxy has under a prefix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.apps.service.conftest import listening

import nlgauge
from nlgauge.apps.service.settings import Settings

TEXTS = {"hyps": ["a cat"], "refs": ["the cat"], "metric": ["chrf"]}


def test_head_is_answered_like_get_without_a_body(service: TestClient) -> None:
    for path in (
        "/",
        "/healthz",
        "/readyz",
        "/v1",
        "/v1/metrics",
        "/v1/models",
        "/metrics",
        "/docs",
        "/openapi.json",
    ):
        got, head = service.get(path), service.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.headers["content-security-policy"] == got.headers["content-security-policy"]
    assert service.head("/v1").headers["content-length"] == service.get("/v1").headers["content-length"]
    assert service.head("/nowhere").status_code == 404
    assert service.head("/v1/score").status_code == 405


@pytest.mark.parametrize("path", ["/scores/v1/jobs/score", "/v1/jobs/score"])
def test_a_prefix_of_a_proxy_is_in_the_address_of_a_job(made: Callable[..., TestClient], path: str) -> None:
    service = made(root_path="/scores")
    answer = service.post(path, json=TEXTS)
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/scores/v1/jobs/{answer.json()['id']}"
    assert service.get(answer.headers["location"]).status_code == 200
    assert service.get("/scores/openapi.json").json()["servers"] == [{"url": "/scores"}]
    assert service.get("/scores", follow_redirects=False).headers["location"] == "/scores/"
    assert service.get("/scores/").status_code == 200
    assert service.get("/scoresv1").status_code == 404


@pytest.mark.parametrize("prefix", ["scores", "/scores/", "/a b"])
def test_invalid_prefix_is_refused(prefix: str, tmp_path: Path) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="root_path must be like /scores"):
        Settings(folder=tmp_path, root_path=prefix)


def test_a_client_goes_through_the_prefix(tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path, preload=(), root_path="/scores")
    with listening(settings) as address, nlgauge.Client(f"{address}/scores") as client:
        score = client.score(["a cat"], ["the cat"], metric="chrf")
        assert (
            client.submit("score", {"": ["a cat"]}, ["the cat"], metric="chrf").wait()[0].to_dict() == score.to_dict()
        )
    assert score.to_dict() == nlgauge.score(["a cat"], ["the cat"], metric="chrf").to_dict()
