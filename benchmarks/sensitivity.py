"""Time a study of thirty settings relative to one setting (`python -m benchmarks.sensitivity`).

MoverScore on wmt17-testset (3,795 pairs; `$NLGAUGE_DATA`): thirty settings of stop words, idf, sub-words and
punctuation in one call, which encodes each text once, and a call with one setting. Both start from text.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, Clock, Contestant, Scores, machine, peak_rss, race, say
from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import default_threads
from nlgauge.errors import NlgaugeWarning
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.studies.meta.score_judgements import score_judgements

__all__ = ["main"]

_SETTINGS = 30
_MOST = 2.5

#: Two stop-word lists that need no package: a short one, and a longer one with more frequent words.
_SHORT = "a an the of to in on at for with and or but is are was were be been by from as that this it its"
_LONG = (
    f"{_SHORT} he she they we you i his her their our your my not no do does did have has had will would can could"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print the benchmark; the status is 0 even if the target is missed, because machines are noisy."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensitivity", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="number of rounds; the best counts (default: 3)")
    parser.add_argument("--langpairs", nargs="+", help="language pairs (default: all seven)")
    parser.add_argument("--rows", type=int, metavar="N", help="use the first N rows, for a trial (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    parser.add_argument(
        "--cpu-time", action="store_true", help="measure CPU time with one thread, for a shared machine"
    )
    options = parser.parse_args(argv)
    folder = os.environ.get("NLGAUGE_DATA")
    if not folder:
        print("folder of data sets is not set: use NLGAUGE_DATA", file=sys.stderr)
        return 0
    warnings.simplefilter("ignore", NlgaugeWarning)
    table = load("wmt17-testset", folder, langpairs=options.langpairs)
    table = table if options.rows is None else table.take(range(min(options.rows, len(table))))
    threads = 1 if options.cpu_time else default_threads()
    clock: Clock = time.process_time if options.cpu_time else time.perf_counter
    with tempfile.TemporaryDirectory() as place:
        many = settings(Path(place))
        say(f"{len(table)} pairs, {len(many)} settings")
        single, all_of_them = race(
            [
                Contestant("one setting", _run(table, [MoverScore()], threads), 0),
                Contestant(f"{len(many)} settings", _run(table, many, threads), 0),
            ],
            options.repeats,
            clock=clock,
        )
    ratio = all_of_them.best / single.best
    how = "CPU time, 1 thread" if options.cpu_time else f"wall, {threads} threads"
    print(f"{len(table)} pairs, best of {options.repeats} ({how})")
    print(f"one setting {single.best:.2f} s, {len(many)} settings {all_of_them.best:.2f} s")
    print("; ".join(f"{key} {value}" for key, value in machine(["onnxruntime", "POT"]).items()))
    print(f"peak RSS {peak_rss():.2f} GB")
    bar = Bar("thirty settings relative to one", ratio, _MOST, at_most=True)
    print(bar)
    if options.json:
        figure = {"pairs": len(table), "one": single.best, "many": all_of_them.best, "ratio": ratio, "limit": _MOST}
        options.json.write_text(json.dumps(figure, indent=2) + "\n", encoding="utf-8")
    return 0


def settings(folder: Path) -> list[MoverScore]:
    """Thirty settings of the grid of four options."""
    lists = ["none"]
    for name, words in (("short.txt", _SHORT), ("long.txt", _LONG)):
        (folder / name).write_text("\n".join(words.split()), encoding="utf-8")
        lists.append(str(folder / name))
    grid = itertools.product(lists, ("both", "none"), ("first", "all", "average"), ("drop-ascii", "keep"))
    return [
        MoverScore(stopwords=words, idf=idf, subwords=pieces, punctuation=marks) for words, idf, pieces, marks in grid
    ][:_SETTINGS]


def _run(table: JudgementTable, recipes: Sequence[MoverScore], threads: int) -> Callable[[], Scores]:
    def run() -> Scores:
        scores = score_judgements(table, recipes, threads=threads)
        return np.stack([metric.values for metric in scores.metrics], axis=1)

    return run


if __name__ == "__main__":
    sys.exit(main())
