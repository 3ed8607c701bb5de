"""Where a request is meant to go: behind a proxy that has the service under a prefix, and without its body."""

from __future__ import annotations

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HeadAsGet", "Prefix"]

#: Ends as late as the job that it tells of, so that it is never asked for its head alone.
_STREAM = "/events"


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
