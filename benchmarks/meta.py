"""Time a full comparison of metrics with human judgements: `make bench-meta`.

Uses generated scores of 3,000 segments x 15 systems for ten metrics. The target applies to all pairs of metrics
tested by PERM-BOTH on Pearson (segment level) plus soft pairwise accuracy of every metric, 1,000 resamples each. The
other levels, acc_eq and hybrid super-sampling are timed separately.

A second target applies to `nlgauge study meta --agreement pearson kendall spearman` after scoring, on a table of
typical size (13 metrics, 8 language pairs of 36 rows: 78 tested pairs of metrics in each, with intervals). Ranks of
longer lists are timed separately.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Bar, machine, peak_rss, say
from nlgauge.data.judgements import JudgementTable
from nlgauge.studies.meta.evaluation import evaluate
from nlgauge.studies.meta.levels import hybrid_results
from nlgauge.studies.meta.pairwise import (
    pairwise_difference_pearson,
    soft_pairwise_accuracies,
    tie_calibrated_accuracy,
)
from nlgauge.studies.meta.ranks import compare_metrics, compare_tie_accuracies
from nlgauge.studies.meta.row_scores import ScoredJudgements, given_rows

__all__ = ["main"]

_LIMIT_S = 60.0
_RANKS_LIMIT_S = 30.0
_RANKS = "13 metrics, 8 pairs x 36 rows: Pearson, Kendall, Spearman"


def main(argv: Sequence[str] | None = None) -> int:
    """Time each part once and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.meta", description=__doc__)
    parser.add_argument("--segments", type=int, default=3000, help="default: 3000")
    parser.add_argument("--systems", type=int, default=15, help="default: 15")
    parser.add_argument("--metrics", type=int, default=10, help="default: 10")
    parser.add_argument("--resamples", type=int, default=1000, help="default: 1000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    options = parser.parse_args(argv)
    metrics, human = made_scores(options.segments, options.systems, options.metrics)
    draws: int = options.resamples
    table = made_table(pairs=8, rows=36, metrics=13)
    few, some = {name: scores[:1] for name, scores in metrics.items()}, human[:1]
    parts: dict[str, Callable[[], object]] = {
        "PERM-BOTH, all pairs, segment level": lambda: compare_metrics(metrics, human, resamples=draws),
        "SPA of every metric": lambda: soft_pairwise_accuracies(metrics, human, resamples=draws),
        "acc_eq with calibration, every metric": lambda: [
            tie_calibrated_accuracy(scores, human) for scores in metrics.values()
        ],
        "acc_eq, all pairs tested": lambda: compare_tie_accuracies(metrics, human, resamples=draws),
        "PERM-BOTH, all pairs, item level": lambda: compare_metrics(metrics, human, level="item", resamples=draws),
        "PERM-BOTH, all pairs, system level": lambda: compare_metrics(
            metrics, human, level="system", resamples=draws
        ),
        "bootstrap, all pairs, segment level": lambda: compare_metrics(
            metrics, human, test="bootstrap", resamples=draws
        ),
        "pairwise-difference Pearson, every metric": lambda: [
            pairwise_difference_pearson(scores, human) for scores in metrics.values()
        ],
        "hybrids (10,000; best of 100, 100,000 times)": lambda: hybrid_results(metrics, human),
        _RANKS: lambda: [evaluate(table, agreement=kind) for kind in ("pearson", "kendall", "spearman")],
        "Kendall, PERM-BOTH, all pairs, one system": lambda: compare_metrics(
            few, some, kind="kendall", resamples=draws
        ),
        "Spearman, PERM-BOTH, all pairs, one system": lambda: compare_metrics(
            few, some, kind="spearman", resamples=draws
        ),
        "Kendall, PERM-BOTH, all pairs, item level": lambda: compare_metrics(
            metrics, human, kind="kendall", level="item", resamples=draws
        ),
    }
    seconds = {}
    for name, run in parts.items():
        start = time.perf_counter()
        run()
        seconds[name] = time.perf_counter() - start
        say(f"{name}: {seconds[name]:.2f} s")
    environment = machine(["numpy", "scipy"])
    first, second = list(parts)[:2]
    bars = [
        Bar("PERM-BOTH on Pearson plus SPA", seconds[first] + seconds[second], _LIMIT_S, "s", at_most=True),
        Bar(_RANKS, seconds[_RANKS], _RANKS_LIMIT_S, "s", at_most=True),
    ]
    print(f"{options.segments} segments x {options.systems} systems x {options.metrics} metrics, {draws} resamples")
    for name, elapsed in seconds.items():
        print(f"{name:<60}{elapsed:>8.2f} s")
    print(f"{'peak RSS':<60}{peak_rss():>8.2f} GB")
    print("; ".join(f"{key} {value}" for key, value in environment.items()), end="\n\n")
    print(*bars, sep="\n")
    if options.json:
        reached = {bar.name: bar.reached for bar in bars}
        report = {
            "machine": environment,
            "seconds": seconds,
            "limits_s": [_LIMIT_S, _RANKS_LIMIT_S],
            "reached": reached,
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def made_scores(
    segments: int, systems: int, metrics: int
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """Generate human scores from 0 to 100 in steps of 5, and metrics of decreasing correlation with them."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(systems, 1)) / 4 + rng.normal(size=segments) / 2 + rng.normal(size=(systems, segments))
    human = np.clip(np.round((50 + 20 * quality) / 5) * 5, 0, 100)
    noise = np.linspace(0.5, 2.0, metrics)
    return {
        f"metric-{index}": quality + level * rng.normal(size=quality.shape) for index, level in enumerate(noise)
    }, human


def made_table(*, pairs: int, rows: int, metrics: int) -> ScoredJudgements:
    """Generate a scored table of several language pairs, with ties in human scores and in some metrics."""
    metric_scores, human = made_scores(rows, pairs, metrics)
    count = pairs * rows
    table = JudgementTable(
        name="made",
        langpair=tuple(f"l{pair}-en" for pair in range(pairs) for _ in range(rows)),
        system=("system",) * count,
        segment=tuple(str(i) for i in range(count)),
        hypothesis=("text",) * count,
        references=(("text",),) * count,
        human={"human": human.ravel()},
        default_criterion="human",
    )
    steps = [0.5 if number % 2 else 1e-6 for number in range(metrics)]
    return ScoredJudgements(
        table,
        tuple(
            given_rows(table, name, np.round(scores.ravel() / step) * step)
            for (name, scores), step in zip(metric_scores.items(), steps, strict=True)
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
