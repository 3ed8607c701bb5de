"""Requests for scores of many pairs of few texts, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from nlgauge.service.schemas import OneRecipe, References

__all__ = ["MatrixAnswer", "MatrixRequest", "RankAnswer", "RankRequest"]

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
