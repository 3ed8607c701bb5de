"""The range of each part of SentSim: over the corpus at hand, as published, or frozen in a file.

The published score scales each part to 0 ... 1 by the lowest and highest value among all pairs of the run. A pair's
score then depends on the others, and a pair alone has none. Frozen bounds (`nlgauge build bounds`) do away with
both; a value outside of them is scaled all the same, to below 0 or above 1, and nothing is clipped.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.score import Score
from nlgauge.encoders.base import DEFAULT_PRECISION, signed_precision
from nlgauge.errors import InputError
from nlgauge.io.storage import ContentError, FrozenTable, number, short_digest, text_digest, whole_number

#: Fields of a signature that a part's values do not depend on: how parts are joined, and what is noted for people.
_AFTER = frozenset(
    "combine weighting distance_as bounds model maxlen engine sentence_engine nlgauge sig unknown".split()  # noqa: SIM905
)

#: What to name first where bounds do not fit.
_MODEL = ("refs", "precision", "weights", "tokenizer", "config")


@dataclass(frozen=True)
class Bounds(FrozenTable):
    """Lowest and highest value by part."""

    FORMAT: ClassVar[str] = "nlgauge-sentsim-bounds/1"
    KIND: ClassVar[str] = "bounds file"
    COMMAND: ClassVar[str] = "nlgauge build bounds"
    INDENT: ClassVar[int | None] = 2
    keys: ClassVar[Mapping[str, str]] = {"ranges": "bounds"}

    ranges: Mapping[str, tuple[float, float]]
    made_with: Mapping[str, str]
    """What the values were computed with, in the words of a signature."""
    pairs: int = 0

    @classmethod
    def of(cls, parts: Mapping[str, NDArray[np.float64]]) -> Bounds:
        """Of the values at hand; parts that do not vary cannot be scaled."""
        found = cls.extremes(parts)
        found.check_width()
        return found

    @classmethod
    def extremes(cls, parts: Mapping[str, NDArray[np.float64]]) -> Bounds:
        """Of values that are a part of a corpus, to be merged with those of others."""
        ranges = {name: (float(values.min()), float(values.max())) for name, values in parts.items()}
        return cls(ranges, {}, len(next(iter(parts.values()))))

    @classmethod
    def merge(cls, found: Sequence[Bounds]) -> Bounds:
        """Of all values together.

        >>> import numpy as np
        >>> Bounds.merge([Bounds.extremes({"sss": np.array([low, 0.5])}) for low in (0.25, 0.75)]).ranges
        {'sss': (0.25, 0.75)}
        """
        ranges = {
            name: (min(one.ranges[name][0] for one in found), max(one.ranges[name][1] for one in found))
            for name in found[0].ranges
        }
        return cls(ranges, {}, sum(one.pairs for one in found))

    def check_width(self) -> None:
        """Refuse a range that nothing can be scaled by."""
        for name, (low, high) in self.ranges.items():
            if not low < high:
                msg = (
                    f"sentsim scales {name!r} by its range over the corpus, and all {self.pairs} are {low:g}; "
                    "score more pairs in one call, or with the bounds of others: bounds=FILE "
                    "(made by 'nlgauge build bounds')"
                )
                raise InputError(msg)

    @classmethod
    def of_scores(cls, scores: Sequence[Score]) -> Bounds:
        """From SentSim's own scores of one or more systems: what `nlgauge build bounds` keeps."""
        parts = [name for name in scores[0].segments if name != scores[0].main]
        found = cls.of({name: np.concatenate([score.segments[name] for score in scores]) for name in parts})
        recipe = with_precision(scores[0].signature.recipe)
        return cls(found.ranges, {key: text for key, text in recipe.items() if key not in _AFTER}, found.pairs)

    def scaled(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of a part, with its bounds at 0 and 1."""
        low, high = self.ranges[name]
        scaled: NDArray[np.float64] = (values - low) / (high - low)
        return scaled

    def check(
        self, parts: Sequence[str], recipe: Mapping[str, str], *, unused: Collection[str] = (), path: str
    ) -> None:
        """Refuse bounds of other parts, or of values that were computed with something else.

        `unused` are fields that belong to parts which the score does not have.
        """
        for name in parts:
            if name not in self.ranges:
                msg = f"bounds file {path!r} has no part {name!r}; it has {', '.join(self.ranges)}"
                raise InputError(msg)
        recipe = with_precision(recipe)
        for key in dict.fromkeys((*_MODEL, *recipe, *self.made_with)):
            if key in _AFTER or key in unused:
                continue
            absent = DEFAULT_PRECISION if key == "precision" else "none"
            mine, theirs = recipe.get(key, absent), self.made_with.get(key, absent)
            if mine != theirs:
                msg = (
                    f"bounds file {path!r} was made with {key} {theirs}, and the score has {mine}; "
                    "calibrate with the recipe that you score with"
                )
                raise InputError(msg)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to."""
        return text_digest(json.dumps({"format": self.FORMAT} | self.content(), sort_keys=True))

    def content(self) -> dict[str, Any]:
        """What a file holds."""
        ranges = {name: list(ends) for name, ends in self.ranges.items()}
        return {"pairs": self.pairs, "bounds": ranges, "made_with": dict(self.made_with)}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Bounds:
        """Bounds from a file's content, every number of it checked."""
        ranges, made_with = content["bounds"], content["made_with"]
        pairs = whole_number(content["pairs"], "'pairs'")
        if not isinstance(ranges, dict) or not isinstance(made_with, dict):
            msg = "'bounds' and 'made_with' must be objects"
            raise ContentError(msg)
        for name, ends in ranges.items():
            if not isinstance(ends, list) or len(ends) != 2:
                msg = f"the bounds of {name!r} must be two numbers, got {ends!r}"
                raise ContentError(msg)
        found = {name: (number(low, f"{name!r}"), number(high, f"{name!r}")) for name, (low, high) in ranges.items()}
        return cls(found, {key: str(value) for key, value in made_with.items()}, pairs)


def with_precision(recipe: Mapping[str, str]) -> Mapping[str, str]:
    """With the precision of the vectors, unless it is fp32: it moves values, which the rest of an engine does not."""
    engines = [recipe[key] for key in ("engine", "sentence_engine") if key in recipe]
    found = "+".join(dict.fromkeys(map(signed_precision, engines)))
    return recipe if found in {"", DEFAULT_PRECISION} else {**recipe, "precision": found}


class BoundsChoice(Resource):
    """What parts are scaled by."""

    def __init__(self) -> None:
        super().__init__("corpus", file="a file made by 'nlgauge build bounds'")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """Frozen bounds, or None for the range over the corpus, as published."""
        if value == "corpus":
            return Loaded("corpus", None)
        bounds = Bounds.load(Path(value))
        return Loaded(f"file[{short_digest(bounds.digest)}]", bounds)
