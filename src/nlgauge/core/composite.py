"""Metrics that combine the scores of other metrics.

Before a run, composite recipes are expanded to the metrics that compare texts; after it, the scores are joined. The
stages in between see ordinary recipes only.

    ensemble:bertscore+moverscore                     members by name
    ensemble:bertscore(layer=5,idf=refs)+chrf         their options in parentheses

In a signature the members are listed by name, and their fields are prefixed by their number:
`1.layer:5|1.idf:none|2.n:1`. Fields that are equal for all members (the model and its digests, the references) appear
once, without a number.
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
    """Split a text at separators outside parentheses; if these are unbalanced, at all separators.

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
    """Convert a member to a recipe.

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
    """Convert a recipe to a member, the inverse of `member_recipe`."""
    name, colon, options = recipe.partition(":")
    return f"{name}({options})" if colon else name


class MemberRecipes(Kind):
    """Recipes joined by +, or a list of them."""

    values = "metrics joined by +, with options in parentheses: bertscore(layer=5)+chrf"

    def check(self, value: Any) -> str:
        """The members as text; the recipe checks their names later."""
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = "+".join(_format_member(member) for member in value)
        text = as_text(value)
        if not all(split_outside(text, "+")):
            raise ValueError
        return text


def _format_member(value: Any) -> str:
    if not isinstance(value, Metric):
        return member_text(as_text(value))
    options = {name: value.options()[name].kind.show(getattr(value, name)) for name in value.given}
    return member_text(f"{value.name}:{','.join(f'{k}={v}' for k, v in options.items())}" if options else value.name)


class Resolved(NamedTuple):
    """The data that a composite needs to join the scores of its members."""

    fields: Mapping[str, str]
    """Signature fields of the composite's own options."""
    content: Any


@dataclass(frozen=True, kw_only=True)
class CompositeMetric(Metric):
    """A metric that joins the scores of other metrics."""

    leading_option: ClassVar[str] = "members"

    members: str = option(
        "bertscore+moverscore",
        MemberRecipes(),
        help="metrics to combine; 1.layer is the layer of the first",
    )

    @cached_property
    def base_metrics(self) -> tuple[Metric, ...]:
        """The members."""
        from nlgauge.core.registry import parse_metric  # here, because it imports this module

        members = tuple(parse_metric(member_recipe(text)) for text in split_outside(self.members, "+"))
        for member in members:
            if isinstance(member, CompositeMetric):
                msg = f"{member.name} cannot be a member of {self.name}, got {self.members!r}"
                raise RecipeError(msg)
        return members

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # depends on the members
        """Whether a member's score of a pair depends on the other pairs."""
        return any(member.whole_corpus for member in self.base_metrics)

    def describe_dependence(self) -> tuple[str, str]:
        return next(member for member in self.base_metrics if member.whole_corpus).describe_dependence()

    def check(self) -> None:
        """Parse the members, to report an invalid one before anything runs."""
        if len(self.base_metrics) < 2:
            msg = f"{self.name} needs at least two metrics, got {self.members!r}; join them with +"
            raise RecipeError(msg)

    @abstractmethod
    def resolve_members(self, signatures: Sequence[Signature]) -> Resolved:
        """Load the data to join members with these recipes; refuse members that cannot be joined."""

    @abstractmethod
    def combine(self, members: Sequence[NDArray[np.float64]], resolved: Resolved) -> SystemResult:
        """Scores of a system from the main components of its members, in their own direction (higher or lower)."""


def expand(recipes: Sequence[Metric]) -> list[Metric]:
    """The metrics that compare texts in a run: recipes that do so themselves, then members not among them."""
    metrics = [recipe for recipe in recipes if not isinstance(recipe, CompositeMetric)]
    return metrics + [member for member in dict.fromkeys(base_metrics(recipes)) if member not in metrics]


@dataclass(frozen=True, eq=False)
class PreparedRecipe:
    """A recipe of a run. Its scores are those of one metric, or joined from several."""

    metric: Metric
    numbers: tuple[int, ...]
    """Indices of its metrics in `expand(recipes)`."""
    signature: Signature
    """The recipe part."""
    resolved: Resolved | None = None
    """The data to join members; None for a single metric."""

    def join_values(self, mains: Sequence[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """Join the main components of the metrics, arrays of any shape; empty for a single metric."""
        if self.resolved is None:
            return {}
        assert isinstance(self.metric, CompositeMetric)
        values = [mains[number].ravel() for number in self.numbers]
        joined = self.metric.combine(values, self.resolved).segments
        return {name: values.reshape(mains[0].shape) for name, values in joined.items()}

    def join_pair_notes(self, notes: Sequence[PairNotes], pairs: TextPairs) -> PairNotes:
        """Join the notes of the members."""
        if self.resolved is None:
            return notes[self.numbers[0]]
        texts = join_notes(member.texts for member in notes)
        counts = {  # notes of pairs do not say which pairs, so the largest count of a member is used
            kind: max(pairs.count(texts.get(kind, ())), *(member.counts.get(kind, 0) for member in notes))
            for kind in dict.fromkeys(kind for member in notes for kind in member.counts)
        }
        signature = Signature(self.metric.name, self.signature.recipe, count_fields(counts))
        return notes[0]._replace(signature=signature, texts=texts, counts=counts)

    def join_score(self, members: Sequence[Score]) -> Score:
        """Join the scores of the members for one system."""
        if self.resolved is None:
            return members[0]
        metric, origin = self.metric, members[0].origin
        assert origin is not None
        notes = join_notes(member.notes for member in members)
        run = run_fields(notes)
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
            notes=notes,
            origin=replace(origin, metric=metric),
        )


def prepare_joins(
    recipes: Sequence[Metric], signatures: Sequence[Signature], *, common: Mapping[str, str]
) -> tuple[PreparedRecipe, ...]:
    """Prepare recipes for joining the scores of their metrics; `signatures` are the recipe parts of the metrics.

    `common` are fields that a composite does not share with its members (version, grammar).
    """
    metrics, numbers_of_single = expand(recipes), iter(range(len(recipes)))
    prepared = []
    for recipe in recipes:
        if not isinstance(recipe, CompositeMetric):
            number = next(numbers_of_single)  # not metrics.index(recipe): the same recipe may appear twice
            prepared.append(PreparedRecipe(recipe, (number,), signatures[number]))
            continue
        numbers = tuple(metrics.index(member) for member in recipe.base_metrics)
        members = [signatures[number] for number in numbers]
        resolved = recipe.resolve_members(members)
        signature = _join_signatures(recipe, resolved, members, common=common)
        prepared.append(PreparedRecipe(recipe, numbers, signature, resolved))
    return tuple(prepared)


def join_scores(recipes: Sequence[PreparedRecipe], scores: Sequence[Sequence[Score]]) -> list[Score]:
    """Scores of the recipes, recipe by recipe; `scores` are those of each metric for all systems."""
    return [
        recipe.join_score(members)
        for recipe in recipes
        for members in zip(*(scores[number] for number in recipe.numbers), strict=True)
    ]


def _join_signatures(
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


def format_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Format the options of a call as in a text recipe."""
    words = {True: "yes", False: "no"}
    return {
        name: words[value]
        if isinstance(value, bool)
        else str(os.fspath(value) if hasattr(value, "__fspath__") else value)
        for name, value in options.items()
        if value is not None
    }
