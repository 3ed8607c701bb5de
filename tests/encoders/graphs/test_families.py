"""What every family keeps on both engines, without torch: bits, limits, an order of lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.graphs.test_deberta import V2, V3
from tests.encoders.graphs.test_modernbert import OLDER
from tests.encoders.tiny_models import TINY, graph_tensors, write_model

from nlgauge.encoders.engines.graph_engines import GraphEncoder, OnnxEncoder, OpenVinoEncoder
from nlgauge.encoders.graphs.families import FAMILIES, family_of
from nlgauge.io.store.resolve import resolve

_BERT = TINY["bert"]
CONFIGS: dict[str, dict[str, Any]] = {
    **TINY,
    "roberta": _BERT | {"model_type": "roberta", "pad_token_id": 1},
    "xlm-roberta": _BERT | {"model_type": "xlm-roberta", "pad_token_id": 1},
    "camembert": _BERT | {"model_type": "camembert", "pad_token_id": 1},
    "electra": _BERT | {"model_type": "electra", "embedding_size": 10},
    "distilbert": {
        "model_type": "distilbert",
        "dim": 24,
        "hidden_dim": 40,
        "n_heads": 3,
        "n_layers": 4,
        "num_hidden_layers": 4,
        "max_position_embeddings": 48,
        "vocab_size": 64,
    },
    "deberta-v2": V3,
    "deberta-v2 with a convolution": V2,
    "modernbert": OLDER,
}


@pytest.fixture(params=[OnnxEncoder, OpenVinoEncoder])
def engine(request: pytest.FixtureRequest) -> type[GraphEncoder]:
    chosen: type[GraphEncoder] = request.param
    return chosen


def encoder_of(engine: type[GraphEncoder], folder: Path, kind: str, *, threads: int = 1) -> GraphEncoder:
    config = CONFIGS[kind]
    return engine(resolve(str(write_model(folder, config, graph_tensors(config)))), threads=threads)


def test_every_family_is_tested() -> None:
    assert {config["model_type"] for config in CONFIGS.values()} == FAMILIES.keys()


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.usefixtures("own_cache")
def test_vectors_are_the_same_bits_whatever_the_batch_and_the_threads(
    engine: type[GraphEncoder], tmp_path: Path, kind: str
) -> None:
    first, *others = (encoder_of(engine, tmp_path / kind, kind, threads=threads) for threads in (1, 2, 3))
    for length in (1, 2, 9, 40):
        ids = np.random.default_rng(length).integers(0, 64, (5, length))
        alone = np.concatenate([first.encode(row[None], (2,))[0] for row in ids])
        for encoder in (first, *others):
            assert np.array_equal(encoder.encode(ids, (2,))[0], alone)
            assert np.array_equal(encoder.encode(ids[1:3], (2,))[0], alone[1:3])


#: As wide as base models: engines treat wide products in other ways than narrow ones.
WIDE = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 1024, "num_hidden_layers": 1}


@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "deberta-v2 with a convolution", "modernbert"])
@pytest.mark.usefixtures("own_cache")
def test_wide_models_have_the_same_bits_in_any_batch(
    engine: type[GraphEncoder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setitem(CONFIGS, kind, CONFIGS[kind] | WIDE)
    encoder = encoder_of(engine, tmp_path / "wide", kind, threads=2)
    for length in (3, 30):
        ids = np.random.default_rng(length).integers(0, 64, (20, length))
        (together,) = encoder.encode(ids, (1,))
        assert np.array_equal(together[:1], encoder.encode(ids[:1], (1,))[0])
        assert np.array_equal(together[3:7], encoder.encode(ids[3:7], (1,))[0])


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.usefixtures("own_cache")
def test_a_text_of_one_token_spoils_none_that_come_after_it(
    engine: type[GraphEncoder], tmp_path: Path, kind: str
) -> None:
    ids = np.random.default_rng(0).integers(5, 64, (2, 20))
    (expected,) = encoder_of(engine, tmp_path / kind, kind).encode(ids, (1,))
    encoder = encoder_of(engine, tmp_path / kind, kind)
    encoder.encode(ids[:, :1], (1,))
    assert np.array_equal(encoder.encode(ids, (1,))[0], expected)


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.usefixtures("own_cache")
def test_both_engines_agree(tmp_path: Path, kind: str) -> None:
    onnx, openvino = (encoder_of(engine, tmp_path / kind, kind) for engine in (OnnxEncoder, OpenVinoEncoder))
    layers = tuple(range(onnx.layers + 1))
    for length in (3, 46, 17):
        ids = np.random.default_rng(length).integers(0, 64, (3, length))
        for first, other in zip(onnx.encode(ids, layers), openvino.encode(ids, layers), strict=True):
            assert np.abs(first - other).max() < 1e-4


@pytest.mark.parametrize(
    ("kind", "capacity"),
    [("camembert", 46), ("electra", 48), ("distilbert", 48), ("deberta-v2", 48), ("modernbert", 48)],
)
def test_tokens_that_a_model_can_number(kind: str, capacity: int) -> None:
    config = CONFIGS[kind]
    assert family_of(config, model="tiny").dimensions(config).positions == capacity


def test_electras_embeddings_are_as_wide_as_published_where_its_configuration_does_not_say() -> None:
    config = {name: value for name, value in CONFIGS["electra"].items() if name != "embedding_size"}
    assert graph_tensors(config)["embeddings_project.weight"].shape == (24, 128)
