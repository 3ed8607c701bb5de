"""All texts of a list against all of another, beside the same pairs one by one: `python -m benchmarks.matrix`.

The pairs one by one would take an hour: a sample of them is timed, and the time of all is that per pair.
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

#: What a matrix should be faster by than the pairs one by one.
_BAR = 20.0


def main(argv: list[str] | None = None) -> int:
    """Print what all pairs cost each way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix", description=__doc__)
    parser.add_argument("--size", type=int, default=500, metavar="N", help="texts on each side (%(default)s)")
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="pairs one by one (%(default)s)")
    parser.add_argument("--rows", type=int, default=500, metavar="N", help="rows in one list (%(default)s)")
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

    whole = nlgauge.matrix(a, b, args.metric)  # warms up, and is what the others must agree with
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
            say(f"round {number + 1}: {name} {1e6 * best[name]:.1f} us a pair")
    same = np.array_equal(one_by_one(), [whole.scores[i, j] for i, j in chosen])
    same = same and np.array_equal(expanded(), whole.scores[rows].ravel())
    print(f"{args.metric}, {len(a)} x {len(b)} texts of {texts.origin}; {machine(['numpy', 'onnxruntime'])}")
    for name, seconds in best.items():
        print(f"{name:<12}{1e6 * seconds:>10.1f} us a pair{seconds * count:>10.1f} s in all")
    print(f"the same bits: {'yes' if same else 'no'}; peak memory {peak_rss():.2f} GB")
    print(f"{best['one list'] / best['matrix']:.1f}x as fast as one list of all pairs")
    bar = Bar("as fast as the pairs one by one", best["one by one"] / best["matrix"], _BAR, "x")
    print(bar)
    return 0 if same and bar.reached else 1


if __name__ == "__main__":
    sys.exit(main())
