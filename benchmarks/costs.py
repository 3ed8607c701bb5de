"""Measure how the cost of a call grows with the length of texts, the number of systems and the number of layers.

`make bench-costs` prints the tables and, with `--plot FILE`, plots them. It uses generated texts and minilm, so it
runs anywhere. It measures processor time. Each row of a table is relative to the first: ratios carry over to other
machines, seconds do not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nlgauge
from benchmarks.corpus import made_texts
from benchmarks.harness import Contestant, Scores, Timing, machine, race, say
from nlgauge.encoders.load import default_threads
from nlgauge.vectors.transport import exact_transport, squared_distances

__all__ = ["main"]

_WORDS = 25
_METRICS = ("bertscore", "moverscore", "baryscore")
#: Bigrams at most double the points of a transport problem, but not its tokens.
_OF_LENGTH = {name: name for name in _METRICS} | {"moverscore, n=2": "moverscore:n=2"}
#: MiniLM's limit of 512 tokens is about 440 generated words.
_LENGTHS = (12, 25, 50, 100, 200, 400)
_PAIRS_OF_LENGTH = 24
_SYSTEMS = (1, 2, 4, 8)
_LAYERS = (1, 2, 4, 6)
_POINTS = (32, 64, 128, 256, 512)
_WIDTH = 384


class Table(NamedTuple):
    """Processor seconds of several contestants for growing sizes."""

    title: str
    along: str
    at: list[int]
    seconds: dict[str, list[float]]

    def __str__(self) -> str:
        head = f"{self.along:<14}" + "".join(f"{name:>24}" for name in self.seconds)
        lines = [self.title, head]
        for row, value in enumerate(self.at):
            cells = [f"{times[row]:.3g} s {times[row] / times[0]:>6.1f}x" for times in self.seconds.values()]
            lines.append(f"{value:<14}" + "".join(f"{cell:>24}" for cell in cells))
        return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Time the calls, print the tables and plot them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="number of rounds; the best counts (default: 3)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the tables into this file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    options = parser.parse_args(argv)
    tables = [_by_length(options.repeats), _by_systems(options.repeats), _by_layers(options.repeats), _transport()]
    for table in tables:
        print(table, end="\n\n")
    environment = machine(["onnxruntime", "POT"])
    print("; ".join(f"{key} {value}" for key, value in environment.items()))
    if options.plot:
        _draw(tables, options.plot)
    if options.json:
        results = {"machine": environment, "tables": [table._asdict() for table in tables]}
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


def _by_length(repeats: int) -> Table:
    texts = {words: made_texts(2 * _PAIRS_OF_LENGTH, words) for words in _LENGTHS}

    def call(metric: str, words: int) -> Callable[[], Scores]:
        outputs, references = {"": texts[words][:_PAIRS_OF_LENGTH]}, texts[words][_PAIRS_OF_LENGTH:]
        return _score(outputs, references, [metric])

    title = f"words per text ({_PAIRS_OF_LENGTH} pairs)"
    calls = {name: partial(call, metric) for name, metric in _OF_LENGTH.items()}
    return _grown(title, "words", _LENGTHS, calls, repeats)


def _by_systems(repeats: int) -> Table:
    """Time calls with several systems; references are shared, so a second system costs less than the first."""
    count = 100
    texts = made_texts((1 + max(_SYSTEMS)) * count, _WORDS)
    outputs = {f"system {i}": texts[i * count : (i + 1) * count] for i in range(1, 1 + max(_SYSTEMS))}

    def call(metrics: Sequence[str], systems: int) -> Callable[[], Scores]:
        return _score(dict(list(outputs.items())[:systems]), texts[:count], metrics)

    calls = {"bertscore": lambda n: call(["bertscore"], n), "three metrics": lambda n: call(_METRICS, n)}
    return _grown(f"systems ({count} segments of {_WORDS} words)", "systems", _SYSTEMS, calls, repeats)


def _by_layers(repeats: int) -> Table:
    count = 200
    texts = made_texts(2 * count, _WORDS)
    outputs, references = {"": texts[:count]}, texts[count:]

    def call(layer: int) -> Callable[[], Scores]:
        return _score(outputs, references, [f"bertscore:layer={layer}"])

    return _grown(f"highest layer ({count} pairs)", "layer", _LAYERS, {"bertscore": call}, repeats)


def _transport() -> Table:
    """Time one exact problem of n x n points, as MoverScore solves for texts of n tokens."""
    random = np.random.default_rng(0)

    def call(count: int) -> Callable[[], Scores]:
        x, y = (p / np.linalg.norm(p, axis=1, keepdims=True) for p in random.normal(size=(2, count, _WIDTH)))
        cost, weights = squared_distances(x, y), random.random((2, count))
        return lambda: np.array([exact_transport(weights[0], weights[1], cost).cost])

    return _grown("points of one exact transport problem", "points", _POINTS, {"n x n points": call}, 5)


def _score(outputs: dict[str, list[str]], references: list[str], metrics: Sequence[str]) -> Callable[[], Scores]:
    def run() -> Scores:
        scores = nlgauge.score_systems(outputs, references, metric=metrics, threads=default_threads())
        return np.array([score.system_score for score in scores])

    return run


def _grown(
    title: str,
    along: str,
    sizes: Sequence[int],
    calls: Mapping[str, Callable[[int], Callable[[], Scores]]],
    repeats: int,
) -> Table:
    say(title)
    contestants = [Contestant(f"{name}, {value}", call(value), 0) for name, call in calls.items() for value in sizes]
    # Processor time, because other processes of a busy machine hardly change it.
    timings: list[Timing] = race(contestants, repeats, clock=time.process_time)
    best = [timing.best for timing in timings]
    columns = {name: best[row * len(sizes) : (row + 1) * len(sizes)] for row, name in enumerate(calls)}
    return Table(title, along, list(sizes), columns)


def _draw(tables: Sequence[Table], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    figure, grid = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    markers = "osD^"
    for table, panel in zip(tables, grid.flat, strict=True):
        for (name, seconds), marker in zip(table.seconds.items(), markers, strict=False):
            panel.plot(table.at, seconds, marker=marker, markersize=5, label=name)
        _slope(panel, table)
        panel.set(xscale="log", yscale="log", xlabel=table.title, ylabel="CPU seconds", xticks=table.at)
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.15g}"))
            axis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.25, which="major")
        panel.legend(frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _slope(panel: Any, table: Table) -> None:
    """Draw a line of proportional growth for comparison."""
    first = min(times[0] for times in table.seconds.values())
    along = [first * value / table.at[0] for value in table.at]
    panel.plot(table.at, along, color="0.6", linestyle=":", linewidth=1, label="in proportion")


if __name__ == "__main__":
    sys.exit(main())
