"""Time of `nlgauge compare --gate --until-certain`: `python -m benchmarks.early_stopping --at DATA`.

Pairs of WMT systems are compared on the first segments of their files: by the gate that stops early, by the gate on
all segments, and by `sacrebleu --paired-bs`. Each is a process of its own, so its start counts. The three take turns,
and ratios are medians over the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Bar
from nlgauge.data.loaders.wmt import WmtPackage

__all__ = ["main"]

_SACREBLEU = "sacrebleu --paired-bs"


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per pair, and the medians."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.early_stopping",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    home = os.environ.get("NLGAUGE_DATA")
    parser.add_argument("--at", type=Path, default=home, required=home is None, help="data folder ($NLGAUGE_DATA)")
    parser.add_argument("--data", default="wmt17", help="WMT package (default: wmt17)")
    parser.add_argument("--langpairs", nargs="+", default=["cs-en", "de-en", "fi-en", "ru-en", "tr-en"])
    parser.add_argument("--pairs", type=int, default=2, help="pairs of systems per language pair (default: 2)")
    parser.add_argument("--segments", type=int, default=3000)
    parser.add_argument("--metric", default="bertscore")
    parser.add_argument("--threads", type=int, help="threads of nlgauge (default: all)")
    options = parser.parse_args(argv)
    print("| systems | segments used | until certain s | all segments s | sacrebleu s | CPU s | CPU s | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    shares: list[tuple[float, float]] = []
    cpu_shares: list[tuple[float, float]] = []
    for langpair in options.langpairs:
        for first, second in _pairs(langpair, options):
            with tempfile.TemporaryDirectory() as folder:
                times, used = _time(langpair, (first, second), Path(folder), options)
            walls, cpus = zip(*times, strict=True)
            shares.append((walls[0] / walls[1], walls[0] / walls[2]))
            cpu_shares.append((cpus[0] / cpus[1], cpus[0] / cpus[2]))
            numbers = " | ".join(f"{seconds:.1f}" for seconds in (*walls, *cpus))
            print(f"| {langpair} {first}, {second} | {used} | {numbers} |", flush=True)
    for clock, ratios in (("time", shares), ("CPU time", cpu_shares)):
        of_full, of_sacrebleu = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(Bar(f"{clock} relative to all segments, median", of_full, 0.2, at_most=True))
        print(Bar(f"{clock} relative to {_SACREBLEU}, median", of_sacrebleu, 3.0, at_most=True))
    return 0


def _package(options: argparse.Namespace) -> WmtPackage:
    return WmtPackage(options.at / options.data, 2000 + int(options.data.removeprefix("wmt")))


def _pairs(langpair: str, options: argparse.Namespace) -> list[tuple[str, str]]:
    """Random pairs of systems."""
    systems = list(_package(options).outputs[langpair])
    first, second = np.triu_indices(len(systems), 1)
    chosen = np.random.default_rng(1).choice(len(first), min(options.pairs, len(first)), replace=False)
    return [(systems[first[pair]], systems[second[pair]]) for pair in chosen]


def _time(
    langpair: str, systems: tuple[str, str], folder: Path, options: argparse.Namespace
) -> tuple[list[tuple[float, float]], str]:
    """Wall and CPU seconds of the three commands, and the segments that early stopping used."""
    package = _package(options)
    files = []
    for name, system in zip(("base", "new"), systems, strict=True):
        documents = package.documents(langpair, system)
        files.append(folder / f"{name}.txt")
        _write(files[-1], documents.hypotheses[: options.segments])
    _write(folder / "ref.txt", [group[0] for group in documents.references[: options.segments]])
    reference = str(folder / "ref.txt")
    scripts = Path(sysconfig.get_path("scripts"))
    threads = [] if options.threads is None else ["--threads", str(options.threads)]
    gate = [sys.executable, "-m", "nlgauge", "compare", *map(str, files), "--refs", reference, "-m", options.metric]
    gate += ["--gate", "--empty", "zero", "-q", *threads]
    early = folder / "early.json"
    commands = [
        [*gate, "--until-certain", "-f", "json", "-o", str(early)],
        gate,
        [
            str(scripts / "sacrebleu"),
            reference,
            "-i",
            *map(str, files),
            "--paired-bs",
            "-m",
            "bleu",
            "chrf",
            "-f",
            "text",
        ],
    ]
    times = [_run(command) for command in commands]
    return times, _used(json.loads(early.read_text(encoding="utf-8")))


def _write(file: Path, lines: Sequence[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _run(command: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU seconds; a gate that fails is a result, too."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - began, os.times()
    if done.returncode not in (0, 3):
        msg = f"{' '.join(command)} ended with status {done.returncode}: {done.stderr}"
        raise RuntimeError(msg)
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def _used(record: dict[str, Any]) -> str:
    """Segments used, of all."""
    (pair,) = record["metrics"][0]["pairs"]
    return f"{pair['segments']} of {pair['of_segments']}"


if __name__ == "__main__":
    sys.exit(main())
