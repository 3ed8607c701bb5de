"""Requests as calls of the library: request models, allowed recipes, and answers as bytes.

The pydantic model of a request follows from the inputs and options of its operation. Every option is available within
its limit, except for names of files, folders and outputs, and options that the service sets (`Option.local`): a
request never reaches the disk of the server.

Python's warnings belong to the process, but a service runs many calls at once. Therefore one function receives all
warnings and passes each to the thread that it is from.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, create_model

from nlgauge._version import __version__
from nlgauge.apps.service.policy import Policy
from nlgauge.apps.service.settings import Settings
from nlgauge.apps.wording import in_fields
from nlgauge.core.corpus import Corpus, make_corpus
from nlgauge.core.kinds import Choice, Flag, Float, Int, Kind, Many
from nlgauge.core.metric import Metric, needs_no_reference
from nlgauge.core.operations import CANDIDATES, DOCUMENTS, LISTS, PAIR, SEGMENTS, SYSTEMS, Input, Operation
from nlgauge.core.options import Option
from nlgauge.core.prepare import Prepared, SignatureCheck, prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.scoring import resolve_call
from nlgauge.core.short_signature import is_short
from nlgauge.errors import InputError, NlgaugeWarning, RecipeError, SignatureError
from nlgauge.report.document import html_report
from nlgauge.report.inputs import ReportTexts, alignment_record, differing_segments, explain_for_report
from nlgauge.studies.compare.comparison import CompareSettings
from nlgauge.studies.compare.system_scores import system_scores
from nlgauge.studies.compare.systems import compare_scores
from nlgauge.studies.explain.pairs import iter_explanations

#: Value of an option in JSON.
OptionValue = StrictBool | StrictInt | StrictFloat | StrictStr

Name = Annotated[StrictStr, Field(max_length=200)]
Recipe = Annotated[StrictStr, Field(max_length=2000)]
References = list[StrictStr | list[StrictStr]]

_LONGEST_LIST = 100

#: Types of inputs by shape.
_TYPES: dict[str, Any] = {
    "text": StrictStr,
    "text-or-several": StrictStr | list[StrictStr],
    "texts": list[StrictStr],
    "references": References,
    "groups": list[list[StrictStr]],
    "systems": Annotated[dict[Name, list[StrictStr]], Field(max_length=200)],
}

_HYPS = Input("hyps", "texts", "outputs of one system, a text per segment, instead of `systems`")

_COMPARED = {
    "systems": {"a": ["A cat sat.", "It rained."], "b": ["A dog sat.", "It snowed."]},
    "refs": ["The cat sat.", "There was rain."],
}
_EXAMPLES: dict[tuple[Input, ...], dict[str, Any]] = {
    SYSTEMS: _COMPARED,
    DOCUMENTS: _COMPARED,
    SEGMENTS: {"hyps": ["A cat sat on the mat."], "refs": ["The cat sat on the mat."]},
    CANDIDATES: {"candidates": [["It rains.", "A cat sat.", "The cat sat."]]},
    LISTS: {"a": ["A cat sat.", "It rained."], "b": ["The cat sat.", "There was rain.", "Snow fell."]},
    PAIR: {"hyp": "A cat sat on the mat.", "ref": "The cat sat on the mat."},
}


class OperationRequest(BaseModel):
    """A call of an operation: texts, metric, and options."""

    model_config = ConfigDict(extra="forbid")

    operation: ClassVar[Operation]
    parts: ClassVar[tuple[str, ...]] = ()
    """Fields that choose parts of the answer: keywords of the result's `to_dict`."""

    @property
    def inputs(self) -> dict[str, Any]:
        """The texts by name, as the operation takes them; a single system without a name is named `""`."""
        values = {entry.name: getattr(self, entry.name) for entry in self.operation.inputs}
        if "systems" in values and values["systems"] is None:
            values["systems"] = {"": getattr(self, "hyps", None) or []}
        return values

    @property
    def metrics(self) -> list[str]:
        """The recipes of the request."""
        metric = getattr(self, "metric", [])
        return [metric] if isinstance(metric, str) else metric

    @property
    def metric_options(self) -> dict[str, Any]:
        """Options of the metrics."""
        options: dict[str, Any] = getattr(self, "options", {})
        return options

    @property
    def chosen(self) -> dict[str, Any]:
        """The options of operation and run that the request sets; the others have defaults."""
        return {name: getattr(self, name) for name in self.operation.request_options if name in self.model_fields_set}

    def places(self) -> Iterator[tuple[str, str]]:
        """All texts, each with its location as in errors of the library."""
        return self.operation.places(self.inputs)

    def call(self, **options: Any) -> Any:
        """Call the function of the operation with these texts."""
        return self.operation.call(**self.inputs, **options)


class _Scoring(OperationRequest):
    parts = ("segments",)

    segments: StrictBool = Field(True, description="Include scores of segments, not only of systems.")


class OtherTexts(BaseModel):
    """The other segments of a corpus."""

    model_config = ConfigDict(extra="forbid")

    hyps: list[StrictStr] = Field(default=[], description="Other outputs of the same system.")
    refs: References = Field(default=[], description="Their references: one each, or several.")
    sources: list[StrictStr] = Field(default=[], description="Their source texts.")


class _ExplainingPair(OperationRequest):
    others: OtherTexts | None = Field(
        None, description="The other segments of the corpus, for idf weights that are counted on all segments."
    )

    def in_corpus(self) -> dict[str, Any]:
        """Texts of the corpus, with the pair as its first segment."""
        pair, others = self.inputs, self.others or OtherTexts()
        texts: dict[str, Any] = {"hyps": [pair["hyp"], *others.hyps], "refs": None, "sources": None}
        if pair["ref"] is not None:
            texts["refs"] = [pair["ref"], *others.refs]
        if pair["source"] is not None:
            texts["sources"] = [pair["source"], *others.sources]
        return texts

    def places(self) -> Iterator[tuple[str, str]]:
        """All texts, including those of the corpus."""
        for entry in SEGMENTS:
            yield from entry.places(self.in_corpus()[entry.name])

    def call(self, **options: Any) -> Any:
        """Explain the pair, alone or as part of its corpus."""
        if self.others is None:
            return super().call(**options)
        return next(iter_explanations(**self.in_corpus(), segments=[0], **({"shapley": None} | options)))


#: Models with fields that do not follow from the declaration of the operation.
_SPECIAL: dict[str, type[OperationRequest]] = {
    "score": _Scoring,
    "compare": _Scoring,
    "explain": _ExplainingPair,
}


@cache
def request_model(operation: Operation) -> type[OperationRequest]:
    """The model of requests for an operation."""
    fields: dict[str, Any] = {}
    for entry in operation.inputs:
        fields[entry.name] = _input_field(entry, required=entry.required and entry.shape != "systems")
        if entry.shape == "systems":
            fields["hyps"] = _input_field(_HYPS, required=False)
    if operation.metric != "none":
        fields |= _metric_fields(operation)
    fields |= {name: _option_field(entry) for name, entry in operation.request_options.items()}
    base = _SPECIAL.get(operation.name, OperationRequest)
    name = "".join(word.title() for word in operation.name.split("-")) + "Request"
    model = create_model(name, __base__=base, __module__=__name__, __doc__=sentence(operation.help), **fields)
    model.operation = operation
    model.model_config["json_schema_extra"] = {"examples": [_EXAMPLES[operation.inputs]]}
    model.model_rebuild(force=True)
    return model


def _input_field(entry: Input, *, required: bool) -> tuple[Any, Any]:
    kind = _TYPES[entry.shape]
    text = sentence(entry.help)
    return (kind, Field(description=text)) if required else (kind | None, Field(None, description=text))


def _metric_fields(operation: Operation) -> dict[str, Any]:
    default = operation.default_metric
    text = "Name of a metric, `name:option=value,...`, or a signature to recompute."
    kind: Any = Recipe
    if operation.metric == "several":
        kind, text = Recipe | Annotated[list[Recipe], Field(min_length=1)], f"One or several. {text}"
    help_ = "Options for all metrics that have them (`GET /v1/metrics`). Files are not accepted."
    return {
        "metric": (kind, Field(list(default) if isinstance(default, tuple) else default, description=text)),
        "options": (dict[Name, OptionValue], Field(default={}, description=help_, max_length=50)),
    }


def _option_field(entry: Option) -> tuple[Any, Any]:
    kind, limits = _type_of(entry.kind, entry.limit)
    optional = kind | None if entry.default is None else kind
    default = list(entry.default) if isinstance(entry.default, tuple) else entry.default
    return optional, Field(default, description=sentence(entry.help), **limits)


def sentence(text: str) -> str:
    """The help of an option or operation as a sentence."""
    return text[0].upper() + text[1:] + "."


def _type_of(kind: Kind, limit: float | None) -> tuple[Any, dict[str, Any]]:
    if isinstance(kind, Choice):
        return Literal[kind.words], {}
    if isinstance(kind, Flag):
        return StrictBool, {}
    if isinstance(kind, Int):
        most = kind.most if limit is None else int(limit)
        whole: dict[str, Any] = {"ge": kind.least} | ({} if most is None else {"le": most})
        words = tuple(word for word in (*kind.also, kind.word) if word)
        return (Annotated[StrictInt, Field(**whole)] | Literal[words], {}) if words else (StrictInt, whole)
    if isinstance(kind, Float):
        ends = {"ge": kind.low, "gt": kind.above, "lt": kind.below, "le": math.inf if limit is None else limit}
        return StrictFloat, {name: value for name, value in ends.items() if math.isfinite(value)}
    if isinstance(kind, Many):
        inner, limits = _type_of(kind.kind, limit)
        entry: Any = Annotated[inner, Field(**limits)]
        return list[entry], {"max_length": _LONGEST_LIST}
    return Name, {}


#: An entry of `warnings.filters`: action, message, category, module, line.
_ALWAYS = ("always", None, NlgaugeWarning, None, 0)

_collector = threading.local()
_install_lock = threading.Lock()


@contextlib.contextmanager
def capture_warnings(messages: list[str]) -> Iterator[None]:
    """Add the library's warnings inside the block, in this thread, to the list, each once.

    >>> messages = []
    >>> with capture_warnings(messages):
    ...     warnings.warn("short", NlgaugeWarning)
    >>> messages
    ['short']
    """
    _install()
    before = getattr(_collector, "messages", None)
    _collector.messages = messages
    try:
        yield
    finally:
        _collector.messages = before


def _install() -> None:
    """Receive the warnings of the process; also after other code has replaced the receiver or the filters.

    `warnings.catch_warnings` in two threads may leave the filters of one of them behind.
    """
    with _install_lock:
        if not isinstance(warnings.showwarning, _Receiver):
            warnings.showwarning = _Receiver(warnings.showwarning)
        if warnings.filters[:1] != [_ALWAYS]:
            warnings.simplefilter("always", NlgaugeWarning)


class _Receiver:
    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        messages = getattr(_collector, "messages", None)
        if messages is None or not issubclass(category, NlgaugeWarning):
            self._before(message, category, *rest, **more)
        elif str(message) not in messages:
            messages.append(str(message))


@dataclass(frozen=True, eq=False)
class ScoreCall:
    """A scoring request as arguments of the library."""

    recipes: Sequence[Metric]
    corpus: Corpus
    options: RunOptions
    check_signature: SignatureCheck
    warnings: list[str]
    """Warnings of the library so far."""

    def prepare(self) -> Prepared:
        """The first stage of the run."""
        return prepare(self.recipes, self.corpus, self.options, check_signature=self.check_signature)


#: Number of cached recipes; clients often repeat them.
_CACHED_RECIPES = 256

#: Recipes, the options of their run, the check of signatures, and warnings of the library.
_Resolved = tuple[list[Metric], RunOptions, SignatureCheck, tuple[str, ...]]


class Caller:
    """Calls the library for requests, under the policy of the service."""

    def __init__(self, settings: Settings, policy: Policy) -> None:
        self._settings = settings
        self._policy = policy
        self._cached = lru_cache(maxsize=_CACHED_RECIPES)(self._resolve)

    def run(
        self, request: OperationRequest, messages: list[str], score: Callable[[ScoreCall], Sequence[Score]]
    ) -> Any:
        """Run an operation; warnings of the library are added to the list.

        `score` computes the scores for `score` and `compare`: at once, or in steps.
        """
        operation, options = request.operation, request.chosen
        with capture_warnings(messages):
            if operation.name in {"score", "compare"}:
                scores = ScoreTable(tuple(score(self.score(request, messages))))
                if operation.name == "score":
                    return scores
                settings = {name: value for name, value in options.items() if name in CompareSettings.options()}
                return compare_scores(scores, CompareSettings.of(settings))
            if operation.metric != "none":
                _, run, _, resolving = self.recipes(request)
                messages += resolving
                metric = request.metrics if operation.metric == "several" else request.metrics[0]
                local = {**run.loading, "batch_tokens": run.batch_tokens}
                options = {"metric": metric, **request.metric_options, **options, **local}
            return request.call(**options)

    def score(self, request: OperationRequest, messages: list[str]) -> ScoreCall:
        """Resolve a scoring request; raises the errors of the library."""
        recipes, options, check, resolving = self.recipes(request)
        messages += resolving
        texts = request.inputs
        corpus = make_corpus(
            texts["systems"], texts["refs"], sources=texts["sources"], alone=needs_no_reference(recipes)
        )
        chosen = {name: value for name, value in request.chosen.items() if name in RunOptions.options()}
        return ScoreCall(recipes, corpus, replace(options, **chosen), check, messages)

    def recipes(self, request: OperationRequest) -> _Resolved:
        """The recipes, which the policy allows, with the library's warnings about them."""
        options = tuple((name, type(value), value) for name, value in request.metric_options.items())
        return self._cached(tuple(request.metrics), options)

    def _resolve(self, metrics: tuple[str, ...], options: tuple[tuple[str, type, Any], ...]) -> _Resolved:
        messages: list[str] = []
        with capture_warnings(messages):
            if any(map(is_short, metrics)):
                msg = "a service does not resolve short signatures: send the full signature"
                raise SignatureError(msg)
            recipes, run, check = resolve_call(metrics, {name: value for name, _, value in options})
        for recipe in recipes:
            self._policy.check(recipe)
        return recipes, self._run_options(run), check, tuple(messages)

    def _run_options(self, options: RunOptions) -> RunOptions:
        """The options of the service. A signature with another backend or precision cannot be recomputed."""
        settings, defaults = self._settings, RunOptions()
        for name in ("engine", "precision"):
            wanted, own_value = getattr(options, name), getattr(settings, name)
            if wanted not in (getattr(defaults, name), own_value):
                msg = f"the signature has {name} {wanted!r}, but this service uses {own_value!r}"
                raise RecipeError(msg)
        own = {name: getattr(settings, name) for name in ("engine", "precision", "threads", "batch_tokens")}
        return replace(options, **own)


TSV = "text/tab-separated-values"

#: Segments with alignments in a report: those with the largest differences between systems.
_EXPLAINED = 200

#: Additional formats of single operations.
_FURTHER: dict[str, tuple[str, ...]] = {"compare": ("html",), "explain": ("alignment",)}

#: Their description.
FORMAT_HELP = (
    "tsv: main table; segments: a row per segment; pairs: a row per pair of systems; html: report; "
    "alignment: links between words, for display"
)


def formats(operation: Operation) -> tuple[str, ...]:
    """The formats of the result of an operation."""
    return ("json", "tsv", *operation.result_class.further, *_FURTHER.get(operation.name, ()))


def media_type(form: str) -> str:
    """The media type of a format."""
    if form in {"json", "alignment"}:
        return "application/json"
    return f"{'text/html' if form == 'html' else TSV}; charset=utf-8"


def answer(request: OperationRequest, result: Any, form: str, messages: Sequence[str]) -> bytes:
    """A result in a format; fields of the request choose parts of the JSON."""
    if form not in {"json", "alignment"}:
        text = _report(result) if form == "html" else result.render(form, decimals=17)
    else:
        record = result.to_dict(**{name: getattr(request, name) for name in request.parts})
        shown = record if form == "json" else {"alignment": alignment_record(record)}
        shown_warnings = [in_fields(message, type(request).model_fields) for message in messages]
        text = _compact_json({"nlgauge": __version__, **shown, "warnings": shown_warnings})
    return text.encode("utf-8", "backslashreplace")  # UTF-8 has no half surrogates: they become JSON escapes


def answer_schema(operation: Operation) -> dict[str, Any]:
    """The JSON Schema of an answer."""
    schema = operation.result_class.schema()
    schema.pop("$schema")
    if "alignment" not in _FURTHER.get(operation.name, ()):
        return schema
    head = {name: schema["properties"][name] for name in ("nlgauge", "warnings")}
    shown = {"type": "object", "properties": head | {"alignment": {"type": "object"}}, "required": ["alignment"]}
    return {"anyOf": [schema, shown]}


def _report(result: Any) -> str:
    """A comparison as one HTML file."""
    corpus = result.scores[0].origin.corpus
    tables = system_scores(result.scores)
    explanations = explain_for_report(result.scores, differing_segments(tables, _EXPLAINED))
    references = list(corpus.references) if all(corpus.references) else None
    texts = ReportTexts(corpus.systems, references, corpus.sources)
    return html_report(result.comparison, scores=tables, texts=texts, explanations=explanations)


def _compact_json(record: Any) -> str:
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:  # scores must be numbers; elsewhere values that are not finite become null
        msg = f"the result has a value that JSON cannot represent: {error}"
        raise InputError(msg) from error
