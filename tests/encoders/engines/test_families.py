"""Families that need no torch, beside transformers: small random models of each, in several shapes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tests.encoders.random_models import CORPUS, SHAPES, save_random, write_family_tokenizer

import nlgauge
from nlgauge.encoders.calibrate import calibrate
from nlgauge.encoders.engines.graph_engines import GraphEncoder, OnnxEncoder, OpenVinoEncoder
from nlgauge.encoders.engines.torch_engine import TorchEncoder
from nlgauge.encoders.graphs.post_norm import relative_rows
from nlgauge.io.store.resolve import resolve
from nlgauge.text.tokenizer import TextTokenizer

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("own_cache"),
    # transformers' own code for DeBERTa
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.*"),
]

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

#: What the engines may differ by in a vector's entry, and in a score (docs: engines).
VECTORS, SCORES = 1e-4, 1e-5

ENGINES: dict[str, type[GraphEncoder]] = {"onnx": OnnxEncoder, "openvino": OpenVinoEncoder}

#: One shape of each family.
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra-narrow", "deberta-v3", "modernbert")

#: The classes with a head, whose checkpoints hold the encoder under a prefix.
HEADS = {
    "bert": ("ForPreTraining", "bert."),
    "roberta": ("ForMaskedLM", "roberta."),
    "xlm-roberta": ("ForMaskedLM", "roberta."),
    "camembert": ("ForMaskedLM", "roberta."),
    "distilbert": ("ForMaskedLM", "distilbert."),
    "electra-narrow": ("ForPreTraining", "electra."),
    "deberta-v3": ("ForMaskedLM", "deberta."),
    "modernbert": ("ForMaskedLM", "model."),
}

TEXTS = [
    "ferry",
    "The cat sat on the red ferry, late!",
    "isn't it naïve?  two  blanks, 東京 and 3.14",
    "the dogs <pad> ran [PAD] early <mask>",
    *(line[:40].strip() for line in CORPUS),
]

Folders = Callable[[str], Path]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Each shape's folder, made once for this file."""
    root = tmp_path_factory.mktemp("families")

    def folder(shape: str) -> Path:
        path = root / shape
        return path if path.is_dir() else save_random(path, shape)

    return folder


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> type[GraphEncoder]:
    return ENGINES[request.param]


def graph_encoder(engine: type[GraphEncoder], folder: Path, *, threads: int = 1) -> GraphEncoder:
    return engine(resolve(str(folder)), threads=threads)


def torch_encoder(folder: Path) -> TorchEncoder:
    return TorchEncoder(resolve(str(folder)), threads=1, device="cpu")


def largest_difference(left: Any, right: Any, lengths: tuple[int, ...], *, seed: int = 0) -> float:
    """Of any entry of any layer, for random tokens; padding is among them."""
    random, layers, largest = np.random.default_rng(seed), tuple(range(right.layers + 1)), 0.0
    for length in lengths:
        ids = random.integers(0, 300, (3, length))
        ids[0, length // 2] = 1
        for first, other in zip(left.encode(ids, layers), right.encode(ids, layers), strict=True):
            assert np.isfinite(first).all()
            largest = max(largest, float(np.abs(first - other).max()))
    return largest


# Vectors


@pytest.mark.parametrize("shape", SHAPES)
def test_every_layer_is_that_of_transformers(engine: type[GraphEncoder], folder_of: Folders, shape: str) -> None:
    folder = folder_of(shape)
    ours, theirs = graph_encoder(engine, folder), torch_encoder(folder)
    assert (ours.layers, ours.hidden_size) == (theirs.layers, theirs.hidden_size)
    limit = ours.tokenizer.limit
    assert limit == theirs.tokenizer.limit
    assert largest_difference(ours, theirs, (1, 2, 3, 9, 30, limit, 4)) < VECTORS


@pytest.mark.parametrize("shape", FAMILIES)
def test_eight_bits_are_near_float32_in_any_batch(engine: type[GraphEncoder], folder_of: Folders, shape: str) -> None:
    files = resolve(str(folder_of(shape)))
    plan = calibrate(OnnxEncoder(files, threads=1), TEXTS)
    full, rough = engine(files, threads=1), engine(files, threads=1, plan=plan)
    top = (full.layers,)
    for tokens in full.tokenizer.encode(TEXTS):
        ids = tokens.ids[None].astype(np.int64)
        (near,), (exact,) = rough.encode(ids, top)[0], full.encode(ids, top)[0]
        cosines = (near * exact).sum(-1) / np.linalg.norm(near, axis=-1) / np.linalg.norm(exact, axis=-1)
        assert cosines.min() > 0.97
        assert not np.array_equal(near, exact)
        assert np.array_equal(rough.encode(np.repeat(ids, 5, axis=0), top)[0][3], near)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_layer_matters(folder_of: Folders, shape: str) -> None:
    """Else a wrong layer would pass unseen."""
    encoder = torch_encoder(folder_of(shape))
    ids = np.random.default_rng(1).integers(5, 160, (2, 12))
    layers = encoder.encode(ids, tuple(range(encoder.layers + 1)))
    moved = encoder.encode(ids[:, ::-1].copy(), (encoder.layers,))[0][:, ::-1]
    assert all(np.abs(low - high).max() > 0.1 for low, high in itertools.pairwise(layers))
    assert np.abs(layers[-1] - moved).max() > 0.1  # places matter


@pytest.mark.parametrize("shape", SHAPES)
def test_vectors_are_the_same_bits_whatever_the_batch_and_the_threads(
    engine: type[GraphEncoder], folder_of: Folders, shape: str
) -> None:
    folder = folder_of(shape)
    first, *others = (graph_encoder(engine, folder, threads=threads) for threads in (1, 2, 3))
    layers = tuple(range(first.layers + 1))
    for length in (1, 2, 5, 16, 29, 54):
        ids = np.random.default_rng(length).integers(0, 300, (6, length))
        alone: list[NDArray[np.float32]] = [
            np.concatenate(rows) for rows in zip(*(first.encode(row[None], layers) for row in ids), strict=True)
        ]
        for encoder in (first, *others):
            for part in (slice(0, 6), slice(1, 4)):
                for layer, vectors in enumerate(encoder.encode(ids[part], layers)):
                    assert np.array_equal(vectors, alone[layer][part]), (length, layer)


@pytest.mark.parametrize("shape", FAMILIES)
def test_a_graph_ends_at_the_highest_layer_asked_for(
    engine: type[GraphEncoder], folder_of: Folders, shape: str
) -> None:
    encoder = graph_encoder(engine, folder_of(shape))
    ids = np.random.default_rng(3).integers(5, 160, (2, 11))
    everything = encoder.encode(ids, tuple(range(encoder.layers + 1)))
    for layer in range(encoder.layers + 1):
        assert np.abs(encoder.encode(ids, (layer,))[0] - everything[layer]).max() < 1e-5


# Checkpoints


@pytest.mark.parametrize("shape", FAMILIES)
def test_an_encoder_inside_a_larger_checkpoint_is_found(
    engine: type[GraphEncoder], tmp_path: Path, shape: str
) -> None:
    head, prefix = HEADS[shape]
    folder = save_random(tmp_path / "tiny", shape, head=head)
    names = load_file(folder / "model.safetensors").keys()
    assert any(name.startswith(prefix) for name in names)
    assert not all(name.startswith(prefix) for name in names)
    assert largest_difference(graph_encoder(engine, folder), torch_encoder(folder), (2, 17)) < VECTORS


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", FAMILIES)
def test_weights_of_half_precision_are_widened(
    engine: type[GraphEncoder], tmp_path: Path, shape: str, half: str
) -> None:
    folder = save_random(tmp_path / "tiny", shape, half=half)
    assert largest_difference(graph_encoder(engine, folder), torch_encoder(folder), (2, 17)) < VECTORS


@pytest.mark.parametrize("shape", ["roberta", "electra-narrow", "deberta-v3"])
def test_the_spelling_of_2018_is_read(
    engine: type[GraphEncoder], folder_of: Folders, tmp_path: Path, shape: str
) -> None:
    expected = graph_encoder(engine, folder_of(shape))
    folder = save_random(tmp_path / "tiny", shape)
    tensors = load_file(folder / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
    }
    assert old.keys() != tensors.keys()
    save_file(old, folder / "model.safetensors", {"format": "pt"})
    assert largest_difference(graph_encoder(engine, folder), expected, (2, 17)) == 0


# ModernBERT's two layouts of a configuration


def older_layout(folder: Path) -> None:
    """config.json as transformers 4 wrote it."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    rotary = config.pop("rope_parameters")
    kinds = config.pop("layer_types")
    config["global_rope_theta"] = rotary["full_attention"]["rope_theta"]
    config["local_rope_theta"] = rotary["sliding_attention"]["rope_theta"]
    config["global_attn_every_n_layers"] = [*kinds[1:], "full_attention"].index("full_attention") + 1
    path.write_text(json.dumps(config), encoding="utf-8")


@pytest.mark.parametrize("shape", ["modernbert", "modernbert-every-2", "modernbert-global"])
def test_both_layouts_of_a_configuration_are_read(
    engine: type[GraphEncoder], folder_of: Folders, tmp_path: Path, shape: str
) -> None:
    newer = graph_encoder(engine, folder_of(shape))
    folder = save_random(tmp_path / "older", shape)
    older_layout(folder)
    assert largest_difference(graph_encoder(engine, folder), newer, (2, 17)) == 0
    assert largest_difference(torch_encoder(folder), newer, (2, 17)) < VECTORS


def test_the_last_layer_is_normalised_in_every_release_of_transformers(folder_of: Folders) -> None:
    encoder = torch_encoder(folder_of("modernbert"))
    ids = np.arange(5, 25)[None]
    expected = encoder.encode(ids, (3,))[0]
    network, before = encoder._network, []
    network.final_norm.register_forward_pre_hook(lambda _, inputs: before.append(inputs[0]))

    class OfRelease4:
        """Returns the last layer as it is before the final normalisation."""

        config = network.config

        def __call__(self, **options: Any) -> Any:
            output = network(**options)
            output.hidden_states = (*output.hidden_states[:-1], before[-1])
            return output

    encoder._network = OfRelease4()
    assert np.array_equal(encoder.encode(ids, (3,))[0], expected)
    assert np.abs(before[-1].numpy() - expected).max() > 0.1


# DeBERTa's buckets


@pytest.mark.parametrize(
    ("buckets", "reach", "longest"),
    [(256, 512, 512), (8, 60, 60), (13, 60, 60), (2, 9, 30), (-1, 7, 40), (32, 128, 512)],
)
def test_distances_share_the_rows_that_they_share_in_transformers(buckets: int, reach: int, longest: int) -> None:
    from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position

    config = {"position_buckets": buckets, "max_relative_positions": reach, "max_position_embeddings": longest}
    text = torch.zeros(1, longest, 1)
    span = buckets if buckets > 0 else reach
    theirs = (build_relative_position(text, text, buckets, reach)[0] + span).clamp(0, 2 * span - 1)
    index = np.arange(longest)
    assert np.array_equal(relative_rows(config, index[:, None] - index[None]), theirs.numpy())


# From texts to scores


@pytest.mark.parametrize("shape", FAMILIES)
def test_tokens_are_those_of_transformers(folder_of: Folders, shape: str) -> None:
    folder = folder_of(shape)
    theirs = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ours = graph_encoder(OnnxEncoder, folder).tokenizer
    texts = [*TEXTS, " ".join(CORPUS)]  # the last is too long
    for text, tokens in zip(texts, ours.encode(texts), strict=True):
        read = theirs(text, truncation=True, max_length=ours.limit)["input_ids"]
        assert tokens.ids.tolist() == read, text


@pytest.mark.parametrize("name", ["Roberta", "RobertaAfterBlank", "XLMRoberta", "Camembert", "DebertaV2"])
def test_tokens_are_those_of_the_familys_own_tokenizer(tmp_path: Path, name: str) -> None:
    family = name.removesuffix("AfterBlank")
    write_family_tokenizer(tmp_path, "bytes" if family == "Roberta" else "sentencepiece")
    model = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    options = {"vocab": model["vocab"] if family == "Roberta" else [tuple(piece) for piece in model["vocab"]]}
    if family == "Roberta":
        options |= {"merges": [tuple(pair) for pair in model["merges"]], "add_prefix_space": name != family}
    if family == "DebertaV2":
        options |= {"unk_id": 3}
    getattr(transformers, f"{family}Tokenizer")(**options).save_pretrained(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert type(theirs).__name__ == f"{family}Tokenizer"
    ours = TextTokenizer.from_folder(tmp_path, positions=512, digest="")
    assert [tokens.ids.tolist() for tokens in ours.encode(TEXTS)] == [theirs(text)["input_ids"] for text in TEXTS]


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning", "ignore::nlgauge.errors.LanguageWarning")
@pytest.mark.parametrize("shape", FAMILIES)
def test_engines_agree_on_scores(folder_of: Folders, shape: str) -> None:
    options: dict[str, Any] = {"model": str(folder_of(shape)), "layer": 1, "idf": "refs", "threads": 1}
    refs = [*TEXTS[3:], *TEXTS[:3]]
    expected = nlgauge.score(TEXTS, refs, engine="torch", device="cpu", **options)
    for engine in ENGINES:
        result = nlgauge.score(TEXTS, refs, engine=engine, **options)
        for name, values in expected.segments.items():
            assert np.abs(values - result.segments[name]).max() < SCORES
        left, right = expected.signature.recipe, result.signature.recipe
        assert {key for key in left if left[key] != right[key]} == {"engine"}
