"""Measure texts longer than a model's limit: `python -m benchmarks.long_texts transport|windows|solvers|speed`.

transport   time, memory and cost of each solver by number of points (one child process each)
windows     change of BERTScore of Newsroom's summaries against their articles if articles are not truncated
solvers     MoverScore of the same pairs by each solver, compared with the exact one
speed       time for a pair of texts by number of words, with windows

Vectors are MiniLM's, of Newsroom's articles if `$NLGAUGE_DATA` has them, otherwise of generated texts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nlgauge
from benchmarks.corpus import made_texts
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.stats.correlation import correlate
from nlgauge.text.windows import Reading
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.transport import relaxed_transport, solve, squared_distances

__all__ = ["main"]

_SIZES = (512, 1024, 2048, 4096, 8192)
_SOLVERS = ("exact", "relaxed", "sinkhorn-0.1")
_LAYER = 6
#: Largest problem for the entropic solver.
_MOST_ENTROPIC = 4096


def main(argv: Sequence[str] | None = None) -> int:
    """Print the chosen table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_texts", description=__doc__)
    parser.add_argument("what", choices=("transport", "windows", "solvers", "speed", "child"))
    parser.add_argument("--vectors", type=Path, help="cache file for the vectors of `transport`", default=None)
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES)
    parser.add_argument("--solver", default="exact", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.what == "child":
        print(json.dumps(_child(options.vectors, options.sizes[0], options.solver)))
    elif options.what == "transport":
        _transport(options.vectors or Path("long-texts-vectors.npz"), options.sizes)
    elif options.what == "windows":
        _windows()
    elif options.what == "solvers":
        _solvers()
    else:
        _speed()
    return 0


def _newsroom() -> list[dict[str, Any]]:
    path = Path(os.environ.get("NLGAUGE_DATA", "")) / "summ" / "newsroom.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def _articles() -> list[str]:
    return list(dict.fromkeys(row["source"] for row in _newsroom())) or made_texts(100, 600)


def _transport(path: Path, sizes: Sequence[int]) -> None:
    """Compare solvers on the tokens of even and odd articles."""
    if not path.is_file():
        articles, encoder = _articles(), load_encoder("minilm")
        windows = Reading("model").windows(encoder.tokenizer, limit=encoder.tokenizer.limit, model="minilm")
        assert windows is not None
        texts = [" ".join(articles[start::2])[:60_000] for start in (0, 1)]
        tokens = [text.in_windows(windows) for text in encoder.tokenizer.encode(texts, whole=True)]
        encoded = encode_texts(encoder, tokens, (_LAYER,), batch_tokens=4096)
        x, y = (unit_rows(text.layers[_LAYER]) for text in encoded)
        np.savez(path, x=x, y=y)
    print("| points | solver | cost | CPU seconds | MB without the cost matrix |\n|---|---|---|---|---|")
    for size in sizes:
        for solver in _SOLVERS:
            if solver.startswith("sinkhorn") and size > _MOST_ENTROPIC:
                continue
            command = [sys.executable, "-m", "benchmarks.long_texts", "child", "--vectors", str(path)]
            command += ["--sizes", str(size), "--solver", solver]
            alone = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=alone).stdout)
            print(
                f"| {size} | {solver} | {result['cost']:.4f} | {result['seconds']:.2f} | {result['megabytes']:.0f} |",
                flush=True,
            )


def _child(path: Path, size: int, solver: str) -> dict[str, float]:
    """Solve one problem with squared distances of unit vectors and uniform weights."""
    import ot  # noqa: F401 - excludes the memory of the package

    with np.load(path) as file:
        x, y = (file[name][:size].astype(np.float64) for name in ("x", "y"))
    weights = np.ones(size)
    costs: NDArray[np.float64] = squared_distances(x, y)
    before, start = _peak_megabytes(), time.process_time()
    if solver == "relaxed":
        cost = relaxed_transport(weights, weights, [costs]).cost
    else:
        cost = solve(solver, weights, weights, costs).cost
    seconds = time.process_time() - start
    return {"cost": cost, "seconds": seconds, "megabytes": _peak_megabytes() - before}


def _peak_megabytes() -> float:
    """Peak memory of this process alone; for a child, `getrusage` starts at the size of its parent."""
    status = Path("/proc/self/status").read_text("ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def _summaries() -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """Rows, summaries and articles of Newsroom."""
    rows = _newsroom()
    if not rows:
        msg = "this table needs the Newsroom set: $NLGAUGE_DATA/summ/newsroom.jsonl"
        raise SystemExit(msg)
    return rows, [row["hypothesis"] for row in rows], [row["source"] for row in rows]


def _solvers() -> None:
    """Compare solvers on summaries against whole articles, in one call."""
    _, hyps, articles = _summaries()
    metrics = [f"moverscore:idf=none,solver={solver}" for solver in _SOLVERS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        exact, *others = nlgauge.score_systems({"": hyps}, articles, metric=metrics, long="windows")
    for solver, other in zip(_SOLVERS[1:], others, strict=True):
        x, y = exact.segments["score"], other.segments["score"]
        print(
            f"{solver}: mean difference {np.mean(y - x):+.4f} (exact: mean {x.mean():.4f}), "
            f"Pearson {correlate(x, y).value:.4f}, Kendall {correlate(x, y, kind='kendall').value:.4f}, "
            f"not converged: {len(other.notes.get('unconverged', ()))} of {len(x)}"
        )


def _windows() -> None:
    """Compare scores of summaries against truncated and whole articles."""
    rows, hyps, articles = _summaries()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        cut, whole = (nlgauge.score(hyps, articles, long=long) for long in ("truncate", "windows"))
    long = np.zeros(len(rows), dtype=bool)
    long[list(whole.notes.get("windows", ()))] = True
    print(f"{len(rows)} summaries of {len(set(articles))} articles; {long.sum()} with an article over the limit")
    systems = np.array([row["system"] for row in rows])
    for name in ("precision", "recall", "f1"):
        change = whole.segments[name] - cut.segments[name]
        assert not change[~long].any()
        order = correlate(
            *(_by_system(score.segments[name], systems) for score in (cut, whole)), kind="kendall"
        ).value
        print(
            f"{name}: mean change {change[long].mean():+.4f}, largest {np.abs(change).max():.4f}, "
            f"share with a change above .01 {np.mean(np.abs(change[long]) > 0.01):.0%}, "
            f"tau of the systems' order {order:.3f}"
        )


def _by_system(values: NDArray[np.float64], systems: NDArray[Any]) -> list[float]:
    return [float(values[systems == system].mean()) for system in sorted(set(systems.tolist()))]


def _speed() -> None:
    """Time one pair of generated texts; the model is already loaded."""
    nlgauge.score(["warm"], ["up"])
    for count in (400, 1250, 5000, 20_000):
        pair = made_texts(2, count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
            start, spent = time.perf_counter(), time.process_time()
            nlgauge.score(pair[:1], pair[1:], long="windows")
        wall, spent = time.perf_counter() - start, time.process_time() - spent
        print(
            f"{count} words: {wall:.1f} s ({spent:.1f} CPU s), peak memory of the process {_peak_megabytes():.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
