"""What requests and answers look like; the OpenAPI description is made from these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

__all__ = [
    "AlignmentAnswer",
    "CompareAnswer",
    "CompareRequest",
    "Description",
    "ExplainAnswer",
    "ExplainRequest",
    "JobProgress",
    "JobStatus",
    "MetricRecord",
    "ModelRecord",
    "OtherTexts",
    "ProblemRecord",
    "ScoreAnswer",
    "ScoreRequest",
    "SensitivityRequest",
    "TextsRequest",
]

#: A value of an option, as JSON has it.
OptionValue = StrictBool | StrictInt | StrictFloat | StrictStr

_Name = Annotated[StrictStr, Field(max_length=200)]
_Recipe = Annotated[StrictStr, Field(max_length=2000)]

_EXAMPLE: dict[str, Any] = {
    "hyps": ["A cat sat on the mat."],
    "refs": ["The cat sat on the mat."],
    "metrics": ["bertscore", "chrf"],
}
_COMPARED: dict[str, Any] = {
    "systems": {"a": ["A cat sat.", "It rained."], "b": ["A dog sat.", "It snowed."]},
    "refs": ["The cat sat.", "There was rain."],
}
_EXPLAINED: dict[str, Any] = {"hyp": "A cat sat on the mat.", "ref": "The cat sat on the mat."}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TextsRequest(_Strict):
    """Outputs of one system (`hyps`) or of several (`systems`), with references or sources."""

    hyps: list[StrictStr] | None = Field(None, description="Outputs of one system, a text per segment.")
    systems: dict[_Name, list[StrictStr]] | None = Field(
        None, description="Outputs of several systems by name, instead of `hyps`.", max_length=200
    )
    refs: list[StrictStr | list[StrictStr]] | None = Field(
        None, description="References per segment: a text, or several."
    )
    sources: list[StrictStr] | None = Field(None, description="The texts that were translated, a text per segment.")
    metrics: list[_Recipe] = Field(
        default=["bertscore"],
        description="Each a name, `name:option=value,...`, or a signature, which is then required to come out again.",
        min_length=1,
    )
    options: dict[_Name, OptionValue] = Field(
        default={},
        description="Options for all metrics that know them (`GET /v1/metrics`). Files are not accepted.",
        max_length=50,
    )

    def outputs(self) -> dict[str, list[str]]:
        """Outputs by system; one system without a name is the empty one."""
        return self.systems if self.systems is not None else {"": self.hyps or []}

    def texts(self) -> list[str]:
        """All texts of the request."""
        found = [text for outputs in self.outputs().values() for text in outputs]
        for group in self.refs or ():
            found += [group] if isinstance(group, str) else group
        return found + (self.sources or [])


class ScoreRequest(TextsRequest):
    """Texts to score, and with what."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    long: Literal["truncate", "error", "windows"] = Field(
        "truncate",
        description="What happens to a text over the model's limit: it is cut, refused, or read in windows.",
    )
    empty: Literal["error", "zero"] = Field("error", description="What happens where both sides of a pair are empty.")
    alignments: StrictBool = Field(False, description="Whether each segment says what matched what.")
    segments: StrictBool = Field(True, description="Whether the answer has scores of segments, or of systems only.")


class SensitivityRequest(TextsRequest):
    """Texts to score under many settings of preprocessing."""

    metrics: list[_Recipe] = Field(default=["moverscore", "bertscore:idf=refs"], min_length=1)
    preset: Literal["stopwords", "idf", "subwords", "punctuation", "subwords-x-punctuation", "layers", "all"] = Field(
        "all", description="What is varied."
    )
    # A plain code: names of lists of stop words are made of it.
    lang: Annotated[StrictStr, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$")] = Field(
        "en", description="Language of the texts."
    )
    alpha: float = Field(
        0.05, gt=0, lt=1, description="Significance level of the test whether systems change places."
    )
    resamples: StrictInt = Field(1000, ge=100, le=10_000, description="Resamples of that test.")
    seed: StrictInt = Field(12345, ge=0, le=2**32 - 1)


class CompareRequest(ScoreRequest):
    """Systems to score and to compare."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_COMPARED]})

    test: Literal["bootstrap", "randomisation", "t", "wilcoxon", "sign", "sign-ties-in", "mood"] = Field(
        "bootstrap", description="What decides whether two systems differ."
    )
    correction: Literal["holm", "none"] = Field("holm", description="For the number of pairs of systems.")
    alpha: float = Field(0.05, gt=0, lt=1, description="Significant below.")
    level: float = Field(0.95, gt=0, lt=1, description="Of intervals.")
    resamples: StrictInt = Field(1000, ge=100, le=10_000, description="Draws for intervals.")
    permutations: StrictInt = Field(10_000, ge=100, le=20_000, description="Draws for tests.")
    seed: StrictInt = Field(12345, ge=0, le=2**32 - 1)
    ranking: Literal["mean", "median", "bt"] = Field("mean", description="What systems are ranked by.")
    smallest_difference: float = Field(0.0, ge=0, le=1e6, description="Smaller ones are not called significant.")


class OtherTexts(_Strict):
    """The other segments of a corpus, by what they are."""

    hyps: list[StrictStr] = Field(default=[], description="Other outputs of the same system.")
    refs: list[StrictStr | list[StrictStr]] = Field(default=[], description="Their references: one each, or several.")
    sources: list[StrictStr] = Field(default=[], description="What was translated.")


class ExplainRequest(_Strict):
    """One pair, whose score is to be explained."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXPLAINED]})

    hyp: StrictStr = Field(description="The output of a system.")
    ref: StrictStr | list[StrictStr] | None = Field(None, description="Its reference, or several.")
    source: StrictStr | None = Field(None, description="The text that was translated.")
    metric: _Recipe = Field("bertscore", description="A name, `name:option=value,...`, or a signature.")
    options: dict[_Name, OptionValue] = Field(default={}, description="Options of the metric.", max_length=50)
    words: Literal["words", "blanks"] = Field("words", description="Where words end.")
    pieces: Literal["max", "mean", "first"] = Field("mean", description="What stands for a word of several pieces.")
    shapley: StrictBool | None = Field(
        None, description="Shapley values; null: where the score is no sum over words."
    )
    leave_one_out: StrictBool = Field(False, description="What the score loses without each word.")
    side: Literal["hypothesis", "reference"] = Field("hypothesis", description="Whose words are left out for that.")
    component: _Name | None = Field(None, description="The number that the two explain; null: the main one.")
    samples: StrictInt = Field(25, ge=2, le=200, description="Orders of words that Shapley values are sampled over.")
    seed: StrictInt = Field(12345, ge=0, le=2**32 - 1)
    beside: StrictBool = Field(False, description="The other kind of alignment too: transport, or greedy matches.")
    matrix: StrictBool = Field(False, description="Similarity, or cost, of each word to each word.")
    others: OtherTexts | None = Field(
        None, description="The other segments of the corpus: idf is then counted on all, as where they were scored."
    )

    def as_texts(self) -> TextsRequest:
        """The same texts and recipe as a request to score them; the pair comes first."""
        others = self.others or OtherTexts()
        given: dict[str, Any] = {"hyps": [self.hyp, *others.hyps], "metrics": [self.metric], "options": self.options}
        if self.ref is not None:
            given["refs"] = [self.ref, *others.refs]
        if self.source is not None:
            given["sources"] = [self.source, *others.sources]
        return TextsRequest.model_validate(given)


class CompareAnswer(BaseModel):
    """Who is better, and the scores behind it, as `to_dict()` of the library gives them."""

    nlgauge: str
    comparison: dict[str, Any]
    scores: list[dict[str, Any]]
    verdicts: list[str] = Field(
        description="What was found, in words: a sentence per metric, and on who comes first."
    )
    warnings: list[str]


class AlignmentAnswer(BaseModel):
    """What a page shows of an explanation: words of both sides, and links between them."""

    nlgauge: str
    alignment: dict[str, Any]
    warnings: list[str]


class ExplainAnswer(BaseModel):
    """What matched what, as `Explanation.to_dict()` of the library gives it."""

    nlgauge: str
    explanation: dict[str, Any]
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
    kind: Literal["score", "compare", "sensitivity"]
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
