"""A real Ray cluster of this machine, with a token of its own, for tests."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cluster:
    """How to reach a cluster."""

    address: str
    """For machines of the cluster."""
    client: str
    """For clients from outside."""
    environment: dict[str, str]
    """With the token."""
    head: int
    """The process that all others descend from."""

    def actors(self) -> list[int]:
        """Processes that run actors of nlgauge, and have begun to work."""
        parents = {process: (parent, command) for process, parent, command in _processes()}

        def descends(process: int) -> bool:
            while process in parents and process != self.head:
                process = parents[process][0]
            return process == self.head

        return [
            value
            for value, (_, command) in parents.items()
            if command.startswith("ray::_Actor.run") and descends(value)
        ]


@contextmanager
def running_cluster(processors: int) -> Iterator[Cluster]:
    """Start a cluster, wait until it answers, and end it, and nothing else, in the end."""
    # Not below pytest's own folder: the names of sockets must be short.
    folder = tempfile.mkdtemp(prefix="nlgauge-ray-")
    port, client = _free_port(), _free_port()
    environment = os.environ | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_worker_niceness": "0",  # on a machine that others use too, workers would hardly get to work
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    words = ["start", "--head", "--block", f"--port={port}", f"--ray-client-server-port={client}"]
    words += [
        f"--num-cpus={processors}",
        "--include-dashboard=false",
        f"--temp-dir={folder}",
        "--disable-usage-stats",
    ]
    with open(Path(folder) / "head.log", "wb") as log:
        head = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", *words], env=environment, stdout=log, stderr=log
        )
    try:
        _wait_for(port, head, folder)
        _wait_for(client, head, folder)
        yield Cluster(f"127.0.0.1:{port}", f"ray://127.0.0.1:{client}", environment, head.pid)
    finally:
        head.terminate()
        head.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _processes() -> Iterator[tuple[int, int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text()
        except (OSError, UnicodeDecodeError):
            continue
        yield int(folder.name), int(fields[1]), command


def _free_port() -> int:
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        port: int = first.getsockname()[1]
        return port


def _wait_for(port: int, head: subprocess.Popen[bytes], folder: str) -> None:
    limit = time.monotonic() + 180
    while True:
        assert head.poll() is None, (Path(folder) / "head.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < limit, (Path(folder) / "head.log").read_text()
            time.sleep(0.2)
        else:
            return
