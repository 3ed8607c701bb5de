"""Connections of the HTTP server: a deadline for request headers, a bound on open connections, a gentle close.

uvicorn counts every open connection against its limit of concurrency and gives request headers any time. Clients that
never finish a header would therefore lock out everybody, before a key is looked at. Here a connection that waits for
its client (for a request, or for an answer to be read) is closed after a while, and the one that has waited longest
makes room for a new one.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from nlgauge.service.problems import MEDIA_TYPE, ProblemError

__all__ = ["Connection", "Connections"]

#: Seconds that the rest of a refused request is read and thrown away, so that its client gets to read the answer.
_LINGER_SECONDS = 30.0

#: Seconds in which a client must read some of an answer that does not fit into the buffers between the two.
_STALLED_SECONDS = 60.0


class Connections:
    """What all connections of a server share."""

    def __init__(self, *, header_seconds: float, most: int) -> None:
        self.header_seconds = header_seconds
        self.most = most
        self.idle: OrderedDict[Connection, None] = OrderedDict()
        """Connections that wait for their client; the one that has waited longest comes first."""

    def make_room(self, open_connections: int) -> None:
        """Close the connection that has waited longest for its client where too many are open."""
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
        """Bytes of the answer that the client had not read when they were last counted."""
        self._closed = False
        """No further request is read: the connection lingers, or is gone."""
        self._socket: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for the first request, for as long as headers may take."""
        self._socket = transport
        super().connection_made(_GentleTransport(transport, self))  # type: ignore[arg-type]  # it stands in for one
        self._wait(self._shared.header_seconds)
        self._shared.make_room(len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Hand on what arrived; what follows a refused request is thrown away."""
        if self._closed:
            return
        before, self._received = self.cycle, True
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request; it may have arrived already."""
        before = self.cycle
        if not self.transport.is_closing():
            self._received = False
            self._wait(self.timeout_keep_alive + self._shared.header_seconds)
        elif not self._closed:  # what is left of the answer is sent before the connection closes
            self._wait(_STALLED_SECONDS)
        super().on_response_complete()
        if self.cycle is not before:
            self._stop_waiting()

    def pause_writing(self) -> None:
        """The client does not read its answer as fast as it is written."""
        super().pause_writing()
        self._wait(_STALLED_SECONDS)

    def resume_writing(self) -> None:
        """The client has read most of it."""
        super().resume_writing()
        if not self.cycle.response_complete:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._closed = True
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server stops: a connection that lingers is closed."""
        if self._closed:
            self.end()
        else:
            super().shutdown()

    def end(self) -> None:
        """Close the connection at once; where a part of a request has arrived, the client is told why."""
        self._stop_waiting()
        if self._received and not self._closed and self.conn.our_state is h11.IDLE:
            self._socket.write(_timed_out(self._shared.header_seconds))
            self._socket.close()
        else:
            self._socket.abort()
        self._closed = True

    def linger(self) -> bool:
        """Send what is to be sent and read on, where the client is still sending; whether it is."""
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
        """The client has so much time for its next request, or to read the answer."""
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

    A socket that is closed with unread bytes in it sends a reset, and the client may lose the answer that explains
    the refusal (413, 401): it sees a broken pipe instead.
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
    """The whole answer to a request whose headers did not arrive in time."""
    problem = ProblemError(408, f"the request headers did not arrive within {seconds:g} seconds", kind="timeout")
    body = json.dumps(problem.to_dict()).encode()
    head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body
