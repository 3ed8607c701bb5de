"""Default models by language and default layers by model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.encoders.tiny_models import TINY, write_model

import nlgauge
from nlgauge.core.vector_metric import COVERED_SCRIPTS, PAPER_LAYERS, model_for_language
from nlgauge.errors import RecipeError
from nlgauge.text.languages import LANGUAGE_CODES, language_code

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"

MULTILINGUAL_BERT = "bert-base-multilingual-cased"


@pytest.mark.parametrize(
    ("code", "model"),
    [
        ("en", "minilm"),
        ("EN", "minilm"),
        ("eng", "minilm"),
        ("en-US", "minilm"),
        ("en_US", "minilm"),
        ("en-sci", "allenai/scibert_scivocab_uncased"),
        ("zh-TW", "bert-base-chinese"),
        ("tur", "dbmdz/bert-base-turkish-cased"),
        ("de", MULTILINGUAL_BERT),
        ("deu", MULTILINGUAL_BERT),
        ("pt-BR", MULTILINGUAL_BERT),
        ("yue", MULTILINGUAL_BERT),
    ],
)
def test_default_model_of_language_does_not_depend_on_installed_models(code: str, model: str) -> None:
    assert model_for_language(code) == model
    assert nlgauge.metrics.BERTScore(lang=code).model == model


@pytest.mark.parametrize("code", ["English", "xx", "e", "en US", "en-", "en-?", "zzz", "deutsch", "1"])
@pytest.mark.parametrize("model", [{}, {"model": "minilm"}], ids=["", "minilm"])
def test_invalid_language_code_is_refused(code: str, model: dict[str, str]) -> None:
    with pytest.raises(
        nlgauge.errors.RecipeError, match=r"lang must be an ISO 639 code such as en, de or zh-TW, got"
    ):
        nlgauge.score(["a"], ["b"], lang=code, **model)


def test_language_codes_are_normalised() -> None:
    assert language_code(" zh_TW ") == "zh-tw"
    assert len(LANGUAGE_CODES) > 150
    assert all(code == code.lower() and len(code) in {2, 3} for code in LANGUAGE_CODES)


@pytest.mark.parametrize("name", ["model", "lang"])
@pytest.mark.parametrize("metric", ["bertscore", "moverscore", "bertscore|layer:4|model:minilm"])
def test_empty_value_is_refused(name: str, metric: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=f"{name} is empty; leave it out for the default"):
        nlgauge.score(["a"], ["b"], metric=metric, **{name: ""})
    with pytest.raises(nlgauge.errors.RecipeError, match=f"{name} is empty"):
        nlgauge.score(["a"], ["b"], metric=f"bertscore:{name}=")


def test_error_of_missing_model_names_language_that_selected_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    for language, offered in (("de", True), ("zh-tw", True), ("fi", False)):
        with pytest.raises(nlgauge.errors.ModelNotFoundError) as caught:
            nlgauge.score(["a"], ["b"], lang=language)
        message = str(caught.value)
        assert message.startswith(f"lang={language!r} selects model 'bert-base-")
        assert ("model='muse', which supports this language" in message) == offered
    with pytest.raises(nlgauge.errors.ModelNotFoundError) as caught:
        nlgauge.score(["a"], ["b"], lang="de", model="no-such-model")
    assert "selects" not in str(caught.value)


def test_the_scripts_of_the_multilingual_model_are_those_of_its_languages() -> None:
    assert COVERED_SCRIPTS["muse"] > COVERED_SCRIPTS["minilm"] == COVERED_SCRIPTS["mpnet"] == {"Latin"}


def test_layers_of_the_paper_are_those_of_its_table_and_are_documented() -> None:
    layers = re.findall(r"`([a-z0-9-]+)` (\d+) of (\d+)", PAGE.read_text(encoding="utf-8"))
    assert {name: (int(total), int(layer)) for name, layer, total in layers} == PAPER_LAYERS
    assert len(PAPER_LAYERS) == 12
    assert all(0 < layer < total for total, layer in PAPER_LAYERS.values())
    assert PAPER_LAYERS["roberta-large"] == (24, 17)


@pytest.mark.parametrize("how", ["folder", "config", "config with an owner"])
def test_a_model_of_the_paper_has_its_layer_by_folder_and_by_config(
    tmp_path: Path, own_cache: Path, how: str
) -> None:
    named = {"folder": {}, "config": {"_name_or_path": "bert-base-uncased"}}.get(
        how, {"_name_or_path": "google-bert/bert-base-uncased"}
    )
    config = TINY["bert"] | {"num_hidden_layers": 12} | named
    folder = write_model(tmp_path / ("bert-base-uncased" if how == "folder" else "mine"), config)
    score = nlgauge.score(["the cat"], ["a dog"], model=str(folder))
    assert score.signature.recipe["layer"] == "9"


def test_truncated_model_has_no_default_layer(tmp_path: Path, own_cache: Path) -> None:
    folder = write_model(tmp_path / "bert-base-uncased", TINY["bert"])
    with pytest.raises(RecipeError, match="model 'bert-base-uncased' has no default layer; choose one from 0 to 4"):
        nlgauge.score(["the cat"], ["a dog"], model=str(folder))
