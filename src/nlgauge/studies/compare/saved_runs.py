"""Saved runs in one comparison: names for their systems, and a refusal of scores that must not be compared."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import VERSION_FIELDS, FieldDifference, Signature
from nlgauge.errors import InputError, NlgaugeWarning, SignatureError, user_stacklevel
from nlgauge.io.storage import short_digest

#: Fields of the run part that every score of a run depends on.
_SHARED_BY_A_RUN = ("range",)


def join_runs(runs: Mapping[str, ScoreTable], *, other_versions: bool = False) -> ScoreTable:
    """The scores of runs by the name of their file, in one table, each system under a name of its own.

    A system without a name is called by its file, and so are systems of one name in several files. Scores of one
    metric must have one recipe; with `other_versions` they may differ in the versions of what computed them.
    """
    _check_texts(runs)
    names = _system_names(runs)
    joined: list[Score] = []
    recipes: dict[str, list[list[Score]]] = {}
    for file, run in runs.items():
        for score in run:
            groups = recipes.setdefault(score.metric, [])
            _add_score(groups, replace(score, system=names[file, score.system]), other_versions=other_versions)
    for metric, groups in recipes.items():
        check_recipes(metric, groups)
        for group in groups:
            _check_run(metric, group)
            joined += group
    return ScoreTable(tuple(joined), {what: digest for run in runs.values() for what, digest in run.texts.items()})


def _add_score(groups: list[list[Score]], score: Score, *, other_versions: bool) -> None:
    """Put the score to those of its recipe; another version is accepted where that is wanted, with a warning."""
    for group in groups:
        first = group[0]
        differences = _recipe_differences(first, score)
        if not differences:
            group.append(score)
            return
        if other_versions and _only_versions(differences):
            systems = f"{score.metric} of {first.system!r} and {score.system!r}"
            msg = f"{systems} was computed by different versions: {_in_words(differences)}"
            warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
            signature = Signature(score.metric, first.signature.recipe, score.signature.run)
            group.append(replace(score, signature=signature))
            return
    groups.append([score])


def check_recipes(metric: str, recipes: Sequence[Sequence[Score]]) -> None:
    """Several recipes of a metric are several metrics where all systems have them, and a mistake elsewhere."""
    systems = [{score.system for score in group} for group in recipes]
    for group, names in zip(recipes, systems, strict=True):
        if names == systems[0]:
            continue
        first, second = recipes[0][0], group[0]
        differences = _recipe_differences(first, second)
        fix = (
            "only versions differ: go on with other_versions=True (--other-versions)"
            if _only_versions(differences)
            else "score the systems with one recipe"
        )
        msg = (
            f"{metric} of {first.system!r} and of {second.system!r} do not compare, because their signatures differ: "
            f"{_in_words(differences)}; {fix}"
        )
        raise SignatureError(msg)


def _recipe_differences(first: Score, second: Score) -> list[FieldDifference]:
    return [field for field in first.signature.difference(second.signature) if field.part == "recipe"]


def _only_versions(differences: Sequence[FieldDifference]) -> bool:
    return all(
        field.field in VERSION_FIELDS and field.left and field.right and not field.of_precision
        for field in differences
    )


def _in_words(differences: Sequence[FieldDifference]) -> str:
    return "; ".join(f"{one.key} {one.left or '(absent)'} and {one.right or '(absent)'}" for one in differences)


def _check_run(metric: str, group: Sequence[Score]) -> None:
    first = group[0]
    for score in group:
        for key in _SHARED_BY_A_RUN:
            here, there = first.signature.run.get(key), score.signature.run.get(key)
            if here != there:
                msg = (
                    f"{metric} of {first.system!r} and of {score.system!r} do not compare: each was scaled over its "
                    f"own run ({key} {here} and {there}); score them in one run, or with frozen bounds"
                )
                raise SignatureError(msg)


def _check_texts(runs: Mapping[str, ScoreTable]) -> None:
    """Runs on different test sets may have as many segments by chance."""
    known: dict[str, tuple[str, str]] = {}
    for file, run in runs.items():
        for what, digest in run.texts.items():
            other, expected = known.setdefault(what, (file, digest))
            if digest != expected:
                msg = (
                    f"{other!r} and {file!r} were scored against different {what} (sha256 {short_digest(expected)} "
                    f"and {short_digest(digest)}), so their systems do not compare"
                )
                raise InputError(msg)


def _system_names(runs: Mapping[str, ScoreTable]) -> dict[tuple[str, str | None], str]:
    """By file and system the name in the comparison: the system's own, unless it is missing or comes twice."""
    # Two recipes of a metric are no clash of names.
    keys = [key for run in runs.values() for key in {(score.metric, score.system) for score in run}]
    clash = len(keys) > len(set(keys)) or any(system is None for _, system in keys)
    stems = [Path(file).name.removesuffix(".json") for file in runs]
    labels = stems if len(set(stems)) == len(stems) else list(runs)
    names: dict[tuple[str, str | None], str] = {}
    for (file, run), label in zip(runs.items(), labels, strict=True):
        systems = dict.fromkeys(score.system for score in run)
        for system in systems:
            by_file = label if len(systems) == 1 else f"{label}: {system or 'no name'}"
            names[file, system] = by_file if clash or system is None else system
    return names
