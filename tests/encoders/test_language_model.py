"""The language-model term: likelihoods by the textbook, whatever the batch."""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.tiny_models import TINY, write_model, write_tokenizer

from nlgauge.encoders import language_model
from nlgauge.encoders.language_model import (
    LanguageModel,
    Likelihoods,
    load_language_model,
    twice_normalised,
)
from nlgauge.encoders.load import LoadedModels, load_encoder
from nlgauge.encoders.sentences import load_sentence_encoder
from nlgauge.errors import MissingExtraError, ModelError, ModelNotFoundError, TruncationWarning, UnsupportedModelError
from nlgauge.io.store.catalog import CARDS

TEXTS = ["the cat sat on the dog", "a storm", "ran", "", "the ferry was late and the cat ran", "red red red red"]

ONE: dict[str, Any] = {"device": "cpu", "threads": 1, "precision": "fp32", "progress": False}


def test_the_later_code_s_value() -> None:
    """By hand: exp(-2 / 4), and 1 for a text of nothing."""
    result = twice_normalised(Likelihoods(np.array([-2.0, 0.0]), np.array([4, 0])))
    np.testing.assert_allclose(result, [math.exp(-0.5), 1.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random GPT-2 on disk."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    path: Path = tmp_path_factory.mktemp("lm") / "tiny-gpt2"
    path.mkdir()
    write_tokenizer(path, style="bert", max_length=None)
    torch.manual_seed(3)
    sizes = {"vocab_size": 64, "n_positions": 12, "n_embd": 16, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(**sizes, initializer_range=0.8, bos_token_id=2, eos_token_id=3)
    transformers.GPT2LMHeadModel(config).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(folder: Path) -> LanguageModel:
    return LanguageModel(str(folder), **ONE)


def by_the_textbook(folder: Path, ids: list[int]) -> float:
    """ln p of each token from a run over the tokens before it alone: no batch, no mask, no shift."""
    import torch
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    terms = []
    for index in range(1, len(ids)):
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([ids[:index]])).logits[0, -1].double()
        terms.append(float(torch.log_softmax(logits, 0)[ids[index]]))
    return sum(terms) / len(terms)


@pytest.mark.torch
def test_mean_log_likelihood_by_the_textbook(folder: Path, model: LanguageModel) -> None:
    result = model.score(TEXTS)
    assert result.tokens.tolist() == [6, 2, 1, 0, 8, 4]
    for text, value in zip(TEXTS, result.log_likelihood, strict=True):
        ids = model._tokenizer.encode(text, add_special_tokens=False).ids
        expected = by_the_textbook(folder, ids) if len(ids) > 1 else 0.0  # as published
        assert value == pytest.approx(expected, abs=1e-5)
    assert result.log_likelihood[0] < -1


@pytest.mark.torch
def test_a_text_s_value_does_not_depend_on_its_neighbours(folder: Path, model: LanguageModel) -> None:
    together = model.score(TEXTS).log_likelihood
    for text, value in zip(TEXTS, together, strict=True):
        alone = LanguageModel(str(folder), **ONE).score([text]).log_likelihood[0]
        assert alone == pytest.approx(value, abs=1e-6)


@pytest.mark.torch
def test_a_text_is_computed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LanguageModel(str(folder), **ONE)
    rows: list[int] = []
    run = model._run

    def counting(ids: Any) -> Any:
        rows.append(len(ids))
        return run(ids)

    monkeypatch.setattr(model, "_run", counting)
    first = model.score([TEXTS[0], TEXTS[0], TEXTS[1]])
    assert sum(rows) == 2
    second = model.score([TEXTS[1], TEXTS[0]])
    assert sum(rows) == 2
    assert second.log_likelihood.tolist() == [first.log_likelihood[2], first.log_likelihood[0]]


@pytest.mark.torch
@pytest.mark.usefixtures("folder")
def test_over_long_texts_are_cut_with_a_warning(model: LanguageModel) -> None:
    assert model.limit == 12
    with pytest.warns(TruncationWarning, match="1 of 2 texts were truncated to 12 tokens, the limit of 'tiny-gpt2'"):
        result = model.score(["the cat " * 9, "a dog"])
    assert result.tokens.tolist() == [12, 2]
    assert result.log_likelihood[0] == model.score(["the cat " * 6]).log_likelihood[0]


@pytest.mark.torch
def test_it_stays_loaded_and_has_name_and_digest(folder: Path) -> None:
    model = load_language_model(str(folder), **ONE)
    assert model is load_language_model(str(folder), **ONE)
    assert (model.name, len(model.digest)) == ("tiny-gpt2", 64)
    assert model.engine.startswith("torch-")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("config.json", "n_head", 1),
        ("config.json", "layer_norm_epsilon", 0.1),
        ("tokenizer.json", "normalizer", None),
    ],
)
def test_another_configuration_or_tokenizer_is_another_digest(
    folder: Path, tmp_path: Path, name: str, key: str, value: object
) -> None:
    before = load_language_model(str(folder), **ONE)
    changed = tmp_path / folder.name
    shutil.copytree(folder, changed)
    content = json.loads((changed / name).read_text(encoding="utf-8"))
    (changed / name).write_text(json.dumps(content | {key: value}), encoding="utf-8")
    after = load_language_model(str(changed), **ONE)
    assert after.digest != before.digest
    shutil.copy(folder / name, changed / name)
    assert load_language_model(str(changed), **ONE).digest == before.digest, "read again, the files changed"


@pytest.mark.torch
def test_encoders_are_refused_as_language_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ModelNotFoundError, match=r"no such language model file: 'none\.gguf'"):
        LanguageModel("none.gguf", **ONE)
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    for package in ("gguf", "accelerate"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(MissingExtraError, match=rf"{package} is not installed; .*'nlgauge\[torch\]'"):
                LanguageModel(str(tmp_path / "small.gguf"), **ONE)
    with pytest.raises(ModelError, match=r"cannot load language model 'small\.gguf'"):
        LanguageModel(str(tmp_path / "small.gguf"), **ONE)
    # An encoder without an output layer: transformers would make one up.
    encoder = write_model(tmp_path / "encoder", TINY["bert"] | {"is_decoder": True})
    with pytest.raises(ModelError, match="its weights lack cls"):
        LanguageModel(str(encoder), **ONE)


#: What transformers 5.22.2 itself says of the file: minus the loss of AutoModelForCausalLM with the text's ids (from
#: AutoTokenizer, no special tokens) as labels, gguf_file=..., float32, one text at a time.
SMOLLM2 = {
    "The committee postponed the meeting because several members were ill.": -5.207553,
    "members the ill meeting because postponed were committee several the.": -9.913413,
}


@pytest.mark.torch
def test_the_embedded_language_model(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gguf", reason="the extra 'torch' is not installed")
    model = load_language_model("smollm2", **ONE)
    assert capfd.readouterr() == ("", ""), "reading it makes no noise"
    assert (model.name, model.digest, model.limit) == ("smollm2", CARDS["smollm2"].weights_digest, 8192)
    fluent, scrambled = SMOLLM2
    other = "The committee postponed the meeting because several members were late."
    together = model.score([other, fluent, "Hello there", scrambled])
    assert together.tokens.tolist() == [11, 11, 2, 11], "three share a batch"
    np.testing.assert_allclose(together.log_likelihood[[1, 3]], list(SMOLLM2.values()), atol=1e-4)
    assert together.log_likelihood[1] > together.log_likelihood[3] + 1
    model._cache.clear()
    for place, text in ((1, fluent), (3, scrambled)):
        (alone,) = model.score([text]).log_likelihood
        assert alone == pytest.approx(together.log_likelihood[place], abs=1e-5)
        # And on this machine, with this version of the library.
        assert alone == pytest.approx(-own_loss(model, text), abs=1e-4)


def own_loss(model: LanguageModel, text: str) -> float:
    """What transformers makes of a text that is its own label."""
    import torch

    ids = torch.tensor([model._tokenizer.encode(text, add_special_tokens=False).ids])
    with torch.inference_mode():
        return float(model._network(input_ids=ids, labels=ids).loss)


def test_the_embedded_language_model_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before 93 MB are fetched for nothing."""
    monkeypatch.setattr(language_model, "resolve", lambda *_, **__: pytest.fail("asked for the model"))
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.setattr(language_model, "_loaded", LoadedModels(1))
    with pytest.raises(MissingExtraError, match=r"pip install 'nlgauge\[torch\]'"):
        load_language_model("smollm2", **ONE)


def test_a_language_model_is_no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    message = r"'smollm2' is a language model.* such as minilm, mpnet, muse"
    for load in (load_encoder, load_sentence_encoder):
        with pytest.raises(UnsupportedModelError, match=message):
            load("smollm2")
