"""What a request may name: models of the store that are here, and no file at all.

A recipe may name files (an idf table, a baseline) and models (a folder, a hub id). On one's own machine that is the
point of it; from a request it would let a stranger read files, or have the service fetch things. So every option
that names a file or a model takes only words here, by the kind of the option: also in metrics of other packages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from nlgauge.encoders.load import is_added
from nlgauge.errors import DigestError, ModelNotFoundError, NlgaugeError, RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.models.catalog import CARDS, ModelCard, find_card
from nlgauge.models.fetch import cached_card
from nlgauge.recipes.annotation import AnnotatedTextMetric, AnnotatorName
from nlgauge.recipes.composite import CompositeMetric
from nlgauge.recipes.kinds import JoinedNumbers
from nlgauge.recipes.metric import Metric, TextMetric
from nlgauge.recipes.options import Option
from nlgauge.recipes.resources import LanguageModelName, Resource, SentenceModelName, StopwordList
from nlgauge.recipes.vector_metric import VectorMetric

__all__ = ["Policy", "allowed_words"]

#: Lists of stop words by name: a source, and a language as a plain word. Anything else could be a path.
_STOPWORDS = re.compile(r"(spacy|iso|nltk)-[a-z]{2,3}")

#: Tokenizers of sacrebleu that need nothing but the package; the others are fetched when they are first used.
_BLEU_TOKENIZERS = ("13a", "intl", "char", "none", "zh")

#: Orders of n-grams that chrF may count, and numbers that an option may join: memory grows with both.
_MOST = 20


class Policy:
    """Which recipes requests may ask for."""

    def __init__(self, models: Sequence[str] = ()) -> None:
        self._offered = tuple(models)
        for name in models:
            if find_card(name) is None and not is_added(name):
                msg = f"unknown model {name!r}; a service offers models by name: {', '.join(CARDS)}"
                raise RecipeError(msg)

    def check(self, recipe: Metric) -> None:
        """Refuse a recipe that names a file, or a model that is not on offer."""
        if isinstance(recipe, VectorMetric):
            self.check_model(recipe.model)
        if isinstance(recipe, CompositeMetric):
            for member in recipe.recipes:
                self.check(member)
        for name, about in recipe.options().items():
            if name not in recipe.unused:
                self._check_option(recipe, name, about)

    def check_model(self, name: str) -> None:
        """Refuse a model that is not on offer, or not here."""
        card = find_card(name)
        if is_added(name) and (not self._offered or name in self._offered):
            return
        if card is None or (self._offered and card.name not in self._offered):
            offered = self._offered or tuple(card.name for card in CARDS.values() if is_here(card))
            msg = f"model {name!r} is not on offer here; there are: {', '.join(offered)}"
            raise ModelNotFoundError(msg)
        if not is_here(card):
            msg = f"model {card.name!r} is not on the service's machine, and requests fetch nothing"
            raise ModelNotFoundError(msg)

    def why_not(self, metric: type[Metric]) -> str | None:
        """Why no request can have a metric here, whatever it sets; None: it can."""
        for name, about in metric.options().items():
            if about.required and isinstance(about.kind, Resource):
                return f"it needs {name}, a file, and requests name none"
        try:
            recipe = metric()
            for name, about in recipe.options().items():
                self._check_option(recipe, name, about)
                if isinstance(about.kind, AnnotatorName) and find_spec("spacy") is None:
                    return "it needs spaCy: pip install 'nlgauge[documents]'"
            if isinstance(recipe, TextMetric) and not isinstance(recipe, AnnotatedTextMetric):
                recipe.versions()  # asks for the package that computes it
        except NlgaugeError as error:
            return str(error)
        if isinstance(recipe, VectorMetric) and not any(
            one["available"] and one["kind"] == "encoder" for one in self.models()
        ):
            return "it needs a model, and none is here"
        return None

    def models(self) -> list[dict[str, Any]]:
        """All known models, and whether they are on offer."""
        return [
            {
                "name": card.name,
                "origin": card.origin,
                "kind": card.kind,
                "layers": card.layers,
                "hidden_size": card.hidden_size,
                "languages": list(card.languages),
                "licence": card.licence,
                "weights": short_digest(card.weights_digest),
                "available": is_here(card) and (not self._offered or card.name in self._offered),
            }
            for card in CARDS.values()
        ]

    def _check_option(self, recipe: Metric, name: str, about: Option) -> None:
        value = getattr(recipe, name)
        kind = about.kind
        if isinstance(kind, SentenceModelName | LanguageModelName):
            if value and value not in kind.words:
                self.check_model(value)
        elif isinstance(kind, AnnotatorName):
            self.check_model(value)
        elif isinstance(kind, StopwordList):
            # A list by name is looked for as a file first.
            if value != "none" and (not _STOPWORDS.fullmatch(value) or os.path.lexists(value)):
                raise _refusal(name, "none, spacy-LANG, iso-LANG or nltk-LANG", value)
        elif isinstance(kind, Resource):
            if value not in kind.words:
                raise _refusal(name, " or ".join(kind.words), value)
        elif isinstance(kind, JoinedNumbers):
            if value.count("+") >= _MOST:
                raise _excess(name, f"at most {_MOST} numbers", value)
        elif recipe.name == "chrf" and name in {"chars", "words"}:
            if value > _MOST:
                raise _excess(name, f"at most {_MOST}", value)
        elif recipe.name == "bleu" and name == "tokenize" and value not in _BLEU_TOKENIZERS:
            raise _refusal(name, ", ".join(_BLEU_TOKENIZERS), value)


def allowed_words(metric: type[Metric], name: str, about: Option) -> str:
    """The values of an option that requests may give, in words."""
    kind = about.kind
    if name == "model" or isinstance(kind, SentenceModelName | LanguageModelName):
        return " or ".join([*getattr(kind, "words", ()), "a model of GET /v1/models"])
    if isinstance(kind, Resource):  # of annotators those by name, too
        return " or ".join(kind.words)
    if (metric.name, name) in {("chrf", "chars"), ("chrf", "words")}:
        return f"{about.values} to {_MOST}"
    return " or ".join(_BLEU_TOKENIZERS) if (metric.name, name) == ("bleu", "tokenize") else about.values


@lru_cache(maxsize=64)
def _is_here(name: str, seconds: int) -> bool:
    try:
        return cached_card(CARDS[name]) is not None
    except DigestError:
        return False


def is_here(card: ModelCard) -> bool:
    """Whether a model is on this machine, its digests checked; looked at again every minute."""
    import time

    return _is_here(card.name, int(time.monotonic()) // 60)


def _refusal(name: str, words: str, value: object) -> RecipeError:
    return _excess(name, f"{words} in a request (files of the service's machine are not read)", value)


def _excess(name: str, words: str, value: object) -> RecipeError:
    shown = str(value) if len(str(value)) < 100 else f"{str(value)[:100]}..."
    return RecipeError(f"{name} must be {words}, got {shown!r}")
