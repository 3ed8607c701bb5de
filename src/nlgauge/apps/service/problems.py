"""Error answers: RFC 9457 problem details, which name the error, its place and a remedy, but nothing internal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from nlgauge.apps.wording import in_fields
from nlgauge.core.registry import METRICS
from nlgauge.errors import (
    InputError,
    MissingExtraError,
    ModelError,
    ModelNotFoundError,
    NlgaugeError,
    RecipeError,
    did_you_mean,
)

MEDIA_TYPE = "application/problem+json"

#: Titles of errors by status, and their descriptions in the OpenAPI document if any operation may answer them.
STATUSES = {
    400: ("Malformed request", "malformed request"),
    401: ("API key required", "missing or wrong API key"),
    403: ("Cross-origin request refused", "cross-origin request refused"),
    404: ("Not found", ""),
    405: ("Method not allowed", ""),
    406: ("Format not available", ""),
    408: ("Request timeout", "headers or body did not arrive in time"),
    409: ("Wrong job state", ""),
    413: ("Request too large", "request exceeds a limit"),
    415: ("Unsupported content type", "body is not JSON"),
    421: ("Unknown host name", "Host header does not name this service"),
    422: ("Invalid request", "invalid request; `detail` names the cause"),
    429: ("Too many requests", "limit of rate or queue reached; `Retry-After` has the seconds to wait"),
    500: ("Internal error", "internal error"),
    503: ("Service not ready", "service is starting or stopping"),
}

#: The detail of unexpected errors; the log has the cause.
FAILED = "internal error; see the server log"

#: Errors of a request that are listed one by one.
_MOST_LISTED = 10

#: Longest detail, in characters; requests must not make answers long.
_LONGEST = 2000


class ProblemError(Exception):
    """An error for the client."""

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
        """The members of the problem details."""
        detail = self.detail if len(self.detail) <= _LONGEST else self.detail[:_LONGEST] + " ..."
        return {
            "type": f"urn:nlgauge:problem:{self.kind}" if self.kind else "about:blank",
            "title": STATUSES.get(self.status, ("Error", ""))[0],
            "status": self.status,
            "detail": detail,
            **self.more,
        }


def problem_response(problem: ProblemError, headers: Mapping[str, str] | None = None) -> Response:
    """The response, in ASCII because a request may have contained half a surrogate."""
    more = dict(headers or {})
    if problem.retry_after is not None:
        more["Retry-After"] = str(max(1, round(problem.retry_after)))
    if problem.status == 401:
        more["WWW-Authenticate"] = "Bearer"
    content = json.dumps(problem.to_dict(), ensure_ascii=True).encode("ascii")
    return Response(content, problem.status, more, MEDIA_TYPE)


def library_problem(error: NlgaugeError, fields: Iterable[str] = ()) -> ProblemError:
    """An error of the library with its message and class, which clients raise again; `fields` are of the request."""
    kinds = (
        (RecipeError, 422, "recipe"),
        (InputError, 422, "input"),
        (MissingExtraError, 422, "missing-extra"),
        (ModelNotFoundError, 422, "model-not-found"),
        (ModelError, 503, "model"),
    )
    status, kind = next(((status, kind) for cls, status, kind in kinds if isinstance(error, cls)), (422, "refused"))
    return ProblemError(status, in_fields(str(error), fields), kind=kind, error=type(error).__name__)


def path_detail(status: int, detail: str, *, method: str, path: str, allowed: str) -> str:
    """The detail for an unknown path, or a method that the path does not have; other details stay."""
    shown = path if len(path) <= 200 else f"{path[:200]}..."
    if status == 405:
        return f"{method} is not allowed for {shown}; use {allowed}"
    return f"unknown path {shown}; GET /docs lists all paths" if status == 404 else detail


#: A path with something else than the id of a job.
_NO_JOB = "this is not the id of a job"

#: Texts for the errors of pydantic by type, with the limits of its context.
_TEXTS = {
    "missing": "is missing",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_attributes_type": "must be an object",
    "literal_error": "must be {expected}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "has an invalid form",
}


def validation_problem(errors: Sequence[Mapping[str, Any]], known: Sequence[str] = ()) -> ProblemError:
    """Fields or parameters that are unknown or have wrong values; the values are not repeated.

    `known` are the fields of the request, for suggestions.
    """
    if any(error.get("type") == "json_invalid" for error in errors):
        return ProblemError(400, "the body is not valid JSON", kind="json")
    texts: dict[str, list[str]] = {}
    for error in errors:
        texts.setdefault(_place(error.get("loc", ())), []).append(_text(error, known))
    problems = [{"where": place, "what": _join(parts)} for place, parts in texts.items()]
    if not problems:
        return ProblemError(422, "invalid request", kind="form", errors=[])
    where, what = problems[0]["where"].partition(".")[2] or problems[0]["where"], problems[0]["what"]
    detail = what if what.startswith(("unknown field", _NO_JOB)) else f"field {where!r} {what}"
    rest = len(problems) - 1
    more = f" (and {rest} more problem{'s' if rest > 1 else ''})" if rest else ""
    return ProblemError(422, f"{detail}{more}", kind="form", errors=problems[:_MOST_LISTED])


def _text(error: Mapping[str, Any], known: Sequence[str]) -> str:
    kind, loc = str(error.get("type", "")), error.get("loc", ("",))
    if kind == "extra_forbidden":
        name = str(loc[-1])[:80]
        hint = did_you_mean(name, known) if len(loc) == 2 else ""
        if not hint and "options" in known and any(name in metric.options() for metric in METRICS.values()):
            hint = "; put it into 'options', with the other options of metrics"
        return f"unknown field {name!r}{hint}"
    if kind == "string_pattern_mismatch" and loc[0] == "path":
        return f"{_NO_JOB}; use the id that POST /v1/jobs/... returned"
    if kind in _TEXTS:
        return _TEXTS[kind].format_map(error.get("ctx", {}))
    message = str(error.get("msg", ""))[:200]
    return message[:1].lower() + message[1:]


def _join(parts: Sequence[str]) -> str:
    """Errors of one place, of which a value with several types has one for each type.

    >>> _join(["must be a string", "must be a list"])
    'must be a string or a list'
    """
    first, *others = dict.fromkeys(parts)
    return " or ".join([first, *(other.removeprefix("must be ") for other in others)])


#: Parts of a pydantic location that name a member of a union of types, not a field.
_UNION_MEMBERS = ("str", "int", "float", "bool", "list[", "constrained-", "literal[")


def _place(loc: Sequence[Any]) -> str:
    """A location as text.

    >>> _place(("body", "systems", "a", 3))
    'body.systems.a[3]'
    >>> _place(("body", "refs", 1, "list[str]"))
    'body.refs[1]'
    """
    text = ""
    for before, part in zip(("", *loc), loc, strict=False):
        if isinstance(part, int):
            text += f"[{part}]"
        # Names of systems and options are the client's own: they may look like a type.
        elif before in {"systems", "options"} or not str(part).startswith(_UNION_MEMBERS):
            text += f".{str(part)[:80]}"
    return text.lstrip(".")
