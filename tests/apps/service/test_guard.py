"""Authentication, hosts, origins, and limits of requests."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient
from tests.apps.service.conftest import KEY

from nlgauge.apps.service.guard import RateLimit
from nlgauge.apps.service.settings import JsonLines, Limits

BODY = {"hyps": ["a cat"], "refs": ["a dog"], "options": {"model": "hash", "layer": 1}}


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1.example.org", "localhost.", "", "evil:80", "[::1", "a" * 9000]
)
def test_unknown_host_is_refused_and_names_the_option(service: TestClient, host: str) -> None:
    answer = service.get("/v1", headers={"host": host})
    assert answer.status_code == 421
    assert answer.headers["content-type"] == "application/problem+json"
    assert "--host-name" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8765", "127.0.0.1:1", "[::1]:8765", "scores.example.org"])
def test_local_names_and_host_names_are_accepted(made: Callable[..., TestClient], host: str) -> None:
    assert made(host_names=("scores.example.org",)).get("/v1", headers={"host": host}).status_code == 200


def test_cross_origin_requests_are_refused(made: Callable[..., TestClient]) -> None:
    service = made()
    assert service.post("/v1/score", json=BODY, headers={"origin": "http://evil.example"}).status_code == 403
    assert service.post("/v1/score", json=BODY, headers={"origin": "null"}).status_code == 403
    answer = service.post("/v1/score", json=BODY, headers={"origin": "http://127.0.0.1"})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_allowed_origin_is_accepted(made: Callable[..., TestClient]) -> None:
    service = made(allow_origins=("https://page.example",))
    answer = service.post("/v1/score", json=BODY, headers={"origin": "https://page.example"})
    assert answer.headers["access-control-allow-origin"] == "https://page.example"
    asked = {"origin": "https://page.example", "access-control-request-method": "POST"}
    assert service.options("/v1/score", headers=asked).status_code == 200


def test_every_answer_has_the_headers_that_keep_a_browser_safe(service: TestClient) -> None:
    for path in ("/v1", "/docs", "/nothing", "/healthz"):
        headers = service.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({}, 401),
        ({"authorization": f"Bearer {KEY}"}, 200),
        ({"authorization": f"bearer {KEY}"}, 200),
        ({"x-api-key": KEY}, 200),
        ({"x-api-key": KEY[:-1]}, 401),
        ({"x-api-key": KEY + "x"}, 401),
        ({"authorization": f"Basic {KEY}"}, 401),
        ({"x-api-key": "\xe9"}, 401),
    ],
)
def test_a_key_opens_the_service(made: Callable[..., TestClient], header: dict[str, str], status: int) -> None:
    service = made(keys=("another-key-of-the-tests", KEY))
    encoded = {name: value.encode("latin-1") for name, value in header.items()}
    answer = service.get("/v1", headers=encoded)  # type: ignore[arg-type]  # bytes may be sent too
    assert answer.status_code == status
    assert ("www-authenticate" in answer.headers) == (status == 401)


def test_probes_need_no_key_but_prometheus_metrics_do(made: Callable[..., TestClient]) -> None:
    service = made(keys=(KEY,))
    assert service.get("/healthz").status_code == service.get("/readyz").status_code == 200
    assert service.get("/metrics").status_code == service.get("/v1/metrics").status_code == 401


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Lines of the log."""
    result: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            result.append(JsonLines().format(record))

    log = logging.getLogger("nlgauge.apps.service")
    kept, level = Kept(), log.level
    log.addHandler(kept)
    log.setLevel(logging.INFO)
    yield result
    log.removeHandler(kept)
    log.setLevel(level)


def test_log_contains_requests_but_no_keys_or_texts(made: Callable[..., TestClient], lines: list[str]) -> None:
    service = made(keys=(KEY,))
    answer = service.post("/v1/score?secret=1", json=BODY, headers={"x-api-key": KEY})
    service.get("/v1", headers={"authorization": "Bearer wrong-" + KEY})
    assert len(lines) == 2
    first, second = map(json.loads, lines)
    assert (first["method"], first["path"], first["status"]) == ("POST", "/v1/score", 200)
    assert first["request_id"] == answer.headers["x-request-id"]
    assert second["status"] == 401
    assert not any(word in "".join(lines) for word in (KEY, "a cat", "secret"))


def test_internal_error_is_logged_and_not_shown(
    made: Callable[..., TestClient], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = made()
    monkeypatch.setattr(service.app.state.service.caller, "score", lambda *_: 1 / 0)  # type: ignore[attr-defined]
    answer = service.post("/v1/score", json=BODY)
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "ZeroDivisionError" not in answer.text
    assert any("ZeroDivisionError" in line for line in lines)


def test_body_limit_holds_with_and_without_content_length(made: Callable[..., TestClient]) -> None:
    service = made(limits=Limits(body_bytes=1000, job_bytes=3000))

    def chunks() -> Iterator[bytes]:
        for _ in range(20):
            yield b" " * 100

    headers = {"content-type": "application/json"}
    assert service.post("/v1/score", content=b" " * 1001, headers=headers).status_code == 413
    refused = service.post("/v1/score", content=chunks(), headers=headers)
    assert refused.status_code == 413
    assert refused.json()["limit"] == 1000
    assert service.post("/v1/jobs/score", content=b" " * 2000, headers=headers).status_code == 400
    assert service.post("/v1/score", json=BODY).status_code == 200


def test_rate_limit_answers_429_with_retry_after(made: Callable[..., TestClient]) -> None:
    service = made(limits=Limits(rate=2))
    codes = [service.get("/healthz") for _ in range(6)]
    assert [answer.status_code for answer in codes[:4]] == [200] * 4
    assert codes[-1].status_code == 429
    assert codes[-1].headers["retry-after"] == "1"


def test_the_rate_is_counted_for_each_client() -> None:
    now = [0.0]
    rate = RateLimit(2, clock=lambda: now[0])
    assert [rate.wait("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert rate.wait("b") == 0
    now[0] = 0.5
    assert rate.wait("a") == 0
    assert rate.wait("a") == 0.5
    for number in range(20_000):
        rate.wait(str(number))
    assert len(rate._clients) == 10_000
