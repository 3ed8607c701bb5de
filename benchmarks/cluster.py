"""Compare shards with one call on the same pairs: `python -m benchmarks.cluster`.

Answers three questions on a quiet machine. What is the overhead of shards, parts and the plan over `nlgauge.score`
(targets: 10 % in total, 50 ms per shard)? How much faster are two single-threaded workers than one (target: 1.8x)?
Are the scores equal? Contestants take turns, each in its own process, and the best round of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.corpus import pairs
from benchmarks.harness import Bar, machine, say

__all__ = ["main"]

#: Largest overhead of shards over one call: as a share, and in seconds per shard.
_SHARE, _SECONDS = 0.10, 0.050

#: Smallest speed-up of two workers over one.
_SPEED_UP = 1.8

_CONTESTANTS = {
    "one call, one thread": ("call", 0),
    "shards in this process, one thread": ("local", 1),
    "one worker process of one thread": ("pool", 1),
    "two worker processes of one thread": ("pool", 2),
    "one Ray actor of one thread": ("ray", 1),
    "two Ray actors of one thread": ("ray", 2),
}


def main(argv: list[str] | None = None) -> int:
    """Print the times, and whether the targets are reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument(
        "--pairs", type=int, default=20_000, metavar="N", help="number of pairs (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds (%(default)s)")
    parser.add_argument("--without-ray", action="store_true", help="run local processes only")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)  # how a contestant is called
    args = parser.parse_args(argv)
    if args.run is not None:
        return _contestant(args.run[0], int(args.run[1]), Path(args.run[2]))
    for key, value in machine(("onnxruntime", "ray", "pyarrow")).items():
        say(f"{key}: {value}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_table(folder, args.pairs)
        chosen = {label: what for label, what in _CONTESTANTS.items() if not (args.without_ray and what[0] == "ray")}
        results = _race(folder, chosen, args.repeats)
    _tell(results, args.pairs)
    return 0


def _write_table(folder: Path, count: int) -> None:
    """Write pairs as JSONL, each made unique by its number."""
    texts = pairs()
    say(f"{count} pairs of {texts.origin}")
    with open(folder / "pairs.jsonl", "w", encoding="utf-8") as file:
        for i in range(count):
            hyp = f"{texts.hypotheses[i % len(texts.hypotheses)]} {i}"
            ref = f"{texts.references[i % len(texts.references)]} {i}"
            file.write(json.dumps({"id": i, "hyp": hyp, "ref": ref}) + "\n")


def _race(folder: Path, chosen: dict[str, tuple[str, int]], repeats: int) -> dict[str, dict[str, float]]:
    best: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for label, (kind, workers) in chosen.items():
            command = [sys.executable, "-m", "benchmarks.cluster", "--run", kind, str(workers), str(folder)]
            result: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            if label not in best or result["seconds"] < best[label]["seconds"]:
                best[label] = result
    return best


def _contestant(kind: str, workers: int, folder: Path) -> int:
    """Score the table once and print the time, which includes loading models and starting workers."""
    import nlgauge
    import nlgauge.apps.cluster as many

    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    hyps, refs = ([row[name] for row in rows] for name in ("hyp", "ref"))
    with tempfile.TemporaryDirectory(dir=folder) as parts:
        began, shards = time.perf_counter(), 0
        if kind == "call":
            score = nlgauge.score(hyps, refs, threads=1).system_score
        else:
            executor: many.Executor = many.Local(1)
            if kind == "pool":
                executor = many.Local(workers, memory=1000.0)  # a bound, so that one worker is a process too
            elif kind == "ray":
                os.environ.setdefault("RAY_worker_niceness", "0")
                executor = many.Ray(workers=workers)
            shards = many.score(folder / "pairs.jsonl", parts, executor=executor, threads=1).shards
            score = many.merge(parts).scores[0].system_score
        seconds = time.perf_counter() - began
    # On a machine that is never quiet, processor time still compares contestants that work in this process.
    print(json.dumps({"seconds": seconds, "processor": time.process_time(), "shards": shards, "score": score}))
    return 0


def _tell(results: dict[str, dict[str, float]], count: int) -> None:
    for label, result in results.items():
        rate = count / result["seconds"]
        say(f"{label:36} {result['seconds']:8.2f} s  {rate:7.0f} pairs/s  {result['shards']:5.0f} shards")
        say(f"{'':36} {result['processor']:8.2f} s of CPU time of this process")
    scores = {result["score"] for result in results.values()}
    say(f"equal scores: {'yes' if len(scores) == 1 else f'no: {scores}'}")
    labels = list(_CONTESTANTS)
    call, local = results[labels[0]], results[labels[1]]
    extra = local["seconds"] - call["seconds"]
    bars = [
        Bar("overhead of shards, share of time", extra / call["seconds"], _SHARE, at_most=True),
        Bar("overhead per shard, seconds", extra / local["shards"], _SECONDS, at_most=True),
    ]
    for single, double in ((labels[2], labels[3]), (labels[4], labels[5])):
        if single in results:
            ratio = results[single]["seconds"] / results[double]["seconds"]
            bars.append(Bar(f"{double}, speed-up over one", ratio, _SPEED_UP))
    for bar in bars:
        say(str(bar))


if __name__ == "__main__":
    sys.exit(main())
