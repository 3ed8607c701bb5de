"""What is built and installed away from the source tree is the same library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import nlgauge

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
HYPS = ["The ferry was called off because of the storm.", "Bread is good."]
REFS = ["A storm stopped the ferry.", "The bread is the best."]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `python -m build` makes, by way of the source distribution."""
    pytest.importorskip("build", reason="the package 'build' is not installed")
    pytest.importorskip("hatchling", reason="the package 'hatchling' is not installed")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = folder.glob("*.whl")
    return result


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of a fresh environment lie: the wheel, and beside it the packages that tests run with.

    A line in a .pth file shows their folder, but not this source tree, to which only a .pth file in there points.
    """
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=300)
    bin_ = folder / ("Scripts" if sys.platform == "win32" else "bin")
    options = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(bin_ / "python"), *options, str(wheel)],
        check=True,
        timeout=300,
        env=environment(),
    )
    (own,) = folder.rglob("site-packages")
    shown = [path for path in sys.path if path.endswith("site-packages")]
    (own / "beside.pth").write_text("\n".join(shown) + "\n", encoding="utf-8")
    return bin_


@pytest.fixture(scope="module")
def with_metric(scripts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same environment with the example of a metric of one's own installed as a package."""
    return install_example("nlgauge-centroid", scripts, tmp_path_factory.mktemp("plug-in"))


def install_example(name: str, scripts: Path, folder: Path) -> Path:
    """Build an example's wheel in a folder and install it where the programs lie."""
    package = ROOT / "examples" / name
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(package)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    options = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), *options, str(made)]
    subprocess.run(pip, check=True, timeout=300, env=environment())
    return scripts


def environment() -> dict[str, str]:
    """Without what would lead back to the source tree or to data, and without a network."""
    hidden = ("PYTHONPATH", "NLGAUGE_DATA")
    return {key: value for key, value in os.environ.items() if key not in hidden} | {"NLGAUGE_OFFLINE": "1"}


def run(program: Path, *argv: str, folder: Path) -> str:
    done = subprocess.run(
        [str(program), *argv], cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_texts(folder: Path) -> None:
    for name, lines in (("hyp.txt", HYPS), ("ref.txt", REFS)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in (source / "nlgauge").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert any(name.startswith("nlgauge/metrics/parts/baselines/") for name in files)
    assert "nlgauge/metrics/parts/citations.bib" in files
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == files


def test_the_installed_wheel_scores_as_the_source_tree_does(scripts: Path, tmp_path: Path) -> None:
    where = run(scripts / "python", "-c", "import nlgauge; print(nlgauge.__file__)", folder=tmp_path)
    assert Path(where.strip()).resolve().is_relative_to(scripts.parent.resolve()), "this is not the installed one"
    write_texts(tmp_path)
    recipes = ["bertscore:rescale=yes", "moverscore", "chrf"]
    out = run(
        scripts / "nlgauge", "score", "hyp.txt", "--refs", "ref.txt", "--metric", *recipes,
        "--segments", "--format", "json", folder=tmp_path,
    )  # fmt: skip
    result = json.loads(out)["scores"]
    expected = nlgauge.score_systems({"hyp.txt": HYPS}, REFS, metric=recipes)
    for record, score in zip(result, expected, strict=True):
        assert record["signature"] == str(score.signature)
        for name, values in score.segments.items():
            assert np.array_equal([row[name] for row in record["segments"]], values), (score.metric, name)


def test_a_metric_of_another_package_works_like_one_of_ours(with_metric: Path, tmp_path: Path) -> None:
    write_texts(tmp_path)
    nlgauge_ = with_metric / "nlgauge"
    assert "centroid" in run(nlgauge_, "list", folder=tmp_path)
    shown = run(nlgauge_, "show", "centroid", folder=tmp_path)
    assert "\nweigh  " in shown
    assert "squared-length" in shown
    files = ["hyp.txt", "--refs", "ref.txt"]
    score = ["score", *files, "--segments", "--format", "json", "--metric"]
    (first,) = json.loads(run(nlgauge_, *score, "centroid:layer=4,weigh=squared-length", folder=tmp_path))["scores"]
    package = "package:nlgauge-centroid-0.1.0"
    assert first["signature"].startswith(f"centroid|layer:4|weigh:squared-length|{package}|refs:1|model:minilm|")
    assert all(0 < row["score"] <= 1 for row in first["segments"])
    (again,) = json.loads(run(nlgauge_, *score, first["signature"], folder=tmp_path))["scores"]
    assert again == first
    (tmp_path / "study.toml").write_text(
        'metric = ["centroid"]\n[[sweep]]\nweigh = ["equal", "squared-length"]\n', encoding="utf-8"
    )
    study = [
        "study",
        "sensitivity",
        "hyp.txt",
        "ref.txt",
        "--refs",
        "ref.txt",
        "--study",
        "study.toml",
        "--format",
        "json",
    ]
    result = json.loads(run(nlgauge_, *study, folder=tmp_path))
    assert {setting["setting"] for setting in result["settings"]} == {"equal", "squared-length"}


def test_a_metric_of_another_package_keeps_the_contracts(with_metric: Path, tmp_path: Path) -> None:
    tests = ROOT / "examples" / "nlgauge-centroid" / "tests"
    out = run(with_metric / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests), folder=tmp_path)
    assert "17 passed" in out


@pytest.mark.torch
def test_the_classifier_of_capsules_is_a_package_too(scripts: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    program = install_example("nlp-capsule", scripts, tmp_path)
    assert "140,698,616" in run(program / "nlp-capsule", "parameters", folder=tmp_path)
    code = "import nlp_capsule, pathlib; print(pathlib.Path(nlp_capsule.__file__).with_name('py.typed').is_file())"
    assert run(program / "python", "-c", code, folder=tmp_path).strip() == "True"
