"""Defaults of a project: where they are found, what comes before them, and that signatures name what they chose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Run

from nlgauge.apps.cli.project_file import Settings, find_settings


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NLGAUGE_CONFIG", raising=False)


def settings(folder: Path, text: str, *, name: str = "nlgauge.toml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_settings_are_in_the_signature(run: Run, folder: Path) -> None:
    settings(folder, 'model = "minilm"\nmetric = ["bertscore:layer=2", "chrf"]\nthreads = 1\n')
    done = run("score", "a.txt", "--refs", "ref.txt", "--format", "json")
    assert "nlgauge: nlgauge.toml: metric=bertscore:layer=2 chrf, model=minilm, threads=1" in done.err
    assert [score["metric"] for score in done.scores] == ["bertscore", "chrf"]
    assert "|layer:2|" in done.scores[0]["signature"]
    assert "|model:minilm" in done.scores[0]["signature"]
    # The same command with flags, and without the file, is the same score.
    (folder / "nlgauge.toml").unlink()
    flags = ["--metric", "bertscore:layer=2", "chrf", "--model", "minilm", "--threads", "1"]
    assert run("score", "a.txt", "--refs", "ref.txt", "--format", "json", *flags).scores == done.scores


def test_flags_win_over_settings(run: Run, folder: Path) -> None:
    settings(folder, 'model = "nowhere"\nmetric = ["bleu"]\n')
    done = run("score", "a.txt", "--refs", "ref.txt", "--format", "json", "-m", "bertscore", "--model", "minilm")
    assert [score["metric"] for score in done.scores] == ["bertscore"]
    assert "nlgauge.toml" not in done.err
    # A metric without a model leaves the model of the file alone, and so does a signature.
    assert run("score", "a.txt", "--refs", "ref.txt", "-m", "chrf").status == 0
    signature = done.scores[0]["signature"]
    assert run("score", "a.txt", "--refs", "ref.txt", "-f", "json", "-m", signature).scores == done.scores


def test_compare_reads_settings_for_texts(run: Run, folder: Path) -> None:
    settings(folder, '[tool.nlgauge]\nmetric = ["chrf"]\n', name="pyproject.toml")
    done = run("compare", "a.txt", "b.txt", "--refs", "ref.txt")
    assert done.status == 0
    assert "nlgauge: pyproject.toml: metric=chrf" in done.err
    assert "chrf" in done.out
    assert "bertscore" not in done.out


def test_settings_are_found_in_parent_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    settings(tmp_path, "[tool.nlgauge]\nthreads = 3\n", name="pyproject.toml")
    settings(tmp_path / "a", "[tool.other]\nname = 'nlgauge'\n", name="pyproject.toml")
    result = find_settings(below)
    assert result == Settings(name="pyproject.toml", threads=3)
    settings(below, 'metric = "chrf"\n')
    assert find_settings(below) == Settings(name="nlgauge.toml", metric=("chrf",))
    monkeypatch.setenv("NLGAUGE_CONFIG", "none")
    assert find_settings(below) is None


def test_project_file_with_invalid_tool_table_is_ignored(tmp_path: Path) -> None:
    settings(tmp_path, "tool = 'nlgauge'\n", name="pyproject.toml")
    assert find_settings(tmp_path) is None


def test_model_folder_is_relative_to_the_settings_file(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(folder, 'model = "./mine"\n')
    assert find_settings(folder) == Settings(name="nlgauge.toml", model="./mine")
    below = folder / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert find_settings(below) == Settings(name="nlgauge.toml", model=str(folder.resolve() / "mine"))
    assert "'./mine'" not in run("score", "../a.txt", "--refs", "../ref.txt").err
    monkeypatch.setenv("NLGAUGE_CONFIG", "../nlgauge.toml")
    assert find_settings(below) == Settings(name="nlgauge.toml", model=str(folder.resolve() / "mine"))
    settings(folder, 'model = "owner/name"\n')  # of the hub
    assert find_settings(below) == Settings(name="nlgauge.toml", model="owner/name")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle = 'minilm'\n", "unknown option 'modle'; keys are: model, metric, threads; did you mean 'model'?"),
        ("metric = [1]\n", "nlgauge.toml: metric does not accept 1; each value must be a metric"),
        ("threads = 'two'\n", "threads must be a whole number from 1, got 'two'"),
        ("threads = 0\n", "nlgauge.toml: threads must be a whole number from 1, got 0"),
        (
            "[tool.nlgauge]\nmodel = 'minilm'\n",
            "unknown option 'tool'; keys are: model, metric, threads; [tool.nlgauge]",
        ),
        ("model = ''\n", "model must be the name of a model"),
        ("model = \n", "cannot be read"),
    ],
)
def test_invalid_settings_are_named(run: Run, folder: Path, text: str, said: str) -> None:
    settings(folder, text)
    done = run("score", "a.txt", "--refs", "ref.txt")
    assert done.status in {1, 2}
    assert said in done.err


def test_a_file_that_the_variable_names_must_be_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_CONFIG", "nowhere.toml")
    done = run("score", "a.txt", "--refs", "ref.txt")
    assert done.status == 1
    assert "'nowhere.toml', which NLGAUGE_CONFIG names" in done.err


JUDGED = """hypothesis\treference\tscore\tother
The ferry was cancelled.\tThe ferry was called off.\t0.9\t3
Bread.\tThe bread is the best.\t0.2\t1
Nobody wrote.\tShe wrote letters.\t0.3\t2
She wrote letters to him.\tShe wrote letters.\t0.8\t5
"""
DATA = ("--data", "custom", "--at", "own.tsv", "--set", "released=other")


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "own.tsv").write_text(JUDGED, encoding="utf-8")
    (folder / "tags").write_text("0 1\n", encoding="utf-8")
    (folder / "values").write_text("0.1 0.9\n", encoding="utf-8")
    (folder / "mine.toml").write_text(
        'metric = ["bertscore:layer=2"]\n[[sweep]]\nmultiref = ["best-f", "mean"]\n', encoding="utf-8"
    )
    settings(folder, 'model = "minilm"\nmetric = ["chrf", "bertscore:layer=3"]\nthreads = 1\n')
    return folder


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("study", "meta", *DATA), "metric=chrf bertscore:layer=3, model=minilm, threads=1"),
        (("study", "meta", *DATA, "-m", "rouge1"), "threads=1"),
        (
            ("study", "stress", "a.txt", "--perturbations", "typo"),
            "metric=chrf bertscore:layer=3, model=minilm, threads=1",
        ),
        (("rank", "a.txt", "b.txt", "ref2.txt"), "metric=chrf (the first of 2), threads=1"),
        (("explain", "pair", "--hyp-text", "a", "--ref-text", "b"), "metric=chrf (the first of 2), threads=1"),
        (("explain", "factors", *DATA, "--factor", "LEX"), "metric=chrf bertscore:layer=3, model=minilm, threads=1"),
        # What varies, and what is joined, are questions of their own.
        (
            ("study", "sensitivity", "a.txt", "--refs", "ref.txt", "--preset", "punctuation"),
            "model=minilm, threads=1",
        ),
        (("study", "tune-layer", *DATA), "model=minilm, threads=1"),
        (("build", "idf", "a.txt", "-o", "a.idf"), "model=minilm, threads=1"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_commands_that_score_read_settings(run: Run, words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.status == 0, done.err
    assert f"nlgauge: nlgauge.toml: {said}\n" in done.err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "words",
    [
        ("explain", "evaluate", "--gold", "tags", "--scores", "values"),
        ("explain", "factors", "--table", "own.tsv", "--metric-column", "score", "--factor", "other"),
        ("explain", "factors", *DATA, "--released", "other", "--factor", "LEX"),
        ("study", "sensitivity", "a.txt", "--refs", "ref.txt", "--study", "mine.toml"),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_where_scores_or_metrics_come_from_files_only_threads_are_taken(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.status == 0, done.err
    assert "nlgauge: nlgauge.toml: threads=1\n" in done.err


def test_a_table_is_frozen_for_the_model_that_will_score(run: Run, folder: Path) -> None:
    settings(folder, 'model = "mpnet"\n')
    assert run("build", "idf", "a.txt", "-o", "a.idf").status == 0
    done = run("score", "a.txt", "--refs", "ref.txt", "--idf", "a.idf", "--format", "json")
    assert done.status == 0, done.err
    assert "|model:mpnet|" in done.scores[0]["signature"]


def test_a_baseline_is_made_for_the_language_or_the_model(run: Run, folder: Path) -> None:
    (folder / "corpus.txt").write_text("".join(f"Sentence {n} is here.\n" for n in range(12)), encoding="utf-8")
    settings(folder, 'model = "mpnet"\n')
    build = ("build", "baseline", "--corpus", "corpus.txt", "--pairs", "5", "-o", "-", "--threads", "1")
    assert "model: mpnet" in run(*build).out
    assert "model: minilm" in run(*build, "--lang", "en").out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", [("study", "reproduce", "list"), ("models", "list"), ("list",)], ids=" ".join)
def test_other_commands_do_not_read_settings(run: Run, folder: Path, words: tuple[str, ...]) -> None:
    settings(folder, "this is no TOML\n")
    assert run(*words).status == 0


posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="who owns a file is a question of POSIX")


@posix
@pytest.mark.parametrize("name", ["nlgauge.toml", "pyproject.toml"])
@pytest.mark.parametrize("unsafe", ["folder", "file"])
def test_settings_that_others_may_write_are_ignored_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, unsafe: str
) -> None:
    shared, below = tmp_path / "shared", tmp_path / "shared" / "mine"
    below.mkdir(parents=True)
    settings(shared, "threads = 3\n" if name == "nlgauge.toml" else "[tool.nlgauge]\nthreads = 3\n", name=name)
    assert find_settings(below) == Settings(name=name, threads=3)
    (shared if unsafe == "folder" else shared / name).chmod(0o777)
    assert find_settings(below) is None
    message = capsys.readouterr().err
    assert f"{str(shared / name)!r} was not read, because other users may write" in message
    assert "set NLGAUGE_CONFIG to its path" in message
    monkeypatch.setenv("NLGAUGE_CONFIG", str(shared / name))
    assert find_settings(below) == Settings(name=name, threads=3)


@posix
def test_settings_of_another_user_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in /tmp, where others may make files, and nobody may change those of others (the sticky bit)."""
    tmp_path.chmod(0o1777)
    settings(tmp_path, "threads = 3\n")
    assert find_settings(tmp_path) == Settings(name="nlgauge.toml", threads=3), "one's own file there is one's own"
    owner = (tmp_path / "nlgauge.toml").stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:  # root's files are trusted
        os.chown(tmp_path / "nlgauge.toml", 12345, -1)
    assert find_settings(tmp_path) is None
    assert "because it belongs to another user" in capsys.readouterr().err


@posix
def test_untrusted_project_file_without_nlgauge_is_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, "[tool.other]\nthreads = 3\n", name="pyproject.toml")
    tmp_path.chmod(0o777)
    assert find_settings(tmp_path) is None
    assert capsys.readouterr().err == ""


@posix
def test_quiet_does_not_hide_settings_that_were_not_read(run: Run, folder: Path) -> None:
    settings(folder, 'metric = ["bleu"]\n')
    (folder / "nlgauge.toml").chmod(0o666)
    done = run("score", "a.txt", "--refs", "ref.txt", "-q", "-m", "chrf")
    assert done.status == 0
    assert "was not read" in done.err
