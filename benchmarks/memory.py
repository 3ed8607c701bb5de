"""Measure the memory for many pairs: `make bench-memory`.

A child process generates texts and scores them in one call; the result is its peak resident memory. 100,000 pairs
take at least ten minutes on two processors.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.corpus import made_texts

__all__ = ["main"]

_WORDS = 25
_LIMIT_GB = 1.5
#: Seconds between two progress lines if stderr is not a terminal.
_EVERY = 15.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the child process and print its results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="number of pairs (default: 100,000)")
    parser.add_argument("--metric", nargs="+", default=["bertscore"], help="metrics of the call (default: bertscore)")
    parser.add_argument("--engine", default="onnx", help="inference backend: onnx, openvino or torch (default: onnx)")
    parser.add_argument("--precision", default="fp32", help="fp32 or int8 (default: fp32)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        print(json.dumps(_child(options.pairs, options.metric, engine=options.engine, precision=options.precision)))
        return 0
    # On Linux a child inherits the peak of its parent, so this process imports nothing large before the child ends.
    command = [sys.executable, "-m", "benchmarks.memory", "--child", "--pairs", str(options.pairs)]
    command += ["--metric", *options.metric, "--engine", options.engine, "--precision", options.precision]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results: dict[str, float] = json.loads(process.stdout)
    from benchmarks.harness import Bar, machine

    environment = machine(["onnxruntime", "openvino"])
    bar = Bar("peak resident memory", results["peak_gb"], _LIMIT_GB, "GB", at_most=True)
    print(f"{options.pairs} pairs of {_WORDS} words, distinct texts, minilm, {' '.join(options.metric)}, one call")
    print(f"engine {options.engine}, {options.precision}")
    print(f"RSS with texts          {results['texts_gb']:.2f} GB")
    print(f"RSS with model          {results['model_gb']:.2f} GB")
    print(f"RSS half-way            {results['half_gb']:.2f} GB")
    print(f"peak RSS                {results['peak_gb']:.2f} GB")
    print(f"time                    {results['seconds']:.0f} s, {options.pairs / results['seconds']:.0f} pairs/s")
    print("; ".join(f"{key} {value}" for key, value in environment.items()), end="\n\n")
    print(bar)
    if options.json:
        report = {
            "machine": environment,
            "pairs": options.pairs,
            **results,
            "limit_gb": _LIMIT_GB,
            "reached": bar.reached,
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _child(pairs: int, metrics: list[str], **options: Any) -> dict[str, float]:
    """Score in this fresh process."""
    from benchmarks.harness import peak_rss, rss, say

    texts = made_texts(2 * pairs, _WORDS)
    hypotheses, references = texts[:pairs], texts[pairs:]
    del texts
    results = {"texts_gb": rss()}

    import nlgauge

    nlgauge.score(hypotheses[:1], references[:1], model="minilm", **options)
    results["model_gb"] = rss()
    say(f"{pairs} pairs; {results['texts_gb']:.2f} GB with texts, {results['model_gb']:.2f} GB with model")

    samples: list[float] = []
    over = threading.Event()
    quiet = sys.stderr.isatty()  # nlgauge shows a progress bar on a terminal

    def watch() -> None:
        begin = printed = time.perf_counter()
        while not over.wait(0.5):
            samples.append(rss())
            now = time.perf_counter()
            if not quiet and now - printed >= _EVERY:
                printed = now
                say(f"{now - begin:5.0f} s: {samples[-1]:.2f} GB, peak {max(samples):.2f} GB")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = time.perf_counter()
    nlgauge.score_systems({"": hypotheses}, references, metric=metrics, model="minilm", progress=True, **options)
    results["seconds"] = time.perf_counter() - start
    over.set()
    watcher.join()
    results["half_gb"] = samples[len(samples) // 2] if samples else rss()
    results["peak_gb"] = peak_rss()
    return results


if __name__ == "__main__":
    sys.exit(main())
