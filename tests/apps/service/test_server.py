"""`nlgauge serve` in a process of its own: what the network may do to it, kills and stops."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.apps.service.conftest import KEY, Running, started

import nlgauge

PAIR = {"hyps": ["A cat sat on the mat."], "refs": ["The cat sat on the mat."]}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with started(tmp_path_factory.mktemp("service")) as service:
        yield service


def test_the_command_serves_scores(running: Running) -> None:
    answer = running.post("/v1/score", PAIR)
    expected = nlgauge.ScoreTable((nlgauge.score(PAIR["hyps"], PAIR["refs"]),))
    assert answer.json()["scores"] == expected.to_dict()["scores"]
    assert "server" not in answer.headers
    assert running.get("/readyz").status_code == 200


def test_the_log_is_lines_of_json(running: Running) -> None:
    running.get("/healthz")
    lines = running.log.read_text().splitlines()
    assert lines[0].startswith("nlgauge serves at http://127.0.0.1:")
    assert all(json.loads(line)["level"] for line in lines[1:])


def test_small_answers_are_sent_at_once(running: Running) -> None:
    times = []
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        stream = connection.makefile("rb")
        # With Nagle's algorithm on each would take 40 ms; on a busy machine many do for other reasons.
        while len(times) < 20 or (min(times) >= 0.03 and len(times) < 1000):
            start = time.perf_counter()
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            while stream.readline() != b"\r\n":
                pass
            assert stream.readline() == b"ok\n"
            times.append(time.perf_counter() - start)
        stream.close()
    assert min(times) < 0.03


def exchange(port: int, content: bytes, *, wait: float = 2.0) -> bytes:
    """Send bytes, and read what comes first; nothing where the other side closes or is silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        try:
            connection.sendall(content)
            return connection.recv(65536)
        except (TimeoutError, ConnectionError):
            return b""


HEAD = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def broken_requests(count: int, seed: int) -> Iterator[bytes]:
    """Requests with bytes changed, cut, doubled or made up."""
    chance = random.Random(seed)
    body = json.dumps(PAIR).encode()
    whole = HEAD + b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    for _ in range(count):
        kind = chance.randrange(6)
        if kind == 0:
            yield chance.randbytes(chance.randrange(1, 400))
        elif kind == 1:
            yield whole[: chance.randrange(len(whole))]
        elif kind == 2:
            changed = bytearray(whole)
            for _ in range(chance.randrange(1, 20)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            yield bytes(changed)
        elif kind == 3:
            yield (
                HEAD + b"Content-Length: " + str(chance.choice([-1, 0, 10**18, 10**30])).encode() + b"\r\n\r\n" + body
            )
        elif kind == 4:
            yield (
                HEAD
                + b"Transfer-Encoding: chunked\r\n\r\n"
                + chance.choice([b"zz\r\n", b"5\r\nab", b"FFFFFFFFFF\r\n"])
            )
        else:
            place = chance.randrange(len(whole))
            yield whole[:place] + chance.randbytes(chance.randrange(40)) + whole[place:]


def test_service_survives_raw_bytes(running: Running) -> None:
    # Some have no answer, so each wait is short; on a busy machine that is too short for the others.
    for wait in (0.1, 1.0, 5.0):
        answers = Counter()
        for content in broken_requests(60, seed=1):
            result = exchange(running.port, content, wait=wait)
            assert b"Traceback" not in result
            answers[result[9:12]] += 1
        assert not any(status.startswith(b"5") for status in answers)
        if answers[b"400"] > 5 and answers[b"413"] > 1:
            break
    assert answers[b"400"] > 5
    assert answers[b"413"] > 1
    assert running.post("/v1/score", PAIR).status_code == 200


@pytest.mark.long
def test_service_survives_many_raw_bytes(running: Running) -> None:
    for content in broken_requests(5_000, seed=2):
        assert not exchange(running.port, content, wait=0.2).startswith(b"HTTP/1.1 5")
    assert running.post("/v1/score", PAIR).status_code == 200


def test_headers_are_limited_and_silent_clients_are_closed(running: Running) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            silent = stack.enter_context(socket.create_connection(("127.0.0.1", running.port)))
            silent.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        large = exchange(running.port, b"GET /v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 10**6 + b"\r\n\r\n")
        assert large[9:12] in {b"", b"400", b"431"}
        assert running.post("/v1/score", PAIR).status_code == 200


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with a key, small limits and little patience for headers."""
    limits = ("--max-waiting", "10", "--max-header-seconds", "2", "--max-connections", "100")
    folder = tmp_path_factory.mktemp("narrow")
    with started(folder, "--preload", "--max-body-bytes", "100000", *limits, NLGAUGE_API_KEY=KEY) as service:
        yield service


def connected(stack: contextlib.ExitStack, port: int, content: bytes) -> socket.socket:
    """A connection on which something was sent; it is closed with the stack."""
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
    connection.sendall(content)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


#: Requests that need no key to keep the service waiting: inside a header, before it, inside a body.
UNFINISHED = [
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    b"",
    b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
]


@pytest.mark.parametrize("content", UNFINISHED, ids=["header", "nothing", "body"])
def test_unfinished_requests_do_not_block_others(narrow: Running, content: bytes) -> None:
    # 60 connections are more than the 40 requests that may be under way, 150 more than may be open.
    for count in (60, 150):
        with contextlib.ExitStack() as stack:
            for _ in range(count):
                connected(stack, narrow.port, content)
            assert narrow.get("/healthz").status_code == 200
            assert narrow.get("/v1", headers={"x-api-key": KEY}).status_code == 200


def test_headers_have_a_deadline(narrow: Running) -> None:
    with contextlib.ExitStack() as stack:
        slow, silent = (connected(stack, narrow.port, content) for content in UNFINISHED[:2])
        begin = time.monotonic()
        while time.monotonic() - begin < 30:  # a letter now and then does not move the deadline
            try:
                slow.sendall(b"x")
            except ConnectionError:
                break
            time.sleep(0.3)
        answer = read_all(slow)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - begin < 30
        assert read_all(silent) == b""
        message = connected(stack, narrow.port, UNFINISHED[0])
        head, _, body = read_all(message).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["detail"] == "the request headers did not arrive within 2 seconds"


def test_a_connection_is_used_again_after_the_deadline_for_its_first_headers(narrow: Running) -> None:
    with contextlib.ExitStack() as stack:
        request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        connection = connected(stack, narrow.port, request)
        answers = stack.enter_context(connection.makefile("rb"))
        for _ in range(3):
            assert b"ok\n" in iter(answers.readline, b"")
            time.sleep(1.5)
            connection.sendall(request)
        assert b"ok\n" in iter(answers.readline, b"")


def test_content_length_with_transfer_encoding_is_refused(narrow: Running) -> None:
    with contextlib.ExitStack() as stack:
        both = HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        answer = read_all(connected(stack, narrow.port, both + b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"the request has both Content-Length and Transfer-Encoding" in answer
    assert answer.count(b"HTTP/1.1") == 1  # what follows is not read as a request


@pytest.mark.parametrize("key", [KEY, "wrong"])
def test_client_can_read_the_refusal_of_a_large_body(narrow: Running, key: str) -> None:
    body = b"x" * 20_000_000
    head = HEAD + b"X-API-Key: " + key.encode() + b"\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n"
    with contextlib.ExitStack() as stack:
        connection = connected(stack, narrow.port, head)
        time.sleep(0.5)  # the refusal is there before the body is sent
        connection.sendall(body)  # today's plain clients read nothing before they have sent all
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 413 " if key == KEY else b"HTTP/1.1 401 ")


def command(folder: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "nlgauge", "serve", "--port", "0", "--preload", "--data", str(folder), *flags]


def refused(arguments: list[str], **more: Any) -> str:
    """The one line that a service which cannot start leaves on stderr."""
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=300, **more)
    assert ended.returncode == 1, ended.stderr
    (line,) = ended.stderr.splitlines()
    return line


def test_second_service_in_a_folder_gives_one_line_of_error(running: Running) -> None:
    folder = running.log.parent / "data"
    expected = f"nlgauge: error: folder {str(folder)!r} is in use by another running service; choose another folder"
    assert refused(command(folder)).startswith(expected)


def test_used_port_gives_one_line_of_error(running: Running, tmp_path: Path) -> None:
    assert f"port {running.port}: Address already in use" in refused(command(tmp_path, "--port", str(running.port)))


def test_file_instead_of_a_folder_gives_one_line_of_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("texts\n")
    assert f"--data {str(tmp_path / 'file')!r} is a file; name a folder" in refused(command(tmp_path / "file"))


FULL = """\
import sqlite3, sys
class Full(sqlite3.Connection):
    def execute(self, *given):
        if "journal_mode" in given[0]:
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(*given)
connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: connect(*given, factory=Full, **named)
from nlgauge.apps.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_full_disk_at_start_gives_one_line_of_error(tmp_path: Path) -> None:
    simulated = [sys.executable, "-c", FULL, *command(tmp_path)[3:]]
    assert f"cannot store jobs in {str(tmp_path)!r}: database or disk is full" in refused(simulated)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own without a free byte, where the tests may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a file system cannot be mounted here")
    try:
        with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 4096)
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_full_disk_gives_one_line_of_error(full_disk: Path) -> None:
    (full_disk / "data").mkdir()
    assert f"cannot store jobs in {str(full_disk / 'data')!r}: " in refused(command(full_disk / "data"))


def test_another_address_needs_a_key(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nlgauge", "serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "NLGAUGE_API_KEY"}
    refused = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert refused.returncode == 2
    assert "--insecure" in refused.stderr
    short = subprocess.run(
        command, capture_output=True, text=True, env={**environment, "NLGAUGE_API_KEY": "abc"}, timeout=300
    )
    assert short.returncode == 2
    assert "abc" not in short.stderr


@pytest.mark.slow
def test_with_a_key_it_listens_everywhere_and_says_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{KEY}\n")
    flags = ("--host", "0.0.0.0", "--key-file", str(tmp_path / "keys"), "--preload")
    with started(tmp_path, *flags) as service:
        url = f"http://127.0.0.1:{service.port}"
        service.url = url
        assert service.get("/v1").status_code == 401
        assert service.get("/v1", headers={"x-api-key": KEY}).status_code == 200
    assert KEY not in service.log.read_text()


@pytest.mark.slow
def test_stop_finishes_current_requests(tmp_path: Path) -> None:
    with started(tmp_path) as service:
        running = service.post("/v1/jobs/score", {"hyps": ["A text."] * 2000, "refs": ["A text!"] * 2000}).json()[
            "id"
        ]
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(300) == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "jobs.sqlite3")) as base:
        ((name, state),) = base.execute("SELECT id, state FROM jobs")
    assert name == running
    assert state in {"done", "interrupted", "queued"}  # whichever it was, it is not left running


@pytest.mark.slow
def test_stop_does_not_wait_for_event_streams(tmp_path: Path) -> None:
    with started(tmp_path, "--stop-seconds", "3600") as service:
        texts = [f"A text with the number {number}." for number in range(1000)]
        body = {"hyps": texts, "refs": texts[::-1]}
        # The last one is not begun any more, so whoever watches it would be waited for as long as a stop may take.
        names = [service.post("/v1/jobs/score", body).json()["id"] for _ in range(4)]
        watcher = socket.create_connection(("127.0.0.1", service.port))
        watcher.sendall(f"GET /v1/jobs/{names[-1]}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert b"text/event-stream" in watcher.recv(4096)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(300) == 0
        watcher.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "jobs.sqlite3")) as base:
        states = dict(base.execute("SELECT id, state FROM jobs"))
    assert states[names[0]] == "done"
    assert states[names[-1]] == "queued"


@pytest.mark.slow
def test_a_kill_during_a_hundred_jobs_loses_no_finished_one(tmp_path: Path) -> None:
    with started(tmp_path) as service:
        names = []
        for number in range(100):
            texts = [f"Sentence {number} of {count} is here." for count in range(150)]
            names.append(service.post("/v1/jobs/score", {"hyps": texts, "refs": texts[::-1]}).json()["id"])
        until = time.monotonic() + 600
        while service.get(f"/v1/jobs/{names[19]}").json()["state"] != "done" and time.monotonic() < until:
            time.sleep(0.05)
        finished = {name: service.get(f"/v1/jobs/{name}/result").content for name in names[:20]}
        assert service.get(f"/v1/jobs/{names[-1]}").json()["state"] == "queued"
        service.process.kill()
        service.process.wait()
    with started(tmp_path) as again:
        states = [again.get(f"/v1/jobs/{name}").json()["state"] for name in names]
        assert set(states) <= {"done", "interrupted", "queued", "running"}
        assert states.count("interrupted") <= 1
        for name, content in finished.items():
            assert again.get(f"/v1/jobs/{name}/result").content == content


@pytest.mark.long
def test_memory_stays_flat_over_many_requests(tmp_path: Path) -> None:
    def resident(service: Running) -> float:
        lines = service.get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith("process_resident_memory_bytes")).split()[1])

    with started(tmp_path, "--max-rate", "100000") as service:
        body = json.dumps(PAIR).encode()
        request = HEAD + b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body

        def ask(count: int) -> None:
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                stream = connection.makefile("rb")
                for _ in range(count):
                    connection.sendall(request)
                    length = 0
                    while (line := stream.readline()) != b"\r\n":
                        if line.lower().startswith(b"content-length"):
                            length = int(line.split()[1])
                    stream.read(length)

        ask(5_000)
        before = resident(service)
        ask(45_000)
        after = resident(service)
        print(f"resident after 5,000 and 50,000 requests: {before / 1e6:.1f} and {after / 1e6:.1f} MB")
        assert after < before * 1.05
