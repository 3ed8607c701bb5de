"""Ensembles: the average of standardised scores of several metrics.

What it computes
----------------

    score(x, y) = mean over members m of  s_m (m(x, y) - mean_m) / deviation_m

mean_m and deviation_m are frozen (`norms`), so the score of a pair does not depend on other pairs. s_m is -1 for a
member whose lower scores are better, and 1 for the others: higher is better for the ensemble. Norms come from a
file that `nlgauge build norms` made, or from the table that is shipped: metrics without options, with the models
minilm, mpnet and muse, on the rows of `wmt17-testset` (docs/ensembles.md).

Worked example
--------------

"the cat sat on the mat" has BLEU 37.99 and chrF 61.09 against "the cat lay on the mat". By the shipped norms these
are .88 and .60 deviations above the mean.

    >>> z = (37.9918 - 23.0981) / 16.9576, (61.0887 - 51.9974) / 15.1170
    >>> round(sum(z) / 2, 4)
    0.7398
    >>> import nlgauge
    >>> score = nlgauge.score(["the cat sat on the mat"], ["the cat lay on the mat"], "ensemble:members=bleu+chrf")
    >>> score.segments["score"].round(4).tolist()
    [0.7398]

Profiles and deviations
-----------------------

There are no profiles. The published code standardises over the file that is scored (D15), so its scores depend on the
other pairs.

Relations
---------

- It *has* its members, and adds nothing but their norms.
- An ensemble is not better than its best member by itself: the mean of the best pair of metrics with minilm and mpnet
  has .722 on WMT17 (segment-level Pearson) and BERTScore with mpnet alone .738. See docs/findings.md.

Citation
--------

Section 6.2 of Kaster, Zhao, Eger: "Global Explainability of BERT-Based Evaluation Metrics by Disentangling along
Linguistic Factors", EMNLP 2021.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.composite import CompositeMetric, Resolved
from nlgauge.core.metric import SystemResult
from nlgauge.core.options import option
from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.signature import RUNNER_FIELDS, VERSION_FIELDS, Signature
from nlgauge.core.tokens import COUNTED
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.storage import ContentError, FrozenTable, number, short_digest, text_digest, whole_number
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.bounds import with_precision

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

    def standardised(self, values: NDArray[np.float64], *, higher_is_better: bool) -> NDArray[np.float64]:
        """Scores in deviations from the mean; better ones are higher, so those of a distance are negated."""
        scaled: NDArray[np.float64] = (values - self.mean) / self.deviation
        return scaled if higher_is_better else -scaled


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
            why = f"it has {known or 'no metric'}"
        else:
            why = "; ".join(f"{key}: {theirs} there, {mine} here" for key, theirs, mine in found[:3])
        msg = (
            f"norms {name!r} have no mean and deviation for member {signature.metric} as it is here ({why}); "
            "make them with 'nlgauge build norms -o FILE' and pass norms=FILE"
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
        msg = f"a deviation needs at least 2 scores, got {len(values)} of {metric}"
        raise InputError(msg)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        msg = f"score {row} of {metric} is {values[row]}; norms are of finite scores only"
        raise InputError(msg)
    mean, deviation = float(values.mean()), float(values.std())
    # Rounding leaves a deviation of some 1e-16 where all scores are the same.
    if deviation <= 1e-12 * max(1.0, abs(mean)):
        msg = f"all {len(values)} scores of {metric} are {mean:g}, so that it tells nothing apart; leave it out"
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


@dataclass(frozen=True, kw_only=True)
class Ensemble(CompositeMetric):
    """Average of the standardised scores of other metrics."""

    name: ClassVar[str] = "ensemble"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    citation: ClassVar[str] = cite("kaster-etal-2021-global")

    norms: str = option(
        SHIPPED, NormsChoice(), help="means and deviations that members are standardised by", short="nm"
    )

    def check(self) -> None:
        super().check()
        for member in self.base_metrics:
            if member.whole_corpus:
                msg = (
                    f"{member.name} scales its scores over the corpus at hand, so that no frozen mean fits it; "
                    f"freeze it first: {member.name}(bounds=bounds.json), made by 'nlgauge build bounds'"
                )
                raise RecipeError(msg)

    def resolve_members(self, signatures: Sequence[Signature]) -> Resolved:
        table = load_norms(self.norms)
        found = tuple(table.find(signature, name=self.norms) for signature in signatures)
        origin = self.norms if self.norms == SHIPPED else "file"
        return Resolved({"norms": f"{origin}[{short_digest(table.only(found).digest)}]"}, found)

    def combine(self, members: Sequence[NDArray[np.float64]], resolved: Resolved) -> SystemResult:
        norms: Sequence[MemberNorms] = resolved.content
        scaled = [
            one.standardised(values, higher_is_better=recipe.higher_is_better)
            for one, values, recipe in zip(norms, members, self.base_metrics, strict=True)
        ]
        # Added one by one: a mean over an axis groups its sums by the number of rows.
        total = scaled[0].copy()
        for values in scaled[1:]:
            total += values
        return SystemResult({"score": total / len(scaled)})
