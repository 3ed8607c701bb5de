"""Ranking candidates with and without pruning: winners, pairs and time: `python -m benchmarks.pruning --at DATA`.

The candidates of a segment are the outputs of all systems of a WMT language pair. With `--candidates N`, N texts are
recombined from them: the first half of one output and the second half of another, as a sampler would vary them.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import nlgauge
from nlgauge.data.loaders.wmt import WmtPackage

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per language pair and metric."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pruning", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--at", type=Path, required=True, metavar="DATA", help="folder of human judgements")
    parser.add_argument("--data", default="wmt17", help="WMT package (default: wmt17)")
    parser.add_argument("--langpairs", nargs="+", default=["zh-en", "de-en", "tr-en"])
    parser.add_argument("--segments", type=int, default=200, help="segments per language pair (default: 200)")
    parser.add_argument("--candidates", type=int, default=0, metavar="N", help="recombined candidates per segment")
    parser.add_argument("--metric", nargs="+", default=["bertscore", "chrf"])
    parser.add_argument("--seeds", type=int, default=1, help="seeds of pruning (default: 1)")
    parser.add_argument("--precision", default="int8", choices=["fp32", "int8"])
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
    print("| data | candidates | metric | segments | same winner | pairs | exact s | pruned s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for langpair in options.langpairs:
        candidates = _candidates(langpair, options)
        for metric in options.metric:
            print(_row(f"{options.data} {langpair}", metric, candidates, options), flush=True)
    return 0


def _candidates(langpair: str, options: argparse.Namespace) -> list[list[str]]:
    """Candidates of a sample of segments."""
    package = WmtPackage(options.at / options.data, 2000 + int(options.data.removeprefix("wmt")))
    outputs = [package.documents(langpair, system).hypotheses for system in package.outputs[langpair]]
    rng = np.random.default_rng(1)
    lines = np.sort(rng.choice(len(outputs[0]), options.segments, replace=False))
    groups = [[texts[line] for texts in outputs if texts[line].strip()] for line in lines]
    return [_recombine(group, options.candidates, rng) for group in groups] if options.candidates else groups


def _recombine(group: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """The texts themselves, then starts and ends of random pairs of them."""
    texts = list(group)
    while len(texts) < count:
        start, end = (group[number].split() for number in rng.choice(len(group), 2, replace=False))
        texts.append(" ".join([*start[: len(start) // 2], *end[len(end) // 2 :]]))
    return texts[:count]


def _row(name: str, metric: str, candidates: list[list[str]], options: argparse.Namespace) -> str:
    """Rank exactly and with pruning, in turns."""
    keywords = {"metric": metric, "precision": options.precision, "threads": 1}
    nlgauge.rank(candidates[:2], **keywords)  # loads the model
    same, shares, seconds = [], [], np.zeros((options.seeds, 2))
    for seed in range(options.seeds):
        began = time.process_time()
        exact = nlgauge.rank(candidates, **keywords)
        middle = time.process_time()
        pruned = nlgauge.rank(candidates, prune=True, seed=seed, **keywords)
        seconds[seed] = middle - began, time.process_time() - middle
        assert pruned.pruning is not None
        same += [first == second for first, second in zip(exact.chosen, pruned.chosen, strict=True)]
        shares.append(pruned.pruning.share)
    whole, part = np.median(seconds, axis=0)
    sizes = sorted({len(group) for group in candidates})
    count = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"
    return (
        f"| {name} | {count} | {metric} | {len(candidates)} | {np.mean(same):.4f} | {np.mean(shares):.3f} "
        f"| {whole:.1f} | {part:.1f} | {part / whole:.2f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
