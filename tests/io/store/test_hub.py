"""A hub id leads to a whole model, from the hub's cache or its server, or to an answer within seconds."""

from __future__ import annotations

import threading

import pytest
from tests.io.store.fakes import TOKENIZER, Hub, files_below, model_folder, sha256

from nlgauge.errors import ModelNotFoundError, RecipeError
from nlgauge.io.store import hub
from nlgauge.io.store.resolve import resolve


@pytest.mark.usefixtures("cache")
def test_hub_id_is_downloaded_once_and_only_what_is_needed(fake_hub: Hub) -> None:
    fake_hub.server["org/name"] = {
        **TOKENIZER,
        "1_Pooling/config.json": b"{}",
        "vocab.txt": b"v",
        "model.safetensors": b"s",
        "pytorch_model.bin": b"p",
        "model.fp16.safetensors": b"half",
        "onnx/model.onnx": b"o",
        "other/config.json": b"{}",
        "modeling.py": b"code",
    }
    files = resolve("org/name")
    assert (files.name, files.card) == ("org/name", None)
    kept = {"config.json", "tokenizer.json", "vocab.txt", "model.safetensors", "1_Pooling/config.json"}
    assert files_below(files.path) == kept
    fake_hub.online = False
    assert resolve("org/name") == resolve("org/name", download=False) == files


@pytest.mark.usefixtures("cache")
def test_hub_model_without_safetensors(fake_hub: Hub) -> None:
    fake_hub.server["org/old"] = {**TOKENIZER, "pytorch_model.bin": b"p", "tf_model.h5": b"t"}
    assert files_below(resolve("org/old").path) == {*TOKENIZER, "pytorch_model.bin"}


@pytest.mark.usefixtures("cache")
def test_half_a_hub_model_is_not_used(fake_hub: Hub) -> None:
    model_folder(fake_hub.folder / "org--name", TOKENIZER)
    with pytest.raises(ModelNotFoundError, match="model 'org/name' is not on this machine"):
        resolve("org/name", download=False)
    fake_hub.server["org/name"] = {**TOKENIZER, "model.safetensors": b"s"}
    assert resolve("org/name").weights_digest == sha256(b"s")


@pytest.mark.parametrize(
    ("files", "lacking"),
    [
        ({**TOKENIZER, "tf_model.h5": b"t"}, "no weights"),
        ({"config.json": b"{}", "model.safetensors": b"s"}, "no tokenizer"),
        ({"tokenizer.json": b"{}", "model.safetensors": b"s"}, "no config.json"),
    ],
)
@pytest.mark.usefixtures("cache")
def test_hub_model_that_cannot_be_used(files: dict[str, bytes], lacking: str, fake_hub: Hub) -> None:
    fake_hub.server["org/name"] = files
    with pytest.raises(ModelNotFoundError, match=lacking):
        resolve("org/name")


@pytest.mark.usefixtures("cache")
def test_hub_without_network_or_model(fake_hub: Hub) -> None:
    with pytest.raises(ModelNotFoundError, match="the Hugging Face hub has no model of that name"):
        resolve("org/typo")
    fake_hub.online = False
    with pytest.raises(ModelNotFoundError) as caught:
        resolve("org/typo")
    with pytest.raises(
        ModelNotFoundError,
        match=r"Check the name, which is not in 'nlgauge models list'\. If it is right: run 'nlgauge models pull",
    ):
        resolve("nope")
    message = str(caught.value)
    for part in (
        "'org/typo'",
        "no network",
        "Run 'nlgauge models pull org/typo' while online",
        "minilm, mpnet, muse",
    ):
        assert part in message


@pytest.mark.usefixtures("cache")
def test_hub_that_does_not_answer_is_given_up(fake_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(hub, "_DEADLINE_SECONDS", 0.2)
    monkeypatch.setattr(fake_hub, "model_info", lambda hub_id, *, timeout: released.wait(60))
    try:
        with pytest.raises(ModelNotFoundError, match="did not answer"):
            resolve("org/name")
    finally:
        released.set()


@pytest.mark.parametrize("text", ["two words", "a/b/c", "org/", "naïve/name"])
@pytest.mark.usefixtures("cache")
def test_text_that_can_be_nothing_is_refused_without_asking(text: str, fake_hub: Hub) -> None:
    with pytest.raises(ModelNotFoundError, match="not a name, a folder or a hub id"):
        resolve(text)
    assert fake_hub.questions == 0


@pytest.mark.usefixtures("cache")
def test_misspelt_name_is_suggested_without_a_question_to_the_hub(fake_hub: Hub) -> None:
    with pytest.raises(ModelNotFoundError, match="unknown model 'minlm'; did you mean 'minilm'"):
        resolve("minlm")
    assert fake_hub.questions == 0


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_name_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="model must be a name, a folder or a hub id"):
        resolve(text)
