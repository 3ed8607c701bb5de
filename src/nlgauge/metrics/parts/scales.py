"""What scores are scaled by, frozen in files: bounds of SentSim's parts, and norms of an ensemble's members.

*Bounds.* The published SentSim scales each part to 0 ... 1 by the lowest and highest value among all pairs of the
run. A pair's score then depends on the others, and a pair alone has none. Frozen bounds (`nlgauge build bounds`) do
away with both; a value outside of them is scaled all the same, to below 0 or above 1, and nothing is clipped.

*Norms.* Means and deviations of metrics, each with its recipe; a table of them is shipped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.score import Score
from nlgauge.core.signature import RUNNER_FIELDS, VERSION_FIELDS, Signature
from nlgauge.core.tokens import COUNTED
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
                    f"sentsim cannot scale {name!r} by its range: all {self.pairs} values are {low:g}; "
                    "score more pairs in one call, or set bounds=FILE (made by 'nlgauge build bounds')"
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

    def run_fields(self) -> dict[str, str]:
        """What the run part of a signature says of a range over the corpus."""
        return {"range": short_digest(self.digest), "pairs": str(self.pairs)}

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
                    f"bounds file {path!r} was made with {key} {theirs}, but this recipe has {mine}; "
                    "build it again with this recipe ('nlgauge build bounds')"
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


#: The table that comes with the library, in a recipe and in a signature.
SHIPPED = "shipped"

_SHIPPED_FILE = "ensemble_norms.json"

#: Fields of a signature on which a member's values do not depend, or only as the texts do.
_LEFT_OUT = frozenset(VERSION_FIELDS) | {"refs", "model", "maxlen", "unknown"}

_COUNTED_IDF = re.compile(rf"({'|'.join(COUNTED)})\[[0-9a-f]+\]")


class MemberNorms(NamedTuple):
    """One member: what it is, and how its scores are spread."""

    metric: str
    recipe: Mapping[str, str]
    """What its values depend on, in the words of a signature."""
    mean: float
    deviation: float
    """Population standard deviation."""
    rows: int


def recipe_of_member(signature: Signature) -> dict[str, str]:
    """What the values of a member depend on: its recipe, without versions and the texts idf was counted on."""
    fields = with_precision(signature.recipe)
    kept = {key: text for key, text in fields.items() if key not in _LEFT_OUT}
    if fields.get("refs") == "source":
        kept["against"] = "source"
    if "idf" in kept and (counted := _COUNTED_IDF.fullmatch(kept["idf"])):
        kept["idf"] = counted[1]
    return kept


@dataclass(frozen=True)
class Norms(FrozenTable):
    """Means and deviations of metrics, each with its recipe."""

    FORMAT: ClassVar[str] = "nlgauge-ensemble-norms/1"
    KIND: ClassVar[str] = "norms file"
    COMMAND: ClassVar[str] = "nlgauge build norms"
    INDENT: ClassVar[int | None] = 1

    members: tuple[MemberNorms, ...]
    data: str
    """What the scores were of."""

    @classmethod
    def of(cls, scores: Iterable[tuple[Signature, NDArray[np.float64]]], *, data: str) -> Norms:
        """Of scores that were computed; a metric that gives every row the same cannot be standardised."""
        found = []
        for signature, values in scores:
            mean, deviation = _moments(signature.metric, values)
            found.append(MemberNorms(signature.metric, recipe_of_member(signature), mean, deviation, len(values)))
        return cls(tuple(found), data)

    def find(self, signature: Signature, *, name: str) -> MemberNorms:
        """The norms of a member, or an error that says what the nearest ones were made with."""
        recipe = recipe_of_member(signature)
        near = [one for one in self.members if one.metric == signature.metric]
        for one in near:
            if dict(one.recipe) == recipe:
                return one
        found = min((_differences(one.recipe, recipe) for one in near), key=len, default=None)
        if found is None:
            known = ", ".join(dict.fromkeys(one.metric for one in self.members))
            why = f"metrics in it: {known or 'none'}"
        else:
            why = "; ".join(f"{key}: {theirs} there, {mine} here" for key, theirs, mine in found[:3])
        msg = (
            f"norms {name!r} have no entry for member {signature.metric} with this recipe ({why}); "
            "build your own with 'nlgauge build norms -o FILE' and set norms=FILE"
        )
        raise InputError(msg)

    def only(self, members: Sequence[MemberNorms]) -> Norms:
        """The part that an ensemble uses, whose digest does not change when others are added to the table."""
        return Norms(tuple({id(one): one for one in members}.values()), self.data)

    @cached_property
    def digest(self) -> str:
        """sha256 of the numbers and of the recipes they belong to, in any order; not of the name of the data."""
        return text_digest("\n".join(sorted(json.dumps(one._asdict(), sort_keys=True) for one in self.members)))

    def content(self) -> dict[str, Any]:
        """What a file holds."""
        return {"data": self.data, "members": [one._asdict() for one in self.members]}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Norms:
        """Norms from a file's content, every number of it checked."""
        members = content["members"]
        if not isinstance(members, list) or not all(isinstance(one, dict) for one in members):
            msg = "'members' must be a list of objects"
            raise ContentError(msg)
        if "digest" not in content:
            msg = "'digest' is missing"
            raise ContentError(msg)
        return cls(tuple(map(_member, members)), str(content.get("data", "")))


def _member(record: Mapping[str, Any]) -> MemberNorms:
    recipe = record["recipe"]
    if not isinstance(recipe, dict):
        msg = f"'recipe' must be an object, got {recipe!r}"
        raise ContentError(msg)
    mean, deviation = number(record["mean"], "'mean'"), number(record["deviation"], "'deviation'")
    if not (math.isfinite(mean) and math.isfinite(deviation) and deviation > 0):
        msg = f"the deviation of {record['metric']!r} must be a number above 0, got {deviation!r} (mean {mean!r})"
        raise ContentError(msg)
    fields = {key: str(text) for key, text in recipe.items()}
    return MemberNorms(str(record["metric"]), fields, mean, deviation, whole_number(record["rows"], "'rows'"))


def _moments(metric: str, values: NDArray[np.float64]) -> tuple[float, float]:
    if len(values) < 2:
        msg = f"norms need at least 2 scores per metric, got {len(values)} of {metric}"
        raise InputError(msg)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        msg = f"norms need finite scores, but score {row} of {metric} is {values[row]}"
        raise InputError(msg)
    mean, deviation = float(values.mean()), float(values.std())
    # Rounding leaves a deviation of some 1e-16 where all scores are the same.
    if deviation <= 1e-12 * max(1.0, abs(mean)):
        msg = f"all {len(values)} scores of {metric} are {mean:g}, so it cannot be standardised; leave it out"
        raise InputError(msg)
    return mean, deviation


def _differences(theirs: Mapping[str, str], mine: Mapping[str, str]) -> list[tuple[str, str, str]]:
    order = [key for key in RUNNER_FIELDS if key in theirs or key in mine]
    keys = dict.fromkeys([*order, *theirs, *mine])
    return [(key, theirs.get(key, "none"), mine.get(key, "none")) for key in keys if theirs.get(key) != mine.get(key)]


@cache
def _shipped() -> Norms:
    text = (files("nlgauge.metrics.parts") / _SHIPPED_FILE).read_text(encoding="utf-8")
    return Norms.from_content(json.loads(text))


def load_norms(choice: str) -> Norms:
    """The shipped table, or that of a file."""
    return _shipped() if choice == SHIPPED else Norms.load(Path(choice))


class NormsChoice(Resource):
    """Which means and deviations scores are standardised by."""

    def __init__(self) -> None:
        super().__init__(SHIPPED, file="a file made by 'nlgauge build norms'")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The whole table; which part of it is used is known where the members are."""
        return Loaded(value, load_norms(value))
