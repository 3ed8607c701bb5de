"""Change of Pearson with human judgements by the language model of XMoverScore, with intervals of the difference.

    python -m benchmarks.fluency --at DATA --langpairs tr-en zh-en --segments 200

A random sample of WMT17's segments for each language pair; the paired bootstrap resamples them. Needs the extra torch
and `nlgauge models pull smollm2`. Two hundred segments take 40 seconds of CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from nlgauge.core.scoring import score_systems
from nlgauge.data.cards import load
from nlgauge.stats.correlation import bootstrap_correlations

METRICS = {"sentences": "xmoverscore:unit=sentence", "XMoverScore-2": "xmoverscore:n=2"}

#: Rows of the table: a metric, and the one it is compared with.
COMPARED = (
    *((f"{name} + LM", name) for name in METRICS),
    *((f"{name} + LM", "sentence BLEU") for name in METRICS),
    ("XMoverScore-2 + LM", "fluency"),
)


def compare(folder: Path, langpair: str, segments: int, seed: int) -> list[str]:
    """Lines of the table for one language pair."""
    table = load("wmt17", folder, langpairs=[langpair])
    human = np.asarray(table.gold(None))
    rows = np.sort(np.random.default_rng(seed).permutation(len(human))[:segments])
    hyps, sources = ([texts[row] for row in rows] for texts in (table.hypothesis, table.source or ()))
    references = [(table.references or ())[row][0] for row in rows]
    recipes = METRICS | {f"{name} + LM": f"{recipe},lm=smollm2" for name, recipe in METRICS.items()}
    scores = score_systems({"": hyps}, sources=sources, metric=list(recipes.values()))
    values = {name: score.segments[score.main] for name, score in zip(recipes, scores, strict=True)}
    values["fluency"] = scores[-1].segments["fluency"]
    (bleu,) = score_systems({"": hyps}, references, metric=["bleu"])
    values["sentence BLEU"] = bleu.segments[bleu.main]
    names = list(values)
    drawn = bootstrap_correlations(list(values.values()), human[rows])
    lines = []
    for name, other in COMPARED:
        change = drawn.difference(names.index(name), names.index(other))
        r, base = (np.corrcoef(values[key], human[rows])[0, 1] for key in (name, other))
        interval = f"{change.value:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        lines.append("\t".join([langpair, str(len(rows)), name, f"{r:.3f}", other, f"{base:.3f}", interval]))
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--langpairs", nargs="+", required=True, help="language pairs of WMT17")
    parser.add_argument("--segments", type=int, default=200, help="number of segments (default: 200)")
    parser.add_argument("--seed", type=int, default=12345, help="random seed of the sample (default: 12345)")
    args = parser.parse_args()
    print("langpair\tsegments\tmetric\tr\tcompared with\tr\tdifference")
    for langpair in args.langpairs:
        print("\n".join(compare(args.at, langpair, args.segments, args.seed)))


if __name__ == "__main__":
    main()
