"""The HTTP server: runs the service until a signal stops it, with limits on connections.

uvicorn counts every open connection as concurrent and waits for request headers without limit. Clients that never
finish their headers could therefore lock out all others before an API key is checked. Here, a connection that waits
for its client (for a request, or until the answer is read) has a deadline, and the one that has waited longest is
closed if there are too many.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import math
import os
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from nlgauge.apps.service.app import create_app
from nlgauge.apps.service.problems import MEDIA_TYPE, ProblemError
from nlgauge.apps.service.service import Service
from nlgauge.apps.service.settings import JsonLines, Settings, log
from nlgauge.errors import InputError

#: Seconds for which the rest of a refused request is read and discarded, until the client reads the answer.
_LINGER_SECONDS = 30.0

#: Seconds in which a client must read a part of an answer that does not fit into the buffers.
_STALLED_SECONDS = 60.0


class Connections:
    """Limits and idle connections, shared by all connections of a server."""

    def __init__(self, *, header_seconds: float, most: int) -> None:
        self.header_seconds = header_seconds
        self.most = most
        self.idle: OrderedDict[Connection, None] = OrderedDict()
        """Connections that wait for their client, the longest wait first."""

    def make_room(self, open_connections: int) -> None:
        """Close the connection that has waited longest if too many are open."""
        if open_connections > self.most and self.idle:
            next(iter(self.idle)).end()


class Connection(H11Protocol):
    """A connection to a client. Pass the class to uvicorn with `shared` bound (functools.partial)."""

    def __init__(self, *args: Any, shared: Connections, **named: Any) -> None:
        super().__init__(*args, **named)
        self._shared = shared
        self._deadline: asyncio.TimerHandle | None = None
        self._received = False
        """Whether a part of the next request has arrived."""
        self._unsent = math.inf
        """Unread bytes of the answer when they were last counted."""
        self._closed = False
        """No further request is read: the connection lingers or is closed."""
        self._socket: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for the first request, up to the limit for headers."""
        self._socket = transport
        super().connection_made(_GentleTransport(transport, self))  # type: ignore[arg-type]  # same methods
        self._wait(self._shared.header_seconds)
        self._shared.make_room(len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Process data; data after a refused request is discarded."""
        if self._closed:
            return
        before, self._received = self.cycle, True
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may have arrived already."""
        before = self.cycle
        if not self.transport.is_closing():
            self._received = False
            self._wait(self.timeout_keep_alive + self._shared.header_seconds)
        elif not self._closed:  # the rest of the answer is sent before the connection closes
            self._wait(_STALLED_SECONDS)
        super().on_response_complete()
        if self.cycle is not before:
            self._stop_waiting()

    def pause_writing(self) -> None:
        """Start a deadline: the client reads its answer too slowly."""
        super().pause_writing()
        self._wait(_STALLED_SECONDS)

    def resume_writing(self) -> None:
        """End the deadline: the client has read most of the answer."""
        super().resume_writing()
        if not self.cycle.response_complete:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._closed = True
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close the connection if it lingers, because the server stops."""
        if self._closed:
            self.end()
        else:
            super().shutdown()

    def end(self) -> None:
        """Close the connection at once, with an error answer if a part of a request has arrived."""
        self._stop_waiting()
        if self._received and not self._closed and self.conn.our_state is h11.IDLE:
            self._socket.write(_timed_out(self._shared.header_seconds))
            self._socket.close()
        else:
            self._socket.abort()
        self._closed = True

    def linger(self) -> bool:
        """Keep reading if the client is still sending; whether it is."""
        if self._closed or self.conn.their_state not in (h11.SEND_BODY, h11.ERROR):
            return False
        self._closed = True
        self._wait(_LINGER_SECONDS)
        self.flow.resume_reading()
        self._socket.write_eof()
        return True

    @property
    def closed(self) -> bool:
        """Whether no further request is read."""
        return self._closed

    def _wait(self, seconds: float) -> None:
        """Start a deadline for the next request, or for reading the answer."""
        self._stop_waiting()
        self._unsent = math.inf
        self._deadline = self.loop.call_later(seconds, self._too_late)
        self._shared.idle[self] = None

    def _too_late(self) -> None:
        """Close the connection, unless its client is still reading the answer."""
        unsent = self._socket.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._wait(_STALLED_SECONDS)
            self._unsent = unsent
        else:
            self.end()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._shared.idle.pop(self, None)


class _GentleTransport:
    """A transport whose `close` lets the client finish its request first.

    Closing a socket with unread bytes sends a reset. The client may then lose the answer that explains the refusal
    (413, 401) and see a broken pipe instead.
    """

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        if self._connection.closed or not self._connection.linger():
            self._transport.close()

    def is_closing(self) -> bool:
        return self._connection.closed or self._transport.is_closing()


def _timed_out(seconds: float) -> bytes:
    """The answer to a request whose headers did not arrive in time."""
    problem = ProblemError(408, f"the request headers did not arrive within {seconds:g} seconds", kind="timeout")
    body = json.dumps(problem.to_dict()).encode()
    head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body


#: Open files of the process other than connections: models, jobs, libraries.
_OTHER_FILES = 200


def serve(settings: Settings, *, on_start: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, then finish current requests.

    `on_start` is called with the address as soon as connections are accepted. The process changes to the folder of
    the service, where texts of requests cannot name other files, and downloads nothing.
    """
    app = create_app(settings)
    listening = _listen(settings)
    address = _address(listening, settings)
    _make_folder(settings)
    os.environ["NLGAUGE_OFFLINE"] = "1"
    _log_lines()
    os.chdir(settings.folder)
    # Before uvicorn starts, which would log a traceback and end the process with its own status.
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
    # Streams of events must end before uvicorn waits for open connections.
    server.on_stop = service.stopping.set
    try:
        server.run(sockets=[listening])
    except OSError as error:  # two services may take one port at the same time
        raise _no_address(settings, error) from error


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start
        self.on_stop: Callable[[], None] = lambda: None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal with status 0; uvicorn would raise the signal again."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Report the address."""
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams of events first."""
        self.on_stop()
        await super().shutdown(sockets)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the protocol is named. With it, the body of an answer would wait
    # 40 ms until the client acknowledges the head.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise _no_address(settings, error) from error
    return listening


def _no_address(settings: Settings, error: OSError) -> InputError:
    cause = error.strerror or error
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return InputError(f"cannot listen on {settings.host}: {cause}; choose another address (--host)")
    return InputError(
        f"cannot listen on {settings.host}, port {settings.port}: {cause}; choose another port (--port)"
    )


def _make_folder(settings: Settings) -> None:
    try:
        settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        msg = f"cannot store jobs in {str(settings.folder)!r}: {error.strerror or error}; choose another (--data)"
        raise InputError(msg) from error


def _most_connections(wanted: int) -> int:
    """How many connections the process may have open; raises the system's limit of open files if possible."""
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
    """Log a line of JSON to stderr for each event, including those of uvicorn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for logger in (log, logging.getLogger("uvicorn")):
        logger.handlers = [handler]
        logger.propagate = False
    log.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
