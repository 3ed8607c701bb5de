"""How long the command line takes to start: `make bench-start`.

Each command runs in a process of its own, several times, in turn with the others. The figure is the processor time of
the process (user and system, all of its threads), which other processes move less than the time on the clock. The
model, its graph and the bytecode of the modules are there from a first run that does not count.

`--against FOLDER` runs the commands of another working tree in turn, and prints the ratio of the best runs.
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
    """Run the commands in turn, and print what they took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="runs of each command (default: 15)")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another working tree to compare with")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file as well")
    options = parser.parse_args(argv)
    source = Path(nlgauge.__file__).parents[1]
    found, others = _measure(options.repeats, [source, *([options.against / "src"] if options.against else [])])
    about = machine(["onnxruntime", "numpy"])
    print("processor time of a process in seconds, user and system")
    print(
        f"{'command':18s} {'best':>6s} {'median':>7s}" + f" {'other':>6s} {'median':>7s} {'ratio':>6s}" * bool(others)
    )
    for name, seconds in found.items():
        line = f"{name:18s} {min(seconds):6.3f} {statistics.median(seconds):7.3f}"
        if others:
            other = others[name]
            line += f" {min(other):6.3f} {statistics.median(other):7.3f} {min(seconds) / min(other):6.3f}"
        print(line)
    print("; ".join(f"{key} {value}" for key, value in about.items()), end="\n\n")
    # The best run: other processes only ever add time, and most of all to this figure.
    bars = [Bar(f"{name}, best", min(found[name]), limit, "s", at_most=True) for name, limit in _LIMITS.items()]
    print(*bars, sep="\n")
    if options.json:
        report = {"machine": about, "seconds": found, "limits": _LIMITS, "reached": all(bar.reached for bar in bars)}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _measure(repeats: int, sources: Sequence[Path]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Processor seconds of each run by command, of the first folder of sources and of the second, if there is one."""
    found = [{name: list[float]() for name in _COMMANDS} for _ in sources]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hyp.txt").write_text("The cat sat on the mat.\n", encoding="utf-8")
        (folder / "ref.txt").write_text("The cat was sitting on the mat.\n", encoding="utf-8")
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        for number in range(repeats + 1):
            for command, words in _COMMANDS.items():
                for source, measured in zip(sources, found, strict=True):
                    environment["PYTHONPATH"] = str(source.resolve())
                    environment["PYTHONPYCACHEPREFIX"] = str(folder / f"bytecode-{sources.index(source)}")
                    seconds = _processor_seconds([sys.executable, "-m", "nlgauge", *words], folder, environment)
                    if number:
                        measured[command].append(seconds)
    return found[0], found[1] if len(found) > 1 else {}


def _processor_seconds(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


if __name__ == "__main__":
    sys.exit(main())
