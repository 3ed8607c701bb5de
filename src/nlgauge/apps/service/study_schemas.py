"""Schemas of requests and answers for explanations, pairs of texts, and studies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from nlgauge.apps.service.schemas import Name, OneRecipe, Recipes, References, Strict, TextsRequest

_EXPLAINED: dict[str, Any] = {"hyp": "A cat sat on the mat.", "ref": "The cat sat on the mat."}

#: Fields of a request that the library takes as options of an explanation, and those that a summary takes.
WORD_OPTIONS = ("words", "pieces", "component", "samples")
EXPLAIN_OPTIONS = (*WORD_OPTIONS, "side", "seed", "shapley", "leave_one_out", "beside")


class _Words(OneRecipe):
    """How words are made of pieces, and which of them are left out to see what they do."""

    words: Literal["words", "blanks"] = Field("words", description="Where words end.")
    pieces: Literal["max", "mean", "first"] = Field("max", description="What stands for a word of several pieces.")
    side: Literal["hypothesis", "reference"] = Field("hypothesis", description="Whose words are left out.")
    component: Name | None = Field(
        None, description="The number that is explained by leaving words out; null: the main one."
    )
    samples: StrictInt = Field(25, ge=2, le=200, description="Orders of words that Shapley values are sampled over.")
    seed: StrictInt = Field(12345, ge=0, le=2**32 - 1)


class _Explaining(_Words):
    """What is to be said of a pair; what is not asked for is as in the library."""

    shapley: StrictBool | None = Field(
        None, description="Shapley values; null: where the score is no sum over words."
    )
    leave_one_out: StrictBool = Field(False, description="What the score loses without each word.")
    beside: StrictBool = Field(False, description="The other kind of alignment too: transport, or greedy matches.")
    matrix: StrictBool = Field(False, description="Similarity, or cost, of each word to each word.")


class _Segments(Strict):
    """The texts of one system."""

    hyps: list[StrictStr] = Field(description="Outputs of one system, a text per segment.")
    refs: References | None = Field(None, description="References per segment: a text, or several.")
    sources: list[StrictStr] | None = Field(None, description="The texts that were translated, a text per segment.")

    def texts(self) -> list[str]:
        """All texts of the request."""
        return self._as_texts().texts()

    def places(self) -> Iterator[tuple[str, str]]:
        """The same, each with its place."""
        return self._as_texts().places()

    def _as_texts(self) -> TextsRequest:
        return TextsRequest.model_construct(hyps=self.hyps, refs=self.refs, sources=self.sources)


class OtherTexts(Strict):
    """The other segments of a corpus, by what they are."""

    hyps: list[StrictStr] = Field(default=[], description="Other outputs of the same system.")
    refs: References = Field(default=[], description="Their references: one each, or several.")
    sources: list[StrictStr] = Field(default=[], description="What was translated.")


class ExplainRequest(_Explaining):
    """One pair, whose score is to be explained."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXPLAINED]})

    hyp: StrictStr = Field(description="The output of a system.")
    ref: StrictStr | list[StrictStr] | None = Field(None, description="Its reference, or several.")
    source: StrictStr | None = Field(None, description="The text that was translated.")
    others: OtherTexts | None = Field(
        None, description="The other segments of the corpus: idf is then counted on all, as where they were scored."
    )

    def as_texts(self) -> TextsRequest:
        """The same texts and recipe as a request to score them; the pair comes first."""
        others = self.others or OtherTexts()
        given: dict[str, Any] = {"hyps": [self.hyp, *others.hyps], "metric": self.metric, "options": self.options}
        if self.ref is not None:
            given["refs"] = [self.ref, *others.refs]
        if self.source is not None:
            given["sources"] = [self.source, *others.sources]
        return TextsRequest.model_validate(given)


class ExplainPairsRequest(_Segments, _Explaining):
    """Pairs of a corpus, whose scores are to be explained."""

    shapley: StrictBool | None = Field(False, description="Shapley values, which take many scorings of each pair.")


class ExplainCorpusRequest(_Segments, _Words):
    """Texts of which the words are to be summed up that carry the score."""

    method: Literal["linear", "leave-one-out", "shapley"] = Field(
        "linear", description="Summands of the score, or for any score what it loses without a word."
    )
    annotator: Name = Field("spacy-en", description="What knows parts of speech and lemmas, by name.")
    level: float = Field(0.95, gt=0, lt=1, description="Of intervals.")
    resamples: StrictInt = Field(1000, ge=100, le=10_000, description="Of texts, for intervals.")


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


_CROSSED: dict[str, Any] = {"a": ["A cat sat.", "It rained."], "b": ["The cat sat.", "There was rain.", "Snow fell."]}
_RANKED: dict[str, Any] = {"candidates": [["It rains.", "A cat sat.", "The cat sat."]]}


class MatrixRequest(OneRecipe):
    """Texts that are all compared with each other, or with those of a second list."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_CROSSED]})

    a: list[StrictStr] = Field(description="Hypotheses: a row each.")
    b: list[StrictStr] | None = Field(
        None, description="References, or sources for a metric that compares with them: a column each; null: `a`."
    )

    @property
    def pairs(self) -> int:
        """How many are compared."""
        return len(self.a) * len(self.a if self.b is None else self.b)

    def texts(self) -> list[str]:
        """All texts of the request."""
        return self.a + (self.b or [])

    def places(self) -> Iterator[tuple[str, str]]:
        """The same, each with its place."""
        for name, texts in (("a", self.a), ("b", self.b or ())):
            yield from ((f"{name}[{at}]", text) for at, text in enumerate(texts))


class RankRequest(OneRecipe):
    """Candidates for each segment, of which the best is looked for."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_RANKED]})

    candidates: list[list[StrictStr]] = Field(description="By segment, texts to choose from.")
    refs: References | None = Field(
        None, description="References per segment. Without them and sources, candidates are compared with each other."
    )
    sources: list[StrictStr] | None = Field(None, description="The texts that were translated, a text per segment.")

    @property
    def pairs(self) -> int:
        """How many are compared."""
        alone = self.refs is None and self.sources is None
        others = [len(group) - 1 if alone else 1 for group in self.candidates]
        for at, group in enumerate(self.refs or ()):
            if at < len(others) and not isinstance(group, str):
                others[at] = len(group)
        return sum(len(group) * most for group, most in zip(self.candidates, others, strict=True))

    def texts(self) -> list[str]:
        """All texts of the request."""
        return [text for _, text in self.places()]

    def places(self) -> Iterator[tuple[str, str]]:
        """The same, each with its place."""
        for segment, group in enumerate(self.candidates):
            yield from ((f"candidates[{segment}][{at}]", text) for at, text in enumerate(group))
        for at, one in enumerate(self.refs or ()):
            yield from ((f"refs, segment {at}", text) for text in ([one] if isinstance(one, str) else one))
        yield from ((f"sources, segment {at}", text) for at, text in enumerate(self.sources or ()))


class MatrixAnswer(BaseModel):
    """Scores of all pairs, as `ScoreMatrix.to_dict()` of the library gives them."""

    nlgauge: str
    matrix: dict[str, Any]
    warnings: list[str]


class RankAnswer(BaseModel):
    """Candidates in their order, as `Ranking.to_dict(candidates=True)` of the library gives them."""

    nlgauge: str
    ranking: dict[str, Any]
    warnings: list[str]


class SensitivityRequest(TextsRequest):
    """Texts to score under many settings of preprocessing."""

    metric: Recipes = Field(default=["moverscore", "bertscore:idf=refs"])
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


class DiscourseRequest(Strict):
    """Documents, of which discourse features are counted."""

    systems: dict[Name, list[StrictStr]] = Field(description="Documents of systems by name.", max_length=200)
    refs: References | None = Field(None, description="References per document: a text, or several.")
    annotator: Name = Field("spacy-en", description="What knows words and parts of speech, by name.")
    sentences: Literal["rules", "lines", "annotator"] = Field("rules", description="Where sentences end.")
    threshold: float = Field(
        0.8, ge=-1, lt=1, description="Of entities, which take word vectors; without them it moves nothing."
    )

    @property
    def metrics(self) -> list[str]:
        """None: features are no scores."""
        return []

    def texts(self) -> list[str]:
        """All texts of the request."""
        return self._as_texts().texts()

    def places(self) -> Iterator[tuple[str, str]]:
        """The same, each with its place."""
        return self._as_texts().places()

    def _as_texts(self) -> TextsRequest:
        return TextsRequest.model_construct(systems=self.systems, refs=self.refs)
