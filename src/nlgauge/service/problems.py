"""Errors as RFC 9457 problem details: what went wrong, where, and nothing about the inside of the service."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from nlgauge.errors import (
    InputError,
    MissingExtraError,
    ModelError,
    ModelNotFoundError,
    NlgaugeError,
    RecipeError,
)

__all__ = ["MEDIA_TYPE", "ProblemError", "library_problem", "problem_response", "validation_problem"]

MEDIA_TYPE = "application/problem+json"

_TITLES = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "Not from there",
    404: "Not found",
    405: "Not this method",
    406: "Not in this format",
    409: "Not in this state",
    413: "Too large",
    415: "Not this type of content",
    421: "Not this host",
    422: "This cannot be computed",
    429: "Too many requests",
    500: "The service failed",
    503: "Not ready",
}

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
            "title": _TITLES.get(self.status, "Error"),
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
    found = [{"where": _place(error.get("loc", ())), "what": str(error.get("msg", ""))[:200]} for error in errors]
    first = found[0] if found else {"where": "", "what": "not of the described form"}
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return ProblemError(422, f"{first['where']}: {first['what']}{more}", kind="form", errors=found[:_NAMED])


def _place(loc: Sequence[Any]) -> str:
    """`body.systems.a[3]` for ("body", "systems", "a", 3)."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{str(part)[:80]}"
    return text.lstrip(".")
