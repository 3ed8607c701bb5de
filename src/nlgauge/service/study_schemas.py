"""Requests for studies of texts, which are jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr

from nlgauge.service.schemas import Name, Recipe, References, Strict, TextsRequest

__all__ = ["DiscourseRequest", "SensitivityRequest"]


class SensitivityRequest(TextsRequest):
    """Texts to score under many settings of preprocessing."""

    metrics: list[Recipe] = Field(default=["moverscore", "bertscore:idf=refs"], min_length=1)
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
