"""Time of MoverScore and BaryScore relative to the bert-score package, in one process: part of `make bench`.

The released MoverScore and BaryScore are not packages and no longer install, so they are not run here. Their times
relative to bert-score (560 pairs, MiniLM, num_layers=6, batch 64) come from an earlier run: MoverScore v1 2.3,
BaryScore 13.4.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nlgauge
from benchmarks.corpus import pairs, systems
from benchmarks.harness import Bar, Contestant, Scores, machine, peak_rss, race, say
from benchmarks.speed import bert_score_contestant, bert_scorer
from nlgauge.encoders.load import default_threads, engines_with

__all__ = ["main"]

_PAIRS = 560

#: Time of the released tools relative to bert-score.
_RELEASED = {"bert-score": 1.0, "MoverScore v1": 2.3, "BaryScore": 13.4}
_THREE = ("bertscore", "moverscore", "baryscore")

#: Name, metrics of one call, highest share of bert-score's time.
_CALLS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("moverscore (v1)", ("moverscore",), 0.72),
    ("baryscore (corrected, W)", ("baryscore",), 0.75),
    ("baryscore (released, W)", ("baryscore:profile=released",), 2.0),
    ("all three in one call", _THREE, 0.85),
)
_SYSTEMS_SHARE = 1 / 30


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print the benchmark; the status is 0 even if a target is missed, because machines are noisy."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.family", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="number of rounds; the best counts (default: 3)")
    parser.add_argument("--tasks", nargs="+", choices=("pairs", "systems"), default=["pairs", "systems"])
    parser.add_argument("--engine", choices=engines_with("fp32"), default="onnx", help="default: onnx")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    options = parser.parse_args(argv)
    threads = default_threads()
    scorer = bert_scorer(threads)
    bars: list[Bar] = []
    for task in options.tasks:
        bars += (_pairs if task == "pairs" else _systems)(scorer, threads, options.repeats, options.engine)
    environment = machine(["onnxruntime", "openvino", "POT", "torch", "transformers", "bert-score"])
    print(
        "; ".join(f"{key} {value}" for key, value in environment.items()) + f"; peak RSS {peak_rss():.2f} GB",
        end="\n\n",
    )
    for bar in bars:
        print(bar)
    if options.json:
        figures = [{"name": bar.name, "value": bar.value, "limit": bar.limit, "reached": bar.reached} for bar in bars]
        options.json.write_text(
            json.dumps({"machine": environment, "bars": figures}, indent=2) + "\n", encoding="utf-8"
        )
    return 0


def _pairs(scorer: Any, threads: int, repeats: int, engine: str) -> list[Bar]:
    hypotheses, references, origin = pairs()
    hypotheses, references = hypotheses[:_PAIRS], references[:_PAIRS]
    say(f"{len(hypotheses)} pairs ({origin})")
    contestants = [bert_score_contestant(scorer, {"": hypotheses}, references, 0)]
    contestants += [
        Contestant(name, _nlgauge({"": hypotheses}, references, metrics, threads, engine), 0)
        for name, metrics, _ in _CALLS
    ]
    rival, *ours = race(contestants, repeats)
    print(f"{len(hypotheses)} pairs ({origin}): best of {repeats}, bert-score {rival.best:.2f} s = 1")
    for timing in ours:
        print(f"{timing.contestant.name:<28}{timing.best:>8.2f} s{timing.best / rival.best:>8.2f}")
    print()
    return [
        Bar(f"pairs: {name}", timing.best / rival.best, most, at_most=True)
        for timing, (name, _, most) in zip(ours, _CALLS, strict=True)
    ]


def _systems(scorer: Any, threads: int, repeats: int, engine: str) -> list[Bar]:
    """Compare three metrics of ten systems in one call with one call per released tool and system."""
    outputs, references, origin = systems(10, 500)
    say(f"{len(outputs)} systems x {len(references)} segments ({origin})")
    contestants = [
        bert_score_contestant(scorer, outputs, references, 0),
        Contestant("all three in one call", _nlgauge(outputs, references, _THREE, threads, engine), 0),
    ]
    rival, ours = race(contestants, repeats)
    released = rival.best * sum(_RELEASED.values())
    print(f"{len(outputs)} systems x {len(references)} segments ({origin}), best of {repeats}")
    print(f"bert-score, ten calls {rival.best:.2f} s; the three released tools, by ratio, {released:.0f} s")
    print(f"nlgauge, three metrics in one call {ours.best:.2f} s", end="\n\n")
    return [Bar("systems: share of the released tools' time", ours.best / released, _SYSTEMS_SHARE, at_most=True)]


def _nlgauge(
    outputs: dict[str, list[str]], references: list[str], metrics: Sequence[str], threads: int, engine: str
) -> Callable[[], Scores]:
    def run() -> Scores:
        scores = nlgauge.score_systems(outputs, references, metric=metrics, threads=threads, engine=engine)
        return np.stack([score.segments[score.main] for score in scores], axis=1)

    return run


if __name__ == "__main__":
    sys.exit(main())
