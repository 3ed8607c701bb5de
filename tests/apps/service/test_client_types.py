"""Methods of the clients have the types of the library's functions: mypy refuses what the library would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())

CODE = """\
from nlgauge import AsyncClient, Client, Ranking, Score
from nlgauge.apps.service.client import AsyncJob, Job

client = Client()
ranking: Ranking = client.rank([["a"]], metric="chrf")
score: Score = client.score(["a"], ["a"], layer=4)
job: Job = client.submit("rank", [["a"]])


async def main(other: AsyncClient) -> None:
    ranking: Ranking = await other.rank([["a"]])
    job: AsyncJob = await other.submit("rank", [["a"]])
    models: list[dict[str, object]] = await other.models()
"""


def run_mypy(folder: Path, code: str) -> str:
    (folder / "snippet.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "snippet.py"]
    return subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache")],
        cwd=folder,
        env={"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.slow
def test_results_have_the_types_of_the_library(tmp_path: Path) -> None:
    assert "Success" in run_mypy(tmp_path, CODE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        'client.rank(candidate=[["a"]])',
        'client.discourse(["a"], anotator="spacy-en")',
        'client.score(["a"], ["a"], laier=4)',
        'client.explain_pair(["a"], "a")',
        'client.rank([["a"]]).wait()',
    ],
)
def test_invalid_settings_are_refused(tmp_path: Path, call: str) -> None:
    output = run_mypy(tmp_path, f"from nlgauge import Client\n\nclient = Client()\n{call}\n")
    assert "snippet.py:4: error:" in output
