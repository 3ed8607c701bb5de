"""A metric of other metrics' scores: it compares nothing itself, and its members run as any other recipe does.

    ensemble:bertscore+moverscore                     members by name
    ensemble:bertscore(layer=5,idf=refs)+chrf         their options in parentheses

In a signature the members stand by name, and their fields behind their number: `1.layer:5|1.idf:none|2.n:1`. What all
members agree on (the model and its digests, the references) stands once, without a number.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Kind, as_text
from nlgauge.core.metric import Metric, SystemResult
from nlgauge.core.options import Option, option
from nlgauge.core.signature import RUNNER_FIELDS, Signature, member_fields, member_key
from nlgauge.errors import RecipeError


def split_outside(text: str, separator: str) -> list[str]:
    """Parts of a text between separators that stand outside of parentheses; those that do not close hold nothing.

    >>> split_outside("bertscore(layer=5,idf=refs)+chrf", "+")
    ['bertscore(layer=5,idf=refs)', 'chrf']
    """
    if text.count("(") != text.count(")"):
        return text.split(separator)
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == separator and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def member_recipe(text: str) -> str:
    """A member as a recipe of its own.

    >>> member_recipe("bertscore(layer=5)")
    'bertscore:layer=5'
    """
    name, opened, rest = text.partition("(")
    if not opened:
        return text
    if not rest.endswith(")") or not name:
        msg = f"expected a member such as bertscore or bertscore(layer=5), got {text!r}"
        raise RecipeError(msg)
    return f"{name}:{rest[:-1]}" if len(rest) > 1 else name


def member_text(recipe: str) -> str:
    """A recipe as a member is written: `member_recipe` backwards."""
    name, colon, options = recipe.partition(":")
    return f"{name}({options})" if colon else name


class MemberRecipes(Kind):
    """Recipes joined by +, or a list of them."""

    @property
    def values(self) -> str:
        """How they are written."""
        return "metrics joined by +, with options in parentheses: bertscore(layer=5)+chrf"

    def check(self, value: Any) -> str:
        """The members as text; what they name is checked where the recipe is made."""
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = "+".join(_as_member(one) for one in value)
        text = as_text(value)
        if not all(split_outside(text, "+")):
            raise ValueError
        return text


def _as_member(value: Any) -> str:
    if not isinstance(value, Metric):
        return member_text(as_text(value))
    given = {name: value.options()[name].kind.show(getattr(value, name)) for name in value.given}
    return member_text(f"{value.name}:{','.join(f'{k}={v}' for k, v in given.items())}" if given else value.name)


class Resolved(NamedTuple):
    """What a composite needs to join the scores of its members, and how a signature names it."""

    fields: Mapping[str, str]
    """Options of the composite as fields of its signature."""
    content: Any


@dataclass(frozen=True, kw_only=True)
class CompositeMetric(Metric):
    """A metric that joins the scores of others."""

    leading_option: ClassVar[str] = "members"

    members: str = option(
        "bertscore+moverscore",
        MemberRecipes(),
        help="metrics whose scores are joined; 1.layer is the layer of the first",
        short="mb",
    )

    @cached_property
    def recipes(self) -> tuple[Metric, ...]:
        """The members."""
        from nlgauge.core.registry import parse_metric  # which knows all metrics, this one too

        found = tuple(parse_metric(member_recipe(text)) for text in split_outside(self.members, "+"))
        for one in found:
            if isinstance(one, CompositeMetric):
                msg = f"a member of {self.name} cannot be {one.name} itself, got {self.members!r}"
                raise RecipeError(msg)
        return found

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # by its members
        """Whether a member's score of a pair depends on the other pairs."""
        return any(member.whole_corpus for member in self.recipes)

    def known_options_of_members(self) -> dict[str, Option]:
        """Options that the composite or one of its members takes."""
        found = dict(self.options())
        for member in self.recipes:
            found |= {name: about for name, about in member.options().items() if name not in found}
        return found

    def check(self) -> None:
        """Read the members, so that a wrong one is an error before anything runs."""
        if len(self.recipes) < 2:
            msg = f"{self.name} joins at least two metrics, got {self.members!r}; write them as A+B"
            raise RecipeError(msg)

    @abstractmethod
    def resolve_members(self, signatures: Sequence[Signature]) -> Resolved:
        """Load what joins members with these recipes; refuse members that cannot be joined."""

    @abstractmethod
    def combine(self, members: Sequence[NDArray[np.float64]], resolved: Resolved) -> SystemResult:
        """Scores of a system from the main components of its members, better ones higher or lower as they are."""


def leaves(recipes: Iterable[Metric]) -> list[Metric]:
    """Recipes that compare texts: members in the place of a composite."""
    return [
        leaf for recipe in recipes for leaf in (recipe.recipes if isinstance(recipe, CompositeMetric) else (recipe,))
    ]


def signed_together(
    metric: CompositeMetric, resolved: Resolved, signatures: Sequence[Signature], *, common: Mapping[str, str]
) -> Signature:
    """The recipe part of a composite's signature; `common` are fields that it has of its own (version, grammar)."""
    shared = {}
    for key in RUNNER_FIELDS:
        values = {signature.recipe[key] for signature in signatures if key in signature.recipe}
        if len(values) == 1:
            shared[key] = values.pop()
    own: dict[str, str] = {}
    for number, signature in enumerate(signatures, start=1):
        own |= {
            member_key(number, key): text
            for key, text in signature.recipe.items()
            if shared.get(key) != text and key not in common
        }
    names = "+".join(signature.metric for signature in signatures)
    fields = metric.own_fields(dict(resolved.fields) | {"members": names})
    return Signature(metric.name, fields | own | shared | dict(common))


def member_signatures(signature: Signature) -> list[Signature]:
    """The recipe parts of the members that a composite's signature holds; of any other signature itself."""
    if "members" not in signature.recipe:
        return [signature]
    shared = {key: text for key, text in signature.recipe.items() if key in RUNNER_FIELDS}
    names = signature.recipe["members"].split("+")
    return [
        Signature(name, member_fields(signature.recipe, number) | shared)
        for number, name in enumerate(names, start=1)
    ]


def texts_of_options(given: Mapping[str, Any]) -> dict[str, str]:
    """Options of a call as the text of a recipe has them."""
    words = {True: "yes", False: "no"}
    return {
        name: words[value]
        if isinstance(value, bool)
        else str(os.fspath(value) if hasattr(value, "__fspath__") else value)
        for name, value in given.items()
        if value is not None
    }
