"""Calls of the library for requests: recipes that the service allows, and what the library warns of.

Warnings of Python belong to the process, and a service runs many calls at once. So one function receives all warnings
of the process and hands each to the thread that gave it.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nlgauge.apps.service.policy import Policy
from nlgauge.apps.service.request_models import OperationRequest
from nlgauge.apps.service.settings import Settings
from nlgauge.core.compare import Comparisons, compare
from nlgauge.core.corpus import Corpus, make_corpus
from nlgauge.core.finish import finish
from nlgauge.core.metric import Metric, looks_alone
from nlgauge.core.prepare import Prepared, SignatureCheck, prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.scoring import resolved_call
from nlgauge.errors import NlgaugeWarning, RecipeError

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


#: Recipes that are remembered; a client mostly asks for the same again.
_REMEMBERED = 256

#: Recipes, the options of their run, the check of what comes out, and what the library warned of.
_Resolved = tuple[list[Metric], RunOptions, SignatureCheck, tuple[str, ...]]


class Caller:
    """Makes calls out of requests, by the rules of a service."""

    def __init__(self, settings: Settings, policy: Policy) -> None:
        self._settings = settings
        self._policy = policy
        self._recipes: OrderedDict[object, _Resolved] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, request: OperationRequest, said: list[str]) -> Any:
        """Call the function of an operation; what the library warns of is added to the list."""
        options = request.chosen
        if request.operation.metric != "none":
            _, run, _, resolving = self.recipes(request)
            said += resolving
            metric = request.metrics if request.operation.metric == "several" else request.metrics[0]
            local = {**run.loading, "batch_tokens": run.batch_tokens}
            options = {"metric": metric, **request.metric_options, **options, **local}
        with collected_warnings(said):
            return request.call(**options)

    def score(self, request: OperationRequest) -> ScoreCall:
        """The stages of a request to score; an error of the library says what is wrong with it."""
        recipes, options, check, said = self.recipes(request)
        texts = request.inputs
        corpus = make_corpus(texts["systems"], texts["refs"], sources=texts["sources"], alone=looks_alone(recipes))
        chosen = {name: value for name, value in request.chosen.items() if name in RunOptions.options()}
        return ScoreCall(recipes, corpus, replace(options, **chosen), check, list(said))

    def recipes(self, request: OperationRequest) -> _Resolved:
        """Recipes that the policy allows, and what the library warned of when it made them."""
        values = ((name, type(value).__name__, value) for name, value in request.metric_options.items())
        key = (tuple(request.metrics), tuple(values))
        with self._lock:
            if key in self._recipes:
                self._recipes.move_to_end(key)
                return self._recipes[key]
        resolved = self._resolve(request)
        with self._lock:
            self._recipes[key] = resolved
            while len(self._recipes) > _REMEMBERED:
                self._recipes.popitem(last=False)
        return resolved

    def _resolve(self, request: OperationRequest) -> _Resolved:
        said: list[str] = []
        with collected_warnings(said):
            recipes, options, check = resolved_call(request.metrics, request.metric_options)
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
