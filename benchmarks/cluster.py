"""Shards beside one call on the same pairs: `python -m benchmarks.cluster`.

Three questions, on a quiet machine. What do shards, parts and the plan cost beside `nlgauge.score` (bars: 10 % in
all, 50 ms for each shard)? How much faster are two workers of one thread than one (bar: 1.8x)? Are the numbers equal?
Contestants take turns, each in a process of its own, and the best round of each counts.
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

#: What shards may cost beside one call: as a share, and in seconds for each of them.
_SHARE, _SECONDS = 0.10, 0.050

#: How much faster two workers should be than one.
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
    """Print the times side by side, and whether the bars hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000, metavar="N", help="to be scored (%(default)s)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds (%(default)s)")
    parser.add_argument("--without-ray", action="store_true", help="processes of this machine only")
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
        found = _race(folder, chosen, args.repeats)
    _tell(found, args.pairs)
    return 0


def _write_table(folder: Path, count: int) -> None:
    """Pairs as JSONL, each made different from the others by its number."""
    texts = pairs()
    say(f"{count} pairs of {texts.origin}")
    with open(folder / "pairs.jsonl", "w", encoding="utf-8") as file:
        for at in range(count):
            hyp = f"{texts.hypotheses[at % len(texts.hypotheses)]} {at}"
            ref = f"{texts.references[at % len(texts.references)]} {at}"
            file.write(json.dumps({"id": at, "hyp": hyp, "ref": ref}) + "\n")


def _race(folder: Path, chosen: dict[str, tuple[str, int]], repeats: int) -> dict[str, dict[str, float]]:
    best: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for label, (kind, workers) in chosen.items():
            command = [sys.executable, "-m", "benchmarks.cluster", "--run", kind, str(workers), str(folder)]
            made: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            if label not in best or made["seconds"] < best[label]["seconds"]:
                best[label] = made
    return best


def _contestant(kind: str, workers: int, folder: Path) -> int:
    """Score the table once, and say how long it took, models and workers loaded on the way."""
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


def _tell(found: dict[str, dict[str, float]], count: int) -> None:
    for label, made in found.items():
        rate = count / made["seconds"]
        say(f"{label:36} {made['seconds']:8.2f} s  {rate:7.0f} pairs/s  {made['shards']:5.0f} shards")
        say(f"{'':36} {made['processor']:8.2f} s of this process's processor time")
    scores = {made["score"] for made in found.values()}
    say(f"equal scores: {'yes' if len(scores) == 1 else f'no: {scores}'}")
    labels = list(_CONTESTANTS)
    call, local = found[labels[0]], found[labels[1]]
    extra = local["seconds"] - call["seconds"]
    bars = [
        Bar("share of time that shards cost", extra / call["seconds"], _SHARE, at_most=True),
        Bar("seconds that a shard costs", extra / local["shards"], _SECONDS, at_most=True),
    ]
    for one, two in ((labels[2], labels[3]), (labels[4], labels[5])):
        if one in found:
            ratio = found[one]["seconds"] / found[two]["seconds"]
            bars.append(Bar(f"{two} beside one", ratio, _SPEED_UP))
    for bar in bars:
        say(str(bar))


if __name__ == "__main__":
    sys.exit(main())
