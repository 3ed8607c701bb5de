"""Schemas of requests and answers, from which the OpenAPI description is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from nlgauge.apps.service.request_models import with_options
from nlgauge.studies.compare.settings import CompareSettings

#: A value of an option, as JSON has it.
OptionValue = StrictBool | StrictInt | StrictFloat | StrictStr

Name = Annotated[StrictStr, Field(max_length=200)]
Recipe = Annotated[StrictStr, Field(max_length=2000)]
Recipes = Recipe | Annotated[list[Recipe], Field(min_length=1)]
References = list[StrictStr | list[StrictStr]]

Long = Annotated[
    Literal["truncate", "error", "windows"],
    Field(description="What happens to a text over the model's limit: it is cut, refused, or read in windows."),
]
Empty = Annotated[Literal["error", "zero"], Field(description="What happens where both sides of a pair are empty.")]

_EXAMPLE: dict[str, Any] = {
    "hyps": ["A cat sat on the mat."],
    "refs": ["The cat sat on the mat."],
    "metric": ["bertscore", "chrf"],
}
_COMPARED: dict[str, Any] = {
    "systems": {"a": ["A cat sat.", "It rained."], "b": ["A dog sat.", "It snowed."]},
    "refs": ["The cat sat.", "There was rain."],
}


class Sized(Protocol):
    """A request whose size is looked at before anything is done for it."""

    @property
    def metrics(self) -> Sequence[str]:
        """Recipes that it names."""

    def texts(self) -> list[str]:
        """All its texts."""

    def places(self) -> Iterator[tuple[str, str]]:
        """The same in the same order, each with its place in words, as errors of the library name it."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TextsRequest(Strict):
    """Outputs of one system (`hyps`) or of several (`systems`), with references or sources."""

    hyps: list[StrictStr] | None = Field(None, description="Outputs of one system, a text per segment.")
    systems: dict[Name, list[StrictStr]] | None = Field(
        None, description="Outputs of several systems by name, instead of `hyps`.", max_length=200
    )
    refs: References | None = Field(None, description="References per segment: a text, or several.")
    sources: list[StrictStr] | None = Field(None, description="The texts that were translated, a text per segment.")
    metric: Recipes = Field(
        "bertscore",
        description="One or several: a name, `name:option=value,...`, or a signature, which must come out again.",
    )
    options: dict[Name, OptionValue] = Field(
        default={},
        description="Options for all metrics that know them (`GET /v1/metrics`). Files are not accepted.",
        max_length=50,
    )

    @property
    def metrics(self) -> list[str]:
        """The recipes, of which there may be one."""
        return [self.metric] if isinstance(self.metric, str) else self.metric

    def outputs(self) -> dict[str, list[str]]:
        """Outputs by system; one system without a name is the empty one."""
        return self.systems if self.systems is not None else {"": self.hyps or []}

    def texts(self) -> list[str]:
        """All texts of the request."""
        found = [text for outputs in self.outputs().values() for text in outputs]
        for group in self.refs or ():
            found += [group] if isinstance(group, str) else group
        return found + (self.sources or [])

    def places(self) -> Iterator[tuple[str, str]]:
        """The same, each with its place."""
        for system, outputs in self.outputs().items():
            name = f"system {system!r}, segment " if self.systems is not None else "hyps, segment "
            yield from ((f"{name}{at}", text) for at, text in enumerate(outputs))
        for at, group in enumerate(self.refs or ()):
            yield from ((f"refs, segment {at}", text) for text in ([group] if isinstance(group, str) else group))
        yield from ((f"sources, segment {at}", text) for at, text in enumerate(self.sources or ()))


class OneRecipe(Strict):
    """What texts are compared with, where one metric is asked for."""

    metric: Recipe = Field("bertscore", description="A name, `name:option=value,...`, or a signature.")
    options: dict[Name, OptionValue] = Field(default={}, description="Options of the metric.", max_length=50)
    long: Long = "truncate"
    empty: Empty = "error"

    @property
    def metrics(self) -> list[str]:
        """The recipe, as one of several."""
        return [self.metric]


class ScoreRequest(TextsRequest):
    """Texts to score, and with what."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    long: Long = "truncate"
    empty: Empty = "error"
    alignments: StrictBool = Field(False, description="Whether each segment says what matched what.")
    segments: StrictBool = Field(True, description="Whether the answer has scores of segments, or of systems only.")


@with_options(CompareSettings)
class CompareRequest(ScoreRequest):
    """Systems to score and to compare."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_COMPARED]})


class CompareAnswer(BaseModel):
    """Who is better, and the scores behind it, as `to_dict()` of the library gives them."""

    nlgauge: str
    comparison: dict[str, Any]
    scores: list[dict[str, Any]]
    verdicts: list[str] = Field(
        description="What was found, in words: a sentence per metric, and on who comes first."
    )
    warnings: list[str]


class ScoreAnswer(BaseModel):
    """Scores, metric by metric and system by system, each as `Score.to_dict()` of the library gives it."""

    nlgauge: str = Field(description="Version of the library.")
    scores: list[dict[str, Any]]
    warnings: list[str] = Field(description="What a user must know of, as the library warns.")


class MetricRecord(BaseModel):
    """A metric and its options."""

    name: str
    what: str
    components: list[str]
    main: str
    better: Literal["higher", "lower"]
    distances: list[str] = Field(
        [], description="Components that are better when they are lower, beside the main one."
    )
    options: list[dict[str, Any]]
    equation: str
    citation: str
    available: bool = Field(True, description="Whether requests can have it here.")
    reason: str | None = Field(None, description="Why they cannot.")


class ModelRecord(BaseModel):
    """A model that the library knows."""

    name: str
    origin: str
    kind: str
    layers: int
    hidden_size: int
    languages: list[str]
    licence: str
    weights: str = Field(description="Digest of the weights, as signatures show it.")
    available: bool = Field(description="Whether requests may name it here.")


class Description(BaseModel):
    """What this service is, and what it takes."""

    nlgauge: str
    engine: str
    precision: str
    instance: str
    limits: dict[str, int | float]


class JobProgress(BaseModel):
    """How far a job is."""

    done: int
    total: int | None
    unit: str


class JobStatus(BaseModel):
    """A job."""

    id: str
    kind: Literal["score", "compare", "sensitivity", "matrix", "rank", "explain-pairs", "explain-corpus", "discourse"]
    state: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
    created: str
    started: str | None
    finished: str | None
    expires: str | None = Field(description="When its result goes at the latest.")
    progress: JobProgress
    problem: dict[str, Any] | None = Field(description="Why it failed, as problem details.")


class ProblemRecord(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
