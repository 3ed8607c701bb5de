"""Runs the service until it is told to stop."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial

import uvicorn

from nlgauge.errors import InputError
from nlgauge.service.app import create_app
from nlgauge.service.connections import Connection, Connections
from nlgauge.service.monitoring import JsonLines, log
from nlgauge.service.service import Service
from nlgauge.service.settings import Settings

__all__ = ["serve"]

#: Files that the process may have open next to its connections: models, jobs, libraries.
_OTHER_FILES = 200


def serve(settings: Settings, *, on_start: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; then finish what is under way.

    `on_start` is told the address, once connections are accepted. The process works in the service's folder from here
    on, so that no word of a request can be the name of a file that lies about, and fetches nothing.
    """
    app = create_app(settings)
    listening = _listen(settings)
    address = _address(listening, settings)
    _make_folder(settings)
    os.environ["NLGAUGE_OFFLINE"] = "1"
    _log_lines()
    os.chdir(settings.folder)
    # Before uvicorn, which would log a traceback and end the process with its own status.
    service: Service = app.state.service
    service.start()
    limits = settings.limits
    shared = Connections(header_seconds=limits.header_seconds, most=_most_connections(limits.connections))
    config = uvicorn.Config(
        app,
        http=partial(Connection, shared=shared),  # type: ignore[arg-type]  # it is called like the class
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trust_proxy),
        forwarded_allow_ips=settings.trust_proxy or None,
        timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
        h11_max_incomplete_event_size=32_768,
        lifespan="on",
    )
    server = _Server(config, lambda: on_start(address) if on_start is not None else None)
    # What watches a job must end before uvicorn waits for open connections.
    server.on_stop = service.stopping.set
    try:
        server.run(sockets=[listening])
    except OSError as error:  # two services may have taken one port at the same moment
        raise _no_address(settings, error) from error


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start
        self.on_stop: Callable[[], None] = lambda: None

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
        raise _no_address(settings, error) from error
    return listening


def _no_address(settings: Settings, error: OSError) -> InputError:
    why = error.strerror or error
    return InputError(f"cannot listen on {settings.host}, port {settings.port}: {why}; choose another one (--port)")


def _make_folder(settings: Settings) -> None:
    try:
        settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        msg = (
            f"cannot keep jobs in {str(settings.folder)!r}: {error.strerror or error}; choose another folder (--data)"
        )
        raise InputError(msg) from error


def _most_connections(wanted: int) -> int:
    """How many connections the process may have open; the system's limit of files is raised where it can be."""
    try:
        import resource
    except ImportError:  # not on Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    needed = wanted + _OTHER_FILES
    if soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    return max(1, min(wanted, soft - _OTHER_FILES))


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
