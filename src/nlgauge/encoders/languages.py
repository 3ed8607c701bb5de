"""Whether a model was trained on a language, where that is known."""

from __future__ import annotations

import warnings

from nlgauge.errors import LanguageWarning
from nlgauge.models.catalog import find_card
from nlgauge.text.function_words import language_name

__all__ = ["one_language_of", "warn_if_unsupported", "warn_of_other_language"]

#: Models of the hub that were trained on English only, as their papers or model cards say.
_ENGLISH_ONLY = frozenset(
    {
        "allenai/scibert_scivocab_uncased",
        "bert-base-cased-finetuned-mrpc",
        "bert-base-uncased",
        "bert-large-uncased",
        "distilbert-base-uncased",
        "microsoft/deberta-xlarge-mnli",
        "roberta-base",
        "roberta-large",
        "roberta-large-mnli",
        "xlm-mlm-en-2048",
        "xlnet-base-cased",
        "xlnet-large-cased",
    }
)

#: What is offered for other languages: the multilingual model that needs no network.
_MULTILINGUAL = "muse"


def one_language_of(model: str) -> str:
    """The only language that a model was trained on; empty where there are several, or nothing is known of it."""
    card = find_card(model)
    languages = ("en",) if model in _ENGLISH_ONLY else () if card is None else card.languages
    return languages[0] if len(languages) == 1 else ""


def warn_if_unsupported(model: str, language: str, *, read: bool = False, stacklevel: int = 2) -> None:
    """Warn of a language that a known model was not trained on; regions (`pt-BR`) do not count.

    `read` says that the model reads texts of this language. Where it may not, as with the language of sources that
    stand next to the texts, a model of one language is not judged. `stacklevel` is what the caller would give to
    `warnings.warn`.
    """
    card = find_card(model)
    if card is not None and len(card.languages) > 1 and not card.knows_language(language):
        msg = (
            f"model {card.name!r} was not trained on language {language!r}, so its vectors mean little there; "
            f"it knows: {', '.join(card.languages)}"
        )
        warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
    elif read and (own := one_language_of(model)) and language.partition("-")[0] != own:
        what = f"texts are in {language_name(language)}"
        warn_of_other_language(model, what, language, stacklevel=stacklevel + 1)


def warn_of_other_language(model: str, what: str, language: str, *, stacklevel: int = 2) -> None:
    """Warn of texts in another language than the only one of a model; `what` says so of the texts."""
    multilingual = find_card(_MULTILINGUAL)
    known = multilingual is not None and multilingual.knows_language(language)
    offer = f"a multilingual model, such as model='{_MULTILINGUAL}'" if known else "a model of that language (model=)"
    own = language_name(one_language_of(model))
    msg = f"{what}, but model {model!r} was trained on {own} only; use {offer}"
    warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
