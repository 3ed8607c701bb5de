"""How long a full comparison of metrics with people takes: `make bench-meta`.

Generated scores of 3,000 segments x 15 systems for ten metrics. The bar is on all pairs of metrics tested by
PERM-BOTH on Pearson (segment level) plus soft pairwise accuracy of every metric, 1,000 resamples each. The
other levels, acc_eq and hybrid super-sampling are timed apart.
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
from nlgauge.meta import (
    MetricScores,
    compare_metrics,
    compare_tie_accuracies,
    hybrid_results,
    pairwise_difference_pearson,
    soft_pairwise_accuracies,
    tie_calibrated_accuracy,
)

__all__ = ["main"]

_LIMIT_S = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Time each part once and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.meta", description=__doc__)
    parser.add_argument("--segments", type=int, default=3000, help="default: 3000")
    parser.add_argument("--systems", type=int, default=15, help="default: 15")
    parser.add_argument("--metrics", type=int, default=10, help="default: 10")
    parser.add_argument("--resamples", type=int, default=1000, help="default: 1000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file as well")
    options = parser.parse_args(argv)
    metrics, human = made_scores(options.segments, options.systems, options.metrics)
    draws: int = options.resamples
    parts: dict[str, Callable[[], object]] = {
        "PERM-BOTH, all pairs, segment level": lambda: compare_metrics(metrics, human, resamples=draws),
        "SPA of every metric": lambda: soft_pairwise_accuracies(metrics, human, resamples=draws),
        "acc_eq with calibration, every metric": lambda: [tie_calibrated_accuracy(m, human) for m in metrics],
        "acc_eq, all pairs tested": lambda: compare_tie_accuracies(metrics, human, resamples=draws),
        "PERM-BOTH, all pairs, item level": lambda: compare_metrics(metrics, human, level="item", resamples=draws),
        "PERM-BOTH, all pairs, system level": lambda: compare_metrics(
            metrics, human, level="system", resamples=draws
        ),
        "bootstrap, all pairs, segment level": lambda: compare_metrics(
            metrics, human, test="bootstrap", resamples=draws
        ),
        "pairwise-difference Pearson, every metric": lambda: [pairwise_difference_pearson(m, human) for m in metrics],
        "hybrids (10,000; best of 100, 100,000 times)": lambda: hybrid_results(metrics, human),
    }
    seconds = {}
    for name, run in parts.items():
        start = time.perf_counter()
        run()
        seconds[name] = time.perf_counter() - start
        say(f"{name}: {seconds[name]:.2f} s")
    about = machine(["numpy", "scipy"])
    first, second = list(parts)[:2]
    bar = Bar("PERM-BOTH on Pearson plus SPA", seconds[first] + seconds[second], _LIMIT_S, "s", at_most=True)
    print(f"{options.segments} segments x {options.systems} systems x {options.metrics} metrics, {draws} resamples")
    for name, taken in seconds.items():
        print(f"{name:<48}{taken:>8.2f} s")
    print(f"{'peak RSS':<48}{peak_rss():>8.2f} GB")
    print("; ".join(f"{key} {value}" for key, value in about.items()), end="\n\n")
    print(bar)
    if options.json:
        report = {"machine": about, "seconds": seconds, "limit_s": _LIMIT_S, "reached": bar.reached}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def made_scores(segments: int, systems: int, metrics: int) -> tuple[list[MetricScores], NDArray[np.float64]]:
    """Human scores on a scale of 0 to 100 in steps of 5, and metrics that follow them less and less."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(systems, 1)) / 4 + rng.normal(size=segments) / 2 + rng.normal(size=(systems, segments))
    human = np.clip(np.round((50 + 20 * quality) / 5) * 5, 0, 100)
    noise = np.linspace(0.5, 2.0, metrics)
    return [
        MetricScores(f"metric-{index}", quality + level * rng.normal(size=quality.shape))
        for index, level in enumerate(noise)
    ], human


if __name__ == "__main__":
    sys.exit(main())
