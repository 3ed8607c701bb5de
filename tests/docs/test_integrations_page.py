"""Examples of docs/integrations.md run, the gate's files do what the page says, and the settings are taken."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, SYSTEM_B, write_lines
from tests.extras import LazyModule

import nlgauge
from nlgauge.apps.cli import main, parser_for
from nlgauge.apps.cli.project_file import find_settings
from nlgauge.io.storage import cache_dir

yaml = LazyModule("yaml")

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")

#: What the examples print; the page shows them without.
PRINTED = {
    "bert-score": ["0.802", " bertscore\n2 4\n"],
    "evaluate": [
        "['f1', 'hashcode', 'precision', 'recall'] 2\n",
        "[5, 4, 3, 1] 2\nchrf|chars:6|words:2|beta:2|sacrebleu:",
    ],
    "pandas": ["['mt', 'ref', 'precision', 'recall', 'f1'] ['a', 'b']\nbertscore\n"],
    "Data frames and SQL": ["Name: f1", "│ system ┆ f1", "avg(f1)"],
    "datasets": ["['bertscore_precision', 'bertscore_recall', 'bertscore_f1']\n"],
    "Notebooks": ["<table> <table>\n"],
}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def fenced(title: str, language: str) -> str:
    return "".join(re.findall(rf"```{language}\n(.*?)```", section(title), re.S))


@pytest.mark.parametrize("title", PRINTED)
def test_examples_run(title: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(fenced(title, "python"), {})
    for part in PRINTED[title]:
        assert part in printed.getvalue()


@pytest.mark.torch
def test_the_example_of_torchmetrics_runs() -> None:
    pytest.importorskip("torchmetrics")
    code = "".join(
        line.removeprefix("    ") for line in section("torchmetrics").splitlines(True) if line[:4] == "    "
    )
    names: dict[str, Any] = {"loader": [{"mt": ["A cat sat."], "ref": ["A cat sat."]}] * 2}
    exec(code, names)
    assert names["metric"].compute()["f1"].tolist() == pytest.approx([1, 1], abs=1e-5)
    assert names["metric"].result.signature.metric == "bertscore"


def test_no_example_is_left_out() -> None:
    assert PAGE.count("```python") == len(PRINTED)


def test_the_settings_of_the_page_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NLGAUGE_CONFIG", raising=False)
    (tmp_path / "nlgauge.toml").write_text(fenced("Defaults of a project", "toml"), encoding="utf-8")
    result = find_settings(tmp_path)
    assert result is not None
    assert (result.model, result.metric, result.threads) == ("mpnet", ("bertscore:idf=refs", "chrf"), 2)


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    for name, lines in (("good.txt", SYSTEM_A), ("bad.txt", SYSTEM_B), ("ref.txt", REFERENCE)):
        write_lines(tmp_path / name, lines * 3)
    return tmp_path


ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def run_step(
    step: dict[str, Any], folder: Path, inputs: dict[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """A step of the action, as a runner runs it: inputs are variables of a bash script."""
    named = {name: re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text) for name, text in step["env"].items()}
    environment = {name: inputs[result[1]] for name, result in named.items() if result is not None}
    assert set(environment) == set(step["env"])
    environment["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=os.environ | environment | variables,
        capture_output=True,
        text=True,
    )


def action(folder: Path, base: str, new: str, **given: str) -> subprocess.CompletedProcess[str]:
    """The step that compares, with the nlgauge of this environment."""
    (step,) = [item for item in ACTION["runs"]["steps"] if item.get("id") == "gate"]
    inputs = {"base": base, "new": new, "refs": "ref.txt", "metric": "chrf", "options": "--seed 1", "report": ""}
    (folder / "nlgauge").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nlgauge "$@"\n', encoding="utf-8")
    (folder / "nlgauge").chmod(0o755)
    for name in ("summary", "output"):
        (folder / name).unlink(missing_ok=True)
    files = {"GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "output")}
    return run_step(step, folder, inputs | given, RUNNER_TEMP=str(folder), **files)


def said(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


in_bash = pytest.mark.skipif(os.name == "nt", reason="the stand-in for a command is a shell script")


@in_bash
@pytest.mark.parametrize(
    ("base", "new", "status", "result"), [("good.txt", "bad.txt", 3, "failed"), ("bad.txt", "good.txt", 0, "passed")]
)
def test_action_reports_the_result_of_the_gate(outputs: Path, base: str, new: str, status: int, result: str) -> None:
    done = action(outputs, base, new)
    assert done.returncode == status, done.stderr
    assert said(outputs, "output") == f"result={result}\n"
    assert said(outputs, "summary") == done.stdout
    assert done.stdout.startswith(f"**gate {result}**: ")
    assert "| new |" in done.stdout
    assert ACTION["outputs"]["result"]["value"] == "${{ steps.gate.outputs.result || 'not-run' }}"


@in_bash
@pytest.mark.parametrize(("options", "status"), [("", 0), ("--seed 1 --strict", 4)])
def test_action_reports_an_undecided_gate(outputs: Path, options: str, status: int) -> None:
    for name in ("good.txt", "bad.txt", "ref.txt"):
        write_lines(outputs / name, (outputs / name).read_text(encoding="utf-8").splitlines()[:4])
    done = action(outputs, "good.txt", "bad.txt", options=options)
    assert done.returncode == status, done.stderr
    assert said(outputs, "output") == "result=undecided\n"
    assert done.stdout.startswith("**gate undecided**: 4 segments are too few to decide")


@in_bash
@pytest.mark.parametrize(("given", "status"), [({"refs": "nowhere.txt"}, 1), ({"options": "--no-such-flag"}, 2)])
def test_action_reports_a_gate_that_did_not_run(outputs: Path, given: dict[str, str], status: int) -> None:
    done = action(outputs, "good.txt", "bad.txt", report="nlgauge-report", **given)
    assert done.returncode == status
    assert "error: " in done.stderr
    assert said(outputs, "output") == "result=not-run\n"
    assert said(outputs, "summary").startswith(f"**gate not run**: nlgauge ended with status {status}")


@in_bash
def test_action_writes_the_report_that_it_attaches(outputs: Path) -> None:
    done = action(outputs, "good.txt", "bad.txt", report="nlgauge-report")
    assert done.returncode == 3, done.stderr
    path = outputs / "nlgauge-report.html"
    assert said(outputs, "output") == f"result=failed\nreport={path}\n"
    assert "gate failed: new is significantly worse than base" in path.read_text(encoding="utf-8")
    (step,) = [
        item for item in ACTION["runs"]["steps"] if item.get("uses", "").startswith("actions/upload-artifact@")
    ]
    assert step["with"] == {"name": "${{ inputs.report }}", "path": "${{ steps.gate.outputs.report }}"}
    assert step["if"] == "${{ !cancelled() && steps.gate.outputs.report != '' }}"


@in_bash
def test_action_takes_references_with_blanks_and_dashes_one_per_line(outputs: Path) -> None:
    for name in ("my ref.txt", "-second ref.txt"):
        (outputs / name).write_bytes((outputs / "ref.txt").read_bytes())
    done = action(outputs, "good.txt", "bad.txt", refs="my ref.txt\n\n  -second ref.txt \n")
    assert done.returncode == 3, done.stderr
    assert "refs:2" in done.stdout


@in_bash
def test_action_takes_the_examples_and_saved_runs(tmp_path: Path) -> None:
    for name in ("system-a.txt", "system-b.txt", "reference.txt"):
        (tmp_path / name).write_bytes((ROOT / "examples" / name).read_bytes())
    given = {"refs": "reference.txt", "metric": "chrf\nrouge1", "options": ""}
    done = action(tmp_path, "system-a.txt", "system-b.txt", **given)
    assert done.returncode == 0, done.stderr
    assert said(tmp_path, "output") == "result=passed\n"
    assert "| system | chrF | 95 % interval | ROUGE-1 | 95 % interval |" in done.stdout
    assert "12 segments" in done.stdout
    texts = {path.name: path.read_text(encoding="utf-8").splitlines() for path in tmp_path.glob("*.txt")}
    for name, file in (("system-a", "-system-a.json"), ("system-b", "system-b.json")):
        refs = texts["reference.txt"]
        scores = nlgauge.score_systems({name: texts[f"{name}.txt"]}, refs, metric=["chrf"])
        nlgauge.save_scores(tmp_path / file, scores, references=refs)
    saved = action(tmp_path, "-system-a.json", "system-b.json", refs="", options="")
    assert saved.returncode == 0, saved.stderr
    assert "| new |" in saved.stdout


def pip_arguments(folder: Path, install: str) -> subprocess.CompletedProcess[str]:
    """What the action gives to Python to install a package."""
    (step,) = [item for item in ACTION["runs"]["steps"] if "pip install" in item.get("run", "")]
    (folder / "python").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n", encoding="utf-8")
    (folder / "python").chmod(0o755)
    return run_step(step, folder, {"install": install}, GITHUB_ACTION_PATH="/runner/_actions/nlgauge")


@in_bash
@pytest.mark.parametrize(
    ("install", "expected"),
    [("this version", "/runner/_actions/nlgauge[lexical]"), ("nlgauge==0.2.1", "nlgauge==0.2.1")],
)
def test_action_installs_the_version_of_its_tag(tmp_path: Path, install: str, expected: str) -> None:
    assert ACTION["inputs"]["install"]["default"] == "this version"
    done = pip_arguments(tmp_path, install)
    assert done.stdout.splitlines() == ["-m", "pip", "install", "--quiet", "--", expected]


@in_bash
def test_action_refuses_an_option_of_pip_as_package(tmp_path: Path) -> None:
    done = pip_arguments(tmp_path, "--index-url=http://packages.example")
    assert done.returncode == 2
    assert done.stdout.startswith(
        "::error::Input install is '--index-url=http://packages.example', an option of pip."
    )


@in_bash
def test_action_keeps_the_model_folder_under_a_key_of_recipe_and_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (step,) = [item for item in ACTION["runs"]["steps"] if item.get("id") == "models"]
    (kept,) = [item for item in ACTION["runs"]["steps"] if item.get("uses", "").startswith("actions/cache@")]
    assert kept["with"]["path"] == "${{ steps.models.outputs.folder }}"
    assert kept["with"]["key"] == "${{ steps.models.outputs.key }}"
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("NLGAUGE_CACHE", raising=False)
    folders, keys = [], []
    for variables, inputs in (
        ({"NLGAUGE_CACHE": str(tmp_path / "own")}, {"metric": "bertscore", "options": ""}),
        ({"XDG_CACHE_HOME": str(tmp_path)}, {"metric": "bertscore", "options": ""}),
        ({}, {"metric": "bertscore:model=mpnet,layer=7", "options": "--seed 1"}),
    ):
        (tmp_path / "output").unlink(missing_ok=True)
        files = {"GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_OS": "Linux"}
        done = run_step(step, tmp_path, inputs, **files, **variables)
        assert done.returncode == 0, done.stderr
        result = dict(line.split("=", 1) for line in said(tmp_path, "output").splitlines())
        with monkeypatch.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            assert Path(result["folder"]).expanduser() == cache_dir() / "models"
        folders.append(result["folder"])
        keys.append(result["key"])
    assert keys[0] == keys[1] != keys[2]
    assert all(re.fullmatch(r"nlgauge-models-Linux-[0-9a-f]{40}", key) for key in keys), "a key takes no commas"


def test_the_page_gives_the_action_inputs_that_it_has() -> None:
    *_, step = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", section("Gates"), re.S)[0])
    known = ACTION["inputs"]
    assert set(step["with"]) <= set(known)
    assert {name for name, about in known.items() if about.get("required")} <= set(step["with"])


def test_the_hook_of_the_page_is_a_command_that_parses() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (used,) = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", section("Gates"), re.S)[1])["repos"][0]["hooks"]
    assert used["id"] == hook["id"]
    command, *words = [*hook["entry"].split(), *used["args"]]
    assert command == "nlgauge"
    args = parser_for(words).parse_args(words)
    assert (args.gate, args.hyps, args.refs) == (True, ["released.txt", "candidate.txt"], ["reference.txt"])


def test_the_hook_stops_a_commit_that_is_worse(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    command, *words = hook["entry"].split()
    assert command == "nlgauge"
    monkeypatch.chdir(outputs)
    for base, new, status in (("good.txt", "bad.txt", 3), ("bad.txt", "good.txt", 0)):
        assert main([*words, base, new, "--refs", "ref.txt", "--metric", "chrf"]) == status


def test_a_release_is_of_a_version_with_a_date(tmp_path: Path) -> None:
    """The step of the release, run on a changelog with a date and on one without."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    (step,) = [item["run"] for item in jobs["build"]["steps"] if "CHANGELOG.md" in item.get("run", "")]
    for heading, status in (("## 0.2.0 (2026-12-01)", 0), ("## 0.2.0 (unreleased)", 1)):
        (tmp_path / "CHANGELOG.md").write_text(f"# Changes\n\n{heading}\n", encoding="utf-8")
        done = subprocess.run(["bash", "-c", step], cwd=tmp_path, env=os.environ | {"GITHUB_REF_NAME": "v0.2.0"})
        assert done.returncode == status


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", text, re.M)
    assert first is not None
    assert first[1] == nlgauge.__version__
