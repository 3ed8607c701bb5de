"""From a request to a call of the library: recipes and texts, checked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from nlgauge.corpus.checks import make_corpus
from nlgauge.corpus.texts import Corpus
from nlgauge.engine.compare import compare
from nlgauge.engine.comparisons import Comparisons
from nlgauge.engine.finish import finish
from nlgauge.engine.prepare import Prepared, SignatureCheck, prepare
from nlgauge.errors import RecipeError
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.scores import Score
from nlgauge.scoring import resolved_call
from nlgauge.service.policy import Policy
from nlgauge.service.problems import ProblemError
from nlgauge.service.said import collected_warnings
from nlgauge.service.schemas import ScoreRequest, Sized, TextsRequest
from nlgauge.service.settings import Settings, flag_of_limit

__all__ = ["Asked", "Caller", "ScoreCall", "check_pairs", "check_size"]

#: Recipes that are remembered; a client mostly asks for the same again.
_REMEMBERED = 256

#: Names of the options of a run, which the service decides, and what a request says about them otherwise.
_OF_THE_SERVICE = ("engine", "precision", "device", "threads", "batch_tokens", "cache", "cache_size", "progress")
_OF_THE_REQUEST = ("long", "empty", "alignments")


class Asked(Protocol):
    """A request that names recipes."""

    @property
    def metrics(self) -> list[str]:
        """Names, or signatures."""

    @property
    def options(self) -> dict[str, Any]:
        """For all of them."""


@dataclass(frozen=True, eq=False)
class ScoreCall:
    """A request to score, as the library takes it."""

    recipes: Sequence[Metric]
    corpus: Corpus
    options: RunOptions
    check_signature: SignatureCheck
    warnings: list[str] = field(default_factory=list)
    """What the library warned of so far."""

    def prepare(self) -> Prepared:
        """The first stage of the run."""
        with collected_warnings(self.warnings):
            return prepare(self.recipes, self.corpus, self.options, check_signature=self.check_signature)

    def compare(self, prepared: Prepared, segments: range | None = None) -> Comparisons:
        """The second stage, for some segments or all."""
        with collected_warnings(self.warnings):
            return compare(prepared, segments)

    def finish(self, prepared: Prepared, comparisons: Comparisons) -> list[Score]:
        """The third stage."""
        with collected_warnings(self.warnings):
            return finish(prepared, comparisons)


class Caller:
    """Makes calls out of requests, by the rules of a service."""

    def __init__(self, settings: Settings, policy: Policy) -> None:
        self._settings = settings
        self._policy = policy
        self._recipes: OrderedDict[object, tuple[list[Metric], RunOptions, SignatureCheck, tuple[str, ...]]]
        self._recipes = OrderedDict()
        self._lock = threading.Lock()

    def score(self, request: ScoreRequest) -> ScoreCall:
        """The call behind a request to score; an error of the library says what is wrong with it."""
        recipes, options, check, said = self.recipes(request)
        corpus = make_corpus(request.outputs(), request.refs, sources=request.sources)
        options = replace(options, long=request.long, empty=request.empty, alignments=request.alignments)
        return ScoreCall(recipes, corpus, options, check, list(said))

    def recipes(self, request: Asked) -> tuple[list[Metric], RunOptions, SignatureCheck, tuple[str, ...]]:
        """Recipes that the policy allows, and what the library warned of when it made them."""
        values = ((name, type(value).__name__, value) for name, value in request.options.items())
        key = (tuple(request.metrics), tuple(values))
        with self._lock:
            if key in self._recipes:
                self._recipes.move_to_end(key)
                return self._recipes[key]
        made = self._made(request)
        with self._lock:
            self._recipes[key] = made
            while len(self._recipes) > _REMEMBERED:
                self._recipes.popitem(last=False)
        return made

    def _made(self, request: Asked) -> tuple[list[Metric], RunOptions, SignatureCheck, tuple[str, ...]]:
        for name in request.options:
            if name in _OF_THE_SERVICE:
                msg = f"{name} is decided by the service, not by a request; leave it out"
                raise RecipeError(msg)
            if name in _OF_THE_REQUEST:
                msg = f"{name} stands beside 'options' in a request, not in them"
                raise RecipeError(msg)
        said: list[str] = []
        with collected_warnings(said):
            recipes, options, check = resolved_call(request.metrics, request.options)
        for recipe in recipes:
            self._policy.check(recipe)
        return recipes, self._run_options(options), check, tuple(said)

    def _run_options(self, options: RunOptions) -> RunOptions:
        """Those of the service; a signature that names another engine cannot come out here."""
        settings, defaults = self._settings, RunOptions()
        for name in ("engine", "precision"):
            asked, here = getattr(options, name), getattr(settings, name)
            if asked not in (getattr(defaults, name), here):
                msg = f"the signature names {name} {asked!r}, and this service computes with {here!r}"
                raise RecipeError(msg)
        return replace(
            options,
            engine=settings.engine,
            precision=settings.precision,
            threads=settings.threads,
            batch_tokens=settings.batch_tokens,
        )


def check_size(request: Sized, settings: Settings, *, job: bool) -> int:
    """The characters of a request's texts; a request that is over a limit is refused."""
    limits = settings.limits
    if isinstance(request, TextsRequest) and (request.hyps is None) == (request.systems is None):
        raise ProblemError(422, "give either 'hyps' (one system) or 'systems' (by name)", kind="form")
    if len(request.metrics) > limits.recipes:
        msg = f"{len(request.metrics)} metrics in one request, and at most {limits.recipes} are taken"
        raise ProblemError(413, msg, kind="too-many-metrics")
    texts = request.texts()
    name = "job_texts" if job else "texts"
    most = getattr(limits, name)
    if len(texts) > most:
        hint = "" if job else f"post it to /v1/jobs, where {limits.job_texts:,} are, or "
        more = f"use fewer systems or segments, or start the service with {flag_of_limit(name)} N"
        msg = f"{len(texts):,} texts in one request, and at most {most:,} are taken; {hint}{more}"
        raise ProblemError(413, msg, kind="too-many-texts")
    longest = max(map(len, texts), default=0)
    if longest > limits.text_characters:
        place = next(place for place, text in request.places() if len(text) == longest)
        msg = f"{place}: a text has {longest} characters, and at most {limits.text_characters} are taken"
        raise ProblemError(413, msg, kind="text-too-long")
    return sum(map(len, texts))


def check_pairs(pairs: int, settings: Settings, *, job: bool) -> None:
    """Refuse more pairs of texts than are compared for one request."""
    limits = settings.limits
    most = limits.job_pairs if job else limits.pairs
    if pairs > most:
        hint = "" if job else f"; post it to /v1/jobs, where {limits.job_pairs} are"
        msg = f"{pairs} pairs of texts in one request, and at most {most} are compared{hint}"
        raise ProblemError(413, msg, kind="too-many-pairs")
