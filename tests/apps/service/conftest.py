"""Services for the tests of this folder: in this process, and in one of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.apps.service.pages import page_of
from tests.extras import LazyModule

from nlgauge.testing import hash_encoder

if TYPE_CHECKING:
    import httpx2
    import uvicorn
    from playwright.sync_api import Browser, Page
    from starlette import testclient
    from starlette.testclient import TestClient

    from nlgauge.apps.service import app, settings
    from nlgauge.apps.service.settings import Settings
else:
    httpx2, uvicorn, testclient, app, settings = map(
        LazyModule,
        ("httpx2", "uvicorn", "starlette.testclient", "nlgauge.apps.service.app", "nlgauge.apps.service.settings"),
    )

#: Sent by nobody but the tests; long enough to be a key.
KEY = "a-key-of-the-tests-0123456789"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """Makes services inside this process; the model `hash` needs no files."""
    with hash_encoder(), contextlib.ExitStack() as stack:

        def make(**changes: Any) -> TestClient:
            chosen = {"folder": tmp_path / "data", "preload": ()} | changes
            service = app.create_app(settings.Settings(**chosen))
            client = testclient.TestClient(service, base_url="http://127.0.0.1", raise_server_exceptions=False)
            return stack.enter_context(client)

        yield make


@pytest.fixture
def service(made: Callable[..., TestClient]) -> TestClient:
    """A service with the usual settings."""
    return made()


@contextlib.contextmanager
def listening(chosen: Settings) -> Iterator[str]:
    """A service on a real port, in a thread of this process; its address."""
    config = uvicorn.Config(
        app.create_app(chosen), port=0, log_config=None, access_log=False, timeout_graceful_shutdown=5
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A service with the usual settings on a real port."""
    with hash_encoder(), listening(settings.Settings(folder=tmp_path / "data", preload=())) as url:
        yield url


@dataclass
class Running:
    """A service in a process of its own."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def get(self, path: str, **more: Any) -> httpx2.Response:
        """Ask for something."""
        return httpx2.get(self.url + path, timeout=120, trust_env=False, **more)

    def post(self, path: str, body: Any, **more: Any) -> httpx2.Response:
        """Send something."""
        return httpx2.post(self.url + path, json=body, timeout=120, trust_env=False, **more)


@contextlib.contextmanager
def started(folder: Path, *flags: str, port: int = 0, **environment: str) -> Iterator[Running]:
    """`nlgauge serve`, until the block ends."""
    command = [sys.executable, "-m", "nlgauge", "serve", "--port", str(port), "--data", str(folder / "data"), *flags]
    log = folder / "log"
    with log.open("a") as stderr:
        begin = log.stat().st_size
        process = subprocess.Popen(command, stderr=stderr, text=True, env={**os.environ, **environment}, cwd=folder)
        try:
            yield Running(process, _wait_for_address(process, log, begin), log)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(300)


def _wait_for_address(process: subprocess.Popen[str], log: Path, begin: int) -> str:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        for line in log.read_text()[begin:].splitlines():
            if line.startswith("nlgauge serves at "):
                return line.rpartition(" ")[2]
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(log.read_text())


class Restartable:
    """A service that goes away and comes back at the same address, with the same folder."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self._folder = folder
        self._flags = flags
        self._held = contextlib.ExitStack()
        self._port = 0

    def start(self) -> Running:
        """Begin, or begin again."""
        running = self._held.enter_context(started(self._folder, *self._flags, port=self._port))
        self._port = running.port
        return running

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._held.close()


@contextlib.contextmanager
def restartable(folder: Path, *flags: str) -> Iterator[Restartable]:
    """A service that is not started yet."""
    result = Restartable(folder, *flags)
    try:
        yield result
    finally:
        result.stop()


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with the real model, for pages in a browser."""
    with started(tmp_path_factory.mktemp("page"), "--max-text-characters", "5000") as service:
        yield service


@pytest.fixture
def page(browser: Browser, serving: Running) -> Iterator[Page]:
    """Its page, which no request is refused to."""
    with page_of(browser, f"{serving.url}/") as result:
        yield result
