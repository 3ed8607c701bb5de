"""Measure the start-up time of the command line: `make bench-start`.

Commands take turns, each run in a separate process. The result is the CPU time of the process (user and system, all
threads), which depends less on other processes than wall time. A first, uncounted run caches the model, its graph and
the bytecode.

`--against FOLDER` also runs the commands of another working tree, and prints the ratio of the best runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nlgauge
from benchmarks.harness import Bar, machine

__all__ = ["main"]

#: Seconds that a command may take at most.
_LIMITS = {"score, one pair": 0.7, "--help": 0.3}

_EXAMPLES = Path(__file__).parents[1] / "examples"

#: The commands to measure.
_COMMANDS = {
    "score, one pair": ("score", "hyp.txt", "--refs", "ref.txt", "--quiet"),
    "score, 12 segments": ("score", str(_EXAMPLES / "system-a.txt"), "--refs", str(_EXAMPLES / "reference.txt")),
    "list": ("list",),
    "--help": ("--help",),
    "--version": ("--version",),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the commands in turn and print their CPU times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="runs per command (default: 15)")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another working tree to compare with")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    options = parser.parse_args(argv)
    source = Path(nlgauge.__file__).parents[1]
    times, others = _measure(options.repeats, [source, *([options.against / "src"] if options.against else [])])
    environment = machine(["onnxruntime", "numpy"])
    print("CPU seconds per process, user and system")
    print(
        f"{'command':18s} {'best':>6s} {'median':>7s}" + f" {'other':>6s} {'median':>7s} {'ratio':>6s}" * bool(others)
    )
    for name, seconds in times.items():
        line = f"{name:18s} {min(seconds):6.3f} {statistics.median(seconds):7.3f}"
        if others:
            other = others[name]
            line += f" {min(other):6.3f} {statistics.median(other):7.3f} {min(seconds) / min(other):6.3f}"
        print(line)
    print("; ".join(f"{key} {value}" for key, value in environment.items()), end="\n\n")
    # The best run counts, because other processes only add time.
    bars = [Bar(f"{name}, best", min(times[name]), limit, "s", at_most=True) for name, limit in _LIMITS.items()]
    print(*bars, sep="\n")
    if options.json:
        reached = all(bar.reached for bar in bars)
        report = {"machine": environment, "seconds": times, "limits": _LIMITS, "reached": reached}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _measure(repeats: int, sources: Sequence[Path]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """CPU seconds of each run by command, for the first folder of sources and for the second if there is one."""
    times = [{name: list[float]() for name in _COMMANDS} for _ in sources]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hyp.txt").write_text("The cat sat on the mat.\n", encoding="utf-8")
        (folder / "ref.txt").write_text("The cat was sitting on the mat.\n", encoding="utf-8")
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        for number in range(repeats + 1):
            for command, words in _COMMANDS.items():
                for source, measured in zip(sources, times, strict=True):
                    environment["PYTHONPATH"] = str(source.resolve())
                    environment["PYTHONPYCACHEPREFIX"] = str(folder / f"bytecode-{sources.index(source)}")
                    seconds = _processor_seconds([sys.executable, "-m", "nlgauge", *words], folder, environment)
                    if number:
                        measured[command].append(seconds)
    return times[0], times[1] if len(times) > 1 else {}


def _processor_seconds(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


if __name__ == "__main__":
    sys.exit(main())
