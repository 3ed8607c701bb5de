"""`precision=int8`: a score is its own in any company, near that of float32, and never taken for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.tiny_models import TINY, WORDS, write_model

import nlgauge
from nlgauge.encoders.base import precision_name, signed_precision
from nlgauge.encoders.calibrate import quantise_model, use_shipped_plan
from nlgauge.encoders.int8 import plan_of
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import DataWarning, ModelError, UnsupportedModelError
from nlgauge.io.store.resolve import resolve

ENGINES = ["onnx", "openvino"]


def texts_of(count: int) -> list[str]:
    """Texts of words that the small models know."""
    random = np.random.default_rng(3)
    words = [word for word in WORDS.split() if not word.startswith("##")]
    return [" ".join(random.choice(words, random.integers(2, 12))) for _ in range(count)]


def golden_pairs() -> tuple[list[str], list[str]]:
    path = Path(__file__).parents[1] / "golden" / "thirty_pairs.json"
    pairs = json.loads(path.read_text(encoding="utf-8"))["pairs"]
    return [pair["hyp"] for pair in pairs], [pair["ref"] for pair in pairs]


@pytest.fixture
def model(tmp_path: Path, own_cache: Path) -> str:
    return str(write_model(tmp_path / "tiny", TINY["bert"]))


# --- the shipped plans ---------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pairs_score_does_not_depend_on_its_neighbours(engine: str) -> None:
    hyps, refs = golden_pairs()
    options: dict[str, Any] = {"engine": engine, "precision": "int8", "layer": 6}
    together = nlgauge.score(hyps, refs, batch_tokens=100_000, threads=2, **options)
    alone = [nlgauge.score([hyp], [ref], threads=1, **options) for hyp, ref in zip(hyps[:6], refs[:6], strict=True)]
    for name, values in together.segments.items():
        assert [single.segments[name][0] for single in alone] == list(values[:6]), name
    turned = nlgauge.score(hyps[::-1], refs[::-1], batch_tokens=200, **options)
    assert list(turned.segments["f1"][::-1]) == list(together.segments["f1"])


@pytest.mark.parametrize("engine", ENGINES)
def test_scores_are_near_those_of_float32(engine: str) -> None:
    hyps, refs = golden_pairs()
    full, rough = (
        nlgauge.score(hyps, refs, engine=engine, precision=precision).segments["f1"] for precision in ("fp32", "int8")
    )
    assert np.corrcoef(full, rough)[0, 1] > 0.998
    assert 0 < np.abs(full - rough).max() < 0.03


@pytest.mark.parametrize(("name", "products"), [("minilm", 6), pytest.param("mpnet", 5, marks=pytest.mark.slow)])
def test_the_shipped_plans_are_of_the_models_that_they_are_for(name: str, products: int) -> None:
    files = resolve(name)
    plan = plan_of(files)
    assert (plan.model, plan.weights) == (name, files.digest)
    assert len(plan.products) == products * load_encoder(name).layers
    assert signed_precision(load_encoder(name, precision="int8").engine).startswith(f"int8@{plan.digest[:12]}.onnx.")


# --- plans of one's own --------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_without_a_plan_says_how_to_make_one(model: str, engine: str) -> None:
    with pytest.raises(ModelError, match=r"has no int8 plan.*nlgauge build int8 tiny --corpus FILE"):
        load_encoder(model, engine=engine, precision="int8")
    plan = quantise_model(model, texts_of(120), about="made up")
    score = nlgauge.score(texts_of(3), texts_of(6)[3:], model=model, layer=2, engine=engine, precision="int8")
    assert f"int8@{plan.digest[:12]}.{engine}." in score.signature.recipe["engine"]
    full = nlgauge.score(texts_of(3), texts_of(6)[3:], model=model, layer=2, engine=engine)
    assert score.segments["f1"] == pytest.approx(full.segments["f1"], abs=0.02)
    assert score.segments["f1"] != pytest.approx(full.segments["f1"], abs=1e-6)


def test_another_corpus_is_another_signature(model: str) -> None:
    engines = []
    for texts in (texts_of(100), texts_of(130)):
        quantise_model(model, texts)
        engines.append(load_encoder(model, precision="int8").engine)
    assert engines[0] != engines[1]
    assert {precision_name(engine) for engine in engines} == {"int8"}


def test_a_plan_of_ones_own_can_be_given_up(model: str) -> None:
    quantise_model(model, texts_of(100))
    with pytest.raises(ModelError, match="has no int8 plan"):
        use_shipped_plan(model)
    with pytest.raises(ModelError, match="has no int8 plan"):
        load_encoder(model, precision="int8")


def test_few_texts_are_warned_of(model: str) -> None:
    with pytest.warns(DataWarning, match="5 texts are too few to calibrate an int8 model; use at least 100"):
        quantise_model(model, texts_of(5))


def test_models_with_an_engine_of_their_own_are_refused(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("cat 1 2\ndog 2 1\n", encoding="utf-8")
    with pytest.raises(UnsupportedModelError, match="has its own engine, which does not support int8"):
        quantise_model(str(words), texts_of(100))
