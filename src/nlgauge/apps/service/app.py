"""The application: endpoints, error handlers, middleware for paths behind a proxy, and the page at `/`.

The page consists of a document, a style sheet and a script, joined from files of this package. Assets are looked up
in a table, so requests cannot name other files. `/docs` shows the OpenAPI description.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nlgauge._version import __version__
from nlgauge.apps.operations import operations
from nlgauge.apps.service import routes
from nlgauge.apps.service.calls import request_model, sentence
from nlgauge.apps.service.guard import Guard, Observer
from nlgauge.apps.service.problems import (
    MEDIA_TYPE,
    STATUSES,
    ProblemError,
    library_problem,
    path_detail,
    problem_response,
    validation_problem,
)
from nlgauge.apps.service.service import Service
from nlgauge.apps.service.settings import Settings
from nlgauge.errors import NlgaugeError
from nlgauge.report.elements import Html, filled, joined, joined_script, joined_style, page_file, tag

_ABOUT = """\
Scores of generated text, each with a signature that makes it reproducible. The numbers are bit-identical to those of
the library.
"""


class ProblemRecord(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str


def _without_prefix(app: ASGIApp, root_path: str) -> ASGIApp:
    """Remove the prefix from paths if the proxy has not; addresses in answers have it (`root_path`)."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if path == root_path:  # relative addresses of the page need the slash
                await RedirectResponse(f"{root_path}/")(scope, receive, send)
                return
            if path.startswith(f"{root_path}/"):
                path = path.removeprefix(root_path)
            scope = {**scope, "path": path, "root_path": root_path}
        await app(scope, receive, send)

    return answer


def _head_as_get(app: ASGIApp) -> ASGIApp:
    """Answer HEAD as GET, without the body."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        # Not for streams of events, which last as long as their job.
        if scope["type"] == "http" and scope["method"] == "HEAD" and not scope["path"].endswith("/events"):
            await app({**scope, "method": "GET"}, receive, without_body)
        else:
            await app(scope, receive, send)

    return answer


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application; at its start it opens its folder and loads its models."""
    chosen = settings or Settings()
    service = Service(chosen)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if not service.ready:  # `serve` has started it already
            await asyncio.to_thread(service.start)
        try:
            yield
        finally:
            await asyncio.to_thread(service.stop)

    around = [Middleware(Observer, monitor=service.monitor)]
    if chosen.allow_origins:
        around.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(chosen.allow_origins),
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["authorization", "content-type", "x-api-key"],
            )
        )
    around += [Middleware(Guard, settings=chosen), Middleware(_head_as_get)]
    if chosen.root_path:
        around.insert(0, Middleware(_without_prefix, root_path=chosen.root_path))
    app = FastAPI(
        title="nlgauge",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        middleware=around,
        docs_url=None,  # FastAPI's page loads files from other hosts
        redoc_url=None,
        exception_handlers=dict.fromkeys(
            (ProblemError, NlgaugeError, RequestValidationError, HTTPException), _answer_error
        ),
        # Off, because it would pass texts of requests and errors to any listener in the process.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.state.service = service
    for router in (routes.operation_router(), routes.router, _page):
        app.include_router(router)
    app.openapi = lambda: _description(app, chosen.root_path)  # type: ignore[method-assign]  # as FastAPI's documentation has it
    return app


async def _answer_error(request: Request, error: Any) -> Response:
    """An error as problem details."""
    if isinstance(error, NlgaugeError):
        error = library_problem(error, _request_fields(request))
    elif isinstance(error, RequestValidationError):
        error = validation_problem(error.errors(), _request_fields(request))
    elif isinstance(error, HTTPException):
        where = {"method": request.method[:20], "path": request.scope["path"]}
        allowed = (error.headers or {}).get("Allow", "")
        detail = path_detail(error.status_code, str(error.detail), **where, allowed=allowed)
        return problem_response(ProblemError(error.status_code, detail), error.headers)
    return problem_response(error)


def _request_fields(request: Request) -> list[str]:
    """Names of the fields of the operation in the path, for messages."""
    operation = operations().get(request.scope["path"].rpartition("/")[2])
    return [] if operation is None else list(request_model(operation).model_fields)


def _description(app: FastAPI, root_path: str) -> dict[str, Any]:
    """The OpenAPI description, with the errors of the middleware."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        document |= {"servers": [{"url": root_path}]} if root_path else {}
        schemas = document["components"]["schemas"]
        schemas["ProblemRecord"] = ProblemRecord.model_json_schema()
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemRecord"}}}
        document["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        document["security"] = [{}, {"bearer": []}, {"key": []}]
        anywhere = {
            str(status): {"description": text, "content": content} for status, (_, text) in STATUSES.items() if text
        }
        for operations in document["paths"].values():
            for operation in operations.values():
                answers = operation["responses"] = operation["responses"] | anywhere
                for status in {"404", "409"} & answers.keys():
                    answers[status]["content"] = content
        app.openapi_schema = document
    return app.openapi_schema


_page = APIRouter(include_in_schema=False)

_PACKAGE = "nlgauge.apps.service"

#: Files of this page in the order in which they are joined, after the components shared with the report.
PAGE_STYLES = ("form", "results")
PAGE_SCRIPTS = (
    *("requests", "jobs", "files", "text_field", "fields", "languages", "metric_uses", "metrics", "address"),
    *("example", "problems"),
    *("comparison", "downloads", "explanations", "results", "strips", "sensitivity", "run", "start"),
)

#: File names contain a digest of the content, so cached files are never out of date.
_FOR_EVER = "public, max-age=31536000, immutable"


@cache
def _assets() -> dict[str, tuple[bytes, str]]:
    """The files that the page loads: content and media type by name."""
    assets = {}
    for suffix, text, kind in (
        ("css", joined_style(_PACKAGE, PAGE_STYLES), "text/css"),
        ("js", joined_script(_PACKAGE, PAGE_SCRIPTS), "text/javascript"),
    ):
        content = text.encode()
        name = f"page-{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
        assets[name] = content, f"{kind}; charset=utf-8"
    return assets


@_page.get("/")
def page() -> Response:
    """The page, which contains no texts."""
    style, script = (Html(f"assets/{name}") for name in _assets())
    slots = {"style": style, "script": script, "version": Html(__version__), "operations": _operation_list()}
    return HTMLResponse(filled(page_file(_PACKAGE, "index.html"), slots), headers={"Cache-Control": "no-cache"})


def _operation_list() -> Html:
    """All operations with links to `/docs`."""
    items = []
    for operation in operations().values():
        ways = [tag("a", "as a job", href=f"docs#submit_{operation.method}")]
        if operation.at_once:
            ways = [tag("a", "at once", href=f"docs#{operation.method}"), Html(" or "), *ways]
        items += [tag("dt", tag("code", operation.name)), tag("dd", f"{sentence(operation.help)} Runs ", *ways, ".")]
    return tag("dl", *items)


@_page.get("/assets/{name}")
def asset(name: str) -> Response:
    """The style sheet or the script."""
    if name not in _assets():
        raise ProblemError(404, "unknown file; reload the page", kind="no-asset")
    content, media_type = _assets()[name]
    return Response(content, media_type=media_type, headers={"Cache-Control": _FOR_EVER})


@_page.get("/favicon.svg")
def icon() -> Response:
    """The icon of the browser tab."""
    content = resources.files(_PACKAGE).joinpath("page", "favicon.svg").read_bytes()
    return Response(content, media_type="image/svg+xml", headers={"Cache-Control": "public, max-age=86400"})


@_page.get("/docs")
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
