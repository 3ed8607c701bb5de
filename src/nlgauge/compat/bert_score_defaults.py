"""Which model and which layer the bert-score package takes when nobody says."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from nlgauge.errors import RecipeError

__all__ = ["layers_of_models", "model_of_language", "tuned_layer"]

#: `lang2model` of bert-score 0.3.13.
_MODELS = {
    "en": "roberta-large",
    "zh": "bert-base-chinese",
    "tr": "dbmdz/bert-base-turkish-cased",
    "en-sci": "allenai/scibert_scivocab_uncased",
}
_OTHER_LANGUAGES = "bert-base-multilingual-cased"


def model_of_language(language: str) -> str:
    """The model that bert-score chooses for a language.

    >>> model_of_language("EN")
    'roberta-large'
    """
    return _MODELS.get(language.lower(), _OTHER_LANGUAGES)


@cache
def layers_of_models() -> dict[str, int]:
    """`model2layers` of bert-score 0.3.13: the layer tuned by its authors, by model."""
    text = (files("nlgauge.compat") / "bert_score_layers.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {model: int(layer) for model, layer in rows}


def tuned_layer(model: str) -> int | None:
    """The layer of bert-score for a model; None leaves it to nlgauge, which knows models by their weights too."""
    return layers_of_models().get(model)


def chosen_model(model: str | None, language: str | None) -> str:
    """The model of a call: the one named, or that of the language."""
    if model is None and language is None:
        msg = "give model_type= or lang=: one of the two chooses the model"
        raise RecipeError(msg)
    return model if model is not None else model_of_language(language or "")
