"""Install nlgauge on the oldest and the newest supported Python, and compare scores with those of this Python.

    python -m tests.pythons        (make test-pythons)

Supported versions are the classifiers of pyproject.toml. Interpreters are searched on PATH and in pyenv. A version
without an interpreter is reported and replaced by the next one.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: Recipes that need only the default model and the lighter extras.
RECIPES = (
    "bertscore",
    "bertscore:idf=refs",
    "bertscore:layer=6,stopwords=iso-en",
    "moverscore",
    "moverscore:n=2",
    "smd",
    "baryscore",
    "bleu",
    "bleu:tokenize=intl",
    "chrf",
    "chrf:words=2",
    "rouge1",
    "rougel:stemmer=yes",
    "learned",
)

#: Tolerance between different versions of numpy, scipy and ONNX Runtime: five printed decimals.
TOLERANCE = 2e-6

#: Script that imports every module of nlgauge except those with a missing extra.
IMPORT_ALL = """
import importlib, pkgutil, nlgauge
for module in pkgutil.walk_packages(nlgauge.__path__, "nlgauge."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except nlgauge.errors.MissingExtraError:
            pass
        except ModuleNotFoundError as error:
            if not error.name or error.name.startswith("nlgauge"):
                raise
"""


def supported_versions(pyproject: str) -> list[str]:
    """Versions in the classifiers, oldest first.

    >>> supported_versions('"Programming Language :: Python :: 3.10", "Programming Language :: Python :: 3.9"')
    ['3.9', '3.10']
    """
    return sorted(re.findall(r'Python :: (3\.\d+)"', pyproject), key=lambda text: int(text.partition(".")[2]))


def interpreters(version: str) -> Iterator[Path]:
    """Possible interpreters of a version."""
    name = f"python{version}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if path := shutil.which(name, path=folder):
            yield Path(path)
    pyenv = shutil.which("pyenv")
    pyenv_root = subprocess.run([pyenv, "root"], capture_output=True, text=True).stdout.strip() if pyenv else ""
    roots = dict.fromkeys([os.environ.get("PYENV_ROOT", ""), pyenv_root, str(Path.home() / ".pyenv")])
    for root in filter(None, roots):
        yield from sorted(Path(root, "versions").glob(f"{version}*/bin/{name}"))


def starts(interpreter: Path, version: str) -> bool:
    """Whether an interpreter runs, has the version and can create environments; a shim of pyenv may fail."""
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        process = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0 and process.stdout.strip() == version


def first_available(versions: Iterable[str], which: str) -> tuple[str, Path] | None:
    """First version with a working interpreter; earlier ones are printed."""
    for version in versions:
        for interpreter in interpreters(version):
            if starts(interpreter, version):
                return version, interpreter
        print(f"Python {version}: no interpreter found, so it is not tested as the {which}", flush=True)
    return None


def install(version: str, interpreter: Path) -> Path:
    """Create an environment with nlgauge and its lighter extras, and return its interpreter."""
    folder = ROOT / f".venv-{version}"
    python = folder / "bin" / "python"
    inputs = [ROOT / name for name in ("pyproject.toml", "constraints.txt")]
    stamp = folder / ".installed"
    if not stamp.exists() or any(path.stat().st_mtime > stamp.stat().st_mtime for path in inputs):
        run([interpreter, "-m", "venv", "--clear", folder])
        options = ("--quiet", "--disable-pip-version-check", "-c", "constraints.txt")
        run([python, "-m", "pip", "install", *options, "-e", ".[lexical,service]"])
        stamp.touch()
    return python


def run(command: Sequence[str | Path], **options: Any) -> str:
    """Run a command without the settings of this environment, and return its output."""
    foreign = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYENV_VERSION"))}
    options = {"env": foreign, "cwd": ROOT, "stdout": subprocess.PIPE, "text": True, "check": True} | options
    return str(subprocess.run(command, **options).stdout)


def scores(python: Path | str, **options: Any) -> dict[str, float]:
    """All numbers of the recipes on the example, by location in the JSON."""
    texts = ("examples/system-a.txt", "examples/system-b.txt", "--refs", "examples/reference.txt")
    words = ("score", *texts, "--metric", *RECIPES, "--segments", "--format", "json", "--quiet")
    results = json.loads(run([python, "-m", "nlgauge", *words], **options))
    return dict(numbers(results["scores"]))


def numbers(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """All numbers of a JSON value.

    >>> dict(numbers({"a": [1, {"b": 2.5}], "c": "text"}))
    {'/a/0': 1.0, '/a/1/b': 2.5}
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{place}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from numbers(inner, f"{place}/{index}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, float(value)


def differences(expected: dict[str, float], values: dict[str, float]) -> list[str]:
    """Numbers that are missing, new, or differ by more than the tolerance.

    >>> differences({"a": 1.0, "b": 2.0}, {"a": 1.000001, "b": 2.00001})
    ['b: 2.0 here, 2.00001 there']
    """
    return [
        f"{place}: {expected.get(place)} here, {values.get(place)} there"
        for place in sorted({*expected, *values})
        if not math.isclose(expected.get(place, math.nan), values.get(place, math.nan), rel_tol=0, abs_tol=TOLERANCE)
    ]


def main() -> int:
    """Return 1 if an import fails or a number differs."""
    versions = supported_versions((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ends = [first_available(versions, "oldest"), first_available(reversed(versions), "newest")]
    chosen = dict(filter(None, ends))
    if not chosen:
        return 0
    expected = scores(sys.executable, env=os.environ)

    def check(version: str) -> list[str]:
        try:
            python = install(version, chosen[version])
            run([python, "-c", IMPORT_ALL])
            return differences(expected, scores(python))
        except subprocess.CalledProcessError as error:  # its message is already on stderr
            command = " ".join(str(word).split("\n")[0] for word in error.cmd[:4])
            return [f"status {error.returncode} of {command} ..."]

    failed = False
    with ThreadPoolExecutor() as pool:
        for version, wrong in zip(chosen, pool.map(check, chosen), strict=True):
            failed |= bool(wrong)
            verdict = "\n  ".join(["FAILED", *wrong[:20]]) if wrong else f"equal to {TOLERANCE:g}"
            print(f"Python {version}: {len(RECIPES)} recipes, {len(expected)} numbers, {verdict}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
