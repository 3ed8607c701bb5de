"""The precision of vectors: an engine has it or refuses it, a signature says it, and nothing is taken across."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.encoders.tiny_models import TINY, write_model

import nlgauge
from nlgauge.core.run_options import RunOptions
from nlgauge.encoders import load as table
from nlgauge.encoders.base import precision_name, signed_precision, vectors_digest
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.language_model import load_language_model
from nlgauge.encoders.load import Engine, load_encoder
from nlgauge.encoders.sentences import load_sentence_encoder
from nlgauge.errors import BaselineError, InputError, RecipeError, SignatureError
from nlgauge.metrics.parts.baseline import Baseline
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.testing import hash_encoder
from nlgauge.vectors.transforms import LanguageMeans, LanguageMoments

HYPS, REFS = ["the cat sat on the red ferry", "a dog ran"], ["the cat was on a ferry", "the dog ran in the storm"]
SIGNED = {"fp32": "fp32", "bf16": "bf16-cuda", "int8": "int8@3f0a51c2d9e8"}


class Coarse(OnnxEncoder):
    """Vectors rounded to so many bits, as an engine of lower precision has them."""

    def __init__(self, files: Any, *, threads: int, precision: str) -> None:
        super().__init__(files, threads=threads)
        self._precision = precision

    @property
    def engine(self) -> str:
        return f"coarse-7-{SIGNED[self._precision]}"

    def encode(self, ids: NDArray[np.int64], layers: tuple[int, ...]) -> list[NDArray[np.float32]]:
        result = super().encode(ids, layers)
        return result if self._precision == "fp32" else [np.round(item * 8).astype(np.float32) / 8 for item in result]


def _coarse(files: Any, threads: int, device: str, precision: str) -> Any:
    return Coarse(files, threads=threads, precision=precision)


@pytest.fixture
def model(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small model, beside an engine that computes in three precisions."""
    engine = Engine("coarse", "coarse", _coarse, precisions=tuple(SIGNED))
    monkeypatch.setattr(table, "_plugins", lambda: {"coarse": SimpleNamespace(name="coarse", load=lambda: engine)})
    return str(write_model(tmp_path / "tiny", TINY["bert"]))


def score(model: str, **options: Any) -> nlgauge.Score:
    return nlgauge.score(HYPS, REFS, **{"model": model, "layer": 2, "engine": "coarse"} | options)


# --- asked for -----------------------------------------------------------------------------------------


def test_an_engine_gets_the_precision_asked_for_and_the_signature_says_it(model: str) -> None:
    result = {precision: score(model, precision=precision) for precision in SIGNED}
    assert {key: value.signature.recipe["engine"] for key, value in result.items()} == {
        key: f"coarse-7-{signed}" for key, signed in SIGNED.items()
    }
    assert result["bf16"].mean != result["fp32"].mean == score(model).mean, "fp32 is the default"


def test_a_precision_that_the_engine_does_not_have_is_refused_with_the_engines_that_have_it(model: str) -> None:
    expected = "engine 'onnx' supports fp32, int8, not 'bf16'; use engine .*'coarse'"
    with pytest.raises(RecipeError, match=expected):
        score(model, engine="onnx", precision="bf16")
    with pytest.raises(RecipeError, match="engine 'coarse' supports fp32, bf16, int8, not 'fp16'"):
        load_encoder(model, engine="coarse", precision="fp16")


@pytest.mark.parametrize("name", ["fp8", "float16", "", None])
def test_a_precision_that_does_not_exist_is_refused(model: str, name: Any) -> None:
    for call in (lambda: RunOptions(precision=name), lambda: load_encoder(model, precision=name)):
        with pytest.raises(RecipeError, match="precision must be one of fp32, fp16, bf16, int8, got"):
            call()


def test_models_that_bring_their_own_engine_refuse_another_precision(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("cat 1 2\ndog 2 1\n", encoding="utf-8")
    for name, engine in (("muse", "muse"), (str(words), "static")):
        with pytest.raises(RecipeError, match=f"has its own engine: engine '{engine}' supports fp32, not"):
            load_encoder(name, precision="int8")
    with (
        hash_encoder() as name,
        pytest.raises(RecipeError, match=r"'hash' was registered with add_encoder.*omit the precision"),
    ):
        load_encoder(name, precision="bf16")


def test_models_of_whole_texts_compute_in_the_precision_of_the_run_or_refuse_it(model: str) -> None:
    rough = load_sentence_encoder(model, engine="coarse", precision="bf16")
    assert rough.engine == "coarse-7-bf16-cuda"
    fine = load_sentence_encoder(model, engine="coarse")
    assert rough.digest != fine.digest, "files made of one are not taken for the other"
    with pytest.raises(RecipeError, match="'muse' has its own engine"):
        load_sentence_encoder("muse", engine="coarse", precision="bf16")
    with pytest.raises(RecipeError, match=r"language models support .*, not 'int8'.*lm=none"):
        load_language_model("smollm2", precision="int8")


# --- signed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "signed", "name"),
    [
        ("onnxruntime-1.31.1-fp32", "fp32", "fp32"),
        ("torch-2.13.0-bf16-cuda", "bf16", "bf16"),
        ("onnxruntime-1.31.1-int8@3f0a51c2d9e8", "int8@3f0a51c2d9e8", "int8"),
        ("static", "fp32", "fp32"),
        ("loud-7", "fp32", "fp32"),
    ],
)
def test_the_precision_that_an_engine_names(engine: str, signed: str, name: str) -> None:
    assert (signed_precision(engine), precision_name(engine)) == (signed, name)


@pytest.mark.parametrize("precision", list(SIGNED))
def test_a_signature_leads_back_to_its_precision(model: str, precision: str) -> None:
    made = score(model, precision=precision)
    again = nlgauge.score(HYPS, REFS, metric=str(made.signature), model=model)
    assert (again.mean, str(again.signature)) == (made.mean, str(made.signature))


def test_a_signature_is_not_made_again_in_another_precision(model: str) -> None:
    made = score(model, precision="int8").signature
    with pytest.raises(
        SignatureError, match=r"cannot be reproduced: engine: asked coarse-7-int8@.*got coarse-7-fp32"
    ):
        nlgauge.score(HYPS, REFS, metric=made, model=model, precision="fp32")
    other = str(made).replace("3f0a51c2d9e8", "000000000000")
    with pytest.raises(SignatureError, match="asked coarse-7-int8@000000000000"):
        nlgauge.score(HYPS, REFS, metric=other, model=model)


def test_signatures_of_two_precisions_are_not_for_one_call(model: str) -> None:
    both = [score(model, precision=precision).signature for precision in ("fp32", "bf16")]
    with pytest.raises(SignatureError, match=r"several precisions \(fp32, bf16\); score them one by one"):
        nlgauge.score_systems({"": HYPS}, REFS, metric=both, model=model)


# --- kept apart ----------------------------------------------------------------------------------------


def test_cached_vectors_and_loaded_models_are_not_taken_across(model: str, tmp_path: Path) -> None:
    alone = {precision: score(model, precision=precision).mean for precision in SIGNED}
    for precision in [*SIGNED, *SIGNED]:
        assert score(model, precision=precision, cache=tmp_path / "vectors").mean == alone[precision]


def test_a_baseline_of_one_precision_does_not_rescale_scores_of_another(model: str, tmp_path: Path) -> None:
    made = {}
    for precision in ("fp32", "bf16"):
        encoder = load_encoder(model, engine="coarse", precision=precision)
        header = {"model": "tiny", "weights": vectors_digest(encoder), "language": "en"}
        made[precision] = tmp_path / f"{precision}.tsv"
        made[precision].write_text(Baseline(header, {2: (0.3, 0.3, 0.3)}).text(), encoding="utf-8")
    score(model, rescale=str(made["fp32"]))
    score(model, rescale=str(made["bf16"]), precision="bf16")
    expected = "was made in fp32, but these scores are in bf16.*not comparable.*build baseline .*--precision bf16"
    with pytest.raises(BaselineError, match=expected):
        score(model, rescale=str(made["fp32"]), precision="bf16")
    with pytest.raises(BaselineError, match="was made in bf16, but these scores are in int8@3f0a51c2d9e8"):
        score(model, rescale=str(made["bf16"]), precision="int8")


def test_shipped_baselines_are_for_fp32() -> None:
    encoder: Any = SimpleNamespace(model="minilm", digest=load_encoder("minilm").digest, engine="x-1-bf16-cuda")
    with pytest.raises(BaselineError, match="'minilm' were made in fp32, but these scores are in bf16"):
        Baseline.shipped(encoder, "en")


def test_means_of_one_precision_do_not_move_vectors_of_another(model: str, tmp_path: Path) -> None:
    encoder = load_encoder(model, engine="coarse", precision="bf16")
    moments = {"en": LanguageMoments(1, np.zeros(encoder.hidden_size), np.ones(encoder.hidden_size))}
    path = tmp_path / "means.npz"
    LanguageMeans(moments, "centre", vectors_digest(encoder), 2).save(path)
    score(model, transforms=str(path), lang="en", precision="bf16")
    with pytest.raises(
        InputError, match=r"fitted on layer 2 of weights .* in bf16, but the vectors are of layer 2 of"
    ):
        score(model, transforms=str(path), lang="en")


def test_bounds_of_one_precision_do_not_scale_scores_of_another(model: str, tmp_path: Path) -> None:
    path = tmp_path / "bounds.json"
    options: dict[str, Any] = {"metric": "sentsim:combine=sss+wmd", "against": "refs", "sentence": model}
    made = score(model, precision="bf16", **options)
    Bounds.of_scores([made]).save(path)
    score(model, precision="bf16", bounds=str(path), **options)
    with pytest.raises(InputError, match="was made with precision bf16, but this recipe has fp32"):
        score(model, bounds=str(path), **options)
