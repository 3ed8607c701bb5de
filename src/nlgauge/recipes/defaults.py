"""Which layer a model is read at, which model a language gets when nobody says, and what a model covers."""

from __future__ import annotations

from collections.abc import Iterable

from nlgauge.encoders import Encoder
from nlgauge.encoders.load import stated_name
from nlgauge.errors import ModelNotFoundError, RecipeError
from nlgauge.models.catalog import CARDS, card_of_digest
from nlgauge.text.languages import language_code

__all__ = [
    "COVERED_SCRIPTS",
    "MULTILINGUAL",
    "PAPER_LAYERS",
    "chosen_layer",
    "default_layer",
    "model_for_language",
    "offer_multilingual",
    "with_reason",
]

#: The model's number of layers and the best of them, by its name: Table 8 of the BERTScore paper (Zhang et al. 2020,
#: appendix B), all twelve rows. Tuned there on WMT16, for Chinese on en-zh of WMT17; layer 0 are the embeddings.
PAPER_LAYERS = {
    "bert-base-uncased": (12, 9),
    "bert-large-uncased": (24, 18),
    "bert-base-cased-finetuned-mrpc": (12, 9),
    "bert-base-multilingual-cased": (12, 9),
    "bert-base-chinese": (12, 8),
    "roberta-base": (12, 10),
    "roberta-large": (24, 17),
    "roberta-large-mnli": (24, 19),
    "xlnet-base-cased": (12, 5),
    "xlnet-large-cased": (24, 7),
    "xlm-mlm-en-2048": (12, 7),
    "xlm-mlm-100-1280": (16, 11),
}

#: Layer of models that the paper does not have. The two embedded ones: best average Pearson of F without idf on the
#: four language pairs of WMT15 (`nlgauge tune-layer --model NAME --data wmt15`: .699 and .762). The others: the
#: table `model2layers` of bert-score 0.3.13, tuned by its authors on WMT16 (the Turkish one on WMT18).
LAYERS = {
    "minilm": 4,
    "mpnet": 7,
    "distilbert-base-uncased": 5,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "allenai/scibert_scivocab_uncased": 8,
    "dbmdz/bert-base-turkish-cased": 10,
    "microsoft/deberta-xlarge-mnli": 40,
}

#: Model by language. English is served offline; the others are bert-score's table, from the hub.
LANGUAGE_MODELS = {
    "en": "minilm",
    "en-sci": "allenai/scibert_scivocab_uncased",
    "tr": "dbmdz/bert-base-turkish-cased",
    "zh": "bert-base-chinese",
}

#: Model for texts of two languages, offline (extra `multilingual`).
MULTILINGUAL = "muse"

OTHER_LANGUAGES = "bert-base-multilingual-cased"

#: Scripts that a model was trained on, by its name. Models that are not here are judged by their unknown tokens.
COVERED_SCRIPTS = {
    "minilm": frozenset({"Latin"}),
    "mpnet": frozenset({"Latin"}),
    MULTILINGUAL: frozenset({"Arabic", "Cyrillic", "Han", "Hangul", "Hiragana", "Katakana", "Latin", "Thai"}),
}


def default_layer(encoder: Encoder) -> int:
    """The tuned layer of a model, or an error that says how to choose one.

    A model is known by its digest, by its name or that of its folder, or by the name in its config.json.
    """
    if encoder.layers == 0:  # word vectors
        return 0
    name = encoder.model
    card = card_of_digest(encoder.digest)  # the same files under another name are the same model
    if card is not None and card.name in LAYERS:
        return LAYERS[card.name]
    stated = stated_name(encoder)
    for known in (name, name.rpartition("/")[2], stated, stated.rpartition("/")[2]):
        if known in LAYERS:
            return LAYERS[known]
        total, layer = PAPER_LAYERS.get(known, (None, 0))
        if total == encoder.layers:  # a model cut short is another one
            return layer
    msg = f"there is no default layer for model {name!r}; choose one of 0 to {encoder.layers} with layer="
    raise RecipeError(msg)


def chosen_layer(layer: int | None, encoder: Encoder) -> int:
    """The layer asked for, or the model's default; a layer that the model does not have is an error."""
    chosen = default_layer(encoder) if layer is None else layer
    if chosen > encoder.layers:
        msg = f"layer must be 0 to {encoder.layers} for model {encoder.model!r}, got {chosen}"
        raise RecipeError(msg)
    return chosen


def model_for_language(language: str) -> str:
    """The model that scores a language by default: by this table alone, never by what is installed."""
    code = language_code(language)
    return LANGUAGE_MODELS.get(code) or LANGUAGE_MODELS.get(code.partition("-")[0], OTHER_LANGUAGES)


def with_reason(error: ModelNotFoundError, model: str, languages: Iterable[str]) -> ModelNotFoundError:
    """The same error, which also says that a language chose the model, and what is there offline."""
    for language in dict.fromkeys(languages):
        if language and model_for_language(language) == model:
            known = CARDS[MULTILINGUAL].knows_language(language)
            offer = f"; offline, --model {MULTILINGUAL} knows this language" if known else ""
            return ModelNotFoundError(f"lang={language!r} chose model {model!r}{offer}; {error}")
    return error


def offer_multilingual(scripts: Iterable[str], *, model: str) -> str:
    """What covers the scripts that this model does not, as a clause of a message."""
    foreign = [one for one in scripts if one not in COVERED_SCRIPTS.get(model, ())]
    covered = [] if model == MULTILINGUAL else [one for one in foreign if one in COVERED_SCRIPTS[MULTILINGUAL]]
    if not covered:
        return "take a model that was trained on the language (--model)"
    languages = ", ".join(CARDS[MULTILINGUAL].languages)
    return f"model {MULTILINGUAL!r} covers {' and '.join(covered)} (--model {MULTILINGUAL}: {languages})"
