"""Limits of a request: offered models, no files, and an estimate of the time it takes at least.

A recipe may name files (an idf table, a baseline) and models (a folder, a hub id). In a request, that would let
strangers read files, or make the service download models. Therefore options for files and models accept only names
here, by the kind of the option: also in metrics of other packages.

Nearly all metrics take milliseconds for a pair of texts. Entropic transport (`baryscore:measures=SD_R`,
`solver=sinkhorn-R`) with a small regularisation R does not: it runs up to 10,000 iterations on a matrix with a cell
for each pair of tokens, and takes minutes for two texts of 500 words. Exact transport of texts that are read in
windows takes many seconds. Both are estimated from the numbers of tokens; all other work is ignored.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from nlgauge.core.annotation import AnnotatedTextMetric, AnnotatorName
from nlgauge.core.kinds import Kind, Many, NumberList
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.options import Option
from nlgauge.core.prepare import Prepared, PreparedMetric
from nlgauge.core.resources import LanguageModelName, Resource, SentenceModelName, StopwordList
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.load import is_added
from nlgauge.errors import DigestError, ModelNotFoundError, NlgaugeError, RecipeError
from nlgauge.io.packages import missing_package_message
from nlgauge.io.storage import short_digest
from nlgauge.io.store.catalog import CARDS, ModelCard, find_card, unknown_model
from nlgauge.io.store.fetch import cached_card
from nlgauge.metrics.baryscore import BaryScore
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.metrics.parts.word_matches import SynonymSource
from nlgauge.metrics.xmoverscore import XMoverScore
from nlgauge.text.words import STOPWORD_SOURCES
from nlgauge.vectors.transport import MOST_ITERATIONS, RELAXED, SINKHORN, regularisation

#: Names of stop-word lists: source and language. Anything else could be a path.
_STOPWORDS = re.compile(rf"({'|'.join(STOPWORD_SOURCES)})-[a-z]{{2,3}}")

#: Tokenizers of sacrebleu that need no download.
_BLEU_TOKENIZERS = ("13a", "intl", "char", "none", "zh")

#: Largest order of n-grams in chrF, and largest count of numbers in an option: memory grows with both.
_MOST = 20

#: Metrics and options with these limits.
_COUNTS = (("chrf", "chars"), ("chrf", "words"))
_TOKENIZE = ("bleu", "tokenize")


class Policy:
    """The recipes that requests may use."""

    def __init__(self, models: Sequence[str] = ()) -> None:
        self._offered = tuple(models)
        for name in models:
            if find_card(name) is None and not is_added(name):
                msg = f"--models: {unknown_model(name, CARDS)}"
                raise RecipeError(msg)

    def check(self, recipe: Metric) -> None:
        """Refuse a recipe with a file, or with a model that is not offered."""
        if isinstance(recipe, VectorMetric):
            self.check_model(recipe.model)
        for name, opt in recipe.options().items():
            if name not in recipe.unused:
                self._check_option(opt, opt.kind, getattr(recipe, name), recipe.name)
        for member in recipe.base_metrics:  # after the options, because a file may name the members
            if member is not recipe:
                self.check(member)

    def check_model(self, name: str) -> None:
        """Refuse a model that is not offered or not installed."""
        card = find_card(name)
        if is_added(name) and (not self._offered or name in self._offered):
            return
        if card is None or (self._offered and card.name not in self._offered):
            offered = self._offered or tuple(card.name for card in CARDS.values() if is_installed(card))
            msg = f"this service does not offer model {name!r}; it offers: {', '.join(offered)}"
            raise ModelNotFoundError(msg)
        if not is_installed(card):
            command = f"nlgauge models pull {card.name}"
            msg = f"model {card.name!r} is not installed on the server; ask the operator to run: {command}"
            raise ModelNotFoundError(msg)

    def check_values(self, options: Mapping[str, Option], values: object) -> None:
        """Refuse options of an operation with a file, or with a model that is not offered."""
        for name, opt in options.items():
            value = getattr(values, name)
            if name == "model" and value != opt.default:
                self.check_model(value)
            self._check_option(opt, opt.kind, value)

    def why_not(self, metric: type[Metric]) -> str | None:
        """Why this service cannot offer a metric; None: it can."""
        for name, opt in metric.options().items():
            if opt.required and (isinstance(opt.kind, Resource) or opt.kind.names_file):
                return f"it needs a file ({name})"
        try:
            recipe = metric()
            for name, opt in recipe.options().items():
                self._check_option(opt, opt.kind, getattr(recipe, name), recipe.name)
                if isinstance(opt.kind, AnnotatorName) and find_spec("spacy") is None:
                    return missing_package_message("spacy", "spacy")
            for member in recipe.base_metrics:
                if member is not recipe:
                    self.check(member)
            if isinstance(recipe, TextMetric) and not isinstance(recipe, AnnotatedTextMetric):
                recipe.versions()  # raises if its package is missing
        except NlgaugeError as error:
            return str(error)
        has_encoder = any(self._offers(card) and card.kind == "encoder" for card in CARDS.values())
        return (
            "it needs a model, and none is installed"
            if isinstance(recipe, VectorMetric) and not has_encoder
            else None
        )

    def models(self) -> list[dict[str, Any]]:
        """All models of the library, and whether the service offers them."""
        names = ("name", "origin", "kind", "layers", "hidden_size", "languages", "licence")
        return [
            {name: getattr(card, name) for name in names}
            | {"weights": short_digest(card.weights_digest), "available": self._offers(card)}
            for card in CARDS.values()
        ]

    def _offers(self, card: ModelCard) -> bool:
        return is_installed(card) and (not self._offered or card.name in self._offered)

    def _check_option(self, opt: Option, kind: Kind, value: Any, metric: str = "") -> None:
        """Refuse a value of an option of an operation, or of a metric."""
        name = opt.name
        if isinstance(kind, Many):
            for item in value:
                self._check_option(opt, kind.kind, item, metric)
        elif kind.names_file:
            if value != opt.default:
                raise _refusal(name, "left out", value)
        elif isinstance(kind, Resource):
            self._check_resource(name, kind, value)
        elif isinstance(kind, NumberList):
            if value.count("+") >= _MOST:
                raise _excess(name, f"at most {_MOST} numbers", value)
        elif (metric, name) in _COUNTS:
            if value > _MOST:
                raise _excess(name, f"at most {_MOST}", value)
        elif (metric, name) == _TOKENIZE and value not in _BLEU_TOKENIZERS:
            raise _refusal(name, ", ".join(_BLEU_TOKENIZERS), value)

    def _check_resource(self, name: str, kind: Resource, value: str) -> None:
        if isinstance(kind, SentenceModelName | LanguageModelName):
            if value and value not in kind.words:
                self.check_model(value)
        elif isinstance(kind, AnnotatorName | SynonymSource) and value in CARDS:
            self.check_model(value)
        elif isinstance(kind, StopwordList):
            # The library looks for a file of this name first.
            if value != "none" and (not _STOPWORDS.fullmatch(value) or os.path.lexists(value)):
                raise _refusal(name, "none, spacy-LANG, iso-LANG or nltk-LANG", value)
        elif value not in kind.words:
            raise _refusal(name, " or ".join(kind.words), value)


def allowed_words(metric: type[Metric], name: str, opt: Option) -> str:
    """A description of the values that requests may give to an option."""
    kind = opt.kind
    if name == "model" or isinstance(kind, SentenceModelName | LanguageModelName):
        return " or ".join([*getattr(kind, "words", ()), "a model of GET /v1/models"])
    if isinstance(kind, Resource):  # including annotators by name
        return " or ".join(kind.words)
    if (metric.name, name) in _COUNTS:
        return f"{opt.values} to {_MOST}"
    return " or ".join(_BLEU_TOKENIZERS) if (metric.name, name) == _TOKENIZE else opt.values


@lru_cache(maxsize=64)
def _is_installed(name: str, seconds: int) -> bool:
    try:
        return cached_card(CARDS[name]) is not None
    except DigestError:
        return False


def is_installed(card: ModelCard) -> bool:
    """Whether a model is installed, with correct checksums; checked once a minute."""
    return _is_installed(card.name, int(time.monotonic()) // 60)


def _refusal(name: str, words: str, value: object) -> RecipeError:
    return _excess(name, f"{words} in a request (the service reads no files)", value)


def _excess(name: str, words: str, value: object) -> RecipeError:
    shown = str(value) if len(str(value)) < 100 else f"{str(value)[:100]}..."
    return RecipeError(f"{name} must be {words}, got {shown!r}")


#: Seconds for a cell of the matrix. Measured on one core of a common server: an iteration of entropic transport on
#: logarithms (17 s for 10,000 on 125 x 125 tokens, 72 s on 250 x 250), and exact transport (2.6 s for 3,000 x 3,000).
_SECONDS_PER_ITERATION = 1.1e-7
_SECONDS_EXACT = 3e-7

#: Iterations for regularisation 1; in inverse proportion to it. 400 words took 2,200 for 0.01, and all for 0.001.
_ITERATIONS = 20.0

#: From this regularisation on, the fast plain iteration is used.
_HARMLESS = 0.05


def estimated_seconds(prepared: Prepared) -> float:
    """Estimated minimum of the computing time in seconds, on a common server."""
    return sum(
        _cells(metric) * _seconds_per_cell(metric.metric)
        for group in prepared.groups
        for metric in group.metrics.values()
        if isinstance(metric.metric, (BaryScore, MoverScore, XMoverScore))
    )


def _seconds_per_cell(metric: BaryScore | MoverScore | XMoverScore) -> float:
    if isinstance(metric, BaryScore):
        if metric.profile == "released":  # the plain iteration only
            return _SECONDS_EXACT
        names = [float(name.removeprefix("SD_")) for name in metric.components if name != "W"]
        return sum(map(_entropic, names)) + ("W" in metric.components) * _of_solver(metric.solver)
    return _of_solver(metric.solver)


def _of_solver(solver: str) -> float:
    if solver == RELAXED:
        return 0.0
    return _entropic(regularisation(solver)) if solver.startswith(SINKHORN) else _SECONDS_EXACT


def _entropic(strength: float) -> float:
    if strength >= _HARMLESS:
        return 0.0
    return _SECONDS_PER_ITERATION * min(MOST_ITERATIONS, _ITERATIONS / strength)


def _cells(prepared: PreparedMetric) -> int:
    """Pairs of tokens, over all pairs of texts."""
    corpus, tokens = prepared.corpus, prepared.tokenized.tokens
    return sum(
        len(tokens[text]) * sum(len(tokens[reference]) for reference in references)
        for texts in corpus.systems.values()
        for text, references in zip(texts, corpus.references, strict=True)
    )
