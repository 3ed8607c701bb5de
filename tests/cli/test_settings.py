"""Defaults of a project: where they are found, what comes before them, and that signatures name what they chose."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run

from nlgauge.cli.settings import Settings, find_settings


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NLGAUGE_CONFIG", raising=False)


def settings(folder: Path, text: str, *, name: str = "nlgauge.toml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_what_they_chose_is_in_the_signature(run: Run, folder: Path) -> None:
    settings(folder, 'model = "minilm"\nmetrics = ["bertscore:layer=2", "chrf"]\nthreads = 1\n')
    done = run("score", "a.txt", "--refs", "ref.txt", "--format", "json")
    assert "nlgauge: nlgauge.toml: metrics=bertscore:layer=2 chrf, model=minilm, threads=1" in done.err
    assert [score["metric"] for score in done.scores] == ["bertscore", "chrf"]
    assert "|layer:2|" in done.scores[0]["signature"]
    assert "|model:minilm" in done.scores[0]["signature"]
    # The same command with flags, and without the file, is the same score.
    (folder / "nlgauge.toml").unlink()
    flags = ["--metric", "bertscore:layer=2", "chrf", "--model", "minilm", "--threads", "1"]
    assert run("score", "a.txt", "--refs", "ref.txt", "--format", "json", *flags).scores == done.scores


def test_flags_come_first(run: Run, folder: Path) -> None:
    settings(folder, 'model = "nowhere"\nmetrics = ["bleu"]\n')
    done = run("score", "a.txt", "--refs", "ref.txt", "--format", "json", "-m", "bertscore", "--model", "minilm")
    assert [score["metric"] for score in done.scores] == ["bertscore"]
    assert "nlgauge.toml" not in done.err
    # A metric without a model leaves the model of the file alone, and so does a signature.
    assert run("score", "a.txt", "--refs", "ref.txt", "-m", "chrf").status == 0
    signature = done.scores[0]["signature"]
    assert run("score", "a.txt", "--refs", "ref.txt", "-f", "json", "-m", signature).scores == done.scores


def test_compare_reads_them_for_texts(run: Run, folder: Path) -> None:
    settings(folder, '[tool.nlgauge]\nmetrics = ["chrf"]\n', name="pyproject.toml")
    done = run("compare", "a.txt", "b.txt", "--refs", "ref.txt")
    assert done.status == 0
    assert "nlgauge: pyproject.toml: metrics=chrf" in done.err
    assert "chrf" in done.out
    assert "bertscore" not in done.out


def test_where_they_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    settings(tmp_path, "[tool.nlgauge]\nthreads = 3\n", name="pyproject.toml")
    settings(tmp_path / "a", "[tool.other]\nname = 'nlgauge'\n", name="pyproject.toml")
    found = find_settings(below)
    assert found == Settings("pyproject.toml", threads=3)
    settings(below, 'metrics = "chrf"\n')
    assert find_settings(below) == Settings("nlgauge.toml", metrics=("chrf",))
    monkeypatch.setenv("NLGAUGE_CONFIG", "none")
    assert find_settings(below) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle = 'minilm'\n", "unknown key 'modle'; there are model, metrics, threads; did you mean 'model'?"),
        ("metrics = [1]\n", "metrics must be a list of metrics, got [1]"),
        ("threads = '2'\n", "threads must be a whole number, got '2'"),
        ("model = ''\n", "model must be the name of a model"),
        ("model = \n", "cannot be read"),
    ],
)
def test_a_mistake_is_named(run: Run, folder: Path, text: str, said: str) -> None:
    settings(folder, text)
    done = run("score", "a.txt", "--refs", "ref.txt")
    assert done.status in {1, 2}
    assert said in done.err


def test_a_file_that_the_variable_names_must_be_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_CONFIG", "nowhere.toml")
    done = run("score", "a.txt", "--refs", "ref.txt")
    assert done.status == 1
    assert "'nowhere.toml', which NLGAUGE_CONFIG names" in done.err
