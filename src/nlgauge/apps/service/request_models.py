"""Requests of operations: a pydantic model for each, made from its inputs and its declared options.

Every option of the library is offered within its limit, but for those that name files, folders or output, and those
that the service decides (`Option.local`): a request never reaches the server's disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, create_model

from nlgauge.core.kinds import Choice, Flag, Float, Int, Kind, Many
from nlgauge.core.operations import CANDIDATES, DOCUMENTS, LISTS, PAIR, SEGMENTS, SYSTEMS, Input, Operation
from nlgauge.core.options import Option
from nlgauge.studies.explain.pairs import explain_in_corpus

#: A value of an option, as JSON has it.
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
    """Fields that say what the JSON has: keywords of the result's `to_dict`."""

    @property
    def inputs(self) -> dict[str, Any]:
        """The texts by name, as the operation takes them; one system without a name is the empty one."""
        values = {entry.name: getattr(self, entry.name) for entry in self.operation.inputs}
        if "systems" in values and values["systems"] is None:
            values["systems"] = {"": getattr(self, "hyps", None) or []}
        return values

    @property
    def metrics(self) -> list[str]:
        """The recipes that it names."""
        metric = getattr(self, "metric", [])
        return [metric] if isinstance(metric, str) else metric

    @property
    def metric_options(self) -> dict[str, Any]:
        """Options of the metrics."""
        options: dict[str, Any] = getattr(self, "options", {})
        return options

    @property
    def chosen(self) -> dict[str, Any]:
        """The options of the operation and of the run that it sets; others are as the library has them."""
        return {name: getattr(self, name) for name in self.operation.request_options if name in self.model_fields_set}

    def places(self) -> Iterator[tuple[str, str]]:
        """All texts, each with its place in words, as errors of the library name it."""
        return self.operation.places(self.inputs)

    def call(self, **options: Any) -> Any:
        """Call the function of the operation with these texts."""
        return self.operation.call(**self.inputs, **options)


class _Scoring(OperationRequest):
    parts = ("segments",)

    segments: StrictBool = Field(True, description="Whether the JSON has scores of segments, or of systems only.")


class OtherTexts(BaseModel):
    """The other segments of a corpus, by what they are."""

    model_config = ConfigDict(extra="forbid")

    hyps: list[StrictStr] = Field(default=[], description="Other outputs of the same system.")
    refs: References = Field(default=[], description="Their references: one each, or several.")
    sources: list[StrictStr] = Field(default=[], description="Their source texts.")


class _ExplainingPair(OperationRequest):
    others: OtherTexts | None = Field(
        None, description="The other segments of the corpus: idf is then counted on all, as where they were scored."
    )

    def in_corpus(self) -> dict[str, Any]:
        """Texts of the corpus that the pair, its first segment, belongs to."""
        pair, others = self.inputs, self.others or OtherTexts()
        texts: dict[str, Any] = {"hyps": [pair["hyp"], *others.hyps], "refs": None, "sources": None}
        if pair["ref"] is not None:
            texts["refs"] = [pair["ref"], *others.refs]
        if pair["source"] is not None:
            texts["sources"] = [pair["source"], *others.sources]
        return texts

    def places(self) -> Iterator[tuple[str, str]]:
        """All texts, those of the corpus included."""
        for entry in SEGMENTS:
            yield from entry.places(self.in_corpus()[entry.name])

    def call(self, **options: Any) -> Any:
        """Explain the pair alone, or as one of its corpus."""
        if self.others is None:
            return super().call(**options)
        return explain_in_corpus(**self.in_corpus(), segments=[0], **({"shapley": None} | options))[0]


#: What requests of an operation have beyond what follows from its declaration.
_SPECIAL: dict[str, type[OperationRequest]] = {
    "score": _Scoring,
    "compare": _Scoring,
    "explain": _ExplainingPair,
}


@cache
def request_model(operation: Operation) -> type[OperationRequest]:
    """The form of a request for an operation."""
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
    text = "A name, `name:option=value,...`, or a signature, which must come out again."
    kind: Any = Recipe
    if operation.metric == "several":
        kind, text = Recipe | Annotated[list[Recipe], Field(min_length=1)], f"One or several. {text}"
    about = "Options for all metrics that know them (`GET /v1/metrics`). Files are not accepted."
    return {
        "metric": (kind, Field(list(default) if isinstance(default, tuple) else default, description=text)),
        "options": (dict[Name, OptionValue], Field(default={}, description=about, max_length=50)),
    }


def _option_field(entry: Option) -> tuple[Any, Any]:
    kind, limits = _type_of(entry.kind, entry.limit)
    optional = kind | None if entry.default is None else kind
    default = list(entry.default) if isinstance(entry.default, tuple) else entry.default
    return optional, Field(default, description=sentence(entry.help), **limits)


def sentence(text: str) -> str:
    """Help of an option or operation as a sentence."""
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
