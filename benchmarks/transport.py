"""Compare many small transport problems in sequence and on threads: `python -m benchmarks.transport`."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.harness import Contestant, Scores, race
from nlgauge.vectors.transport import exact_transport, squared_distances

__all__ = ["main"]

_PROBLEMS = 3000
_TOKENS = 25
_WIDTH = 384


def main() -> int:
    """Print the time per problem of both methods."""
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(_PROBLEMS):
        m, n = rng.integers(_TOKENS - 8, _TOKENS + 9, size=2)
        x, y = (p / np.linalg.norm(p, axis=1, keepdims=True) for p in (rng.normal(size=(k, _WIDTH)) for k in (m, n)))
        problems.append((rng.random(m), rng.random(n), squared_distances(x, y)))

    def in_turn() -> Scores:
        return np.array([exact_transport(*problem).cost for problem in problems])

    def pooled() -> Scores:
        with ThreadPoolExecutor(2) as pool:
            return np.array([plan.cost for plan in pool.map(lambda problem: exact_transport(*problem), problems)])

    turn, pool = race([Contestant("in turn", in_turn, 0), Contestant("two threads", pooled, 0)], 3)
    if not np.array_equal(turn.scores, pool.scores):
        msg = "the results of both methods differ"
        raise AssertionError(msg)
    for timing in (turn, pool):
        print(f"{timing.contestant.name:<12}{1e3 * timing.best / _PROBLEMS:.3f} ms per problem")
    return 0


if __name__ == "__main__":
    sys.exit(main())
