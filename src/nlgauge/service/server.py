"""Runs the service until it is told to stop."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import uvicorn

from nlgauge.errors import InputError
from nlgauge.service.app import create_app
from nlgauge.service.monitoring import JsonLines, log
from nlgauge.service.settings import Settings

__all__ = ["serve"]


def serve(settings: Settings, *, on_start: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; then finish what is under way.

    `on_start` is told the address, once connections are accepted. The process works in the service's folder from here
    on, so that no word of a request can be the name of a file that lies about, and fetches nothing.
    """
    listening = _listen(settings)
    address = _address(listening, settings)
    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ["NLGAUGE_OFFLINE"] = "1"
    _log_lines()
    app = create_app(settings)
    os.chdir(settings.folder)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trust_proxy),
        forwarded_allow_ips=settings.trust_proxy or None,
        timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
        limit_concurrency=settings.limits.waiting * 4,
        h11_max_incomplete_event_size=32_768,
        lifespan="on",
    )
    server = _Server(config, lambda: on_start(address) if on_start is not None else None)
    # What watches a job must end before uvicorn waits for open connections.
    server.on_stop = app.state.service.stopping.set
    server.run(sockets=[listening])
    if not server.was_started:
        msg = "the service could not start; the log says why"
        raise InputError(msg)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start
        self.on_stop: Callable[[], None] = lambda: None
        self.was_started = False

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and end as if nothing else was to be said: uvicorn would raise the signal again."""
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where the service is."""
        await super().startup(sockets)
        if self.started:
            self.was_started = True
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first."""
        self.on_stop()
        await super().shutdown(sockets)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's algorithm off only then: head and body of an answer are
    # two writes, and the second would wait 40 ms for the other side to acknowledge the first.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        why = error.strerror or error
        msg = f"cannot listen on {settings.host}, port {settings.port}: {why}; choose another one (--port)"
        raise InputError(msg) from error
    return listening


def _address(listening: socket.socket, settings: Settings) -> str:
    port = listening.getsockname()[1]
    return f"http://[{settings.host}]:{port}" if ":" in settings.host else f"http://{settings.host}:{port}"


def _log_lines() -> None:
    """A line of JSON on stderr for each event; uvicorn's own words too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for logger in (log, logging.getLogger("uvicorn")):
        logger.handlers = [handler]
        logger.propagate = False
    log.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
