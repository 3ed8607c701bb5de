"""The page at `/`.

It is one document, one style sheet and one script, made from files of this package; its list of operations is made
from the table of operations. A request does not name files: it is looked up in a table of known assets. `/docs` is
the OpenAPI description in the same style, without a script.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from nlgauge._version import __version__
from nlgauge.apps.operations import operations
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.request_models import sentence
from nlgauge.report.html.elements import Html, filled, joined, joined_script, joined_style, page_file, tag

router = APIRouter(include_in_schema=False)

_PACKAGE = "nlgauge.apps.service"

#: Parts of this page, in the order in which they are joined, after the components that it shares with the report.
PAGE_STYLES = ("form", "results")
PAGE_SCRIPTS = (
    *("requests", "jobs", "files", "text_field", "fields", "metrics", "address", "example", "problems"),
    *("comparison", "downloads", "explanations", "results", "strips", "sensitivity", "run", "start"),
)

#: The names of these files hold a digest of their content, so what a browser has kept is never out of date.
_FOR_EVER = "public, max-age=31536000, immutable"


class _Asset(NamedTuple):
    content: bytes
    media_type: str


@cache
def _assets() -> dict[str, _Asset]:
    """By name what the page loads."""
    assets = {}
    for suffix, text, kind in (
        ("css", joined_style(_PACKAGE, PAGE_STYLES), "text/css"),
        ("js", joined_script(_PACKAGE, PAGE_SCRIPTS), "text/javascript"),
    ):
        content = text.encode()
        name = f"page-{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
        assets[name] = _Asset(content, f"{kind}; charset=utf-8")
    return assets


@router.get("/")
def page() -> Response:
    """The page. It holds nobody's texts."""
    style, script = (Html(f"assets/{name}") for name in _assets())
    slots = {"style": style, "script": script, "version": Html(__version__), "operations": _operation_list()}
    return HTMLResponse(filled(page_file(_PACKAGE, "index.html"), slots), headers={"Cache-Control": "no-cache"})


def _operation_list() -> Html:
    """The operations of the table, each with links to its entries in `/docs`."""
    items = []
    for operation in operations().values():
        ways = [tag("a", "as a job", href=f"docs#submit_{operation.method}")]
        if operation.at_once:
            ways = [tag("a", "at once", href=f"docs#{operation.method}"), Html(" or "), *ways]
        items += [tag("dt", tag("code", operation.name)), tag("dd", f"{sentence(operation.help)} Runs ", *ways, ".")]
    return tag("dl", *items)


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    """Its style sheet and its script."""
    file = _assets().get(name)
    if file is None:
        raise ProblemError(404, "there is no such file; load the page again", kind="no-asset")
    return Response(file.content, media_type=file.media_type, headers={"Cache-Control": _FOR_EVER})


@router.get("/favicon.svg")
def icon() -> Response:
    """What a browser shows beside the title."""
    content = resources.files(_PACKAGE).joinpath("page", "favicon.svg").read_bytes()
    return Response(content, media_type="image/svg+xml", headers={"Cache-Control": "public, max-age=86400"})


@router.get("/docs")
def docs(request: Request) -> Response:
    """The OpenAPI description as a page: endpoints, their fields and status codes."""
    description = request.app.openapi()
    operations = {
        f"{method.upper()} {path}": operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }
    links = [
        tag("li", tag("a", tag("code", name), href=f"#{operation['operationId']}"), " ", operation["summary"])
        for name, operation in operations.items()
    ]
    sections = [
        _operation(name, operation, description["components"]["schemas"]) for name, operation in operations.items()
    ]
    slots = {
        "style": Html(f"assets/{next(iter(_assets()))}"),
        "version": Html(__version__),
        "about": tag("p", description["info"]["description"]),
        "contents": tag("ul", *links),
        "operations": joined(sections),
    }
    return HTMLResponse(filled(page_file(_PACKAGE, "docs.html"), slots))


def _operation(name: str, operation: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> Html:
    parameters = {entry["name"]: {**entry["schema"], **entry} for entry in operation.get("parameters", ())}
    request = _json_schema(operation.get("requestBody", {}), schemas)
    statuses = {
        status: {**response, "type": ", ".join(response.get("content", ()))}
        for status, response in sorted(operation["responses"].items())
    }
    success = next(iter(statuses.values()))
    return tag(
        "section",
        tag("h2", name),
        tag("p", f"{operation['summary']}. ", _with_code(operation.get("description", ""))),
        _fields(tag("h3", "Parameters"), parameters),
        _fields(tag("h3", "Request"), request.get("properties", {})),
        *(tag("pre", json.dumps(example, indent=2)) for example in request.get("examples", ())),
        _fields(tag("h3", "Response"), _json_schema(success, schemas).get("properties", {})),
        tag("details", _fields(tag("summary", "Status codes"), statuses)),
        id=operation["operationId"],
    )


def _json_schema(message: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Schema of a request or response in JSON, or of its items; empty if it has none."""
    schema: Mapping[str, Any] = message.get("content", {}).get("application/json", {}).get("schema", {})
    schema = schema.get("items", schema)
    reference: str = schema.get("$ref", "")
    return schemas.get(reference.rpartition("/")[2], schema)


def _fields(heading: Html, fields: Mapping[str, Mapping[str, Any]]) -> Html | None:
    """Names, types, defaults and descriptions under a heading; None if there are no fields."""
    if not fields:
        return None
    parts = []
    for name, field in fields.items():
        default = f", default {json.dumps(field['default'])}" if field.get("default") is not None else ""
        parts.append(tag("dt", tag("code", name), f" {_type_name(field)}{default}"))
        parts.append(tag("dd", _with_code(field.get("description", ""))))
    return joined([heading, tag("dl", *parts)])


def _with_code(text: str) -> Html:
    """Text with the parts between backticks as code.

    >>> _with_code("a < `b`")
    'a &lt; <code>b</code>'
    """
    return joined(tag("code", part) if index % 2 else part for index, part in enumerate(text.split("`")))


def _type_name(schema: Mapping[str, Any]) -> str:
    """The type in words.

    >>> _type_name({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'array of string'
    """
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        names = dict.fromkeys(map(_type_name, schema["anyOf"]))
        return " | ".join(name for name in names if name != "null")
    name = str(schema.get("type", ""))
    contents = schema.get("items", schema.get("additionalProperties"))
    if not isinstance(contents, dict):
        return name
    inner = _type_name(contents)
    return f"{name} of ({inner})" if " | " in inner else f"{name} of {inner}"
