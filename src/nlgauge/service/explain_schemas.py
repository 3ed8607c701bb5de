"""Requests that ask why a score is what it is, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from nlgauge.service.schemas import Name, OneRecipe, References, Strict, TextsRequest

__all__ = [
    "EXPLAIN_OPTIONS",
    "WORD_OPTIONS",
    "AlignmentAnswer",
    "ExplainAnswer",
    "ExplainCorpusRequest",
    "ExplainPairsRequest",
    "ExplainRequest",
    "OtherTexts",
]

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
        given: dict[str, Any] = {"hyps": [self.hyp, *others.hyps], "metrics": [self.metric], "options": self.options}
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
