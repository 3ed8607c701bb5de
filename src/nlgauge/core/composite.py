"""A metric of other metrics' scores: it compares nothing itself, and its members run as any other recipe does.

Recipes are expanded to metrics that compare texts before a run, and scores joined after it; between the two nothing
knows of metrics that join others.

    ensemble:bertscore+moverscore                     members by name
    ensemble:bertscore(layer=5,idf=refs)+chrf         their options in parentheses

In a signature the members stand by name, and their fields behind their number: `1.layer:5|1.idf:none|2.n:1`. What all
members agree on (the model and its digests, the references) stands once, without a number.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Kind, as_text
from nlgauge.core.metric import Metric, SystemResult, base_metrics
from nlgauge.core.notes import count_fields, run_fields
from nlgauge.core.options import option
from nlgauge.core.score import Score, count_notes, join_notes
from nlgauge.core.signature import RUNNER_FIELDS, Signature, member_key
from nlgauge.errors import RecipeError

if TYPE_CHECKING:
    from nlgauge.core.pairs import PairNotes, TextPairs


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

    values = "metrics joined by +, with options in parentheses: bertscore(layer=5)+chrf"

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
        help="metrics to combine; 1.layer is the layer of the first",
    )

    @cached_property
    def base_metrics(self) -> tuple[Metric, ...]:
        """The members."""
        from nlgauge.core.registry import parse_metric  # which knows all metrics, this one too

        members = tuple(parse_metric(member_recipe(text)) for text in split_outside(self.members, "+"))
        for member in members:
            if isinstance(member, CompositeMetric):
                msg = f"{member.name} cannot be a member of {self.name}, got {self.members!r}"
                raise RecipeError(msg)
        return members

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # by its members
        """Whether a member's score of a pair depends on the other pairs."""
        return any(member.whole_corpus for member in self.base_metrics)

    def check(self) -> None:
        """Read the members, so that a wrong one is an error before anything runs."""
        if len(self.base_metrics) < 2:
            msg = f"{self.name} needs at least two metrics, got {self.members!r}; join them with +"
            raise RecipeError(msg)

    @abstractmethod
    def resolve_members(self, signatures: Sequence[Signature]) -> Resolved:
        """Load what joins members with these recipes; refuse members that cannot be joined."""

    @abstractmethod
    def combine(self, members: Sequence[NDArray[np.float64]], resolved: Resolved) -> SystemResult:
        """Scores of a system from the main components of its members, better ones higher or lower as they are."""


def expand(recipes: Sequence[Metric]) -> list[Metric]:
    """Metrics that a run compares texts with: the recipes that do so, then members which are not among them."""
    metrics = [recipe for recipe in recipes if not isinstance(recipe, CompositeMetric)]
    return metrics + [member for member in dict.fromkeys(base_metrics(recipes)) if member not in metrics]


@dataclass(frozen=True, eq=False)
class PreparedRecipe:
    """A recipe of a run, whose scores are those of one metric, or joined from those of several."""

    metric: Metric
    numbers: tuple[int, ...]
    """Of the metrics, in `expand(recipes)`."""
    signature: Signature
    """The recipe part."""
    resolved: Resolved | None = None
    """What joins members; None: there is one metric, and nothing to join."""

    def join_values(self, mains: Sequence[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """Components from the main component of each metric, of any shape; empty where there is nothing to join."""
        if self.resolved is None:
            return {}
        assert isinstance(self.metric, CompositeMetric)
        values = [mains[number].ravel() for number in self.numbers]
        joined = self.metric.combine(values, self.resolved).segments
        return {name: values.reshape(mains[0].shape) for name, values in joined.items()}

    def join_pair_notes(self, notes: Sequence[PairNotes], pairs: TextPairs) -> PairNotes:
        """What happened to pairs under one of the metrics happened here."""
        if self.resolved is None:
            return notes[self.numbers[0]]
        texts = join_notes(member.texts for member in notes)
        counts = {  # where a note is of pairs and not of texts, it is not known which: that of the member with most
            kind: max(pairs.count(texts.get(kind, ())), *(member.counts.get(kind, 0) for member in notes))
            for kind in dict.fromkeys(kind for member in notes for kind in member.counts)
        }
        signature = Signature(self.metric.name, self.signature.recipe, count_fields(counts))
        return notes[0]._replace(signature=signature, texts=texts, counts=counts)

    def join_score(self, members: Sequence[Score]) -> Score:
        """The score of a system from those of the metrics."""
        if self.resolved is None:
            return members[0]
        metric, origin = self.metric, members[0].origin
        assert origin is not None
        noted = join_notes(member.notes for member in members)
        run = run_fields(noted)
        for number, member in enumerate(members, start=1):
            counts = count_notes(member.notes)
            run |= {member_key(number, key): text for key, text in member.signature.run.items() if key not in counts}
        assert isinstance(metric, CompositeMetric)
        return Score(
            metric=metric.name,
            system=members[0].system,
            segments=metric.combine([member.segments[member.main] for member in members], self.resolved).segments,
            main=metric.main,
            higher_is_better=metric.higher_is_better,
            signature=Signature(metric.name, self.signature.recipe, run),
            notes=noted,
            origin=replace(origin, metric=metric),
        )


def prepare_joins(
    recipes: Sequence[Metric], signatures: Sequence[Signature], *, common: Mapping[str, str]
) -> tuple[PreparedRecipe, ...]:
    """Recipes with all that joins the scores of their metrics, whose recipe parts are given.

    `common` are fields that the signature of a composite has of its own (version, grammar).
    """
    metrics, places = expand(recipes), iter(range(len(recipes)))
    prepared = []
    for recipe in recipes:
        if not isinstance(recipe, CompositeMetric):
            number = next(places)  # not its index: a recipe may be there twice
            prepared.append(PreparedRecipe(recipe, (number,), signatures[number]))
            continue
        numbers = tuple(metrics.index(member) for member in recipe.base_metrics)
        own = [signatures[number] for number in numbers]
        resolved = recipe.resolve_members(own)
        signature = _sign_together(recipe, resolved, own, common=common)
        prepared.append(PreparedRecipe(recipe, numbers, signature, resolved))
    return tuple(prepared)


def join_scores(recipes: Sequence[PreparedRecipe], scores: Sequence[Sequence[Score]]) -> list[Score]:
    """Scores of the recipes, recipe by recipe, from those of each metric for all systems."""
    return [
        recipe.join_score(members)
        for recipe in recipes
        for members in zip(*(scores[number] for number in recipe.numbers), strict=True)
    ]


def _sign_together(
    metric: CompositeMetric, resolved: Resolved, signatures: Sequence[Signature], *, common: Mapping[str, str]
) -> Signature:
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
