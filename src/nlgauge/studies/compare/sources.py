"""Tables of scores from results of nlgauge or plain mappings, with the counts behind corpus scores (BLEU, chrF)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.errors import InputError
from nlgauge.stats.corpus_counts import CorpusCounts
from nlgauge.stats.validation import vector
from nlgauge.studies.compare.system_scores import SystemScores

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class SystemCounts:
    """The counts of several systems on the same segments, under one formula."""

    parts: tuple[CorpusCounts, ...]
    """One per system."""

    def __post_init__(self) -> None:
        shapes = {part.counts.shape for part in self.parts}
        formulas = {part.formula for part in self.parts}
        if len(shapes) != 1 or len(formulas) != 1:
            msg = f"counts of several systems must be alike, got {', '.join(map(repr, self.parts)) or 'none'}"
            raise InputError(msg)

    @property
    def counts(self) -> Matrix:
        """Segments x systems x counts."""
        return np.stack([part.counts for part in self.parts], axis=1)

    def score(self, totals: Matrix) -> Matrix:
        """The corpus scores of summed counts; the last axis of `totals` is that of the counts, and goes."""
        return self.parts[0].score(totals)

    def take(self, systems: Sequence[int]) -> SystemCounts:
        """The same of some systems, by number."""
        return SystemCounts(tuple(self.parts[at] for at in systems))


def system_counts(scores: Sequence[Score]) -> SystemCounts | None:
    """The counts behind the corpus scores of one metric; None where the score of a system is a mean over segments."""
    if all(score.main not in score.corpus for score in scores):
        return None
    for score in scores:
        if score.statistics is None:
            msg = (
                f"{score.metric} of {score.system!r} is computed on the whole corpus, and the counts to resample are "
                "not with this score; score the texts again"
            )
            raise InputError(msg)
    return SystemCounts(tuple(score.statistics for score in scores if score.statistics is not None))


#: What can be compared: results of nlgauge, tables, or by metric and system the scores of the instances.
Scores: TypeAlias = Sequence[Score] | Sequence[SystemScores] | Mapping[str, Mapping[str, Sequence[float]]]


def score_tables(scores: Scores) -> list[SystemScores]:
    """One table per metric, all of the same systems and instances."""
    if isinstance(scores, Mapping):
        tables = [_from_mapping(metric, systems) for metric, systems in scores.items()]
    else:
        if not isinstance(scores, Sequence | ScoreTable) or isinstance(scores, str | bytes):
            msg = (
                "scores must be results of nlgauge.score_systems, SystemScores objects, or a mapping of numbers by "
                f"metric and system, got {scores!r}"
            )
            raise InputError(msg)
        tables = [table for table in scores if isinstance(table, SystemScores)]
        results = [score for score in scores if isinstance(score, Score)]
        if len(tables) + len(results) != len(scores):
            strange = next(item for item in scores if not isinstance(item, SystemScores | Score))
            msg = f"expected Score or SystemScores objects, or a mapping, got {type(strange).__name__}"
            raise InputError(msg)
        tables += system_scores(results) if results else []
    if not tables:
        msg = "there is nothing to compare: no scores were given"
        raise InputError(msg)
    return _alike(tables)


def system_scores(scores: Sequence[Score], *, documents: Sequence[str] | None = None) -> list[SystemScores]:
    """Results of nlgauge as tables, one per recipe: the main component of every system, instances in their order.

    Two results are put side by side only if the recipe parts of their signatures are equal. `documents` names the
    document of each segment.
    """
    recipes: dict[str, list[Score]] = {}
    for score in scores:
        recipes.setdefault(score.signature.recipe_part, []).append(score)
    of_metric: dict[str, list[str]] = {}
    for recipe, found in recipes.items():
        of_metric.setdefault(found[0].metric, []).append(recipe)
    _check_recipes(of_metric, recipes)
    numbered = {
        recipe: metric if len(found) == 1 else f"{metric} ({number})"
        for metric, found in of_metric.items()
        for number, recipe in enumerate(found, start=1)
    }
    return [_from_results(numbered[recipe], recipe, found, documents) for recipe, found in recipes.items()]


def _check_recipes(of_metric: Mapping[str, Sequence[str]], recipes: Mapping[str, Sequence[Score]]) -> None:
    """Two recipes of one metric are two metrics if all systems have both, and a mistake if they do not."""
    everybody = {score.system for found in recipes.values() for score in found}
    for metric, found in of_metric.items():
        for recipe in found:
            here = {score.system for score in recipes[recipe]}
            if len(found) > 1 and here != everybody:
                other = next(one for one in found if one != recipe)
                msg = (
                    f"scores of {metric!r} have different signatures, so systems cannot be compared by them: "
                    f"{_names(here)} has {recipe}, {_names({s.system for s in recipes[other]})} has {other}; "
                    "score all systems with one recipe"
                )
                raise InputError(msg)


def _names(systems: set[str | None]) -> str:
    return ", ".join(sorted(str(name) for name in systems))


def _from_results(metric: str, recipe: str, scores: Sequence[Score], documents: Sequence[str] | None) -> SystemScores:
    nameless = [score for score in scores if score.system is None]
    if nameless and len(scores) > 1:
        msg = f"a score of {metric!r} has no system name; give one: score(..., system=NAME)"
        raise InputError(msg)
    systems = tuple(score.system or "system" for score in scores)
    if len({(score.main, score.higher_is_better) for score in scores}) > 1:
        msg = f"scores of {metric!r} differ in their main component or in whether higher is better"
        raise InputError(msg)
    _check_texts(metric, scores)
    columns = _columns(metric, {f"{at}": score.segments[score.main] for at, score in enumerate(scores)}, systems)
    return SystemScores(
        metric,
        systems,
        columns,
        higher_is_better=scores[0].higher_is_better,
        signature=recipe,
        documents=None if documents is None else tuple(documents),
        statistics=system_counts(scores),
    )


def _check_texts(metric: str, scores: Sequence[Score]) -> None:
    """Results that know their texts must have been scored against the same ones; as many segments prove nothing."""
    known = [(score.system, score.origin.corpus) for score in scores if score.origin is not None]
    for name, corpus in known[1:]:
        first_name, first = known[0]
        for what, here, there in (
            ("references", first.references, corpus.references),
            ("sources", first.sources or (), corpus.sources or ()),
        ):
            if here is there or list(here) == list(there) or len(here) != len(there):
                continue  # other lengths are told with their numbers
            at = next(at for at, (one, other) in enumerate(zip(here, there, strict=True)) if one != other)
            msg = (
                f"{metric!r} of {first_name!r} and of {name!r} was scored against different {what}: segment {at} has "
                f"{here[at]!r} and {there[at]!r}; score all systems against the same texts"
            )
            raise InputError(msg)


def _from_mapping(metric: str, systems: Mapping[str, Sequence[float]]) -> SystemScores:
    if not isinstance(systems, Mapping) or not systems:
        msg = f"scores of {metric!r} must map at least one system to its scores, got {systems!r}"
        raise InputError(msg)
    values = {name: vector(found, f"scores of {metric!r}, system {name!r}") for name, found in systems.items()}
    return SystemScores(metric, tuple(systems), _columns(metric, values, tuple(systems)))


def _columns(metric: str, values: Mapping[str, np.ndarray], systems: Sequence[str]) -> np.ndarray:
    lengths = [len(column) for column in values.values()]
    for name, length in zip(systems, lengths, strict=True):
        if length != lengths[0]:
            msg = (
                f"scores of {metric!r}: system {systems[0]!r} has {lengths[0]} instances, system {name!r} has "
                f"{length}; all systems must be scored on the same instances"
            )
            raise InputError(msg)
    return np.column_stack(list(values.values()))


def _alike(tables: list[SystemScores]) -> list[SystemScores]:
    """All tables have the same systems, in the order of the first, and the same number of instances."""
    first = tables[0]
    seen: set[str] = set()
    for table in tables:
        if table.metric in seen:
            msg = f"two tables of scores are called {table.metric!r}; give each metric a name of its own"
            raise InputError(msg)
        seen.add(table.metric)
        missing = set(first.systems) ^ set(table.systems)
        if missing:
            name = sorted(missing)[0]
            has, lacks = (table, first) if name in table.systems else (first, table)
            msg = f"system {name!r} has scores of {has.metric!r} but none of {lacks.metric!r}"
            raise InputError(msg)
        if table.n != first.n:
            msg = (
                f"{first.metric!r} has {first.n} instances, {table.metric!r} has {table.n}; metrics that stand side "
                "by side must be of the same instances"
            )
            raise InputError(msg)
    return [table if table.systems == first.systems else table.take(first.systems) for table in tables]
