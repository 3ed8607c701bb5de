"""A job of a service, as a client sees it: waited for, or awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nlgauge.errors import ServiceError
from nlgauge.service import exchange
from nlgauge.service.client_results import RESULTS
from nlgauge.service.exchange import Ask, JobState

if TYPE_CHECKING:
    from nlgauge.service.async_client import AsyncClient
    from nlgauge.service.client import Client

__all__ = ["AsyncJob", "Job"]

#: Seconds between two looks at a job: at first, and at most.
FIRST_LOOK, LAST_LOOK = 0.1, 2.0


class _Known:
    """What is known of a job without asking."""

    def __init__(self, state: JobState) -> None:
        self.state = state
        """As the service last told of it."""

    @property
    def id(self) -> str:
        """Its name at the service."""
        return self.state.id

    def _state_ask(self) -> Ask[JobState]:
        return exchange.get_ask(f"/v1/jobs/{self.id}", JobState.read)

    def _result_ask(self) -> Ask[Any]:
        self.state.check()
        return exchange.get_ask(f"/v1/jobs/{self.id}/result", RESULTS[self.state.kind])

    def _download_ask(self, form: str) -> Ask[bytes]:
        self.state.check()
        return exchange.get_ask(f"/v1/jobs/{self.id}/result?format={form}", bytes)

    def _check_time(self, until: float | None, timeout: float | None) -> None:
        if until is not None and time.monotonic() > until:
            msg = f"job {self.id} is {self.state.state} after {timeout:g} seconds; it goes on"
            raise ServiceError(msg)


class Job(_Known):
    """A job of a service."""

    def __init__(self, client: Client, state: JobState) -> None:
        super().__init__(state)
        self._client = client

    def refresh(self) -> JobState:
        """Ask how far it is."""
        self.state = self._client._send(self._state_ask())
        return self.state

    def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Any:
        """Wait for its end and return its result, as the library has it. `watch` is shown each state on the way."""
        until = None if timeout is None else time.monotonic() + timeout
        look = FIRST_LOOK
        while not self.state.ended:
            self._check_time(until, timeout)
            time.sleep(look)
            look = min(LAST_LOOK, look * 1.5)
            self.refresh()
            if watch is not None:
                watch(self.state)
        return self.result()

    def result(self) -> Any:
        """The result of a job that is done; else an error that says why there is none."""
        return self._client._send(self._result_ask())

    def download(self, form: str) -> bytes:
        """The result as it is kept: json, tsv, segments, pairs or html, as far as the kind of job has it."""
        return self._client._send(self._download_ask(form))

    def cancel(self) -> JobState:
        """Cancel it; one that is running stops a moment later."""
        self.state = self._client._send(exchange.cancel_ask(self.id))
        return self.state

    def remove(self) -> None:
        """Remove it and its result from the service."""
        self._client._send(exchange.remove_ask(self.id))


class AsyncJob(_Known):
    """The same, awaited."""

    def __init__(self, client: AsyncClient, state: JobState) -> None:
        super().__init__(state)
        self._client = client

    async def refresh(self) -> JobState:
        """Ask how far it is."""
        self.state = await self._client._send(self._state_ask())
        return self.state

    async def wait(self, *, timeout: float | None = None, watch: Callable[[JobState], None] | None = None) -> Any:
        """Wait for its end and return its result, as the library has it. `watch` is shown each state on the way."""
        until = None if timeout is None else time.monotonic() + timeout
        look = FIRST_LOOK
        while not self.state.ended:
            self._check_time(until, timeout)
            await asyncio.sleep(look)
            look = min(LAST_LOOK, look * 1.5)
            await self.refresh()
            if watch is not None:
                watch(self.state)
        return await self.result()

    async def result(self) -> Any:
        """The result of a job that is done; else an error that says why there is none."""
        return await self._client._send(self._result_ask())

    async def download(self, form: str) -> bytes:
        """The result as it is kept: json, tsv, segments, pairs or html, as far as the kind of job has it."""
        return await self._client._send(self._download_ask(form))

    async def cancel(self) -> JobState:
        """Cancel it; one that is running stops a moment later."""
        self.state = await self._client._send(exchange.cancel_ask(self.id))
        return self.state

    async def remove(self) -> None:
        """Remove it and its result from the service."""
        await self._client._send(exchange.remove_ask(self.id))
