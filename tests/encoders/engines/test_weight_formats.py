"""Models saved and exported by torch run without it, with the vectors of their safetensors file."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.random_models import CORPUS, save_random
from tests.parity.record_model_files import make_vocabulary, write_files

import nlgauge
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.engines.torch_engine import TorchEncoder
from nlgauge.errors import UnsupportedModelError
from nlgauge.io.store.resolve import resolve

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("own_cache"),
    # torch's exporter and transformers' own code
    pytest.mark.filterwarnings("ignore"),
]

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

IDS = np.arange(6, 28).reshape(2, 11)


def assert_same_vectors(first: Path, second: Path) -> None:
    encoders = [OnnxEncoder(resolve(str(folder)), threads=1) for folder in (first, second)]
    layers = tuple(range(encoders[0].layers + 1))
    for ours, theirs in zip(*(encoder.encode(IDS, layers) for encoder in encoders), strict=True):
        assert np.array_equal(ours, theirs)


def without_weights(folder: Path, copy: Path) -> Path:
    shutil.copytree(folder, copy)
    (copy / "model.safetensors").unlink()
    return copy


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("head", ["Model", "ForPreTraining"])
def test_files_of_torch_save(tmp_path: Path, kind: str, head: str) -> None:
    folder = save_random(tmp_path / "safe", "bert", head=head, half=None if kind == "float32" else kind)
    copy = without_weights(folder, tmp_path / "bin")
    network = getattr(transformers, f"Bert{head}").from_pretrained(folder, dtype=getattr(torch, kind))
    torch.save(network.state_dict(), copy / "pytorch_model.bin")
    assert_same_vectors(folder, copy)


def test_a_whole_pickled_model_and_the_old_format_are_refused(tmp_path: Path) -> None:
    folder = save_random(tmp_path / "safe", "bert")
    network = transformers.BertModel.from_pretrained(folder)
    whole, old = (without_weights(folder, tmp_path / name) for name in ("whole", "old"))
    torch.save(network, whole / "pytorch_model.bin")
    torch.save(network.state_dict(), old / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    with pytest.raises(UnsupportedModelError, match=r"'transformers\.models\.bert\.modeling_bert\.BertModel'"):
        OnnxEncoder(resolve(str(whole)), threads=1).encode(IDS, (1,))
    with pytest.raises(UnsupportedModelError, match=r"not a zip archive \(written by torch before 1\.6"):
        OnnxEncoder(resolve(str(old)), threads=1).encode(IDS, (1,))


@pytest.mark.parametrize(
    "shape", ["bert", "roberta", "xlm-roberta", "distilbert", "electra-narrow", "deberta-v3", "modernbert"]
)
def test_exports_of_torch(tmp_path: Path, shape: str) -> None:
    """The exporter that follows one run of the model; its weights have names such as onnx::MatMul_1525."""
    folder = save_random(tmp_path / "safe", shape)
    copy = without_weights(folder, tmp_path / "onnx")
    network = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    run = network.forward
    network.forward = lambda input_ids, attention_mask: (
        run(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
    )
    ids = torch.from_numpy(IDS)
    names = {"input_names": ["input_ids", "attention_mask"], "output_names": ["last_hidden_state"]}
    axes = {name: {0: "batch", 1: "length"} for name in names["input_names"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (ids, torch.ones_like(ids)),
            str(copy / "model.onnx"),
            dynamo=False,
            opset_version=17,
            dynamic_axes=axes,
            **names,
        )
    assert_same_vectors(folder, copy)
    with pytest.raises(
        UnsupportedModelError, match=r"engine 'torch' cannot read the ONNX weights .*; use engine 'onnx'"
    ):
        TorchEncoder(resolve(str(copy)), threads=1, device="cpu")


def test_xlm_folders_without_tokenizer_json(tmp_path: Path) -> None:
    vocabulary, merges = make_vocabulary()
    write_files(tmp_path, vocabulary, merges, lowercase=True)
    sizes = {"n_words": len(vocabulary), "emb_dim": 16, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 64}
    torch.manual_seed(0)
    network = transformers.XLMModel(transformers.XLMConfig(**sizes)).eval()
    network.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "xlm"
    encoder = TorchEncoder(resolve(str(tmp_path)), threads=1, device="cpu")
    theirs = transformers.XLMTokenizer.from_pretrained(tmp_path)
    for text, tokens in zip(CORPUS, encoder.tokenizer.encode(CORPUS), strict=True):
        expected = theirs(text, return_tensors="pt")["input_ids"]
        assert tokens.ids.tolist() == expected[0].tolist()
        (vectors,) = encoder.encode(tokens.ids[None].astype(np.int64), (2,))
        with torch.inference_mode():
            assert np.abs(vectors - network(expected).last_hidden_state.numpy()).max() < 1e-5
    score = nlgauge.score(CORPUS[:2], CORPUS[1:3], metric="bertscore:layer=2", model=str(tmp_path), engine="torch")
    assert str(score.signature.recipe["layer"]) == "2"
