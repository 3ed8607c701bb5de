"""What docs/service.md tells a reader to run works, and its limits are those of the code."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.service.conftest import listening

import nlgauge
from nlgauge.apps.service.settings import Limits, Settings

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```bash\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with listening(Settings(folder=tmp_path_factory.mktemp("service"), preload=())) as address:
        yield address


def run(commands: str, url: str) -> str:
    """Every command of a block must succeed, and every answer be told apart."""
    script = "set -eu\n" + commands
    return subprocess.run(
        ["sh", "-c", script], env={"URL": url, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_commands_answer_what_the_page_says(url: str) -> None:
    scores, table, lists, analysis, pairs, jobs, errors = COMMANDS
    result = json.loads(run(scores, url))
    assert [score["metric"] for score in result["scores"]] == ["bertscore", "chrf"]
    expected = nlgauge.score(["A cat sat on the mat."], ["The cat sat on the mat."]).to_dict()
    assert {"format": expected["format"], **result["scores"][0]} == expected
    assert [line.split("\t")[0] for line in run(table, url).splitlines()] == ["system", "a", "b"]
    assert '"limits"' in run(lists, url)
    explained, compared = re.findall(r"\{\"nlgauge\".*?(?=\{\"nlgauge\"|$)", run(analysis, url), re.S)
    assert json.loads(explained)["metric"] == "bertscore"
    assert [system["system"] for system in json.loads(compared)["comparison"]["metrics"][0]["systems"]] == ["a", "b"]
    crossed, _, ranked = run(pairs, url).partition('"warnings":[]}')
    expected = nlgauge.matrix(["A cat sat.", "It rained."], ["The cat sat.", "There was rain.", "Snow fell."])
    crossed_record = json.loads(f'{crossed}"warnings":[]}}')
    assert crossed_record == {"nlgauge": nlgauge.__version__, **expected.to_dict(), "warnings": []}
    assert [line.split("\t")[5] for line in ranked.splitlines()] == ["candidate", "2", "1", "0"]
    watched = run(jobs, url)
    assert "event: end" in watched
    assert '"state":"done"' in watched
    assert '"signature":"bertscore|' in watched
    assert watched.count("\tbertscore\t") == 2 + 4
    assert json.loads(run(errors, url))["error"] == "RecipeError"


def test_the_python_example_prints_a_score(url: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"url": url})
    first, second = printed.getvalue().splitlines()
    assert float(first) == nlgauge.score(["A cat sat on the mat."], ["The cat sat on the mat."]).system_score
    assert second == "['bertscore']"


def test_limits_are_those_of_the_code() -> None:
    limits = Limits()
    shown = dict(re.findall(r"^\| ([^|]*) \| ([^|]*) \|$", PAGE.partition("## Limits")[2].partition("## ")[0], re.M))
    assert shown["body of a request, of a job"] == f"{limits.body_bytes // 10**6} MB, {limits.job_bytes // 10**6} MB"
    assert shown["characters of a text"] == f"{limits.text_characters:,}"
    assert shown["texts of a request, of a job"] == f"{limits.texts:,}, {limits.job_texts:,}"
    assert shown["metrics of a request, systems of a comparison"] == f"{limits.recipes}, {limits.systems}"
    explained = f"{limits.explained_characters:,}, {limits.job_explained_characters:,}"
    assert shown["characters of a pair to explain, of all pairs of a job"] == explained
    assert shown["pairs of a matrix or a ranking, as a job"] == f"{limits.pairs:,}, {limits.job_pairs:,}"
    assert shown["requests that wait, jobs that wait"] == f"{limits.waiting}, {limits.queued_jobs}"
    assert f"kept for {limits.keep_days:g} days" in PAGE
