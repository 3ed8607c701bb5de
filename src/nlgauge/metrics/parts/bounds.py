"""The range of each part of SentSim: over the corpus at hand, as published, or frozen in a file.

The published score scales each part to 0 ... 1 by the lowest and highest value among all pairs of the run. A pair's
score then depends on the others, and a pair alone has none. Frozen bounds (`nlgauge sentsim calibrate`) do away with
both; a value outside of them is scaled all the same, to below 0 or above 1, and nothing is clipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError
from nlgauge.files.atomic import write_whole
from nlgauge.files.digests import text_digest
from nlgauge.scores import Score

__all__ = ["Bounds"]

_FORMAT = "nlgauge-sentsim-bounds/1"

#: Fields of a signature that a part's values depend on.
_BELONGS = ("refs", "weights", "tokenizer", "layer", "sentence", "links", "casing", "cut", "unknown", "steps")

#: Those that only one part depends on.
_OF_PART = {"sentence": "sss", "links": "wmdo"}


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest value by part."""

    ranges: Mapping[str, tuple[float, float]]
    belongs: Mapping[str, str]
    """What the values were computed with, in the words of a signature."""
    pairs: int = 0

    @classmethod
    def of(cls, parts: Mapping[str, NDArray[np.float64]]) -> Bounds:
        """Of the values at hand; parts that do not vary cannot be scaled."""
        ranges = {}
        for name, values in parts.items():
            low, high = float(values.min()), float(values.max())
            if not low < high:
                msg = (
                    f"sentsim scales {name!r} by its range over the corpus, and all {len(values)} are {low:g}; "
                    "score more pairs in one call, or with the bounds of others: bounds=FILE "
                    "(made by 'nlgauge sentsim calibrate')"
                )
                raise InputError(msg)
            ranges[name] = (low, high)
        return cls(ranges, {}, len(next(iter(parts.values()))))

    @classmethod
    def of_scores(cls, scores: Sequence[Score]) -> Bounds:
        """From SentSim's own scores of one or more systems: what `nlgauge sentsim calibrate` keeps."""
        parts = [name for name in scores[0].segments if name != scores[0].main]
        found = cls.of({name: np.concatenate([score.segments[name] for score in scores]) for name in parts})
        recipe = scores[0].signature.recipe
        return cls(found.ranges, {key: recipe[key] for key in _BELONGS if key in recipe}, found.pairs)

    def scaled(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of a part, with its bounds at 0 and 1."""
        low, high = self.ranges[name]
        scaled: NDArray[np.float64] = (values - low) / (high - low)
        return scaled

    def check(self, parts: Sequence[str], belongs: Mapping[str, str], *, path: str) -> None:
        """Refuse bounds of other parts, or of values that were computed with something else."""
        for name in parts:
            if name not in self.ranges:
                msg = f"bounds file {path!r} has no part {name!r}; it has {', '.join(self.ranges)}"
                raise InputError(msg)
        for key in _BELONGS:
            if _OF_PART.get(key, parts[0]) not in parts:
                continue
            mine, theirs = belongs.get(key, "none"), self.belongs.get(key, "none")
            if mine != theirs:
                msg = (
                    f"bounds file {path!r} was made with {key} {theirs}, and the score has {mine}; "
                    "calibrate with the recipe that you score with"
                )
                raise InputError(msg)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and of what they belong to."""
        return text_digest(json.dumps(self._content(), sort_keys=True))

    def _content(self) -> dict[str, Any]:
        ranges = {name: list(ends) for name, ends in self.ranges.items()}
        return {"format": _FORMAT, "pairs": self.pairs, "bounds": ranges, "made_with": dict(self.belongs)}

    def save(self, path: Path) -> None:
        """Write a JSON file, whole or not at all."""
        write_whole(path, self.text().encode())

    def text(self) -> str:
        """The content of the file."""
        return json.dumps(self._content() | {"digest": self.digest}, indent=2) + "\n"

    @classmethod
    def load(cls, path: Path) -> Bounds:
        """Read a file that `save` wrote, and check its digest."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            ranges = {str(name): (float(low), float(high)) for name, (low, high) in content["bounds"].items()}
            made = cls(
                ranges, {str(key): str(value) for key, value in content["made_with"].items()}, content["pairs"]
            )
            known = content["format"] == _FORMAT and content["digest"] == made.digest
        except FileNotFoundError as error:
            msg = f"bounds file {str(path)!r} does not exist; make one with 'nlgauge sentsim calibrate'"
            raise InputError(msg) from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            msg = f"{str(path)!r} is no file of bounds ({_FORMAT}): {error!r}"
            raise FileFormatError(msg) from error
        if not known:
            msg = f"{str(path)!r} is no file of bounds ({_FORMAT}), or its numbers are not those of its digest"
            raise FileFormatError(msg)
        return made
