"""How long the command line takes to start: `make bench-start`.

Each command runs in a process of its own, several times, in turn with the others. The figure is the processor time of
the process (user and system, all of its threads), which other processes move less than the time on the clock. The
model, its graph and the bytecode of the modules are there from a first run that does not count.
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

from benchmarks.harness import Bar, machine

__all__ = ["main"]

_LIMIT = 0.7

#: What is started; the first is the one with a bar.
_COMMANDS = {
    "score, one pair": ("score", "hyp.txt", "--refs", "ref.txt", "--quiet"),
    "metrics list": ("metrics", "list"),
    "--version": ("--version",),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the commands in turn, and print what they took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="runs of each command (default: 15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file as well")
    options = parser.parse_args(argv)
    found = _measure(options.repeats)
    about = machine(["onnxruntime", "numpy"])
    print("processor time of a process in seconds, user and system")
    print(f"{'command':18s} {'best':>6s} {'median':>7s}")
    for name, seconds in found.items():
        print(f"{name:18s} {min(seconds):6.2f} {statistics.median(seconds):7.2f}")
    print("; ".join(f"{key} {value}" for key, value in about.items()), end="\n\n")
    # The best run: other processes only ever add time, and most of all to this figure.
    bar = Bar("score of one pair, best", min(next(iter(found.values()))), _LIMIT, "s", at_most=True)
    print(bar)
    if options.json:
        report = {"machine": about, "seconds": found, "limit": _LIMIT, "reached": bar.reached}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _measure(repeats: int) -> dict[str, list[float]]:
    """Processor seconds of each run, by command."""
    found: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hyp.txt").write_text("The cat sat on the mat.\n", encoding="utf-8")
        (folder / "ref.txt").write_text("The cat was sitting on the mat.\n", encoding="utf-8")
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        for number in range(repeats + 1):
            for command, words in _COMMANDS.items():
                seconds = _processor_seconds([sys.executable, "-m", "nlgauge", *words], folder, environment)
                if number:
                    found[command].append(seconds)
    return found


def _processor_seconds(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


if __name__ == "__main__":
    sys.exit(main())
