"""Compare the speed of nlgauge on each backend with the bert-score package, on the same texts: `make bench`.

All compute the same scores (MiniLM, layer 6; mpnet, layer 9), which the run checks. Models are loaded before the
clock starts. Scores of int8 differ, so only their correlation is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import nlgauge
from benchmarks.corpus import pairs, systems
from benchmarks.flops import EncoderSize, encoding_flop, gemm_peak
from benchmarks.harness import Bar, Clock, Contestant, Scores, Timing, machine, paired_ratio, peak_rss, race, say
from nlgauge.encoders.load import default_threads, engines_with, load_encoder
from nlgauge.io.store.resolve import resolve

__all__ = ["bert_score_contestant", "bert_scorer", "main"]

#: Model of bert-score and of ours, and the layer compared.
_LAYER = {"minilm": 6, "mpnet": 9}
_MODEL = "minilm"
_BATCH = 64
_COMPONENTS = ("precision", "recall", "f1")

#: Largest difference between equal scores of a pair.
_SAME = 1e-5

#: Engine and precision of ours; targets apply to the faster of the first two.
_OURS = (("onnx", "fp32"), ("openvino", "fp32"), ("onnx", "int8"), ("openvino", "int8"))

_FASTER = 1.6
_MPNET_FASTER = 1.4
_PEAK_SHARE = 72.0
_SYSTEMS_FASTER = 2.4
_INT8_FASTER = 1.6
#: Number of pairs for the larger model, which takes eight times as long.
_MPNET_PAIRS = 160

#: Title, number of pairs, target ratio, contestants.
_Setup: TypeAlias = tuple[str, int, float, list[Contestant]]


class Task(NamedTuple):
    """A task with the timings of its contestants."""

    name: str
    title: str
    pairs: int
    least: float
    """Target speed-up over the rival."""
    timings: list[Timing]
    agreement: list[str]
    """Differences from the scores of the first contestant, as text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print the benchmark; the status is 0 even if a target is missed, because machines are noisy."""
    options = _parser().parse_args(argv)
    threads = 1 if options.cpu_time else default_threads()
    clock: Clock = time.process_time if options.cpu_time else time.perf_counter

    @cache
    def scorers(model: str) -> Any:
        return bert_scorer(threads, model)

    peaks: list[float] = []

    def peak() -> None:
        peaks.append(gemm_peak(threads, clock=clock))

    tasks = []
    for name in options.tasks:
        title, count, least, contestants = _TASKS[name](scorers, threads)
        say(title)
        timings = race(contestants, options.repeats, clock=clock, between=peak)
        tasks.append(Task(name, title, count, least, timings, _agreement(timings)))

    best = max(peaks)
    bars = [bar for task in tasks for bar in _bars(task, best)]
    environment = machine(["onnxruntime", "openvino", "torch", "transformers", "bert-score"])
    environment["clock"] = "CPU time, 1 thread" if options.cpu_time else f"wall, {threads} threads"
    for task in tasks:
        print(_table(task, best), end="\n\n")
    print(f"GEMM peak {best:.0f} GFLOP/s (float32); peak RSS {peak_rss():.2f} GB, all contestants loaded")
    print("; ".join(f"{key} {value}" for key, value in environment.items()), end="\n\n")
    for bar in bars:
        print(bar)
    if options.json:
        report = {
            "machine": environment,
            "gemm_peak_gflops": best,
            "peak_rss_gb": peak_rss(),
            "tasks": [_record(task, best) for task in tasks],
            "bars": [
                {"name": bar.name, "value": bar.value, "limit": bar.limit, "reached": bar.reached} for bar in bars
            ],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="number of rounds; the best counts (default: 3)")
    parser.add_argument("--tasks", nargs="+", choices=list(_TASKS), default=list(_TASKS), help="default: all")
    parser.add_argument(
        "--cpu-time", action="store_true", help="measure CPU time with one thread, for a shared machine"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    return parser


def _pairs_task(scorers: Callable[[str], Any], threads: int) -> _Setup:
    hypotheses, references, origin = pairs()
    flop = _flop([*hypotheses, *references])
    contestants = _ours({"": hypotheses}, references, threads, flop)
    contestants.append(bert_score_contestant(scorers(_MODEL), {"": hypotheses}, references, flop))
    return f"{len(hypotheses)} pairs ({origin})", len(hypotheses), _FASTER, contestants


def _mpnet_task(scorers: Callable[[str], Any], threads: int) -> _Setup:
    hypotheses, references, origin = pairs()
    step = len(hypotheses) // _MPNET_PAIRS
    hypotheses, references = hypotheses[::step], references[::step]
    flop = _flop([*hypotheses, *references], model="mpnet")
    contestants = _ours({"": hypotheses}, references, threads, flop, model="mpnet")
    contestants.append(bert_score_contestant(scorers("mpnet"), {"": hypotheses}, references, flop))
    return f"mpnet: {len(hypotheses)} pairs ({origin})", len(hypotheses), _MPNET_FASTER, contestants


def _systems_task(scorers: Callable[[str], Any], threads: int) -> _Setup:
    """Ten systems: one call of nlgauge, and one call per system of bert-score, which caches no vectors."""
    outputs, references, origin = systems(10, 500)
    once = _flop([text for texts in outputs.values() for text in texts] + references)
    each = sum(_flop([*texts, *references]) for texts in outputs.values())
    contestants = [
        Contestant("onnx fp32", _nlgauge(outputs, references, threads, "onnx", "fp32", _MODEL), once),
        bert_score_contestant(scorers(_MODEL), outputs, references, each),
    ]
    title = f"{len(outputs)} systems x {len(references)} segments ({origin})"
    return title, len(outputs) * len(references), _SYSTEMS_FASTER, contestants


_TASKS: dict[str, Callable[[Callable[[str], Any], int], _Setup]] = {
    "pairs": _pairs_task,
    "mpnet": _mpnet_task,
    "systems": _systems_task,
}


def _ours(
    outputs: dict[str, list[str]], references: list[str], threads: int, flop: int, *, model: str = _MODEL
) -> list[Contestant]:
    return [
        Contestant(f"{engine} {precision}", _nlgauge(outputs, references, threads, engine, precision, model), flop)
        for engine, precision in _OURS
        if engine in engines_with(precision)
    ]


def _nlgauge(
    outputs: dict[str, list[str]], references: list[str], threads: int, engine: str, precision: Any, model: str
) -> Callable[[], Scores]:
    def run() -> Scores:
        scores = nlgauge.score_systems(
            outputs,
            references,
            model=model,
            layer=_LAYER[model],
            threads=threads,
            engine=engine,
            precision=precision,
        )
        return np.concatenate([np.stack([score.segments[name] for name in _COMPONENTS], axis=1) for score in scores])

    return run


def bert_score_contestant(scorer: Any, outputs: dict[str, list[str]], references: list[str], flop: int) -> Contestant:
    hypotheses = [text for texts in outputs.values() for text in texts]

    def run() -> Scores:
        scores = [scorer.score(texts, references, batch_size=_BATCH) for texts in outputs.values()]
        return np.concatenate([np.stack([part.numpy() for part in parts], axis=1) for parts in scores])

    def alone(i: int) -> Scores:
        parts = scorer.score([hypotheses[i]], [references[i % len(references)]])
        return np.concatenate([part.numpy() for part in parts])

    return Contestant("bert-score", run, flop, alone)


def bert_scorer(threads: int, model: str = _MODEL) -> Any:
    """Load the scorer of the package; its output goes to stderr."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore", module="transformers|bert_score|torch")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            import torch
            from bert_score import BERTScorer
            from transformers.utils import logging

            logging.disable_progress_bar()
            torch.set_num_threads(threads)
            folder = str(resolve(model).path)
            return BERTScorer(model_type=folder, num_layers=_LAYER[model], batch_size=_BATCH, device="cpu")
    except ImportError as error:
        msg = f"the package bert-score is missing; run: pip install -e '.[torch]' --group parity ({error})"
        raise SystemExit(msg) from error


def _flop(texts: Iterable[str], *, model: str = _MODEL) -> int:
    config = resolve(model).config
    size = EncoderSize(layers=_LAYER[model], hidden=config["hidden_size"], intermediate=config["intermediate_size"])
    distinct = list(dict.fromkeys(texts))
    return encoding_flop((len(tokens) for tokens in load_encoder(model).tokenizer.encode(distinct)), size)


def _agreement(timings: Sequence[Timing]) -> list[str]:
    """Check that scores are equal, and describe the difference of each contestant from the first.

    In a batch, bert-score multiplies padding by 0 and can match it, so a token with only negative cosines gets 0 if
    the batch contains a longer pair. A pair that differs is therefore scored again alone, without padding, and must
    agree then.
    """
    first, *others = timings
    lines = []
    for other in others:
        name = other.contestant.name
        differences = np.abs(first.scores - other.scores).max(axis=1)
        if name.endswith("int8"):
            agree = np.corrcoef(first.scores[:, -1], other.scores[:, -1])[0, 1]
            lines.append(
                f"{name}: F correlates {agree:.4f} with {first.contestant.name}, largest difference "
                f"{differences.max():.3f}"
            )
            continue
        differing = [int(i) for i in np.flatnonzero(~(differences < _SAME))]
        padded = float(differences.max())
        for i in differing:
            if other.contestant.alone is not None:
                differences[i] = np.abs(first.scores[i] - other.contestant.alone(i)).max()
            if not differences[i] < _SAME:
                pair = f"{first.contestant.name} and {name} at pair {i}"
                msg = f"{pair} differ by {differences[i]:.1e}, expected below {_SAME}"
                raise AssertionError(msg)
        line = f"largest difference of a score from {name}'s: {differences.max():.1e}"
        if differing:
            many = "pair" if len(differing) == 1 else "pairs"
            line += f" ({len(differing)} {many} of {len(differences)} scored alone; {padded:.1e} in a padded batch)"
        lines.append(line)
    return lines


def _bars(task: Task, peak: float) -> list[Bar]:
    *ours, rival = task.timings
    exact = [timing for timing in ours if timing.contestant.name.endswith("fp32")]
    fastest = min(exact, key=lambda timing: timing.best)
    name = f"{task.name}: {fastest.contestant.name}"
    bars = [Bar(f"{name}, times as fast as {rival.contestant.name}", rival.best / fastest.best, task.least, "x")]
    if task.name == "pairs":
        bars.append(Bar(f"{name}, share of the GEMM peak", 100 * fastest.gflops / peak, _PEAK_SHARE, "%"))
        quick = [timing for timing in ours if timing not in exact]
        if quick:
            best = min(quick, key=lambda timing: timing.best)
            label = f"pairs: {best.contestant.name}, times as fast as float32"
            bars.append(Bar(label, fastest.best / best.best, _INT8_FASTER, "x"))
    return bars


def _table(task: Task, peak: float) -> str:
    head = f"{'':<14}{'best s':>9}{'pairs/s':>9}{'times':>8}{'median':>8}{'GFLOP/s':>9}{'of peak':>9}"
    lines = [task.title, head]
    for timing in task.timings:
        slower, median = timing.best / task.timings[0].best, paired_ratio(timing, task.timings[0])
        lines.append(
            f"{timing.contestant.name:<14}{timing.best:>9.2f}{task.pairs / timing.best:>9.0f}"
            f"{slower:>7.2f}x{median:>7.2f}x{timing.gflops:>9.0f}{timing.gflops / peak:>9.0%}"
        )
    return "\n".join(lines + task.agreement)


def _record(task: Task, peak: float) -> dict[str, Any]:
    return {
        "task": task.title,
        "pairs": task.pairs,
        "agreement": task.agreement,
        "contestants": [
            {
                "name": timing.contestant.name,
                "seconds": timing.seconds,
                "pairs_per_second": task.pairs / timing.best,
                "gflop": 1e-9 * timing.contestant.flop,
                "gflops": timing.gflops,
                "share_of_peak": timing.gflops / peak,
            }
            for timing in task.timings
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
