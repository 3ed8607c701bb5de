"""Run a command in a network namespace with only loopback, and trace its network and file calls with strace.

The program `python network_namespace.py TRACE SECONDS COMMAND ...` runs within the namespace. With SECONDS above zero
the command is a service, which gets one request and runs for that time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

#: Calls that open a connection or change a file.
_NETWORK_CALLS = {"socket", "connect", "sendto", "sendmsg", "sendmmsg"}
_FILE_CALLS = {"open", "openat", "creat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat"}
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41

#: Local addresses of socket calls.
_LOOPBACK = re.compile(r'inet_addr\("127\.|inet_pton\(AF_INET6, "(::1|::ffff:127\.)')


class Behaviour(NamedTuple):
    """Traced behaviour of a command."""

    status: int
    out: str
    err: str
    #: Calls with a remote address, and sockets of other families than IP and Unix.
    network_calls: list[str]
    #: Paths opened for writing, created or renamed.
    written: list[Path]


def missing_tool() -> str | None:
    """Reason why commands cannot be traced on this machine, or None."""
    for tool in ("unshare", "strace"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (make network-tools)"
    attempt = subprocess.run(["unshare", "--net", "strace", "-o", os.devnull, "true"], capture_output=True, text=True)
    return f"network namespaces are not permitted: {attempt.stderr.strip()}" if attempt.returncode else None


def run_without_network(
    arguments: Sequence[str], *, folder: Path, environment: dict[str, str], serve_seconds: float = 0
) -> Behaviour:
    """Run `nlgauge ARGUMENTS` in `folder` with only the given environment."""
    command = [sys.executable, "-m", "nlgauge", *arguments]
    trace = folder.parent / f"{folder.name}.strace"
    process = subprocess.run(
        ["unshare", "--net", sys.executable, __file__, str(trace), str(serve_seconds), *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    calls = _join_calls(trace.read_text(encoding="utf-8").splitlines())
    network = [call for call in calls if _is_remote(call)]
    return Behaviour(
        process.returncode, process.stdout, process.stderr, network, sorted(set(_written_paths(calls, folder)))
    )


def _join_calls(lines: Iterable[str]) -> list[str]:
    """Calls without their process; strace splits an interrupted call into two lines, the second with its result."""
    calls, unfinished = [], dict[str, str]()
    for line in lines:
        process, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            unfinished[process] = call.removesuffix("<unfinished ...>")
        elif resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", call):
            calls.append(unfinished.pop(process, "") + resumed[1])
        else:
            calls.append(call)
    return calls + list(unfinished.values())


def _is_remote(call: str) -> bool:
    if call.startswith("socket("):
        return not call.startswith(("socket(AF_UNIX", "socket(AF_INET, SOCK_STREAM", "socket(AF_INET6, SOCK_STREAM"))
    return "sa_family=AF_INET" in call and _LOOPBACK.search(call) is None


def _written_paths(calls: Iterable[str], folder: Path) -> Iterable[Path]:
    for call in calls:
        name, _, rest = call.partition("(")
        if name not in _FILE_CALLS or " = -1 " in rest:
            continue
        if name in {"open", "openat"} and not re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", rest):
            continue
        # strace adds the path to each descriptor: openat(5</cache/graphs>, "new.tmp", ...
        for parent, path in re.findall(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"', rest):
            yield Path(parent or folder, path)


def _bring_loopback_up() -> None:
    import fcntl  # available on Linux only, but this module is imported everywhere

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP_RUNNING))


def _request_score(address: str) -> None:
    """Request a score from a service and print it."""
    texts = {"hyps": ["A cat sat on the mat."], "refs": ["The cat sat on the mat."]}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/v1/score", json.dumps(texts).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        print(answer.read().decode())


def _run_within(trace: str, seconds: float, command: Sequence[str]) -> int:
    _bring_loopback_up()
    calls = ",".join(sorted(_NETWORK_CALLS | _FILE_CALLS))
    strace = ["strace", "-f", "-y", "-s", "4096", "-e", f"trace={calls}", "-o", trace]
    if not seconds:
        return subprocess.run([*strace, *command]).returncode
    # With -D the service is the child; strace is a separate process that ends (and closes stderr) after it.
    with subprocess.Popen([*strace, "-D", *command], stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        try:
            line = service.stderr.readline()
            _request_score(line.split()[-1])
            time.sleep(seconds)
        finally:
            service.send_signal(signal.SIGTERM)
            print(line, service.stderr.read(), file=sys.stderr)
    return service.returncode


if __name__ == "__main__":
    sys.exit(_run_within(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
