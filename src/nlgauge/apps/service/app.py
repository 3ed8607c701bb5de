"""The application: endpoints, error handlers, and middleware for paths behind a proxy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nlgauge._version import __version__
from nlgauge.apps.service import operation_routes, page_routes, routes
from nlgauge.apps.service.guard import (
    MEDIA_TYPE,
    Guard,
    Observer,
    ProblemError,
    library_problem,
    problem_response,
    validation_problem,
)
from nlgauge.apps.service.service import Service
from nlgauge.apps.service.settings import Settings
from nlgauge.errors import NlgaugeError

_ABOUT = """\
Scores of generated text, each with the signature that says how it was made. The numbers are those of the library,
to the last bit.
"""

#: Errors that any operation may answer with, beside those of its own.
_ANYWHERE = {
    400: "the request cannot be read",
    401: "no key, or a wrong one",
    403: "from a page of another site",
    408: "the headers or the body did not arrive in time",
    413: "over a limit of size",
    415: "not JSON",
    421: "the Host header names another host",
    422: "not of this form, or not to be computed; `detail` says why",
    429: "over a limit of rate or queue; `Retry-After` says when to come again",
    500: "an error of the service",
    503: "starting or stopping",
}


#: Ends as late as the job that it tells of, so that it is never asked for its head alone.
_STREAM = "/events"


class ProblemRecord(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str


class Prefix:
    """Takes the prefix off a path, where the proxy has left it on; answers name addresses with it (`root_path`)."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        if scope["type"] == "http":
            path = scope["path"]
            if path == self._root:  # addresses in the page are relative to a folder
                await RedirectResponse(f"{self._root}/")(scope, receive, send)
                return
            if path.startswith(f"{self._root}/"):
                path = path.removeprefix(self._root)
            scope = {**scope, "path": path, "root_path": self._root}
        await self._app(scope, receive, send)


class HeadAsGet:
    """Answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith(_STREAM):
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, without_body)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application; it opens its folder and loads its models when it is started."""
    chosen = settings or Settings()
    service = Service(chosen)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if not service.ready:  # `serve` starts it before
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
    around += [Middleware(Guard, settings=chosen), Middleware(HeadAsGet)]
    if chosen.root_path:
        around.insert(0, Middleware(Prefix, root_path=chosen.root_path))
    app = FastAPI(
        title="nlgauge",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        middleware=around,
        docs_url=None,  # FastAPI's page loads its parts from elsewhere
        redoc_url=None,
        exception_handlers=dict.fromkeys(
            (ProblemError, NlgaugeError, RequestValidationError, HTTPException), _answer_error
        ),
        # It would tell whoever listens in the process about requests and errors, with their texts.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.state.service = service
    for router in (operation_routes.operation_router(), routes.router, operation_routes.router, page_routes.router):
        app.include_router(router)
    app.openapi = lambda: _description(app, chosen.root_path)  # type: ignore[method-assign]  # as FastAPI's documentation has it
    return app


async def _answer_error(request: Request, error: Any) -> Response:
    """An error as problem details."""
    if isinstance(error, NlgaugeError):
        error = library_problem(error)
    elif isinstance(error, RequestValidationError):
        error = validation_problem(error.errors())
    elif isinstance(error, HTTPException):
        return problem_response(ProblemError(error.status_code, str(error.detail)), error.headers)
    return problem_response(error)


def _description(app: FastAPI, root_path: str) -> dict[str, Any]:
    """The OpenAPI description, with the errors that the parts around the endpoints answer with."""
    if app.openapi_schema is None:
        about = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        about |= {"servers": [{"url": root_path}]} if root_path else {}
        schemas = about["components"]["schemas"]
        schemas["ProblemRecord"] = ProblemRecord.model_json_schema()
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemRecord"}}}
        about["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        about["security"] = [{}, {"bearer": []}, {"key": []}]
        anywhere = {str(status): {"description": text, "content": content} for status, text in _ANYWHERE.items()}
        for operations in about["paths"].values():
            for operation in operations.values():
                answers = operation["responses"] = operation["responses"] | anywhere
                for status in {"404", "409"} & answers.keys():
                    answers[status]["content"] = content
        app.openapi_schema = about
    return app.openapi_schema
