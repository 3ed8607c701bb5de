"""ONNX Runtime and OpenVINO: the same bits whatever the batch and the threads, graphs that stop, a useful cache."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tests.encoders.tiny_models import TINY, tiny_tensors, write_model

import nlgauge.encoders.engines.graph_engines
from nlgauge.core.scoring import score
from nlgauge.encoders.base import EncodedText, encode_texts
from nlgauge.encoders.engines.graph_engines import GraphEncoder, OnnxEncoder, OpenVinoEncoder, _is_batch_independent
from nlgauge.encoders.graphs.builder import Graph
from nlgauge.encoders.graphs.families import encoder_graph, family_of
from nlgauge.errors import ModelError, NlgaugeWarning, TruncationWarning, UnsupportedModelError
from nlgauge.io.store.resolve import ModelFiles, resolve
from nlgauge.text.tokenizer import Tokens

FAMILIES = sorted(TINY)
ENGINES: dict[str, type[GraphEncoder]] = {"onnx": OnnxEncoder, "openvino": OpenVinoEncoder}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> type[GraphEncoder]:
    return ENGINES[request.param]


def files_of(folder: Path) -> ModelFiles:
    return resolve(str(folder))


def tiny(engine: type[GraphEncoder], folder: Path, kind: str = "bert", *, threads: int = 1) -> GraphEncoder:
    return engine(files_of(write_model(folder, TINY[kind])), threads=threads)


def graph_of(kind: str, layers: tuple[int, ...], *, as_inputs: bool = False) -> Graph:
    return encoder_graph(family_of(TINY[kind], model="tiny"), TINY[kind], layers, as_inputs=as_inputs)


def some_ids(length: int, *, count: int = 1, vocabulary: int = 64) -> NDArray[np.int64]:
    return np.random.default_rng(length).integers(5, vocabulary, (count, length))


# Contract 1, bit for bit


def corpus_of_lengths(lengths: dict[int, int]) -> list[Tokens]:
    """Texts of random words, `lengths[n]` of them with n tokens, mixed."""
    random = np.random.default_rng(7)
    texts = []
    for length, count in lengths.items():
        for _ in range(count):
            ids = random.integers(2000, 20000, length).astype(np.int32)
            special = np.zeros(length, dtype=bool)
            special[[0, -1]] = True
            texts.append(Tokens(ids, special, np.arange(len(ids), dtype=np.int32)))
    return [texts[index] for index in random.permutation(len(texts))]


def same_bits(left: list[EncodedText], right: list[EncodedText]) -> bool:
    return all(
        np.array_equal(vectors, other.layers[layer])
        for text, other in zip(left, right, strict=True)
        for layer, vectors in text.layers.items()
    )


@pytest.mark.parametrize(
    ("model", "layers", "lengths"),
    [
        ("minilm", (0, 1, 4, 6), {3: 9, 4: 9, 7: 9, 16: 9, 17: 5, 33: 5, 128: 3, 200: 2, 512: 2}),
        pytest.param("mpnet", (1, 9, 12), {3: 4, 8: 3, 17: 3, 64: 2, 200: 2}, marks=pytest.mark.slow),
    ],
)
def test_vectors_are_the_same_bits_whatever_the_batch_and_the_threads(
    engine: type[GraphEncoder], model: str, layers: tuple[int, ...], lengths: dict[int, int]
) -> None:
    files = resolve(model)
    one_thread = engine(files, threads=1)
    tokens = corpus_of_lengths(lengths)
    expected = encode_texts(one_thread, tokens, layers, batch_tokens=1)  # one text per batch
    assert same_bits(encode_texts(one_thread, tokens, layers, batch_tokens=100_000), expected)
    for threads in (2, 3):
        encoder = engine(files, threads=threads)
        for budget in (1, 100_000):
            assert same_bits(encode_texts(encoder, tokens, layers, batch_tokens=budget), expected)


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.usefixtures("own_cache")
def test_a_single_token_is_the_same_bits_in_any_batch(engine: type[GraphEncoder], tmp_path: Path, kind: str) -> None:
    # A matrix of one row takes another path through a matrix product than one of many rows.
    encoder = tiny(engine, tmp_path / kind, kind)
    ids = some_ids(1, count=9)
    (together,) = encoder.encode(ids, (3,))
    for index, row in enumerate(ids):
        assert np.array_equal(encoder.encode(row[None], (3,))[0][0], together[index])


# Graphs


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_graph_ends_at_the_highest_layer_asked_for(kind: str) -> None:
    data = graph_of(kind, (2,)).data
    graph = onnx.load_model_from_string(data).graph
    names = [*(node.name for node in graph.node), *(tensor.name for tensor in graph.initializer)]
    assert any(name.startswith("block2.") for name in names)
    assert not any(name.startswith(("block3", "layer3")) for name in names)
    assert b"block3" not in data


@pytest.mark.parametrize("layers", [(0,), (2,), (0, 3), (3, 1)])
def test_a_graph_returns_exactly_the_layers_asked_for(layers: tuple[int, ...]) -> None:
    graph = onnx.load_model_from_string(graph_of("bert", layers).data).graph
    assert [output.name for output in graph.output] == [f"layer{number}" for number in layers]


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.usefixtures("own_cache")
def test_a_layer_is_the_same_alone_and_beside_others(engine: type[GraphEncoder], tmp_path: Path, kind: str) -> None:
    encoder = tiny(engine, tmp_path / kind, kind)
    ids = some_ids(11, count=3)
    layers = tuple(range(encoder.layers + 1))
    for layer, together in zip(layers, encoder.encode(ids, layers), strict=True):
        (alone,) = encoder.encode(ids, (layer,))
        assert alone.shape == (3, 11, encoder.hidden_size)
        assert np.array_equal(alone, together)


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.usefixtures("own_cache")
def test_the_longest_text_uses_the_whole_position_table(
    engine: type[GraphEncoder], tmp_path: Path, kind: str
) -> None:
    encoder = tiny(engine, tmp_path / kind, kind)
    assert encoder.tokenizer.limit == {"bert": 48, "mpnet": 400}[kind]
    (vectors,) = encoder.encode(some_ids(encoder.tokenizer.limit), (1,))
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize(
    ("stated", "limit"), [(20, 20), (512, 48), (1e30, 48), (int(1e30), 48), (None, 48)], ids=repr
)
@pytest.mark.usefixtures("own_cache")
def test_the_limit_is_the_smaller_of_tokenizer_and_position_table(
    tmp_path: Path, stated: float | None, limit: int
) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"], max_length=stated)
    with pytest.warns(TruncationWarning, match=f"limit of {limit} tokens"):
        result = score(["the cat sat"], ["the dog ran " * 40], model=str(folder), layer=2)
    assert result.signature.recipe["maxlen"] == str(limit)
    assert result.signature.run["truncated"] == "1"


# The cache of graphs


def forbid_building(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Graph:
        pytest.fail("a graph was built although it is in the cache")

    monkeypatch.setattr(nlgauge.encoders.engines.graph_engines, "encoder_graph", refuse)


def test_a_graph_is_built_once(
    engine: type[GraphEncoder], tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = some_ids(6)
    first = tiny(engine, tmp_path / "tiny").encode(ids, (2,))
    forbid_building(monkeypatch)
    again = tiny(engine, tmp_path / "tiny").encode(ids, (2,))
    assert np.array_equal(first, again)
    assert len(list((own_cache / "graphs").iterdir())) == 1


def test_other_layers_or_weights_are_other_graphs(
    engine: type[GraphEncoder], tmp_path: Path, own_cache: Path
) -> None:
    ids = some_ids(6)
    encoder = tiny(engine, tmp_path / "tiny")
    encoder.encode(ids, (2,))
    encoder.encode(ids, (1, 2))
    other = write_model(tmp_path / "other", TINY["bert"], tiny_tensors(TINY["bert"], seed=1))
    engine(files_of(other), threads=1).encode(ids, (2,))
    assert len(list((own_cache / "graphs").iterdir())) == 3


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: data + b"x"])
def test_a_damaged_graph_is_built_again(
    engine: type[GraphEncoder], tmp_path: Path, own_cache: Path, damage: Any
) -> None:
    ids = some_ids(6)
    expected = tiny(engine, tmp_path / "tiny").encode(ids, (2,))
    (path,) = (own_cache / "graphs").iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert np.array_equal(tiny(engine, tmp_path / "tiny").encode(ids, (2,)), expected)
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_only_slower(
    engine: type[GraphEncoder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "file"))
    (vectors,) = tiny(engine, tmp_path / "tiny").encode(some_ids(6), (2,))
    assert vectors.shape == (1, 6, 24)


# Files that it cannot use


@pytest.mark.usefixtures("own_cache")
def test_weights_that_are_not_tensors_are_refused(engine: type[GraphEncoder], tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        UnsupportedModelError, match=r"refused to read pytorch_model\.bin of model 'tiny': it contains"
    ):
        engine(files_of(folder), threads=1).encode(some_ids(4), (1,))


@pytest.mark.usefixtures("own_cache")
def test_shards_are_read_as_one_file(engine: type[GraphEncoder], tmp_path: Path) -> None:
    expected = tiny(engine, tmp_path / "whole").encode(some_ids(6), (0, 4))
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        path = folder / f"model-{number:05d}-of-00002.safetensors"
        save_file({name: tensors[name] for name in part}, path, {"format": "pt"})
    encoder = engine(files_of(folder), threads=1)
    for vectors, same in zip(encoder.encode(some_ids(6), (0, 4)), expected, strict=True):
        assert np.array_equal(vectors, same)


@pytest.mark.usefixtures("own_cache")
def test_damaged_weights_are_an_error_of_the_model(engine: type[GraphEncoder], tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match=r"cannot read model.safetensors of 'tiny'"):
        engine(files_of(folder), threads=1).encode(some_ids(4), (1,))


@pytest.mark.usefixtures("own_cache")
def test_weights_of_another_size_are_an_error_of_the_model(engine: type[GraphEncoder], tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    save_file(tiny_tensors(TINY["bert"] | {"hidden_size": 12}), folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"'tiny'"):
        engine(files_of(folder), threads=1).encode(some_ids(4), (1,))


def test_a_folder_without_tokenizer_json_sends_to_torch(engine: type[GraphEncoder], tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", TINY["bert"])
    (folder / "tokenizer.json").rename(folder / "vocab.txt")
    with pytest.raises(ModelError, match=r"'tiny' has no tokenizer.json; engine 'torch'"):
        engine(files_of(folder), threads=1)


@pytest.mark.parametrize(("name", "package"), [("onnx", "onnxruntime"), ("openvino", "openvino")])
def test_the_engine_names_itself_and_its_precision(tmp_path: Path, name: str, package: str) -> None:
    assert tiny(ENGINES[name], tmp_path / "tiny").engine == f"{package}-{version(package)}-fp32"


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("bert", {"num_attention_heads": 7}, r"'num_attention_heads' must be a divisor of hidden_size \(24\), got 7"),
        ("bert", {"num_attention_heads": 0}, "'num_attention_heads' must be a whole number, at least 1, got 0"),
        ("bert", {"vocab_size": "64"}, "'vocab_size' must be a whole number, at least 1, got '64'"),
        ("bert", {"num_hidden_layers": -1}, "'num_hidden_layers' must be a whole number, at least 0, got -1"),
        ("bert", {"layer_norm_eps": 0}, "'layer_norm_eps' must be a number above 0, got 0"),
        ("bert", {"model_type": ["bert"]}, r"does not support model_type \['bert'\]"),
        ("mpnet", {"pad_token_id": 401}, "'pad_token_id' must be a whole number below 401"),
    ],
)
def test_a_configuration_that_makes_no_graph_is_refused_in_words(
    engine: type[GraphEncoder],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    kind: str,
    changes: dict[str, Any],
    said: str,
) -> None:
    folder = write_model(tmp_path / "tiny", TINY[kind])
    (folder / "config.json").write_text(json.dumps(TINY[kind] | changes), encoding="utf-8")
    with pytest.raises(ModelError, match=said):
        engine(files_of(folder), threads=1)
    assert capfd.readouterr() == ("", "")


def test_an_id_beyond_the_vocabulary_is_an_error_of_the_model(
    engine: type[GraphEncoder], tmp_path: Path, own_cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ids = some_ids(4)
    ids[0, 1] = 64
    with pytest.raises(ModelError, match=r"gives token id 64, but the model has ids 0 to 63 only"):
        tiny(engine, tmp_path / "tiny").encode(ids, (1,))
    assert capfd.readouterr() == ("", "")


def test_a_graph_of_other_layers_under_the_wrong_name_is_built_again(
    engine: type[GraphEncoder], tmp_path: Path, own_cache: Path
) -> None:
    encoder = tiny(engine, tmp_path / "tiny")
    wanted = encoder.encode(some_ids(4), (2,))[0]
    encoder.encode(some_ids(4), (1,))
    first, two = (next((own_cache / "graphs").glob(f"*-{layer}-*.graph")) for layer in (1, 2))
    two.write_bytes(first.read_bytes())
    assert np.array_equal(tiny(engine, tmp_path / "again").encode(some_ids(4), (2,))[0], wanted)


def test_weights_that_may_not_be_read_are_called_that(
    engine: type[GraphEncoder], tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny(engine, tmp_path / "tiny")
    original = Path.open

    def forbidden(self: Path, *args: Any, **options: Any) -> Any:
        if self.name == "model.safetensors":
            raise PermissionError(13, "Permission denied")
        return original(self, *args, **options)

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(ModelError, match=r"cannot read model\.safetensors of 'tiny': Permission denied"):
        encoder.encode(some_ids(4), (1,))


def test_openvino_encodes_run_one_by_one_where_a_batch_would_move_bits(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = some_ids(6, count=5)
    expected = tiny(OpenVinoEncoder, tmp_path / "tiny").encode(ids, (1, 2))
    monkeypatch.setattr(nlgauge.encoders.engines.graph_engines, "_is_batch_independent", lambda run, length: False)
    encoder = tiny(OpenVinoEncoder, tmp_path / "tiny")
    with pytest.warns(
        NlgaugeWarning, match=r"with OpenVINO .* last bits of vectors of model 'tiny' .* engine 'onnx' may be faster"
    ):
        result = encoder.encode(ids, (1, 2))
    for first, other in zip(result, expected, strict=True):
        assert first.shape == other.shape
        assert np.allclose(first, other, atol=1e-6)


def test_the_probe_sees_a_batch_that_moves_bits() -> None:
    def honest(ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
        return [ids.astype(np.float32)[:, :, None]]

    def by_batch(ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
        return [ids.astype(np.float32)[:, :, None] + np.float32(1e-6) * len(ids)]

    assert _is_batch_independent(honest, 8)
    assert not _is_batch_independent(by_batch, 8)
