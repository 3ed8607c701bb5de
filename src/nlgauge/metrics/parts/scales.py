"""Files for scaling scores: bounds of SentSim's parts.

The published SentSim scales each part to 0 ... 1 by the lowest and highest value among all pairs of the
run. So a pair's score depends on the other pairs, and a single pair has no score. Frozen bounds (`nlgauge build
bounds`) solve both problems. A value outside of them is scaled to below 0 or above 1; nothing is clipped.
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

#: Signature fields that do not affect the values of a part: how parts are combined, and fields for readers only.
_WITHOUT_EFFECT = frozenset(
    "combine weighting distance_as bounds model maxlen engine sentence_engine nlgauge sig unknown".split()  # noqa: SIM905
)

#: Fields to name first if bounds do not fit.
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
    """Signature fields of the recipe that computed the values."""
    pairs: int = 0

    @classmethod
    def of(cls, parts: Mapping[str, NDArray[np.float64]]) -> Bounds:
        """The bounds of these values; an error if a part does not vary."""
        bounds = cls.extremes(parts)
        bounds.check_width()
        return bounds

    @classmethod
    def extremes(cls, parts: Mapping[str, NDArray[np.float64]]) -> Bounds:
        """The bounds of values that are part of a corpus, for `merge`."""
        ranges = {name: (float(values.min()), float(values.max())) for name, values in parts.items()}
        return cls(ranges, {}, len(next(iter(parts.values()))))

    @classmethod
    def merge(cls, parts: Sequence[Bounds]) -> Bounds:
        """The bounds of all values together.

        >>> import numpy as np
        >>> Bounds.merge([Bounds.extremes({"sss": np.array([low, 0.5])}) for low in (0.25, 0.75)]).ranges
        {'sss': (0.25, 0.75)}
        """
        ranges = {
            name: (min(part.ranges[name][0] for part in parts), max(part.ranges[name][1] for part in parts))
            for name in parts[0].ranges
        }
        return cls(ranges, {}, sum(part.pairs for part in parts))

    def check_width(self) -> None:
        """Refuse an empty range."""
        for name, (low, high) in self.ranges.items():
            if not low < high:
                msg = (
                    f"sentsim cannot scale {name!r} by its range: all {self.pairs} values are {low:g}; "
                    "score more pairs in one call, or set bounds=FILE (made by 'nlgauge build bounds')"
                )
                raise InputError(msg)

    @classmethod
    def of_scores(cls, scores: Sequence[Score]) -> Bounds:
        """The bounds of SentSim's scores of one or more systems, as saved by `nlgauge build bounds`."""
        parts = [name for name in scores[0].segments if name != scores[0].main]
        bounds = cls.of({name: np.concatenate([score.segments[name] for score in scores]) for name in parts})
        recipe = with_precision(scores[0].signature.recipe)
        made_with = {key: text for key, text in recipe.items() if key not in _WITHOUT_EFFECT}
        return cls(bounds.ranges, made_with, bounds.pairs)

    def scaled(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale values of a part: its bounds become 0 and 1."""
        low, high = self.ranges[name]
        scaled: NDArray[np.float64] = (values - low) / (high - low)
        return scaled

    def run_fields(self) -> dict[str, str]:
        """Fields of the run part of a signature for a range over the corpus."""
        return {"range": short_digest(self.digest), "pairs": str(self.pairs)}

    def check(
        self, parts: Sequence[str], recipe: Mapping[str, str], *, unused: Collection[str] = (), path: str
    ) -> None:
        """Refuse bounds that lack a part or were computed with another recipe.

        `unused` are fields that apply only to parts that the score does not have.
        """
        for name in parts:
            if name not in self.ranges:
                msg = f"bounds file {path!r} has no part {name!r}; its parts: {', '.join(self.ranges)}"
                raise InputError(msg)
        recipe = with_precision(recipe)
        for key in dict.fromkeys((*_MODEL, *recipe, *self.made_with)):
            if key in _WITHOUT_EFFECT or key in unused:
                continue
            absent = DEFAULT_PRECISION if key == "precision" else "none"
            expected, actual = self.made_with.get(key, absent), recipe.get(key, absent)
            if actual != expected:
                msg = (
                    f"bounds file {path!r} was made with {key} {expected}, but this recipe has {actual}; "
                    "build it again with this recipe ('nlgauge build bounds')"
                )
                raise InputError(msg)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and their recipe."""
        return text_digest(json.dumps({"format": self.FORMAT} | self.content(), sort_keys=True))

    def content(self) -> dict[str, Any]:
        """The content of a file."""
        ranges = {name: list(ends) for name, ends in self.ranges.items()}
        return {"pairs": self.pairs, "bounds": ranges, "made_with": dict(self.made_with)}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Bounds:
        """Bounds from the content of a file; every number is checked."""
        ranges, made_with = content["bounds"], content["made_with"]
        pairs = whole_number(content["pairs"], "'pairs'")
        if not isinstance(ranges, dict) or not isinstance(made_with, dict):
            msg = "'bounds' and 'made_with' must be objects"
            raise ContentError(msg)
        for name, ends in ranges.items():
            if not isinstance(ends, list) or len(ends) != 2:
                msg = f"the bounds of {name!r} must be two numbers, got {ends!r}"
                raise ContentError(msg)
        checked = {name: (number(low, repr(name)), number(high, repr(name))) for name, (low, high) in ranges.items()}
        return cls(checked, {key: str(value) for key, value in made_with.items()}, pairs)


def with_precision(recipe: Mapping[str, str]) -> Mapping[str, str]:
    """Add the precision of the vectors unless it is fp32: of all properties of an engine, only it affects values."""
    engines = [recipe[key] for key in ("engine", "sentence_engine") if key in recipe]
    precision = "+".join(dict.fromkeys(map(signed_precision, engines)))
    return recipe if precision in {"", DEFAULT_PRECISION} else {**recipe, "precision": precision}


class BoundsChoice(Resource):
    """The bounds that parts are scaled by."""

    def __init__(self) -> None:
        super().__init__("corpus", file="a file made by 'nlgauge build bounds'")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """Frozen bounds, or None for the range over the corpus, as published."""
        if value == "corpus":
            corpus = context.corpus.corpus
            if corpus.whole is None and len(corpus) * len(corpus.systems) < 2:
                msg = (
                    "sentsim scales its parts by their range over the corpus, so it needs at least 2 pairs, got 1; "
                    "for a single pair, set bounds=FILE to the bounds of a larger corpus"
                )
                raise InputError(msg)
            return Loaded("corpus", None)
        bounds = Bounds.load(Path(value))
        return Loaded(f"file[{short_digest(bounds.digest)}]", bounds)
