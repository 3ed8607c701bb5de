"""The torch engine: the same vectors and scores as the ONNX engine, and models that only it takes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.encoders.tiny_models import SPECIAL, TINY, WORDS, tiny_tensors, write_model, write_tokenizer

import nlgauge
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.engines.torch_engine import TorchEncoder
from nlgauge.encoders.graphs.post_norm import relative_bucket
from nlgauge.errors import ModelError, RecipeError, TruncationWarning
from nlgauge.io.store.resolve import resolve

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

#: What the two engines may differ by in a vector's entry, and in a score (docs: engines).
VECTORS, SCORES = 1e-4, 1e-5

#: One thread: the threads of torch wait for each other in vain on a busy machine.
ONE: dict[str, Any] = {"device": "cpu", "threads": 1}

VOCABULARY = (
    "the committee repaired twenty ferries because nobody wrote letters about the storm, yet wages of museum "
    "guards in Göteborg rose to 3.14 per minute; antidisestablishmentarianism isn't naïve at all"
)


def text_of(words: int, seed: int = 0) -> str:
    return " ".join(np.random.default_rng(seed + words).choice(VOCABULARY.split(), words))


#: One word to about 500 tokens: MPNet's relative positions share a bucket beyond distance 128.
TEXTS = ["ferry", *(text_of(words) for words in (2, 5, 5, 13, 40, 120, 358)), "!?", "東京 🙂 café"]

_encoders: dict[tuple[str, str], OnnxEncoder | TorchEncoder] = {}


def engine(model: str, name: str) -> Any:
    """minilm or mpnet on an engine, loaded once for this file."""
    if (model, name) not in _encoders:
        files = resolve(model)
        _encoders[model, name] = (
            OnnxEncoder(files, threads=1) if name == "onnx" else TorchEncoder(files, threads=1, device="cpu")
        )
    return _encoders[model, name]


@pytest.fixture(autouse=True, scope="module")
def _release() -> Iterator[None]:
    yield
    _encoders.clear()


def largest_difference(left: Any, right: Any, texts: list[str], layers: tuple[int, ...]) -> float:
    """Of any entry of any vector of the texts, which both tokenizers must read alike."""
    both = []
    for encoder in (left, right):
        tokens = encoder.tokenizer.encode(texts)
        both.append(encode_texts(encoder, tokens, layers, batch_tokens=600))
    largest = 0.0
    for first, other in zip(*both, strict=True):
        assert np.array_equal(first.tokens.ids, other.tokens.ids)
        assert len(first.tokens) > 2
        for layer in layers:
            assert np.isfinite(first.layers[layer]).all()
            largest = max(largest, float(np.abs(first.layers[layer] - other.layers[layer]).max()))
    return largest


# The two engines


@pytest.mark.parametrize("model", ["minilm", "mpnet"])
def test_engines_agree_on_every_layer(model: str) -> None:
    onnx, ours = engine(model, "onnx"), engine(model, "torch")
    longest = max(map(len, ours.tokenizer.encode(TEXTS)))
    assert 500 < longest < 512
    assert (onnx.layers, onnx.hidden_size) == (ours.layers, ours.hidden_size)
    assert largest_difference(onnx, ours, TEXTS, tuple(range(onnx.layers + 1))) < VECTORS


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")
@pytest.mark.parametrize("idf", ["none", "refs"])
@pytest.mark.parametrize(("model", "layer"), [("minilm", 4), ("minilm", 6), ("mpnet", 9)])
def test_engines_agree_on_scores(model: str, layer: int, idf: str) -> None:
    hyps, refs = TEXTS, [text_of(words, seed=1) for words in (1, 7, 5, 3, 20, 30, 90, 250, 2, 4)]
    options: dict[str, Any] = {"model": model, "layer": layer, "idf": idf}
    onnx = nlgauge.score(hyps, refs, threads=1, **options)
    ours = nlgauge.score(hyps, refs, engine="torch", **ONE, **options)
    for name, values in onnx.segments.items():
        assert np.abs(values - ours.segments[name]).max() < SCORES
    left, right = onnx.signature.recipe, ours.signature.recipe
    assert {key for key in left if left[key] != right[key]} == {"engine"}
    assert right["engine"] == f"torch-{torch.__version__.partition('+')[0]}-fp32-cpu"


def test_relative_buckets_are_those_of_transformers() -> None:
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distances = range(-511, 512)
    theirs = MPNetEncoder.relative_position_bucket(torch.tensor(list(distances)))
    assert [relative_bucket(distance, buckets=32) for distance in distances] == theirs.tolist()


# Contracts of the torch engine


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")
def test_scores_do_not_depend_on_order_or_batch_size() -> None:
    refs = [text_of(words, seed=1) for words in (1, 7, 5, 3, 20, 30, 90, 250, 2, 4)]
    order = np.random.default_rng(3).permutation(len(TEXTS))

    def scores(order: Any, batch_tokens: int) -> Any:
        hyps, shuffled = [TEXTS[index] for index in order], [refs[index] for index in order]
        score = nlgauge.score(hyps, shuffled, engine="torch", batch_tokens=batch_tokens, **ONE)
        return np.array([*score.segments.values()])

    expected = scores(range(len(TEXTS)), 1)
    assert np.abs(scores(range(len(TEXTS)), 10_000) - expected).max() < SCORES
    assert np.abs(scores(order, 300) - expected[:, order]).max() < SCORES


def test_a_text_over_the_limit_is_cut_and_counted() -> None:
    long = "ferry " * 700
    with pytest.warns(TruncationWarning, match=r"1 segment \(index 1\).*limit of 512 tokens"):
        score = nlgauge.score(["a ferry", long], ["the ferry", "a storm"], engine="torch", **ONE)
    assert score.notes.get("truncated", ()) == (1,)
    (tokens,) = engine("minilm", "torch").tokenizer.encode([long])
    assert (len(tokens), tokens.cut) == (512, 700 - 510)


@contextmanager
def blocks_run(encoder: Any, path: str) -> Iterator[list[int]]:
    """Numbers of the blocks that run meanwhile, from 1."""
    ran: list[int] = []
    blocks = encoder._network.get_submodule(path)
    handles = [
        block.register_forward_hook(lambda *_, number=number: ran.append(number))
        for number, block in enumerate(blocks, start=1)
    ]
    yield ran
    for handle in handles:
        handle.remove()


@pytest.mark.parametrize("model", ["minilm", "mpnet"])
def test_blocks_above_the_highest_layer_do_not_run(model: str) -> None:
    encoder = engine(model, "torch")
    ids = encoder.tokenizer.encode([TEXTS[4]])[0].ids[None].astype(np.int64)
    everything = encoder.encode(ids, tuple(range(encoder.layers + 1)))
    for layers in ((2,), (1, 3), (0,), (encoder.layers,)):
        with blocks_run(encoder, "encoder.layer") as ran:
            vectors = encoder.encode(ids, layers)
        assert ran == list(range(1, max(layers) + 1))
        for layer, array in zip(layers, vectors, strict=True):
            assert np.array_equal(array, everything[layer])


def test_the_network_is_whole_again_after_an_error(tmp_path: Path) -> None:
    encoder = tiny(write_model(tmp_path / "tiny", TINY["bert"]))
    with pytest.raises(IndexError):
        encoder.encode(np.array([[-1]]), (1,))
    assert len(encoder.encode(np.array([[7, 8]]), tuple(range(5)))) == 5


def test_calls_from_several_threads_do_not_cut_each_other(tmp_path: Path) -> None:
    encoder = tiny(write_model(tmp_path / "tiny", TINY["bert"]))
    ids = np.arange(5, 25)[None]
    layers = [(0,), (1,), (4,), (2, 3)] * 25
    expected = {asked: encoder.encode(ids, asked) for asked in layers}
    start = threading.Barrier(4)

    def ask(asked: list[tuple[int, ...]]) -> list[Any]:
        start.wait()
        return [encoder.encode(ids, item) for item in asked]

    with ThreadPoolExecutor(4) as pool:
        for number, result in enumerate(pool.map(ask, [layers[number:] + layers[:number] for number in range(4)])):
            for asked, vectors in zip(layers[number:] + layers[:number], result, strict=True):
                assert all(map(np.array_equal, vectors, expected[asked]))
    assert len(encoder._network.encoder.layer) == 4


def test_the_callers_threads_and_our_float32_are_kept(tmp_path: Path) -> None:
    encoder = TorchEncoder(resolve(str(write_model(tmp_path / "tiny", TINY["bert"]))), threads=2, device="cpu")
    seen = []

    def look(*_: Any) -> None:
        # Before any product runs: bfloat16 products are an illegal instruction on some machines.
        seen.append((torch.get_num_threads(), torch.is_autocast_enabled("cpu")))
        assert not torch.is_autocast_enabled("cpu")

    encoder._network.register_forward_pre_hook(look)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            (vectors,) = encoder.encode(np.array([[7, 8, 9]]), (2,))
        assert seen == [(2, False)]
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("device", ["gpu", "mps", "cuda:x", "cpu:", ""])
def test_an_unknown_device_lists_the_known_ones(device: str) -> None:
    with pytest.raises(RecipeError, match=rf"device must be auto, cpu, cuda or cuda:NUMBER, got '{device}'"):
        nlgauge.score(["a"], ["b"], engine="torch", device=device)


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_cuda_where_there_is_none_names_the_fix(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RecipeError, match=rf"device '{device}'.*no CUDA device; use device 'cpu'"):
        nlgauge.score(["a"], ["b"], engine="torch", device=device)


def test_a_cuda_device_too_many_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(RecipeError, match=r"'cuda:7' is not available: torch found 1 CUDA device"):
        nlgauge.score(["a"], ["b"], engine="torch", device="cuda:7")


# Models on disk in the Hugging Face layout

TINY_TEXTS = [
    "cat",
    "The cat sat on the red ferry, late!",
    "unknowns ran " * 9,
    "storm " * 13,
    "the dogs waited ? ? ?",
]


def tiny(folder: Path) -> TorchEncoder:
    return TorchEncoder(resolve(str(folder)), threads=1, device="cpu")


def save(folder: Path, network: Any, *, style: str, max_length: float | None = 512) -> Path:
    """What a user's own fine-tuned model looks like."""
    # Random weights as transformers draws them are near 0, and biases are 0; others let mistakes show.
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    network.save_pretrained(folder)
    write_tokenizer(folder, style=style, max_length=max_length)
    return folder


def config_of(family: str, **changes: Any) -> Any:
    sizes: dict[str, Any] = {
        "vocab_size": 64,
        "hidden_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 72,
        "max_position_embeddings": 66,
    }
    if family == "DistilBert":
        sizes = {
            "vocab_size": 64,
            "dim": 48,
            "n_layers": 3,
            "n_heads": 4,
            "hidden_dim": 72,
            "max_position_embeddings": 64,
        }
    return getattr(transformers, f"{family}Config")(**(sizes | changes))


SAVED: dict[str, Callable[[Path], Path]] = {
    "bert": lambda at: save(at, transformers.BertModel(config_of("Bert")), style="bert"),
    "bert, 1 head, 3 token types": lambda at: save(
        at, transformers.BertModel(config_of("Bert", num_attention_heads=1, type_vocab_size=3)), style="bert"
    ),
    "bert, 16 heads of 3, wide": lambda at: save(
        at, transformers.BertModel(config_of("Bert", num_attention_heads=16, intermediate_size=300)), style="bert"
    ),
    "bert inside BertForMaskedLM": lambda at: save(at, transformers.BertForMaskedLM(config_of("Bert")), style="bert"),
    "bert inside a classifier": lambda at: save(
        at, transformers.BertForSequenceClassification(config_of("Bert")), style="bert"
    ),
    "bert, no pooler": lambda at: save(
        at, transformers.BertModel(config_of("Bert"), add_pooling_layer=False), style="bert"
    ),
    "bert in half precision": lambda at: save(at, transformers.BertModel(config_of("Bert")).half(), style="bert"),
    "mpnet": lambda at: save(
        at, transformers.MPNetModel(config_of("MPNet", max_position_embeddings=402)), style="roberta"
    ),
    "mpnet, 2 heads": lambda at: save(
        at, transformers.MPNetModel(config_of("MPNet", num_attention_heads=2)), style="roberta"
    ),
    "mpnet inside MPNetForMaskedLM": lambda at: save(
        at, transformers.MPNetForMaskedLM(config_of("MPNet")), style="roberta"
    ),
    "mpnet in half precision": lambda at: save(
        at, transformers.MPNetModel(config_of("MPNet")).half(), style="roberta"
    ),
}


@pytest.mark.parametrize("kind", SAVED)
@pytest.mark.usefixtures("own_cache")
def test_saved_models_agree_on_both_engines(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(1)
    folder = SAVED[kind](tmp_path / "tiny")
    stored = load_file(folder / "model.safetensors")
    assert any(name.startswith(("bert.", "mpnet.")) for name in stored) == ("inside" in kind)
    assert ({value.dtype for value in stored.values()} == {np.dtype(np.float16)}) == ("half" in kind)
    onnx, ours = OnnxEncoder(resolve(str(folder)), threads=1), tiny(folder)
    assert onnx.tokenizer.limit == ours.tokenizer.limit
    layers = tuple(range(onnx.layers + 1))
    texts = [*TINY_TEXTS, "the cat ran , " * 100]  # the last one is cut at the limit
    assert largest_difference(onnx, ours, texts, layers) < VECTORS


@pytest.mark.usefixtures("own_cache")
def test_the_spelling_of_2018_is_read_alike(tmp_path: Path) -> None:
    tensors = tiny_tensors(TINY["bert"])
    spelling = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    old = {}
    for name, value in tensors.items():
        for new, was in spelling.items():
            name = name.replace(new, was)
        old[f"bert.{name}"] = value
    new_folder = write_model(tmp_path / "new", TINY["bert"], tensors)
    old_folder = write_model(tmp_path / "old", TINY["bert"], old)
    onnx = OnnxEncoder(resolve(str(old_folder)), threads=1)
    for ours in (tiny(new_folder), tiny(old_folder)):
        assert largest_difference(onnx, ours, TINY_TEXTS, (0, 1, 4)) < VECTORS


@pytest.mark.parametrize("text", ["the <pad> cat <pad> sat", "<pad>", "a </s> b <s> <mask>"])
@pytest.mark.usefixtures("own_cache")
def test_special_tokens_written_out_in_a_text_are_read_alike(tmp_path: Path, text: str) -> None:
    folder = write_model(tmp_path / "tiny", TINY["mpnet"])
    onnx, ours = OnnxEncoder(resolve(str(folder)), threads=1), tiny(folder)
    assert largest_difference(onnx, ours, [text], (0, 2)) < VECTORS


OTHERS = {
    # family: (blocks, tokenizer's style, tokens that fit)
    "Roberta": ("encoder.layer", "roberta", 64),
    "XLMRoberta": ("encoder.layer", "roberta", 64),
    "Camembert": ("encoder.layer", "roberta", 64),
    "Electra": ("encoder.layer", "bert", 66),
    "DistilBert": ("transformer.layer", "bert", 64),
}


@pytest.mark.parametrize("family", OTHERS)
@pytest.mark.usefixtures("own_cache")
def test_other_post_norm_families_stop_early_and_fill_their_position_table(tmp_path: Path, family: str) -> None:
    torch.manual_seed(1)
    path, style, limit = OTHERS[family]
    changes = {"embedding_size": 48} if family == "Electra" else {}
    network = getattr(transformers, f"{family}Model")(config_of(family, **changes))
    folder = save(tmp_path / "tiny", network, style=style, max_length=1e30)
    assert OnnxEncoder(resolve(str(folder)), threads=1).tokenizer.limit == limit
    encoder = tiny(folder)
    assert (encoder.layers, encoder.hidden_size, encoder.tokenizer.limit) == (3, 48, limit)

    (tokens,) = encoder.tokenizer.encode(["the cat " * 200])
    assert len(tokens) == limit
    ids = tokens.ids[None].astype(np.int64)
    with torch.inference_mode():
        whole = network.eval()(input_ids=torch.from_numpy(ids), output_hidden_states=True).hidden_states
    for layer in range(4):
        with blocks_run(encoder, path) as ran:
            (vectors,) = encoder.encode(ids, (layer,))
        assert ran == list(range(1, layer + 1))
        assert np.abs(vectors - whole[layer].numpy()).max() < 1e-5


@pytest.mark.parametrize("family", ["RobertaPreLayerNorm", "Data2VecText"])
@pytest.mark.usefixtures("own_cache")
def test_a_family_that_no_list_of_ours_names_fills_its_position_table_too(tmp_path: Path, family: str) -> None:
    folder = save(
        tmp_path / "tiny",
        getattr(transformers, f"{family}Model")(config_of(family)),
        style="roberta",
        max_length=None,
    )
    encoder = tiny(folder)
    (tokens,) = encoder.tokenizer.encode(["the cat " * 200])
    assert len(tokens) == encoder.tokenizer.limit == 64
    assert [array.shape for array in encoder.encode(tokens.ids[None].astype(np.int64), (0, 2))] == [(1, 64, 48)] * 2


@pytest.mark.usefixtures("own_cache")
def test_an_encoder_decoder_gives_its_encoder(tmp_path: Path) -> None:
    config = transformers.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    folder = save(tmp_path / "tiny", transformers.T5EncoderModel(config), style="roberta", max_length=50)
    score = nlgauge.score(["the cat sat"], ["the cat sat"], model=str(folder), layer=2, engine="torch", **ONE)
    assert score.mean == pytest.approx(1.0, abs=SCORES)
    assert score.signature.recipe["maxlen"] == "50"


@pytest.mark.usefixtures("own_cache")
def test_a_model_without_any_limit_says_so(tmp_path: Path) -> None:
    config = transformers.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    folder = save(tmp_path / "tiny", transformers.T5EncoderModel(config), style="roberta", max_length=1e30)
    with pytest.raises(ModelError, match="has no maximum length"):
        tiny(folder)


# Files in other shapes


@pytest.mark.parametrize("stored", ["bfloat16", "pytorch_model.bin", "shards"])
@pytest.mark.usefixtures("own_cache")
def test_weights_in_other_formats_are_read(tmp_path: Path, stored: str) -> None:
    torch.manual_seed(1)
    network = transformers.BertModel(config_of("Bert"))
    if stored == "bfloat16":
        network = network.bfloat16()
    folder = save(tmp_path / "tiny", network, style="bert")
    if stored == "pytorch_model.bin":
        (folder / "model.safetensors").unlink()
        torch.save(network.state_dict(), folder / "pytorch_model.bin")
    elif stored == "shards":
        (folder / "model.safetensors").unlink()
        network.save_pretrained(folder, max_shard_size="60KB")
        assert len(list(folder.glob("model-*.safetensors"))) > 1
    encoder = tiny(folder)
    ids = np.arange(5, 25)[None]
    with torch.inference_mode():
        expected = network.float().eval()(torch.from_numpy(ids)).last_hidden_state.numpy()
    (vectors,) = encoder.encode(ids, (3,))
    assert np.abs(vectors - expected).max() < 1e-5


@pytest.mark.usefixtures("own_cache")
def test_a_vocabulary_without_tokenizer_json_is_converted(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    expected = tiny(folder).tokenizer.encode(TINY_TEXTS)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL["bert"], *WORDS.split()]), encoding="utf-8")
    encoder = tiny(folder)
    result = encoder.tokenizer.encode(TINY_TEXTS)
    assert [tokens.ids.tolist() for tokens in result] == [tokens.ids.tolist() for tokens in expected]
    assert [tokens.is_special.tolist() for tokens in result] == [tokens.is_special.tolist() for tokens in expected]
    assert encoder.tokenizer.limit == 48
    # The converted tokenizer is named by what it does: another setting is another digest.
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}), encoding="utf-8")
    assert tiny(folder).tokenizer.digest != encoder.tokenizer.digest


@pytest.mark.usefixtures("own_cache")
def test_loading_is_silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = transformers.utils.logging.get_verbosity(), transformers.utils.logging.is_progress_bar_enabled()
    # Without a pooler and with an output head, transformers reports both.
    tensors = tiny_tensors(TINY["bert"]) | {"cls.predictions.bias": np.zeros(64, dtype=np.float32)}
    tiny(write_model(tmp_path / "tiny", TINY["bert"], tensors))
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    after = transformers.utils.logging.get_verbosity(), transformers.utils.logging.is_progress_bar_enabled()
    assert after == before


@pytest.mark.parametrize(
    "damage", ["a weight is missing", "names of another model", "another shape", "half a file", "no weights known"]
)
@pytest.mark.usefixtures("own_cache")
def test_weights_that_do_not_fit_are_refused_and_never_random(tmp_path: Path, damage: str) -> None:
    tensors = tiny_tensors(TINY["bert"])
    folder = write_model(tmp_path / "tiny", TINY["bert"], tensors)
    named = "encoder.layer.2.output.dense.weight"
    if damage == "a weight is missing":
        del tensors[named]
    elif damage == "names of another model":
        tensors = {name.replace("encoder.", "blocks."): value for name, value in tensors.items()}
        named = "and 61 more"
    elif damage == "another shape":
        tensors[named] = tensors[named][:, :-1].copy()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    if damage == "half a file":
        whole = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
        named = "transformers cannot load model"
    elif damage == "no weights known":
        (folder / "config.json").write_text(json.dumps({"model_type": "no-such-family"}), encoding="utf-8")
        named = "no-such-family"
    with pytest.raises(ModelError, match=named) as caught:
        tiny(folder)
    assert "'tiny'" in str(caught.value)
