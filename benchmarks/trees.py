"""Compare the speed of this working tree with another one: `python -m benchmarks.trees FOLDER`.

Each tree runs in its own process with the model loaded. The two take turns; the result is the ratio of their best
rounds in wall time and CPU time. The last column shows whether scores are bit-identical.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nlgauge
from benchmarks.corpus import pairs, systems
from benchmarks.harness import machine, say

__all__ = ["main"]

#: Recipes; `systems` scores ten systems of 500 segments in one call.
_RECIPES = ("bertscore", "moverscore", "moverscore:n=2", "baryscore")
_SYSTEMS = "ten systems, bertscore"

#: Script of a process: it reads the task, then runs one recipe per line of input.
_WORKER = """
import hashlib, json, sys, time, warnings
import numpy as np
import nlgauge
warnings.simplefilter("ignore")
task = json.loads(sys.stdin.readline())
for line in sys.stdin:
    recipe = json.loads(line)
    clock, cpu = time.perf_counter(), time.process_time()
    if recipe == task["systems_name"]:
        scores = nlgauge.score_systems(task["outputs"], task["system_references"], metric="bertscore")
    else:
        scores = [nlgauge.score(task["hypotheses"], task["references"], metric=recipe)]
    spent = [time.perf_counter() - clock, time.process_time() - cpu]
    values = np.concatenate([np.asarray(score.segments[score.main], dtype=np.float64) for score in scores])
    print(json.dumps([*spent, hashlib.sha256(values.tobytes()).hexdigest()]), flush=True)
"""


class _Round(NamedTuple):
    """Wall seconds, CPU seconds, and a digest of the scores."""

    clock: float
    cpu: float
    digest: str


class _Tree:
    """Process that scores with the source of one working tree."""

    def __init__(self, source: Path, task: dict[str, Any]) -> None:
        environment = os.environ | {"PYTHONPATH": str(source)}
        words = [sys.executable, "-c", _WORKER]
        self.process = subprocess.Popen(
            words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.send(task)

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def run(self, recipe: str) -> _Round:
        self.send(recipe)
        assert self.process.stdout is not None
        return _Round(*json.loads(self.process.stdout.readline()))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the recipes in both trees in turn, and print the ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__)
    parser.add_argument("folder", type=Path, help="other working tree")
    parser.add_argument("--repeats", type=int, default=5, help="rounds per recipe (default: 5)")
    options = parser.parse_args(argv)
    texts, outputs = pairs(), systems()
    task = {
        "hypotheses": texts.hypotheses,
        "references": texts.references,
        "outputs": outputs.outputs,
        "system_references": outputs.references,
        "systems_name": _SYSTEMS,
    }
    trees = [_Tree(source, task) for source in (Path(nlgauge.__file__).parents[1], options.folder / "src")]
    print(machine(["onnxruntime", "numpy"]), f"{len(texts.hypotheses):,} pairs of {texts.origin}", sep="\n")
    print(f"{'recipe':24s} {'clock':>7s} {'other':>7s} {'ratio':>6s} {'cpu':>7s} {'other':>7s} {'ratio':>6s}  scores")
    for recipe in (*_RECIPES, _SYSTEMS):
        rounds = []
        for number in range(options.repeats + 1):
            say(f"{recipe}: round {number}/{options.repeats}")
            rounds.append([tree.run(recipe) for tree in trees])
        clocks = [min(turn[side].clock for turn in rounds[1:]) for side in (0, 1)]
        cpus = [min(turn[side].cpu for turn in rounds[1:]) for side in (0, 1)]
        same = "same" if rounds[0][0].digest == rounds[0][1].digest else "DIFFER"
        print(
            f"{recipe:24s}", *(f"{a:7.2f} {b:7.2f} {a / b:6.3f}" for a, b in (clocks, cpus)), f" {same}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
