"""A command imports only what it needs: the rooms and packages that each one loads, in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, write_lines

import nlgauge
import nlgauge.metrics

#: Packages that take long to load, or that not everybody has.
HEAVY = {
    "fastapi",
    "httpx2",
    "huggingface_hub",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "openvino",
    "ot",
    "pandas",
    "pydantic",
    "rouge_score",
    "sacrebleu",
    "scipy",
    "sklearn",
    "spacy",
    "torch",
    "transformers",
    "uvicorn",
}

#: Rooms, and parts of rooms, that only some commands have to do with.
ROOMS = {
    "nlgauge.studies.compare",
    "nlgauge.studies.explain",
    "nlgauge.data",
    "nlgauge.data.loaders.flat_files",
    "nlgauge.data.loaders.wmt",
    "nlgauge.encoders.engines.muse",
    "nlgauge.encoders.graphs",
    "nlgauge.encoders.engines.graph_engines",
    "nlgauge.encoders.engines.torch_engine",
    "nlgauge.encoders.language_model",
    "nlgauge.encoders.sentences",
    "nlgauge.studies.meta",
    "nlgauge.studies.published",
    "nlgauge.studies.sensitivity",
    "nlgauge.apps.service",
    "nlgauge.stats",
    "nlgauge.testing",
    "nlgauge.studies.alignment",
}

SIGNATURE = "bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1|model:minilm|engine:onnxruntime-1.31.1-fp32"
SCORE = "score a.txt --refs ref.txt --quiet"

#: What the default engine takes where its graph is in the cache already.
ONNX = {"nlgauge.encoders.graphs", "nlgauge.encoders.engines.graph_engines", "onnxruntime"}

#: Words that people marked are in data sets, and are compared by statistics.
EXPLAIN = {"nlgauge.data", "nlgauge.studies.explain", "nlgauge.studies.meta", "nlgauge.stats"}

#: What each command may load of the two lists above.
LOADED = {
    "--version": set(),
    "list": set(),
    "show moverscore": set(),
    # `models list` looks for what is not here in the hub's cache, so what it loads depends on the machine.
    "models path minilm": set(),
    f"signature show {SIGNATURE}": set(),
    f"signature diff {SIGNATURE} {SIGNATURE}": set(),
    "normalise a.txt --rules punctuation": set(),
    "data list": {"nlgauge.data"},
    "explain pair --hyp-text a --ref-text b --quiet": {*ONNX, *EXPLAIN},
    SCORE: {*ONNX},
    f"{SCORE} --metric chrf": {"nlgauge.stats", "sacrebleu"},
    f"{SCORE} --metric moverscore": {*ONNX, "ot", "scipy"},
    f"{SCORE} --model muse": {"nlgauge.encoders.engines.muse"},
    "build bounds --help": set(),
}

_LIST = """
import contextlib, io, sys
from nlgauge.apps.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    status = main(sys.argv[1:])
print(status)
print(*sorted(sys.modules))
"""


@pytest.fixture(scope="module", autouse=True)
def _graphs_are_cached() -> None:
    """Only a graph that is not in the cache yet needs the package that writes graphs."""
    for metric in ("bertscore", "moverscore"):
        nlgauge.score(SYSTEM_A, REFERENCE, metric=metric)


@pytest.mark.parametrize("command", list(LOADED))
def test_a_command_loads_only_its_own_rooms_and_packages(tmp_path: Path, command: str) -> None:
    write_lines(tmp_path / "a.txt", SYSTEM_A)
    write_lines(tmp_path / "ref.txt", REFERENCE)
    run = [sys.executable, "-c", _LIST, *command.split()]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    status, modules = done.stdout.splitlines()
    assert status == "0", done.stderr
    assert set(modules.split()) & (HEAVY | ROOMS) == LOADED[command]


@pytest.mark.parametrize(
    ("command", "metrics"),
    [
        (SCORE, {"bertscore"}),
        (f"{SCORE} --metric bertscore:idf=refs chrf --layer 3", {"bertscore", "bleu", "chrf"}),
        (f"{SCORE} --metric bertscore:multiref=mean", {"bertscore"}),
    ],
)
def test_scoring_loads_only_the_metrics_that_it_names(tmp_path: Path, command: str, metrics: set[str] | None) -> None:
    """All are loaded for a flag that is an option of some of them."""
    write_lines(tmp_path / "a.txt", SYSTEM_A)
    write_lines(tmp_path / "ref.txt", REFERENCE)
    run = [sys.executable, "-c", _LIST, *command.split()]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    status, modules = done.stdout.splitlines()
    assert status == "0", done.stderr
    folder = Path(nlgauge.metrics.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    loaded = {name.removeprefix("nlgauge.metrics.") for name in modules.split()} & files
    assert loaded == (files if metrics is None else metrics)


@pytest.mark.parametrize("command", ["--version", "--help", "-h", "nosuch", "meta", "", "study", "build --help"])
def test_version_and_command_list_import_no_metric(command: str) -> None:
    run = [sys.executable, "-c", _LIST, *command.split()]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    status, modules = done.stdout.splitlines()
    assert status == ("2" if command in {"nosuch", "meta"} else "0"), done.stderr
    loaded = set(modules.split())
    unwanted = {
        "numpy",
        "nlgauge.metrics",
        "nlgauge.metrics.bertscore",
        "nlgauge.core.metric",
        "nlgauge.apps.cli.score",
    }
    assert all(importlib.util.find_spec(name) for name in unwanted)
    assert not loaded & unwanted
