"""Authentication and limits of requests, and the log of answers, between the network and the endpoints."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nlgauge.apps.service.problems import FAILED, ProblemError, problem_response
from nlgauge.apps.service.settings import Limits, Monitor, ServeOptions, Settings, log

#: Paths without an API key: probes have none, and the page asks for one. They contain no texts.
_OPEN = frozenset({"/", "/favicon.svg", "/healthz", "/readyz", "/docs", "/openapi.json"})
_OPEN_FOLDER = "/assets/"

_ALLOW_ORIGIN = ServeOptions.flag_of("allow_origins")

#: Seconds for the whole body of a request to arrive.
_BODY_SECONDS = 60.0

#: Requests in progress (waiting for their body or answer) per request that may wait for computing.
_IN_PROGRESS = 4

#: Clients that the rate limit keeps track of.
_MOST_CLIENTS = 10_000

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class RateLimit:
    """A limit on requests per second and client; twice as many may arrive at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Seconds until the client may send a request; 0: now, and the request is counted."""
        now = self._clock()
        left, then = self._clients.pop(client, (2 * self._rate, now))
        left = min(2 * self._rate, left + (now - then) * self._rate)
        allowed = left >= 1
        self._clients[client] = (left - 1 if allowed else left, now)
        while len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


class Guard:
    """Checks host, rate, origin and API key, and reads the body up to its limit, before the application runs."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = settings.accepted_hosts
        self._keys = [hashlib.sha256(key.encode()).digest() for key in settings.keys]
        self._rate = RateLimit(settings.limits.rate)
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # websockets are not supported
            await send({"type": "websocket.close", "code": 1008})
            return
        self._in_progress += 1
        try:
            try:
                self._check(scope)
                # Open paths have no body: no body is read before the API key was checked.
                body = b"" if _is_open(scope) else await self._body(scope, receive)
            except ProblemError as problem:
                await problem_response(problem, {"Connection": "close"})(scope, receive, send)
                return
            await self._app(scope, _replay(body, receive), send)
        finally:
            self._in_progress -= 1

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may read the other one, so that it does not see a request hidden in the body.
            msg = "the request has both Content-Length and Transfer-Encoding; send one of them"
            raise ProblemError(400, msg, kind="framing")
        host = headers.get("host", "")
        if _without_port(host) not in self._hosts:
            name = _without_port(host)[:100]
            option = f"{ServeOptions.flag_of('host_names')} {name}".rstrip()
            msg = f"unknown host name {name!r}; if this service is reached by it, start the service with {option}"
            raise ProblemError(421, msg, kind="host")
        wait = self._rate.wait((scope.get("client") or ("",))[0])
        if wait > 0:
            msg = f"more than {self._settings.limits.rate:g} requests per second"
            raise ProblemError(429, msg, kind="rate", retry_after=wait)
        origin = headers.get("origin")
        # The scheme is not compared: a proxy may end TLS.
        own = (f"http://{host}", f"https://{host}")
        if origin is not None and origin not in (*own, *self._settings.allow_origins):
            msg = f"cross-origin request refused; the operator can allow a site with {_ALLOW_ORIGIN} URL"
            raise ProblemError(403, msg, kind="origin")
        if _is_open(scope):
            return
        if self._keys and not self._has_key(headers):
            msg = "missing or wrong API key; send the header 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
            raise ProblemError(401, msg, kind="key")
        if self._in_progress > _IN_PROGRESS * self._settings.limits.waiting:
            msg = f"{self._in_progress - 1} requests are in progress already"
            raise ProblemError(503, msg, kind="busy", retry_after=1)

    def _has_key(self, headers: Headers) -> bool:
        """Whether the request has a valid key; all keys are compared, each in constant time."""
        key_text = headers.get("x-api-key", "")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            key_text = token.strip()
        presented = hashlib.sha256(key_text.encode("latin-1")).digest()
        matches = [hmac.compare_digest(presented, key) for key in self._keys]
        return any(matches)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        limits = self._settings.limits
        limit = "job_bytes" if scope["path"].startswith("/v1/jobs/") else "body_bytes"
        most: int = getattr(limits, limit)
        request = Request(scope, receive)
        stated = request.headers.get("content-length", "")
        if stated.isdigit() and (len(stated) > 18 or int(stated) > most):
            raise _too_large(limit, most)
        try:
            return await asyncio.wait_for(_read(request, limit, most), _BODY_SECONDS)
        except ClientDisconnect:
            raise ProblemError(400, "the client closed the connection", kind="disconnected") from None
        except asyncio.TimeoutError:
            raise ProblemError(
                408, f"the body did not arrive within {_BODY_SECONDS:g} seconds", kind="timeout"
            ) from None


class Observer:
    """Numbers requests, counts and logs their answers, and sets the headers of all answers."""

    def __init__(self, app: ASGIApp, monitor: Monitor) -> None:
        self._app = app
        self._monitor = monitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and observe its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, number = time.perf_counter(), 500, secrets.token_hex(8)
        begun = False
        # For log records of the application.
        scope.setdefault("state", {})["request_id"] = number

        async def observed(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                headers = MutableHeaders(scope=message)
                for name, value in {**_HEADERS, "x-request-id": number}.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except Exception:
            log.exception("a request failed", extra={"fields": {"request_id": number}})
            if not begun:
                await problem_response(ProblemError(500, FAILED, kind="failed"))(scope, receive, observed)
        finally:
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "other")
            self._monitor.answered(scope["method"], route, status, seconds)
            fields = {
                "request_id": number,
                "method": scope["method"][:20],
                "path": scope["path"][:200],
                "status": status,
                "milliseconds": round(1000 * seconds, 1),
                "client": (scope.get("client") or ("",))[0],
            }
            log.info("answered", extra={"fields": fields})


async def _read(request: Request, limit: str, most: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise _too_large(limit, most)
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Any]]:
    """A body that was read already, then what follows it."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _too_large(limit: str, most: int) -> ProblemError:
    option = Limits.flag_of(limit)
    msg = f"body too large (limit {most:,} bytes); send fewer texts, or ask the operator to raise {option}"
    return ProblemError(413, msg, kind="body-too-large", limit=most)


def _is_open(scope: Scope) -> bool:
    return scope["path"] in _OPEN or scope["path"].startswith(_OPEN_FOLDER)


def _without_port(host: str) -> str:
    """The name in a Host header.

    >>> _without_port("localhost:8765"), _without_port("[::1]:8765")
    ('localhost', '[::1]')
    """
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()
