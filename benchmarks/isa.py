"""Differences between scores of two machines: `make bench-isa`, `make test-isa`.

    python -m benchmarks.isa dump FILE        # write the exact scores of every metric
    python -m benchmarks.isa compare A B      # print the largest difference per metric
    python -m benchmarks.isa switches         # find the environment variables that change bits on this processor
    python -m benchmarks.isa test ENGINE ...  # run pytest with these arguments under each such variable

Libraries choose kernels by processor, and kernels add in different orders. Compare a dump of one machine with one of
another machine, or of an emulator (`qemu-x86_64 -cpu SandyBridge python ...`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

__all__ = ["RECIPES", "SWITCHES", "compare", "dump", "main"]

_PAIRS = Path(__file__).parents[1] / "tests" / "golden" / "thirty_pairs.json"

#: Every metric, and every method with its own kernels.
RECIPES = (
    "bertscore",
    "bertscore:layer=6,idf=refs",
    "bertscore:rescale=yes",
    "bertscore:model=mpnet",
    "bertscore:model=muse",
    "moverscore",
    "moverscore:n=2",
    "moverscore:profile=v2",
    "moverscore:profile=paper",
    "moverscore:aggregation=barycentre",
    "moverscore:aggregation=kde-routing",
    "smd",
    "smd:profile=web",
    "baryscore",
    "baryscore:profile=released",
    "sentsim:combine=all,against=refs",
    "xmoverscore:against=refs",
    "xmoverscore:profile=head,against=refs",
    "xmoverscore:profile=paper,against=refs",
    "xmoverscore:unit=sentence,against=refs",
    "bleu",
    "chrf",
    "rouge1",
    "rouge2",
    "rougel",
)

#: Environment variables that lower the instruction set of a library.
SWITCHES: Mapping[str, Mapping[str, str]] = {
    "OpenBLAS as on Sandy Bridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "OpenBLAS as on Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "OpenBLAS as on Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "numpy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": "X86_V4"},
    "numpy without AVX2": {"NPY_DISABLE_CPU_FEATURES": "X86_V3"},
    "oneDNN up to AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    "oneDNN up to SSE 4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "ATen up to AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "ATen without AVX2": {"ATEN_CPU_CAPABILITY": "default"},
}

#: Segment scores as hexadecimal numbers, by recipe and component.
Dump = dict[str, list[str]]


def pairs_of(count: int) -> tuple[list[str], list[str]]:
    """Thirty pairs of similar texts, then other pairs of the same texts."""
    pairs = json.loads(_PAIRS.read_text(encoding="utf-8"))["pairs"]
    hyps, refs = ([pair[side] for pair in pairs] for side in ("hyp", "ref"))
    size = len(pairs)
    chosen = [(n % size, (n + n // size * 7) % size) for n in range(count)]
    return [hyps[i] for i, _ in chosen], [refs[j] for _, j in chosen]


def dump(recipes: Sequence[str], count: int, engine: str, precision: Literal["fp32", "int8"] = "fp32") -> Dump:
    """Compute the exact scores of each component of each recipe."""
    import nlgauge

    hyps, refs = pairs_of(count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        # One call encodes each text once; an emulator is a hundred times slower than its host.
        scores = nlgauge.score_systems(
            {"pairs": hyps}, refs, sources=refs, metric=recipes, engine=engine, precision=precision
        )
    result: Dump = {}
    for recipe, score in zip(recipes, scores, strict=True):
        for name, values in score.segments.items():
            result[f"{recipe} {name}"] = [float(value).hex() for value in values]
    return result


def compare(a: Dump, b: Dump) -> dict[str, tuple[int, float]]:
    """Number of differing values and largest difference, for each component in both dumps."""
    result = {}
    for key in a.keys() & b.keys():
        pairs = [(float.fromhex(x), float.fromhex(y)) for x, y in zip(a[key], b[key], strict=True)]
        differences = [0.0 if x == y or (math.isnan(x) and math.isnan(y)) else abs(x - y) for x, y in pairs]
        result[key] = (sum(1 for difference in differences if difference != 0), max(differences, default=0.0))
    return dict(sorted(result.items()))


def _report(results: Mapping[str, tuple[int, float]]) -> str:
    width = max(map(len, results))
    return "\n".join(
        f"{key:{width}}  {count:5d} differ  at most {most:.2g}" for key, (count, most) in results.items()
    )


def _child(
    recipes: Sequence[str], count: int, engine: str, extra: Mapping[str, str], precision: str = "fp32"
) -> Dump:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.json"
        command = [sys.executable, "-m", "benchmarks.isa", "dump", str(path), "--pairs", str(count)]
        command += ["--engine", engine, "--precision", precision, "--recipes", *recipes]
        subprocess.run(command, env=os.environ | extra, check=True, stderr=subprocess.DEVNULL)
        content: Dump = json.loads(path.read_text(encoding="utf-8"))
        return content


def _moved(
    recipes: Sequence[str], count: int, engine: str, precision: str = "fp32"
) -> dict[str, dict[str, tuple[int, float]]]:
    """Differences between a run under each switch and a run without any."""
    native = _child(recipes, count, engine, {}, precision)
    return {
        name: compare(native, _child(recipes, count, engine, extra, precision)) for name, extra in SWITCHES.items()
    }


def _says(name: str, results: Mapping[str, tuple[int, float]], pairs: int) -> str:
    moved = sum(count for count, _ in results.values())
    worst = max(results, key=lambda key: results[key][1])
    text = f"{moved} of {len(results) * pairs} values differ, at most {results[worst][1]:.2g} ({worst})"
    return f"{_variables(name)} ({name}): {text if moved else 'no difference'}"


def _variables(name: str) -> str:
    return " ".join(f"{key}={value}" for key, value in SWITCHES[name].items())


def _test(engine: str, arguments: Sequence[str]) -> int:
    """Run pytest under each switch that changes bits here; return the first status that is not 0."""
    status = 0
    recipes = ("bertscore", "moverscore", "baryscore")
    for name, results in _moved(recipes, 30, engine).items():
        print(_says(name, results, 30), flush=True)
        if any(count for count, _ in results.values()):
            command = [sys.executable, "-m", "pytest", *arguments]
            status = status or subprocess.run(command, env=os.environ | SWITCHES[name], check=False).returncode
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Write a dump, compare two, or try the switches."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.isa", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("dump", "switches"):
        command = commands.add_parser(name)
        if name == "dump":
            command.add_argument("file", type=Path)
        command.add_argument("--pairs", type=int, default=100)
        command.add_argument("--engine", default="onnx", choices=["onnx", "openvino", "torch"])
        command.add_argument("--precision", default="fp32", choices=["fp32", "int8"])
        command.add_argument("--recipes", nargs="+", default=list(RECIPES))
    command = commands.add_parser("compare")
    command.add_argument("files", type=Path, nargs=2)
    commands.add_parser("test")
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["test"]:  # the remaining words are pytest's
        return _test(words[1], words[2:])
    options = parser.parse_args(words)
    if options.command == "dump":
        scores = dump(options.recipes, options.pairs, options.engine, options.precision)
        options.file.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    elif options.command == "compare":
        print(_report(compare(*(json.loads(path.read_text(encoding="utf-8")) for path in options.files))))
    else:
        for name, moved in _moved(options.recipes, options.pairs, options.engine, options.precision).items():
            print(_says(name, moved, options.pairs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
