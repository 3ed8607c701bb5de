"""Compare the service under load with the library on the same texts: `python -m benchmarks.service`.

A load generator in a separate process keeps 32 connections to 127.0.0.1 busy with single pairs, for a limited number
of requests and a limited time. In turns with it, the library scores the same pairs in lists of 32 and in one list.
All share one machine, so the work of the load generator counts against the service.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

import nlgauge
from benchmarks.corpus import pairs
from benchmarks.harness import Bar, machine, say

__all__ = ["main", "served"]

#: Target for the rate of the service, as a share of the library's rate on lists of 32.
_BAR = 0.7

#: Largest added latency for a single client, in seconds.
_LONE = 0.005

#: Time limit of a round of requests, in seconds.
_LONGEST = 300.0


class Load(NamedTuple):
    """Times and answers recorded by the load generator."""

    seconds: float
    latencies: list[float]
    answers: list[bytes]
    """In the order of the requests."""


def main(argv: list[str] | None = None) -> int:
    """Print the rates of service and library."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument(
        "--requests", type=int, default=640, metavar="N", help="requests per round (default: %(default)s)"
    )
    parser.add_argument(
        "--clients", type=int, default=32, metavar="N", help="concurrent clients (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds (%(default)s)")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)  # how the load generator is called
    args = parser.parse_args(argv)
    if args.port is not None:
        return _generate(args.port, args.clients)
    texts = pairs()
    count = min(args.requests, len(texts.hypotheses))
    hyps, refs = texts.hypotheses[:count], texts.references[:count]
    say(f"{count} pairs of {texts.origin}")
    rates: dict[str, list[float]] = {"service": [], "lists of 32": [], "one list": []}
    latencies: list[float] = []
    with served() as port:
        _load(port, hyps[:64], refs[:64], args.clients)  # warm-up
        same = _same_bytes(port, hyps[:200], refs[:200], args.clients)
        for number in range(args.repeats):
            load = _load(port, hyps, refs, args.clients)
            latencies += load.latencies
            rates["service"].append(count / load.seconds)
            rates["lists of 32"].append(count / _timed(hyps, refs, 32))
            rates["one list"].append(count / _timed(hyps, refs, count))
            say(f"round {number + 1}: " + ", ".join(f"{name} {rate[-1]:.1f}/s" for name, rate in rates.items()))
        lone = _load(port, hyps[:100], refs[:100], 1)
    alone = [_timed([hyp], [ref], 1) for hyp, ref in zip(hyps[:100], refs[:100], strict=True)]
    return _report(rates, latencies, lone.latencies, alone, args.clients, same=same)


def _report(
    rates: dict[str, list[float]],
    latencies: list[float],
    lone: list[float],
    alone: list[float],
    clients: int,
    *,
    same: bool,
) -> int:
    best = {name: max(values) for name, values in rates.items()}
    print(machine(["onnxruntime", "fastapi", "uvicorn"]))
    for name, rate in best.items():
        print(f"{name:<14}{rate:>8.1f} pairs/s")
    p50, p95, p99 = (1000 * float(np.percentile(latencies, level)) for level in (50, 95, 99))
    print(f"{clients} clients: p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms")
    print(f"answers identical to the library: {'yes' if same else 'no'}")
    print(f"share of the rate of one list: {best['service'] / best['one list']:.2f}")
    added = float(np.median(lone)) - float(np.median(alone))
    print(f"single client: median {1000 * np.median(lone):.1f} ms, library {1000 * np.median(alone):.1f} ms")
    print(f"  difference, with HTTP: {1000 * added:.1f} ms (waiting for a batch: at most {1000 * _LONE:.0f} ms)")
    bar = Bar("share of the rate of lists of 32", best["service"] / best["lists of 32"], _BAR)
    print(bar)
    return 0 if same and bar.reached else 1


def _timed(hyps: list[str], refs: list[str], size: int) -> float:
    start = time.perf_counter()
    for i in range(0, len(hyps), size):
        nlgauge.score(hyps[i : i + size], refs[i : i + size])
    return time.perf_counter() - start


@contextmanager
def served() -> Iterator[int]:
    """Run the service in a separate process, and yield its port."""
    with tempfile.TemporaryDirectory(prefix="nlgauge-bench-") as folder:
        command = [sys.executable, "-m", "nlgauge", "serve", "--port", "0", "--data", folder]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            line = process.stderr.readline()
            # Read the log; otherwise its pipe fills up and blocks the service.
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
            try:
                yield int(line.rpartition(":")[2])
            finally:
                process.terminate()
                process.wait(60)
                drain.wait(10)


def _same_bytes(port: int, hyps: list[str], refs: list[str], clients: int) -> bool:
    """Whether each answer under load is identical to the library's answer for its pair alone."""
    answers = _load(port, hyps, refs, clients).answers
    for hyp, ref, answer in zip(hyps, refs, answers, strict=True):
        alone = nlgauge.score([hyp], [ref]).to_dict()
        if json.dumps(json.loads(answer)["scores"][0]) != json.dumps(alone):
            return False
    return True


def _load(port: int, hyps: list[str], refs: list[str], clients: int) -> Load:
    """Run the load generator once over all pairs."""
    bodies = [json.dumps({"hyps": [hyp], "refs": [ref]}) for hyp, ref in zip(hyps, refs, strict=True)]
    command = [sys.executable, "-m", "benchmarks.service", "--port", str(port), "--clients", str(clients)]
    process = subprocess.run(
        command, input="\n".join(bodies), capture_output=True, text=True, check=True, timeout=_LONGEST
    )
    seconds, *rows = [json.loads(line) for line in process.stdout.splitlines()]
    return Load(seconds, [took for took, _ in rows], [answer.encode() for _, answer in rows])


def _generate(port: int, clients: int) -> int:
    """The load generator: read requests from stdin, one per line; print the total time and each time and answer."""
    bodies = [line.encode() for line in sys.stdin.read().split("\n")]
    head = f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: "
    requests = [head.encode() + str(len(body)).encode() + b"\r\n\r\n" + body for body in bodies]
    answers: list[tuple[float, bytes] | None] = [None] * len(requests)
    waiting = iter(range(len(requests)))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for i in waiting:
            start = time.perf_counter()
            writer.write(requests[i])
            header = await reader.readuntil(b"\r\n\r\n")
            status, _, rest = header.partition(b"\r\n")
            length = int(rest.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answer = await reader.readexactly(length)
            if b" 200 " not in status:
                msg = f"{status!r} {answer!r}"
                raise SystemExit(msg)
            answers[i] = (time.perf_counter() - start, answer)
        writer.close()

    async def all_clients() -> float:
        start = time.perf_counter()
        await asyncio.wait_for(asyncio.gather(*(client() for _ in range(clients))), _LONGEST)
        return time.perf_counter() - start

    print(asyncio.run(all_clients()))
    for row in answers:
        assert row is not None
        print(json.dumps([row[0], row[1].decode()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
