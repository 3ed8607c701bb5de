"""Compare `nlgauge.matrix` with single calls and with one list of all pairs: `python -m benchmarks.matrix`.

Single calls for all pairs would take an hour, so their total is extrapolated from a sample.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

import nlgauge
from benchmarks.corpus import pairs
from benchmarks.harness import Bar, machine, peak_rss, say

__all__ = ["main"]

#: Target speed-up over single calls.
_BAR = 20.0


def main(argv: list[str] | None = None) -> int:
    """Print the time of all pairs by each method."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix", description=__doc__)
    parser.add_argument("--size", type=int, default=500, metavar="N", help="texts per side (default: %(default)s)")
    parser.add_argument(
        "--sample", type=int, default=100, metavar="N", help="single calls to time (default: %(default)s)"
    )
    parser.add_argument(
        "--rows", type=int, default=500, metavar="N", help="rows of the list of pairs (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=2, metavar="N", help="rounds (%(default)s)")
    parser.add_argument("--metric", default="bertscore", help="%(default)s")
    args = parser.parse_args(argv)
    texts = pairs()
    a = list(dict.fromkeys(texts.hypotheses))[: args.size]
    b = list(dict.fromkeys(texts.references))[: args.size]
    rng = np.random.default_rng(0)
    chosen = list(zip(rng.integers(len(a), size=args.sample), rng.integers(len(b), size=args.sample), strict=True))
    rows = sorted(rng.choice(len(a), size=min(args.rows, len(a)), replace=False).tolist())
    count = len(a) * len(b)

    def one_by_one() -> list[float]:
        return [nlgauge.score([a[i]], [b[j]], metric=args.metric).system_score for i, j in chosen]

    def expanded() -> np.ndarray:
        listed = [a[i] for i in rows for _ in b], b * len(rows)
        return nlgauge.score(*listed, metric=args.metric).segments[main_component]

    whole = nlgauge.matrix(a, b, args.metric)  # warm-up, and the expected scores
    main_component = whole.main
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "matrix": (lambda: nlgauge.matrix(a, b, args.metric), count),
        "one list": (expanded, len(rows) * len(b)),
        "one by one": (one_by_one, len(chosen)),
    }
    best = dict.fromkeys(ways, float("inf"))
    for number in range(args.repeats):
        for name, (run, share) in ways.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) / share)
            say(f"round {number + 1}: {name} {1e6 * best[name]:.1f} us per pair")
    same = np.array_equal(one_by_one(), [whole.scores[i, j] for i, j in chosen])
    same = same and np.array_equal(expanded(), whole.scores[rows].ravel())
    print(f"{args.metric}, {len(a)} x {len(b)} texts of {texts.origin}; {machine(['numpy', 'onnxruntime'])}")
    for name, seconds in best.items():
        print(f"{name:<12}{1e6 * seconds:>10.1f} us per pair{seconds * count:>10.1f} s in total")
    print(f"bit-identical: {'yes' if same else 'no'}; peak memory {peak_rss():.2f} GB")
    print(f"{best['one list'] / best['matrix']:.1f}x as fast as one list of all pairs")
    bar = Bar("speed-up over single calls", best["one by one"] / best["matrix"], _BAR, "x")
    print(bar)
    return 0 if same and bar.reached else 1


if __name__ == "__main__":
    sys.exit(main())
