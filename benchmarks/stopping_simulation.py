"""Early stopping on real differences of systems: `python -m benchmarks.stopping_simulation --at DATA --cache FOLDER`.

    decisions   share of segments used, and whether the decision is that of the paired t test on all segments
    null        false alarms if systems do not differ: signs of real differences flipped at random, or differences
                centred and drawn with replacement; next to a t test at each look
    small       the same with few segments, and with rare large outliers
    documents   differences that documents share, looked at by segment and by document

Scores of WMT, MQM and SummEval are computed once and cached (int8); TAC and dialogue have published scores.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.stopping_scores import Frame, read_frames
from nlgauge.stats.paired_tests import paired_t, t_statistics
from nlgauge.studies.compare.stopping import Order, StopRule, decide

__all__ = ["main"]

_Values = NDArray[np.float64]

#: Numbers of segments of the part `small`.
_SMALL = (30, 60, 100, 200, 500)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a Markdown table per part."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stopping_simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    home = os.environ.get("NLGAUGE_DATA")
    parser.add_argument("--at", type=Path, default=home, required=home is None, help="data folder ($NLGAUGE_DATA)")
    parser.add_argument("--cache", type=Path, required=True, help="folder for scores of texts")
    parser.add_argument("--data", nargs="+", default=["wmt17", "wmt18", "tac08", "tac09", "tac11"])
    parser.add_argument("--metrics", nargs="+", default=["bertscore", "moverscore", "chrf"], help="of texts")
    parser.add_argument("--segments", type=int, default=1000, help="segments per language pair (default: 1000)")
    parser.add_argument("--orders", type=int, default=5, help="random orders per pair of systems (default: 5)")
    parser.add_argument("--parts", nargs="+", default=list(_PARTS), choices=list(_PARTS))
    for name in ("final_share", "tuned_for", "first_look", "step", "growth"):
        default = getattr(StopRule(), name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    options = parser.parse_args(argv)
    rule = StopRule(
        final_share=options.final_share,
        tuned_for=options.tuned_for,
        first_look=options.first_look,
        step=options.step,
        growth=options.growth,
    )
    frames = read_frames(options.data, options.at, options.cache, options.metrics, options.segments)
    _check(frames[0], rule)
    for part in options.parts:
        print(f"\n{part}\n", flush=True)
        _PARTS[part](frames, rule, options.orders)
    return 0


@dataclass(frozen=True)
class _Runs:
    """Pairs of systems in random orders; a row per pair and order."""

    used: _Values
    """Share of the segments or documents."""
    early: _Values
    """Sign of the decision before the end; 0 for none."""
    decision: _Values
    """Sign of the decision, early or at the end."""
    full: _Values
    """Sign of the paired t test on all segments at level alpha; 0 if not significant."""
    peeking: _Values
    """Sign of the first significant t test of all looks."""

    @classmethod
    def join(cls, runs: Sequence[_Runs]) -> _Runs:
        """All rows."""
        return cls(*(np.concatenate([getattr(run, name) for run in runs]) for name in cls.__dataclass_fields__))


def _run(values: _Values, rule: StopRule, seed: int, documents: NDArray[np.intp] | None = None) -> _Runs:
    """Apply a rule to the differences of many pairs, segments x pairs, as `decide` does to those of one."""
    order = Order(len(values), rule.with_options(seed=seed), None if documents is None else documents.tolist())
    ends = np.cumsum(order.sizes).astype(np.intp)
    totals = np.add.reduceat(values[order.segments], np.concatenate([[0], ends[:-1]]))
    units, pairs = totals.shape
    used, early, peeking = np.ones(pairs), np.zeros(pairs), np.zeros(pairs)
    for count in order.looks():
        means, errors = t_statistics(totals[:count], order.sizes[:count])
        significant = paired_t(totals[:count], order.sizes[:count]) < rule.alpha
        peeking = np.where((peeking == 0) & significant, np.sign(means), peeking)
        if count < units:
            certain = (np.abs(means) > rule.sequence(1).half_width(count, count * errors**2)) & (early == 0)
            used = np.where(certain, count / units, used)
            early = np.where(certain, np.sign(means), early)
    p_values = paired_t(totals, order.sizes)
    level = rule.alpha * (rule.final_share if units > rule.first_look else 1)
    decision = np.where(early != 0, early, np.where(p_values < level, np.sign(means), 0))
    return _Runs(used, early, decision, np.where(p_values < rule.alpha, np.sign(means), 0), peeking)


def _check(frame: Frame, rule: StopRule) -> None:
    """The simulation makes the decisions of `decide`."""
    runs = _run(frame.differences.T, rule, rule.seed)
    signs = {"better": 1, "worse": -1, "undecided": 0}
    expected = [signs[decide(row, rule).outcome] for row in frame.differences]
    assert runs.decision.tolist() == expected


def _groups(frames: Sequence[Frame]) -> Iterator[tuple[str, list[Frame]]]:
    """Frames by data set and metric; the 13 metrics of published scores together."""

    def key(frame: Frame) -> str:
        return f"{frame.data} {frame.metric}" if frame.langpair or len(frames) < 4 else _short(frame)

    for name, group in groupby(sorted(frames, key=key), key):
        yield name, list(group)


def _short(frame: Frame) -> str:
    published = frame.data.startswith(("tac", "topical", "persona"))
    return f"{frame.data}, 13 metrics" if published else f"{frame.data} {frame.metric}"


def _decisions(frames: Sequence[Frame], rule: StopRule, orders: int) -> None:
    print("| data | pairs | share of segments: median | mean | same decision | flipped sign | decided early |")
    print("|---|---|---|---|---|---|---|")
    for name, group in _groups(frames):
        runs = _Runs.join([_run(frame.differences.T, rule, seed) for frame in group for seed in range(orders)])
        print(
            f"| {name} | {len(runs.used) // orders} | {np.median(runs.used):.3f} | {runs.used.mean():.3f} "
            f"| {np.mean(runs.decision == runs.full):.4f} | {np.mean(runs.decision * runs.full < 0):.4f} "
            f"| {np.mean(runs.early != 0):.3f} |",
            flush=True,
        )


def _flipped(frame: Frame, rng: np.random.Generator) -> _Values:
    """Differences with random signs."""
    values = frame.differences.T
    return np.asarray(values * rng.choice([-1.0, 1.0], size=values.shape))


def _centred(frame: Frame, rng: np.random.Generator) -> _Values:
    """Segments of centred differences, drawn with replacement."""
    values = frame.differences.T
    return np.asarray((values - values.mean(axis=0))[rng.integers(len(values), size=len(values))])


def _alarms(runs: _Runs) -> str:
    shares = (np.mean(signs != 0) for signs in (runs.early, runs.decision, runs.full, runs.peeking))
    return " | ".join(f"{share:.4f}" for share in shares)


def _null(frames: Sequence[Frame], rule: StopRule, orders: int) -> None:
    print("| data | null | early | early or at the end | t test at the end only | t test at each look |")
    print("|---|---|---|---|---|---|")
    for name, group in _groups(frames):
        for null in (_flipped, _centred):
            rng = np.random.default_rng(1)
            runs = [_run(null(frame, rng), rule, seed) for frame in group for seed in range(orders)]
            print(f"| {name} | {null.__name__[1:]} | {_alarms(_Runs.join(runs))} |", flush=True)


def _small(frames: Sequence[Frame], rule: StopRule, orders: int) -> None:
    print("| segments | differences | early | early or at the end | t test at the end only | t test at each look |")
    print("|---|---|---|---|---|---|")
    frames = [frame for frame in frames if len(frame.scores) >= max(_SMALL)] or frames
    for count in _SMALL:
        for name, outliers in (("real", 0.0), ("2 % are 20 times larger", 0.02)):
            rng = np.random.default_rng(1)
            runs = []
            for frame in frames:
                for seed in range(orders):
                    values = _centred(frame, rng)[:count]
                    scale = np.where(rng.random(values.shape) < outliers, 20.0, 1.0)
                    runs.append(_run(values * scale * rng.choice([-1.0, 1.0], size=values.shape), rule, seed))
            print(f"| {count} | {name} | {_alarms(_Runs.join(runs))} |", flush=True)


def _documents(frames: Sequence[Frame], rule: StopRule, orders: int) -> None:
    """Signs are flipped by document, and half of each difference is that of its document."""
    print("| data | documents | looked at by | early | early or at the end | t test at the end only | at each look |")
    print("|---|---|---|---|---|---|---|")
    frames = [frame for frame in frames if 1 < frame.documents[-1] + 1 < len(frame.documents)]
    for name, group in _groups(frames):
        for unit in ("segment", "document"):
            rng = np.random.default_rng(1)
            runs = []
            for frame in group:
                numbers = frame.documents
                values = frame.differences.T - frame.differences.mean(axis=1)
                sums = np.zeros((numbers.max() + 1, values.shape[1]))
                np.add.at(sums, numbers, values)
                shared = (sums / np.sqrt(np.bincount(numbers))[:, None])[numbers]
                for seed in range(orders):
                    signs = rng.choice([-1.0, 1.0], size=sums.shape)[numbers]
                    own = rng.choice([-1.0, 1.0], size=values.shape)
                    mixed = signs * shared / 2 + own * values
                    runs.append(_run(mixed, rule, seed, numbers if unit == "document" else None))
            count = int(group[0].documents.max()) + 1
            print(f"| {name} | {count} | {unit} | {_alarms(_Runs.join(runs))} |", flush=True)


_PARTS = {"decisions": _decisions, "null": _null, "small": _small, "documents": _documents}


if __name__ == "__main__":
    sys.exit(main())
