"""Files of learned metrics: the weights of their members, what they were learned from, and what they gain.

A member is stored with the text of its recipe and with the signature fields that its values depend on, such as the
digests of its model. A run whose members have other fields is refused: the weights were not learned for them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.result import fields_to_plain, from_fields
from nlgauge.core.signature import RUNNER_FIELDS, VERSION_FIELDS, Signature
from nlgauge.core.tokens import COUNTED
from nlgauge.errors import InputError
from nlgauge.io.storage import ContentError, FrozenTable, text_digest
from nlgauge.metrics.parts.scales import with_precision

#: Shipped learned metrics: translations into English, with one model and with two.
SHIPPED = ("mt-en-minilm", "mt-en-mpnet")

#: Signature fields that do not affect a member's values, or depend on the texts only.
_LEFT_OUT = frozenset(VERSION_FIELDS) | {"refs", "model", "maxlen", "unknown"}


class WeightedMember(NamedTuple):
    """A member of a learned metric."""

    recipe: str
    """Its text, such as `bertscore:model=mpnet`."""
    fields: Mapping[str, str]
    """The signature fields that its values depend on."""
    mean: float
    """Mean of its training scores."""
    deviation: float
    """Their population standard deviation."""
    weight: float
    """Change of the learned score by one deviation towards better scores."""
    low: float
    """Lowest training score."""
    high: float
    """Highest training score."""


class Training(NamedTuple):
    """The ratings that the weights were learned from."""

    data: str
    """Name of the data set."""
    criterion: str
    rows: int
    segments: int
    langpairs: tuple[str, ...]
    digest: str
    """sha256 of the ratings and of the scores of all members."""


class CrossValidation(NamedTuple):
    """Agreement on ratings that were left out: Pearson, averaged over language pairs."""

    folds: str
    """What the folds are, such as `4 language pairs`."""
    learned: float
    """Pearson of the combination."""
    best_member: str
    """The member that correlates best on all rows."""
    best: float
    """Its Pearson."""
    gain: float
    """Pearson of the combination minus that of its best member."""
    low: float
    """Lower end of the 95 % interval of the gain."""
    high: float
    resamples: int
    seed: int

    @property
    def proven(self) -> bool:
        """Whether the interval of the gain is above 0."""
        return self.low > 0


@dataclass(frozen=True)
class LearnedWeights(FrozenTable):
    """Weights of members, with their origin and their cross-validated gain."""

    FORMAT: ClassVar[str] = "nlgauge-learned/1"
    KIND: ClassVar[str] = "learned metric"
    COMMAND: ClassVar[str] = "nlgauge study learn"
    INDENT: ClassVar[int | None] = 1

    method: str
    """ridge, nnls or average."""
    penalty: float
    """Strength of the regularisation; 0 for average."""
    intercept: float
    """The score of a pair whose members all have their mean."""
    members: tuple[WeightedMember, ...]
    training: Training
    validation: CrossValidation

    @cached_property
    def digest(self) -> str:
        """sha256 of the content."""
        return text_digest(json.dumps({"format": self.FORMAT} | self.content(), sort_keys=True))

    def content(self) -> dict[str, Any]:
        """The content of a file."""
        return fields_to_plain(self)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> LearnedWeights:
        """Weights from the content of a file; every number is checked."""
        try:
            weights: LearnedWeights = from_fields(cls, content)
        except (TypeError, ValueError, AttributeError) as error:
            raise ContentError(str(error)) from error
        if len(weights.members) < 2:
            msg = f"it needs at least two members, got {len(weights.members)}"
            raise ContentError(msg)
        for member in weights.members:
            if not all(map(math.isfinite, member[2:])) or member.deviation <= 0:
                msg = f"the numbers of {member.recipe!r} must be finite, with a deviation above 0"
                raise ContentError(msg)
        if not (math.isfinite(weights.intercept) and math.isfinite(weights.penalty)):
            msg = "'intercept' and 'penalty' must be finite numbers"
            raise ContentError(msg)
        return weights

    def check(self, signatures: Sequence[Signature], *, name: str) -> None:
        """Refuse members that are computed in another way than the training scores."""
        for member, signature in zip(self.members, signatures, strict=True):
            fields = recipe_of_member(signature)
            if fields == dict(member.fields):
                continue
            order = [key for key in RUNNER_FIELDS if key in fields or key in member.fields]
            keys = dict.fromkeys([*order, *member.fields, *fields])
            pairs = [(key, member.fields.get(key, "none"), fields.get(key, "none")) for key in keys]
            differences = "; ".join(
                f"{key}: {theirs} there, {mine} here" for key, theirs, mine in pairs if theirs != mine
            )
            msg = (
                f"learned metric {name!r} was trained with another {member.recipe} ({differences}); "
                "score with the same settings, or learn again with 'nlgauge study learn'"
            )
            raise InputError(msg)


def recipe_of_member(signature: Signature) -> dict[str, str]:
    """The recipe of a member, without versions and without the digest of the texts that idf was counted on."""
    fields = with_precision(signature.recipe)
    recipe = {key: text for key, text in fields.items() if key not in _LEFT_OUT}
    if fields.get("refs") == "source":
        recipe["against"] = "source"
    idf, bracket, _ = recipe.get("idf", "").partition("[")
    if bracket and idf in COUNTED:
        recipe["idf"] = idf
    return recipe


@cache
def _load_shipped(name: str) -> LearnedWeights:
    text = (files("nlgauge.metrics.parts") / f"learned_{name.replace('-', '_')}.json").read_text(encoding="utf-8")
    return LearnedWeights.from_content(json.loads(text))


def load_weights(choice: str) -> LearnedWeights:
    """Shipped weights by name, or those of a file."""
    return _load_shipped(choice) if choice in SHIPPED else LearnedWeights.load(Path(choice))


class WeightsChoice(Resource):
    """The weights of a learned metric."""

    def __init__(self) -> None:
        super().__init__(*SHIPPED, file="a file made by 'nlgauge study learn'")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The weights; a learned metric loads them itself, because its members depend on them."""
        return Loaded(value, load_weights(value))
