"""Half precision of the torch engine: for CUDA only, and signed. Without a GPU the same code runs on the CPU."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.encoders.tiny_models import TINY, tiny_tensors, write_model

import nlgauge
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.engines import torch_engine
from nlgauge.encoders.engines.torch_engine import (
    TorchEncoder,
    choose_device,
    engine_label,
    in_precision,
    to_device,
    to_host,
)
from nlgauge.errors import ModelError, RecipeError
from nlgauge.io.store.resolve import ModelFiles, resolve

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch")

CUDA = SimpleNamespace(type="cuda")
TEXTS = ["The ferry was late because of the storm.", "Nobody wrote letters.", "Why?", "A dog slept.", "She ran home."]


def machine(*, cuda: bool) -> Any:
    """Torch as it is on a machine with or without a GPU."""
    return SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda, device_count=lambda: int(cuda)), device=torch.device
    )


@pytest.fixture
def half_on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU takes any precision, as a GPU does."""
    monkeypatch.setattr(torch_engine, "choose_device", lambda torch, name, precision: torch.device("cpu"))


# Which precision is for which device


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_half_precision_is_for_cuda(precision: str) -> None:
    for device in ("auto", "cuda", "cuda:0"):
        assert choose_device(machine(cuda=True), device, precision).type == "cuda"
    with pytest.raises(RecipeError, match=f"precision '{precision}' needs a CUDA device, but .*or device 'cuda'"):
        choose_device(machine(cuda=True), "cpu", precision)
    for device in ("auto", "cpu"):
        with pytest.raises(RecipeError, match=r"needs a CUDA device, but torch found none; use precision 'fp32'$"):
            choose_device(machine(cuda=False), device, precision)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_float32_is_for_every_device(device: str) -> None:
    assert choose_device(machine(cuda=False), device, "fp32").type == "cpu"


def test_a_score_in_half_precision_is_refused_on_the_cpu() -> None:
    with pytest.raises(RecipeError, match="needs a CUDA device"):
        nlgauge.score(TEXTS, TEXTS, engine="torch", device="cpu", precision="bf16")
    with pytest.raises(RecipeError, match="engine 'torch' supports fp32, fp16, bf16, not 'int8'"):
        nlgauge.score(TEXTS, TEXTS, engine="torch", precision="int8")
    with pytest.raises(RecipeError, match=r"engine 'onnx' supports .*, not 'bf16'; use engine .*'torch'"):
        nlgauge.score(TEXTS, TEXTS, precision="bf16")


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16")])
def test_weights_are_loaded_in_the_precision_and_the_label_says_it(precision: str, dtype: str) -> None:
    for version, keyword in (("4.48.0", "torch_dtype"), ("4.56.1", "dtype"), ("5.0.0", "dtype")):
        library = SimpleNamespace(__version__=version)
        assert in_precision(torch, library, precision) == {keyword: getattr(torch, dtype)}
    label = engine_label(SimpleNamespace(__version__="2.13.0+cu130"), CUDA, precision)
    assert label == f"torch-2.13.0-{precision}-cuda"


# What is computed


@pytest.mark.usefixtures("half_on_cpu")
@pytest.mark.parametrize(("precision", "dtype"), [("bf16", "bfloat16"), ("fp16", "float16")])
def test_half_precision_is_near_float32_and_comes_back_as_float32(precision: str, dtype: str) -> None:
    files = resolve("minilm")
    fine = TorchEncoder(files, threads=1, device="cpu")
    half = TorchEncoder(files, threads=1, device="cpu", precision=precision)
    assert {parameter.dtype for parameter in half._network.parameters()} == {getattr(torch, dtype)}
    assert half.engine == fine.engine.replace("fp32", precision)
    layers = (0, 4, 6)
    both = [encode_texts(item, item.tokenizer.encode(TEXTS), layers, batch_tokens=100) for item in (fine, half)]
    for first, other in zip(*both, strict=True):
        for layer in layers:
            x, y = first.layers[layer], other.layers[layer]
            assert y.dtype == np.float32
            cosine = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
            assert cosine.min() > 0.999
            assert not np.array_equal(x, y)


@pytest.mark.usefixtures("half_on_cpu")
def test_a_score_in_half_precision_says_so_and_comes_out_again_by_its_signature() -> None:
    options: dict[str, Any] = {"engine": "torch", "device": "cpu", "threads": 1}
    refs = TEXTS[::-1]
    fine = nlgauge.score(TEXTS, refs, **options)
    half = nlgauge.score(TEXTS, refs, precision="bf16", **options)
    assert half.signature.recipe["engine"] == fine.signature.recipe["engine"].replace("-fp32-", "-bf16-")
    assert 0 < np.abs(half.segments["f1"] - fine.segments["f1"]).max() < 0.02
    again = nlgauge.score(TEXTS, refs, metric=str(half.signature), device="cpu", threads=1)
    assert str(again.signature) == str(half.signature)


@pytest.mark.usefixtures("half_on_cpu")
def test_vectors_that_fp16_cannot_hold_are_an_error(tmp_path: Path) -> None:
    tensors = tiny_tensors(TINY["bert"])
    name = next(name for name in tensors if name.endswith("encoder.layer.1.output.LayerNorm.weight"))
    tensors[name] = tensors[name] + np.float32(1e5)
    files = ModelFiles("tiny", write_model(tmp_path / "tiny", TINY["bert"], tensors))
    ids = np.array([[2, 7, 8, 3]])
    assert np.isfinite(TorchEncoder(files, threads=1, device="cpu", precision="bf16").encode(ids, (2,))[0]).all()
    with pytest.raises(ModelError, match="too large for fp16; use precision 'fp32', or 'bf16'"):
        TorchEncoder(files, threads=1, device="cpu", precision="fp16").encode(ids, (2,))


def test_batches_hold_texts_of_one_length_longest_first_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = TorchEncoder(resolve("minilm"), threads=1, device="cpu")
    shapes: list[tuple[int, int]] = []
    run = encoder._run

    def noted(ids: Any) -> Any:
        shapes.append(ids.shape)
        return run(ids)

    monkeypatch.setattr(encoder, "_run", noted)
    tokens = encoder.tokenizer.encode([*TEXTS, *TEXTS, *TEXTS])
    encode_texts(encoder, tokens, (1,), batch_tokens=24)
    assert [length for _, length in shapes] == sorted((length for _, length in shapes), reverse=True)
    assert all(texts * length <= 24 for texts, length in shapes)
    assert sum(texts for texts, _ in shapes) == len(tokens)


# Copies to and from a GPU, with a tensor and a library that only note what they are asked for


class Noted:
    """A tensor that notes how it was moved."""

    def __init__(self, asked: list[Any]) -> None:
        self.asked = asked

    def pin_memory(self) -> Noted:
        self.asked.append("pinned")
        return self

    def to(self, device: Any, *, non_blocking: bool = False) -> Noted:
        self.asked.append((device, non_blocking))
        return self


def test_ids_go_to_cuda_from_pinned_memory() -> None:
    for device, expected in ((CUDA, ["pinned", (CUDA, True)]), (torch.device("cpu"), [(torch.device("cpu"), False)])):
        asked: list[Any] = []
        tensor = Noted(asked)
        to_device(SimpleNamespace(from_numpy=lambda ids, tensor=tensor: tensor), np.zeros((1, 2), int), device)
        assert asked == expected


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_vectors_come_from_cuda_through_pinned_memory_as_float32(dtype: str) -> None:
    arrays = [
        torch.arange(6.0).reshape(2, 3).to(getattr(torch, dtype)),
        torch.ones(2, 3, dtype=getattr(torch, dtype)),
    ]
    asked: list[Any] = []
    places: list[Any] = []

    def empty(shape: Any, *, dtype: Any, pin_memory: bool) -> Any:
        asked.append((dtype, pin_memory))
        places.append(torch.zeros(shape, dtype=dtype))
        return places[-1]

    cuda = SimpleNamespace(synchronize=asked.append)
    library = SimpleNamespace(empty=empty, float32=torch.float32, cuda=cuda)
    result = to_host(library, arrays, CUDA)
    assert asked == [(getattr(torch, dtype), True)] * 2 + [CUDA], "waited once, for all copies"
    for vectors, array in zip(result, arrays, strict=True):
        assert vectors.dtype == np.float32
        assert np.array_equal(vectors, array.float().numpy())
    for place in places:
        place.fill_(7)
    assert result[0][0, 1] == 1, "what is kept is not the pinned memory"
