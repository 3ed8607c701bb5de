"""Calls of the library for requests and jobs: checked, run, with their progress and warnings.

Warnings of Python belong to the process, and a service runs many calls at once. So one function receives all warnings
of the process and hands each to the thread that gave it.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from nlgauge.apps.service.answers import comparison_results, score_results, sensitivity_results
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.policy import Policy
from nlgauge.apps.service.request_models import requested
from nlgauge.apps.service.schemas import CompareRequest, OneRecipe, ScoreRequest, Sized, TextsRequest
from nlgauge.apps.service.settings import Settings, flag_of_limit
from nlgauge.apps.service.study_schemas import (
    EXPLAIN_OPTIONS,
    WORD_OPTIONS,
    DiscourseRequest,
    ExplainCorpusRequest,
    ExplainPairsRequest,
    MatrixRequest,
    RankRequest,
    SensitivityRequest,
)
from nlgauge.core.compare import Comparisons, compare, ranges
from nlgauge.core.corpus import Corpus, make_corpus
from nlgauge.core.finish import finish
from nlgauge.core.matrix import ScoreMatrix, matrix
from nlgauge.core.metric import Metric
from nlgauge.core.prepare import Prepared, SignatureCheck, prepare
from nlgauge.core.rank import Ranking, rank
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.scoring import resolved_call
from nlgauge.errors import NlgaugeWarning, RecipeError
from nlgauge.studies.compare.settings import CompareSettings
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.discourse import Discourse, discourse
from nlgauge.studies.explain.corpus import CorpusSummary, explain_corpus
from nlgauge.studies.explain.explanation import Explanation
from nlgauge.studies.explain.pairs import iter_explanations
from nlgauge.studies.sensitivity.measure import sensitivity
from nlgauge.studies.sensitivity.study import study_metrics
from nlgauge.text.annotators import ANNOTATORS

#: As `warnings` keeps it: action, message, category, module, line.
_ALWAYS = ("always", None, NlgaugeWarning, None, 0)

_collecting = threading.local()
_installing = threading.Lock()


@contextlib.contextmanager
def collected_warnings(said: list[str]) -> Iterator[None]:
    """Add what the library warns of inside, in this thread, to the list, each warning once.

    >>> said = []
    >>> with collected_warnings(said):
    ...     warnings.warn("short", NlgaugeWarning)
    >>> said
    ['short']
    """
    _install()
    before = getattr(_collecting, "said", None)
    _collecting.said = said
    try:
        yield
    finally:
        _collecting.said = before


def _install() -> None:
    """Receive the warnings of the process; again where somebody else has received or filtered them meanwhile.

    `warnings.catch_warnings` in two threads may leave the filters of one of them behind.
    """
    with _installing:
        if not isinstance(warnings.showwarning, _Receiver):
            warnings.showwarning = _Receiver(warnings.showwarning)
        if warnings.filters[:1] != [_ALWAYS]:
            warnings.simplefilter("always", NlgaugeWarning)


class _Receiver:
    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        said = getattr(_collecting, "said", None)
        if said is None or not issubclass(category, NlgaugeWarning):
            self._before(message, category, *rest, **more)
        elif str(message) not in said:
            said.append(str(message))


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


#: Told how many explanations there are so far.
Advance = Callable[[int], None]


def check_options(asked: OneRecipe) -> None:
    """Refuse an option that the library would take for something that has a field of its own."""
    for name in asked.options:
        if name in type(asked).model_fields:
            msg = f"{name} is also a field of this request; set the metric's own as {asked.metric}:{name}=VALUE"
            raise RecipeError(msg)


def check_annotator(name: str, policy: Policy) -> None:
    """Refuse an annotator that is not known by name: it would be a file, or a folder."""
    if name not in ANNOTATORS:
        msg = f"annotator must be {' or '.join(ANNOTATORS)} in a request (files are not read), got {name[:100]!r}"
        raise RecipeError(msg)
    policy.check_model(name)


@contextmanager
def run_options(caller: Caller, asked: OneRecipe, warnings: list[str]) -> Iterator[dict[str, Any]]:
    """Options of the metric and of the run, as functions of the library take them; what they warn of is collected."""
    check_options(asked)
    _, run, _, said = caller.recipes(asked)
    warnings += said
    with collected_warnings(warnings):
        yield {**asked.options, "long": asked.long, "empty": asked.empty, **run.loading}


def crossed(caller: Caller, asked: MatrixRequest, warnings: list[str]) -> ScoreMatrix:
    """All texts against all."""
    with run_options(caller, asked, warnings) as options:
        return matrix(asked.a, asked.b, asked.metric, **options)


def ranked(caller: Caller, asked: RankRequest, warnings: list[str]) -> Ranking:
    """Candidates in their order."""
    with run_options(caller, asked, warnings) as options:
        return rank(asked.candidates, asked.refs, metric=asked.metric, sources=asked.sources, **options)


def explanations(
    caller: Caller, asked: ExplainPairsRequest, warnings: list[str], advance: Advance
) -> list[Explanation]:
    """Why each pair got its score."""
    found = []
    with run_options(caller, asked, warnings) as options:
        chosen = options | {name: getattr(asked, name) for name in EXPLAIN_OPTIONS}
        pairs = iter_explanations(asked.hyps, asked.refs, metric=asked.metric, sources=asked.sources, **chosen)
        for one in pairs:
            found.append(one)
            advance(len(found))
    return found


def corpus_summary(caller: Caller, asked: ExplainCorpusRequest, warnings: list[str]) -> CorpusSummary:
    """Which words carry the score."""
    with run_options(caller, asked, warnings) as options:
        named = ("metric", "sources", "annotator", "side", "method", "level", "resamples", "seed")
        chosen = options | {name: getattr(asked, name) for name in (*named, *WORD_OPTIONS)}
        return explain_corpus(asked.hyps, asked.refs, **chosen)


def discourse_features(asked: DiscourseRequest, warnings: list[str]) -> Discourse:
    """What documents are like."""
    with collected_warnings(warnings):
        named = ("annotator", "sentences", "threshold")
        return discourse(asked.systems, asked.refs, **{name: getattr(asked, name) for name in named})


#: Texts of systems that are compared before a job says how far it is.
_STEP = 512


class JobContext(Protocol):
    """What a job is given to work with."""

    caller: Caller

    def advance(self, done: int, total: int | None, unit: str) -> None:
        """Say how far the job is; raises where it is to stop."""


def _score(request: bytes, context: JobContext) -> dict[str, bytes]:
    call = context.caller.score(ScoreRequest.model_validate_json(request))
    return score_results(_scores(call, context), call.warnings)


def _compare(request: bytes, context: JobContext) -> dict[str, bytes]:
    asked = CompareRequest.model_validate_json(request)
    call = context.caller.score(asked)
    scores = _scores(call, context)
    with collected_warnings(call.warnings):
        comparison = compare_systems(scores, settings=compare_settings(asked))
        return comparison_results(comparison, scores, call.corpus, call.warnings)


def compare_settings(asked: CompareRequest) -> CompareSettings:
    """How a request wants systems compared."""
    return CompareSettings.of(requested(asked, CompareSettings))


def _scores(call: ScoreCall, context: JobContext) -> list[Score]:
    """Step by step, so that progress is seen and a stop is soon."""
    context.advance(0, len(call.corpus), "segments")
    prepared = call.prepare()
    parts = []
    for part in ranges(prepared, _STEP):
        parts.append(call.compare(prepared, part))
        context.advance(part.stop, len(prepared), "segments")
    return call.finish(prepared, Comparisons.join(parts))


def _sensitivity(request: bytes, context: JobContext) -> dict[str, bytes]:
    asked = SensitivityRequest.model_validate_json(request)
    _, run, _, said = context.caller.recipes(asked)
    warnings = list(said)
    options = {name: getattr(asked, name) for name in ("preset", "alpha", "resamples", "seed", "lang")}
    with collected_warnings(warnings):
        metrics = study_metrics(asked.metrics, asked.options)
        found = sensitivity(asked.outputs(), asked.refs, metrics, sources=asked.sources, run=run, **options)
    return sensitivity_results(found, warnings)


#: From a kind of job to what it does: a request in, results by format out.
KINDS: dict[str, Callable[[bytes, JobContext], dict[str, bytes]]] = {
    "score": _score,
    "compare": _compare,
    "sensitivity": _sensitivity,
}
