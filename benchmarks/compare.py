"""Time comparisons of systems: `make bench-compare`.

Uses generated scores of 3,000 segments. Targets apply to Bradley-Terry with 1,000 bootstrap resamples for 50 systems,
and to all pairs of 20 systems under three metrics with 10,000 resamples. Other tests and corpus scores are timed
separately.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, machine, peak_rss, say
from nlgauge.core.score_table import ScoreTable
from nlgauge.stats.corpus_counts import CorpusCounts
from nlgauge.studies.compare.comparison import TESTS, CompareSettings
from nlgauge.studies.compare.paired_tests import strength_draws
from nlgauge.studies.compare.rankings import win_counts
from nlgauge.studies.compare.strengths import bradley_terry
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.compare.systems import compare_systems

__all__ = ["main"]

_STRENGTHS_S, _PAIRS_S = 3.0, 10.0


def main(argv: Sequence[str] | None = None) -> int:
    """Time each part once and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--segments", type=int, default=3000, help="default: 3000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    options = parser.parse_args(argv)
    n: int = options.segments
    many = made_scores(n, 50, "metric")
    three = [made_scores(n, 20, f"metric-{number}") for number in range(3)]
    corpus = [corpus_scores(n, 20)]
    settings = CompareSettings(tests_shown=())

    def strengths() -> None:
        bradley_terry(win_counts(many.oriented))
        strength_draws(many, settings)

    parts: dict[str, Callable[[], object]] = {
        "Bradley-Terry, 50 systems, 1,000 resamples": strengths,
        "20 systems x 3 metrics, bootstrap of 10,000": lambda: compare_systems(three, settings=settings),
        "... with all tests": lambda: compare_systems(three, tests_shown=TESTS),
        "... over documents of ten segments": lambda: compare_systems(
            [in_documents(scores) for scores in three], settings=settings
        ),
        "20 systems, corpus score, randomisation": lambda: compare_systems(
            corpus, test="randomisation", tests_shown=()
        ),
        "50 systems, everything but ratings": lambda: compare_systems([many]),
        "20 systems, Elo and TrueSkill": lambda: compare_systems(three[:1], settings=settings, ratings=True),
    }
    compare_systems([made_scores(30, 3, "warm-up")])  # imports
    seconds, processor = {}, {}
    for name, run in parts.items():
        start, used = time.perf_counter(), time.process_time()
        run()
        seconds[name], processor[name] = time.perf_counter() - start, time.process_time() - used
        say(f"{name}: {seconds[name]:.2f} s")
    environment = machine(["numpy", "scipy"])
    first, second = list(parts)[:2]
    bars = [
        Bar(first, seconds[first], _STRENGTHS_S, "s", at_most=True),
        Bar(second, seconds[second], _PAIRS_S, "s", at_most=True),
    ]
    print(f"{n} segments{'':<40}{'s':>6}{'CPU s':>22}")
    for name, elapsed in seconds.items():
        print(f"{name:<48}{elapsed:>8.2f}{processor[name]:>22.2f}")
    print(f"{'peak RSS':<48}{peak_rss():>8.2f} GB")
    print("; ".join(f"{key} {value}" for key, value in environment.items()), end="\n\n")
    print(*bars, sep="\n")
    if options.json:
        report = {"machine": environment, "seconds": seconds, "processor": processor, "peak_gb": peak_rss()}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def made_scores(segments: int, systems: int, metric: str) -> SystemScores:
    """Generate scores of slightly different systems on segments of unequal difficulty."""
    rng = np.random.default_rng(len(metric) + systems)
    values = rng.normal(size=(segments, 1)) + np.linspace(0, 0.3, systems) + rng.normal(size=(segments, systems))
    columns = {f"system-{i}": values[:, i] for i in range(systems)}
    return SystemScores(ScoreTable.from_numbers(metric, columns))


def in_documents(scores: SystemScores) -> SystemScores:
    """Group the segments into documents of ten."""
    documents = tuple(str(i // 10) for i in range(scores.n))
    return replace(scores, documents=documents)


def corpus_scores(segments: int, systems: int) -> SystemScores:
    """Generate corpus scores with ten BLEU counts per segment and system."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 30, size=(segments, systems, 10)).astype(np.float64)
    columns = {f"system-{i}": counts[:, i, 0] / counts[:, i, 1] for i in range(systems)}
    scores = (
        replace(score, corpus={"score": score.mean}, statistics=CorpusCounts("bleu:exp", counts[:, i]))
        for i, score in enumerate(ScoreTable.from_numbers("corpus", columns))
    )
    return SystemScores(ScoreTable(tuple(scores)))


if __name__ == "__main__":
    sys.exit(main())
