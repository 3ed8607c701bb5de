"""Measure false positives and power of tests between two systems: `python -m benchmarks.system_tests`.

Draws independent pairs of systems on instances of unequal difficulty: equal systems, equal systems with ties on six
of ten instances, systems four standard errors of a mean apart, and the same with one outlier in fifty scores. A test
should call the first two different in at most 5 of 100 cases, and the others as often as possible.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.paired_tests import centred_p, mood, paired_t, sign_test, wilcoxon
from nlgauge.stats.resampling import bootstrap_sums, expanded_p, swap_sums

__all__ = ["main"]

_DRAWS = 2000
_ALPHA = 0.05

_Scores = NDArray[np.float64]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a Markdown table of the shares called different."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.system_tests", description=__doc__)
    parser.add_argument("--pairs", type=int, default=4000, help="pairs of systems per row (default: 4000)")
    parser.add_argument("--instances", type=int, nargs="+", default=[10, 30, 100, 500])
    options = parser.parse_args(argv)
    print("| instances | systems |", " | ".join(_TESTS), "|")
    print("|---|---|" + "---|" * len(_TESTS))
    for n in options.instances:
        for name, (first, second) in made_pairs(n, options.pairs).items():
            shares = ((test(first, second) < _ALPHA).mean() for test in _TESTS.values())
            print(f"| {n} | {name} |", " | ".join(f"{share:.3f}"[1:] if share < 1 else "1" for share in shares), "|")
    return 0


def made_pairs(n: int, pairs: int) -> dict[str, tuple[_Scores, _Scores]]:
    """Generate scores of first and second systems, instances x pairs."""
    rng = np.random.default_rng(n)
    difficulty, first, second, wild = rng.normal(size=(4, n, pairs))
    first, second, shift = difficulty + first, difficulty + second, 4 / np.sqrt(n)
    outliers = np.where(rng.random((n, pairs)) < 0.02, 20 * wild, 0.0)
    tied = np.where(rng.random((n, pairs)) < 0.6, first, second)
    return {
        "equal": (first, second),
        "equal, 60 % ties": (first, tied),
        "apart": (first + shift, second),
        "apart, 2 % outliers": (first + shift + outliers, second),
    }


def _bootstrap(first: _Scores, second: _Scores) -> _Scores:
    differences = first - second
    draws = np.concatenate(list(bootstrap_sums(differences, resamples=_DRAWS, seed=1))) / len(first)
    return expanded_p(centred_p(draws, differences.mean(axis=0)), len(first))


def _randomisation(first: _Scores, second: _Scores) -> _Scores:
    differences = first - second
    draws = np.concatenate(list(swap_sums(differences, resamples=_DRAWS, seed=1))) / len(first)
    observed = differences.mean(axis=0)
    return centred_p(draws + observed, observed)


def _sign(first: _Scores, second: _Scores) -> _Scores:
    return sign_test((first > second).sum(axis=0), (first < second).sum(axis=0))


def _sign_ties_in(first: _Scores, second: _Scores) -> _Scores:
    wins, losses = (first > second).sum(axis=0), (first < second).sum(axis=0)
    return sign_test(np.maximum(wins, losses), np.minimum(wins, losses), len(first) - wins - losses)


_TESTS: dict[str, Callable[[_Scores, _Scores], _Scores]] = {
    "bootstrap": _bootstrap,
    "randomisation": _randomisation,
    "t": lambda first, second: paired_t(first - second, np.ones(len(first))),
    "wilcoxon": lambda first, second: wilcoxon(first - second)[0],
    "sign": _sign,
    "sign-ties-in": _sign_ties_in,
    "mood": lambda first, second: mood(first, second)[0],
}


if __name__ == "__main__":
    sys.exit(main())
