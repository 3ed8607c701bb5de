"""How much memory many pairs need: `make bench-memory`.

A child process makes the texts and scores them in one call; its peak resident memory is the figure. With
100,000 pairs that takes ten minutes and more on two processors.
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
#: Seconds between two lines of progress where stderr is no terminal.
_EVERY = 15.0


def main(argv: Sequence[str] | None = None) -> int:
    """Start the child, wait, and print what it found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="pairs to score (default: 100,000)")
    parser.add_argument("--metric", nargs="+", default=["bertscore"], help="metrics of the call (default: bertscore)")
    parser.add_argument("--engine", default="onnx", help="onnx (default), openvino or torch")
    parser.add_argument("--precision", default="fp32", help="fp32 (default) or int8")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file as well")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        print(json.dumps(_child(options.pairs, options.metric, engine=options.engine, precision=options.precision)))
        return 0
    # Linux hands the peak of the process that starts a program on to that program, so this one imports
    # nothing large before the child has ended.
    command = [sys.executable, "-m", "benchmarks.memory", "--child", "--pairs", str(options.pairs)]
    command += ["--metric", *options.metric, "--engine", options.engine, "--precision", options.precision]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    from benchmarks.harness import Bar, machine

    about = machine(["onnxruntime", "openvino"])
    bar = Bar("peak resident memory", found["peak_gb"], _LIMIT_GB, "GB", at_most=True)
    print(f"{options.pairs} pairs of {_WORDS} words, distinct texts, minilm, {' '.join(options.metric)}, one call")
    print(f"engine {options.engine}, {options.precision}")
    print(f"RSS with the texts      {found['texts_gb']:.2f} GB")
    print(f"RSS with the model too  {found['model_gb']:.2f} GB")
    print(f"RSS half-way            {found['half_gb']:.2f} GB")
    print(f"peak RSS                {found['peak_gb']:.2f} GB")
    print(f"time                    {found['seconds']:.0f} s, {options.pairs / found['seconds']:.0f} pairs/s")
    print("; ".join(f"{key} {value}" for key, value in about.items()), end="\n\n")
    print(bar)
    if options.json:
        report = {"machine": about, "pairs": options.pairs, **found, "limit_gb": _LIMIT_GB, "reached": bar.reached}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _child(pairs: int, metrics: list[str], **options: Any) -> dict[str, float]:
    """Score in this process, which did nothing else before."""
    from benchmarks.harness import peak_rss, rss, say

    texts = made_texts(2 * pairs, _WORDS)
    hypotheses, references = texts[:pairs], texts[pairs:]
    del texts
    found = {"texts_gb": rss()}

    import nlgauge

    nlgauge.score(hypotheses[:1], references[:1], model="minilm", **options)
    found["model_gb"] = rss()
    say(f"{pairs} pairs; {found['texts_gb']:.2f} GB with the texts, {found['model_gb']:.2f} GB with the model too")

    samples: list[float] = []
    over = threading.Event()
    quiet = sys.stderr.isatty()  # nlgauge shows a bar there

    def watch() -> None:
        begin = said = time.perf_counter()
        while not over.wait(0.5):
            samples.append(rss())
            now = time.perf_counter()
            if not quiet and now - said >= _EVERY:
                said = now
                say(f"{now - begin:5.0f} s: {samples[-1]:.2f} GB now, {max(samples):.2f} GB at most")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = time.perf_counter()
    nlgauge.score_systems({"": hypotheses}, references, metric=metrics, model="minilm", progress=True, **options)
    found["seconds"] = time.perf_counter() - start
    over.set()
    watcher.join()
    found["half_gb"] = samples[len(samples) // 2] if samples else rss()
    found["peak_gb"] = peak_rss()
    return found


if __name__ == "__main__":
    sys.exit(main())
