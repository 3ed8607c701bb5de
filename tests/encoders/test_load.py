"""One table of engines: for callers, for signatures, and for packages that bring another."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.encoders.tiny_models import TINY, write_model

import nlgauge
from nlgauge.encoders import load as table
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.load import Engine, engine_names, engine_of_signature, load_encoder
from nlgauge.errors import RecipeError, SignatureError
from nlgauge.io.store.resolve import ModelFiles

HYPS, REFS = ["The ferry was late.", "She sang."], ["The ferry was delayed.", "They sang."]


def test_the_engines_that_can_be_chosen() -> None:
    assert engine_names()[:3] == ("onnx", "openvino", "torch")
    assert not {"muse", "static"} & set(engine_names())
    with pytest.raises(RecipeError, match="unknown engine 'onyx'; engines are: onnx, openvino, torch"):
        load_encoder("minilm", engine="onyx")
    with pytest.raises(RecipeError, match="'muse' belongs to its models"):
        load_encoder("minilm", engine="muse")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("onnxruntime-1.31.1-fp32", "onnx"),
        ("openvino-2026.4.1-fp32", "openvino"),
        ("torch-2.13.0-fp32-cpu", "torch"),
        ("numpy-2.1.0-fp32", "muse"),
        ("static", "static"),
    ],
)
def test_a_signature_leads_to_its_engine(text: str, name: str) -> None:
    result = engine_of_signature(text)
    assert result is not None
    assert result.name == name


def test_two_signatures_of_one_call_are_taken_together() -> None:
    """One metric on ONNX Runtime, one on a model that brings its engine."""
    metrics = ["bertscore:model=minilm,layer=1", "bertscore:model=muse"]
    made = nlgauge.score_systems({"": HYPS}, REFS, metric=metrics)
    again = nlgauge.score_systems({"": HYPS}, REFS, metric=[item.signature for item in made])
    assert [item.mean for item in again] == [item.mean for item in made]


def test_a_signature_of_an_engine_that_is_not_here_is_refused() -> None:
    signature = str(nlgauge.score(HYPS, REFS, layer=1).signature).replace("onnxruntime-", "tvm-")
    with pytest.raises(
        SignatureError,
        match=r"engine 'tvm-.*' of the signature is not installed; .*: onnx, openvino, torch",
    ):
        nlgauge.score(HYPS, REFS, metric=signature)


class Loud(OnnxEncoder):
    """An engine of somebody else."""

    engine = "loud-7"  # type: ignore[assignment]


def _loud(files: ModelFiles, threads: int, device: str, precision: str) -> Any:
    return Loud(files, threads=threads)


def test_an_engine_of_another_package(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = SimpleNamespace(name="loud", load=lambda: Engine("loud", "loud", _loud))
    monkeypatch.setattr(table, "_plugins", lambda: {"loud": point})
    folder = str(write_model(tmp_path / "tiny", TINY["bert"]))
    assert engine_names() == ("onnx", "openvino", "torch", "loud")
    result = nlgauge.score(["the cat"], ["a dog"], model=folder, layer=1, engine="loud")
    assert result.signature.recipe["engine"] == "loud-7"
    again = nlgauge.score(["the cat"], ["a dog"], model=folder, metric=str(result.signature))
    assert str(again.signature) == str(result.signature), "the signature chose the engine"


@pytest.mark.parametrize("brought", ["text", None])
def test_a_package_whose_engine_is_none(monkeypatch: pytest.MonkeyPatch, brought: object) -> None:
    def load() -> object:
        if brought is None:
            raise ImportError("libloud.so is missing")
        return brought

    monkeypatch.setattr(table, "_plugins", lambda: {"loud": SimpleNamespace(name="loud", load=load)})
    with pytest.raises(RecipeError, match="'loud'"):
        load_encoder("minilm", engine="loud")
