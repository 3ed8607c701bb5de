"""Metrics that combine the scores of other metrics.

Before a run, composite recipes are expanded to the metrics that compare texts; after it, the scores are joined. The
stages in between see ordinary recipes only.

In a signature the members are listed by name (`members:bertscore+chrf`), and their fields are prefixed by their
number: `1.layer:5|1.idf:none|2.chars:6`. Fields that are equal for all members (the model and its digests, the
references) appear once, without a number.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.metric import Metric, SystemResult, base_metrics
from nlgauge.core.notes import count_fields, run_fields
from nlgauge.core.score import Score, count_notes, join_notes
from nlgauge.core.signature import RUNNER_FIELDS, Signature, member_key

if TYPE_CHECKING:
    from nlgauge.core.pairs import PairNotes, TextPairs


class Resolved(NamedTuple):
    """The data that a composite needs to join the scores of its members."""

    fields: Mapping[str, str]
    """Signature fields of the composite's own options."""
    content: Any


@dataclass(frozen=True, kw_only=True)
class CompositeMetric(Metric):
    """A metric that joins the scores of other metrics."""

    derived_fields: ClassVar[tuple[str, ...]] = ("members",)

    @property
    @abstractmethod
    def base_metrics(self) -> tuple[Metric, ...]:
        """The members, of which none is composite."""

    @property
    def whole_corpus(self) -> bool:  # type: ignore[override]  # depends on the members
        """Whether a member's score of a pair depends on the other pairs."""
        return any(member.whole_corpus for member in self.base_metrics)

    def describe_dependence(self) -> tuple[str, str]:
        return next(member for member in self.base_metrics if member.whole_corpus).describe_dependence()

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
        joined = self._combine(mains)
        if joined is None:
            return {}
        return {name: values.reshape(mains[0].shape) for name, values in joined.segments.items()}

    def count_pairs(self, notes: PairNotes, mains: Sequence[NDArray[np.float64]]) -> PairNotes:
        """Add the notes of the composite itself about pairs with these main components."""
        joined = self._combine(mains)
        own = {} if joined is None else {name: len(pairs) for name, pairs in joined.notes.items()}
        if not own:
            return notes
        counts = {**notes.counts, **own}
        return notes._replace(signature=replace(notes.signature, run=count_fields(counts)), counts=counts)

    def _combine(self, mains: Sequence[NDArray[np.float64]]) -> SystemResult | None:
        if self.resolved is None:
            return None
        assert isinstance(self.metric, CompositeMetric)
        return self.metric.combine([mains[number].ravel() for number in self.numbers], self.resolved)

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
        assert isinstance(metric, CompositeMetric)
        result = metric.combine([member.segments[member.main] for member in members], self.resolved)
        notes = join_notes([*(member.notes for member in members), result.notes])
        run = run_fields(notes)
        for number, member in enumerate(members, start=1):
            counts = count_notes(member.notes)
            run |= {member_key(number, key): text for key, text in member.signature.run.items() if key not in counts}
        return Score(
            metric=metric.name,
            system=members[0].system,
            segments=result.segments,
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
    fields = metric.own_fields(dict(resolved.fields) | {"members": "+".join(s.metric for s in signatures)})
    return Signature(metric.name, fields | own | shared | dict(common))
