"""Authentication, limits and error answers between the network and the endpoints.

Errors are RFC 9457 problem details. They say what went wrong and where, and nothing about the inside of the service.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nlgauge.apps.service.settings import Limits, Monitor, Settings, log
from nlgauge.errors import InputError, MissingExtraError, ModelError, ModelNotFoundError, NlgaugeError, RecipeError

MEDIA_TYPE = "application/problem+json"

#: Titles of errors by status, and what the description of the service says of those that any operation may answer.
STATUSES = {
    400: ("The request cannot be read", "the request cannot be read"),
    401: ("A key is needed", "no key, or a wrong one"),
    403: ("Not from there", "from a page of another site"),
    404: ("Not found", ""),
    405: ("Not this method", ""),
    406: ("Not in this format", ""),
    408: ("Error", "the headers or the body did not arrive in time"),
    409: ("Not in this state", ""),
    413: ("Too large", "over a limit of size"),
    415: ("Not this type of content", "not JSON"),
    421: ("Not this host", "the Host header names another host"),
    422: ("This cannot be computed", "not of this form, or not to be computed; `detail` says why"),
    429: ("Too many requests", "over a limit of rate or queue; `Retry-After` says when to come again"),
    500: ("The service failed", "an error of the service"),
    503: ("Not ready", "starting or stopping"),
}

#: All that a client is told of an error that nobody foresaw.
FAILED = "something went wrong inside; the log of the service says what"

#: Errors of one place in a request that are named one by one.
_NAMED = 10

#: The longest message; a request must not make the service talk for megabytes.
_LONGEST = 2000


class ProblemError(Exception):
    """An error that a client is told of."""

    def __init__(
        self, status: int, detail: str, *, kind: str = "", retry_after: float | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.kind = kind
        self.retry_after = retry_after
        self.more = more

    def to_dict(self) -> dict[str, Any]:
        """The problem as JSON has it."""
        detail = self.detail if len(self.detail) <= _LONGEST else self.detail[:_LONGEST] + " ..."
        return {
            "type": f"urn:nlgauge:problem:{self.kind}" if self.kind else "about:blank",
            "title": STATUSES.get(self.status, ("Error", ""))[0],
            "status": self.status,
            "detail": detail,
            **self.more,
        }


def problem_response(problem: ProblemError, headers: Mapping[str, str] | None = None) -> Response:
    """What is sent. ASCII only, because a request may have named half a surrogate."""
    more = dict(headers or {})
    if problem.retry_after is not None:
        more["Retry-After"] = str(max(1, round(problem.retry_after)))
    if problem.status == 401:
        more["WWW-Authenticate"] = "Bearer"
    content = json.dumps(problem.to_dict(), ensure_ascii=True).encode("ascii")
    return Response(content, problem.status, more, MEDIA_TYPE)


def library_problem(error: NlgaugeError) -> ProblemError:
    """What the library refused, in its own words; the class is named for clients that raise it again."""
    name = type(error).__name__
    kinds = (
        (RecipeError, 422, "recipe"),
        (InputError, 422, "input"),
        (MissingExtraError, 422, "missing-extra"),
        (ModelNotFoundError, 422, "model-not-found"),
        (ModelError, 503, "model"),
    )
    status, kind = next(((status, kind) for cls, status, kind in kinds if isinstance(error, cls)), (422, "refused"))
    return ProblemError(status, str(error), kind=kind, error=name)


def validation_problem(errors: Sequence[Mapping[str, Any]]) -> ProblemError:
    """A body or parameter that is not of the described form; what was sent is not repeated."""
    if any(error.get("type") == "json_invalid" for error in errors):
        return ProblemError(400, "the body is not JSON", kind="json")
    problems = [{"where": _place(error.get("loc", ())), "what": str(error.get("msg", ""))[:200]} for error in errors]
    first = problems[0] if problems else {"where": "", "what": "not of the described form"}
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ProblemError(422, f"{first['where']}: {first['what']}{more}", kind="form", errors=problems[:_NAMED])


def _place(loc: Sequence[Any]) -> str:
    """`body.systems.a[3]` for ("body", "systems", "a", 3)."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{str(part)[:80]}"
    return text.lstrip(".")


#: Paths that say nothing about anybody's texts: a probe has no key, and the page asks for one.
_OPEN = frozenset({"/", "/favicon.svg", "/healthz", "/readyz", "/docs", "/openapi.json"})
_OPEN_FOLDER = "/assets/"

#: Seconds for the whole body of a request to arrive.
_BODY_SECONDS = 60.0

#: Requests under way, waiting for their body or for their answer, for each request that may wait to be computed.
_UNDER_WAY = 4

#: Clients that are remembered for the rate limit.
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
    """So many requests a second for each client, and twice as many at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Seconds until the client may ask; 0: now, and it is counted."""
        now = self._clock()
        left, then = self._clients.pop(client, (2 * self._rate, now))
        left = min(2 * self._rate, left + (now - then) * self._rate)
        allowed = left >= 1
        self._clients[client] = (left - 1 if allowed else left, now)
        while len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


class Guard:
    """Refuses what must not come in; what does has its whole body, of bounded size."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = settings.accepted_hosts
        self._keys = [hashlib.sha256(key.encode()).digest() for key in settings.keys]
        self._rate = RateLimit(settings.limits.rate)
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        self._under_way += 1
        try:
            try:
                self._check(scope)
                # What needs no key has no body either: nobody is waited for before a key was given.
                body = b"" if _is_open(scope) else await self._body(scope, receive)
            except ProblemError as problem:
                await problem_response(problem, {"Connection": "close"})(scope, receive, send)
                return
            await self._app(scope, _replay(body, receive), send)
        finally:
            self._under_way -= 1

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may take the other one for the length: what follows would be a request that it never saw.
            msg = "a request has either Content-Length or Transfer-Encoding, not both"
            raise ProblemError(400, msg, kind="framing")
        host = headers.get("host", "")
        if _without_port(host) not in self._hosts:
            raise ProblemError(421, "the Host header does not name this service", kind="host")
        wait = self._rate.wait((scope.get("client") or ("",))[0])
        if wait > 0:
            msg = f"more than {self._settings.limits.rate:g} requests a second"
            raise ProblemError(429, msg, kind="rate", retry_after=wait)
        origin = headers.get("origin")
        # A proxy may have taken the TLS off, so the scheme is not looked at.
        own = (f"http://{host}", f"https://{host}")
        if origin is not None and origin not in (*own, *self._settings.allow_origins):
            raise ProblemError(403, "a page of another site may not use this service", kind="origin")
        if _is_open(scope):
            return
        if self._keys and not self._knows(headers):
            msg = "give an API key: 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
            raise ProblemError(401, msg, kind="key")
        if self._under_way > _UNDER_WAY * self._settings.limits.waiting:
            msg = f"{self._under_way - 1} requests are under way already"
            raise ProblemError(503, msg, kind="busy", retry_after=1)

    def _knows(self, headers: Headers) -> bool:
        """Whether a key was given that opens the service; all are compared, each in constant time."""
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
            raise ProblemError(400, "the client went away", kind="disconnected") from None
        except asyncio.TimeoutError:
            raise ProblemError(408, "the body did not arrive in time", kind="timeout") from None


class Observer:
    """Gives each request a number, counts and logs its answer, and sets the headers that all answers have."""

    def __init__(self, app: ASGIApp, monitor: Monitor) -> None:
        self._app = app
        self._monitor = monitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, and look at its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, number = time.perf_counter(), 500, secrets.token_hex(8)
        begun = False
        # For what is logged while the request is answered.
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
    """A body that was read already, and then whatever comes after it."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return left.pop() if left else await receive()

    return replayed


def _too_large(limit: str, most: int) -> ProblemError:
    msg = (
        f"the body has more than {most} bytes; send fewer texts, or start the service with {Limits.flag_of(limit)} N"
    )
    return ProblemError(413, msg, kind="body-too-large", limit=most)


def _is_open(scope: Scope) -> bool:
    return scope["path"] in _OPEN or scope["path"].startswith(_OPEN_FOLDER)


def _without_port(host: str) -> str:
    """The name of a Host header.

    >>> _without_port("localhost:8765"), _without_port("[::1]:8765")
    ('localhost', '[::1]')
    """
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()
