"""Effect of `precision=int8` on correlation with human judgements: `python -m benchmarks.int8 --at DATA`.

    python -m benchmarks.int8 segments --at DATA [--model NAME] [--engine NAME] [--data NAME ...] [--every N]
    python -m benchmarks.int8 systems --at DATA [--model NAME] [--engine NAME] [--every N]

`segments`: Pearson of BERTScore F and MoverScore v1 with human judgements per language pair, in float32 and in int8,
and changes of scores. `systems`: whether int8 ranks the systems of WMT17 like float32, from every N-th segment.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

import nlgauge
from nlgauge.data.cards import load

__all__ = ["main"]

_METRICS = {"bertscore": "f1", "moverscore:profile=v1": "score"}
_Precision: TypeAlias = Literal["fp32", "int8"]
_PRECISIONS: tuple[_Precision, ...] = ("fp32", "int8")

#: Segment scores by precision and metric.
_Segments = dict[str, dict[str, NDArray[np.float64]]]


def main(argv: Sequence[str] | None = None) -> int:
    """Score in both precisions and print the differences."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.int8", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["segments", "systems"])
    parser.add_argument("--at", type=Path, required=True, metavar="DATA", help="folder of human judgements")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--engine", default="onnx", choices=["onnx", "openvino"])
    parser.add_argument("--data", nargs="+", default=["wmt15", "wmt17-testset"], help="for segments")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="use every N-th segment (default: all)")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
    if options.command == "segments":
        for name in options.data:
            _compare_segments(name, options)
    else:
        _compare_systems(options)
    return 0


def _scores(hypotheses: Sequence[str], references: Sequence[str], options: argparse.Namespace) -> _Segments:
    result: _Segments = {}
    for precision in _PRECISIONS:
        scores = nlgauge.score_systems(
            {"": list(hypotheses)},
            list(references),
            metric=list(_METRICS),
            model=options.model,
            engine=options.engine,
            precision=precision,
        )
        result[precision] = {
            metric: np.asarray(score.segments[component])
            for (metric, component), score in zip(_METRICS.items(), scores, strict=True)
        }
    return result


def _compare_segments(name: str, options: argparse.Namespace) -> None:
    table = load(name, options.at)
    human, pairs = table.gold(), np.asarray(table.langpair)
    lines: dict[str, list[str]] = {metric: [] for metric in _METRICS}
    agreement: dict[str, list[tuple[float, float]]] = {metric: [] for metric in _METRICS}
    moved: dict[str, list[NDArray[np.float64]]] = {metric: [] for metric in _METRICS}
    for langpair in table.langpairs:
        rows = np.flatnonzero((pairs == langpair) & ~np.isnan(human))[:: options.every]
        results = _scores([table.hypothesis[i] for i in rows], [table.references[i][0] for i in rows], options)
        for metric in _METRICS:
            full, rough = (results[precision][metric] for precision in _PRECISIONS)
            agree = tuple(float(np.corrcoef(scores, human[rows])[0, 1]) for scores in (full, rough))
            agreement[metric].append((agree[0], agree[1]))
            moved[metric].append(rough - full)
            lines[metric].append(f"{langpair} {agree[0]:.4f} {agree[1]:.4f}")
            print(f"{name} {metric} {lines[metric][-1]}", file=sys.stderr, flush=True)
    for metric, agrees in agreement.items():
        full, rough = np.mean(agrees, axis=0)
        differences = np.concatenate(moved[metric])
        print(
            f"{name} {options.model} {options.engine} {metric}: {full:.4f} in fp32, {rough:.4f} in int8 "
            f"({rough - full:+.4f}; by pair {', '.join(lines[metric])}); "
            f"scores change by {differences.mean():+.4f} on average, {np.abs(differences).max():.4f} at most",
            flush=True,
        )


def _compare_systems(options: argparse.Namespace) -> None:
    table = load("wmt17", options.at, level="system")
    for langpair in table.langpairs:
        outputs: dict[str, list[str]] = {}
        references: dict[str, str] = {}
        for row, pair in enumerate(table.langpair):
            if pair == langpair and int(table.segment[row]) % options.every == 0:
                outputs.setdefault(table.system[row], []).append(table.hypothesis[row])
                references[table.segment[row]] = table.references[row][0]
        means = {
            precision: _means(outputs, list(references.values()), precision, options) for precision in _PRECISIONS
        }
        for metric in _METRICS:
            print(_ranking(langpair, metric, *(means[precision][metric] for precision in _PRECISIONS)), flush=True)


def _means(
    outputs: Mapping[str, list[str]], references: list[str], precision: _Precision, options: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Mean of each system by metric."""
    scores = nlgauge.score_systems(
        outputs,
        references,
        metric=list(_METRICS),
        model=options.model,
        engine=options.engine,
        precision=precision,
    )
    means: dict[str, dict[str, float]] = {metric: {} for metric in _METRICS}
    for (metric, system), score in zip(product(_METRICS, outputs), scores, strict=True):
        means[metric][system] = score.means[_METRICS[metric]]
    return means


def _ranking(langpair: str, metric: str, full: Mapping[str, float], rough: Mapping[str, float]) -> str:
    by_full, by_rough = (sorted(means, key=lambda name: -means[name]) for means in (full, rough))
    gaps = [full[a] - full[b] for a, b in pairwise(by_full)]
    moved = [rough[name] - full[name] for name in full]
    same = "the same" if by_full == by_rough else f"a different ({' > '.join(by_full)}; int8 {' > '.join(by_rough)})"
    return (
        f"{langpair} {metric}: {len(full)} systems, {same} ranking; nearest two {min(gaps):.5f} apart, "
        f"means change by {min(moved):+.5f} to {max(moved):+.5f}"
    )


if __name__ == "__main__":
    sys.exit(main())
