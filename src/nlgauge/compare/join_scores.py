"""Scores of several saved runs put side by side; what must not be compared is refused with what differs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nlgauge.errors import InputError, NlgaugeWarning, SignatureError, user_stacklevel
from nlgauge.files.digests import short_digest
from nlgauge.recipes.signature import VERSION_FIELDS, FieldDifference, Signature
from nlgauge.saved_scores import SavedScores
from nlgauge.scores import Score

__all__ = ["check_comparable", "join_runs"]

#: Fields of the run part that every score of a run depends on.
_SHARED_BY_A_RUN = ("range",)


def join_runs(runs: Mapping[str, SavedScores], *, other_versions: bool = False) -> list[Score]:
    """The scores of runs by the name of their file, in one list, each system under a name of its own.

    A system without a name is called by its file, and so are systems of one name in several files. Scores of one
    metric must have one recipe; with `other_versions` they may differ in the versions of what computed them.
    """
    _check_texts(runs)
    names = _system_names(runs)
    named = [
        replace(score, system=names[file, score.system]) for file, saved in runs.items() for score in saved.scores
    ]
    return check_comparable(named, other_versions=other_versions)


def check_comparable(scores: Sequence[Score], *, other_versions: bool = False) -> list[Score]:
    """The scores, if those of one metric and of several systems compare; else an error that says what differs."""
    _check_lengths(scores)
    checked: list[Score] = []
    for metric in dict.fromkeys(score.metric for score in scores):
        recipes: list[list[Score]] = []
        for score in (one for one in scores if one.metric == metric):
            for group in recipes:
                if _same_recipe(group[0].signature, score.signature, other_versions=other_versions):
                    group.append(replace(score, signature=_with_recipe_of(group[0], score)))
                    break
            else:
                recipes.append([score])
        _check_recipes(metric, recipes)
        for group in recipes:
            _check_run(metric, group)
            checked += group
    return checked


def _same_recipe(first: Signature, second: Signature, *, other_versions: bool) -> bool:
    differences = [found for found in first.difference(second) if found.part == "recipe"]
    return not differences or (other_versions and _only_versions(differences))


def _only_versions(differences: Sequence[FieldDifference]) -> bool:
    return all(
        found.field in VERSION_FIELDS and found.left and found.right and not found.of_precision
        for found in differences
    )


def _with_recipe_of(first: Score, score: Score) -> Signature:
    """The signature of a score that goes with another; another version is said."""
    found = [one for one in first.signature.difference(score.signature) if one.part == "recipe"]
    if found:
        text = _in_words(found)
        msg = f"{score.metric} of {first.system!r} and {score.system!r} was computed by different versions: {text}"
        warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
    return Signature(score.metric, first.signature.recipe, score.signature.run)


def _check_recipes(metric: str, recipes: Sequence[Sequence[Score]]) -> None:
    """Several recipes of a metric are several metrics where all systems have them, and a mistake elsewhere."""
    systems = [[score.system for score in group] for group in recipes]
    for group, named in zip(recipes, systems, strict=True):
        for name in named:
            if named.count(name) > 1:
                msg = f"{metric} of {name!r} comes twice, with one signature: {group[0].signature.recipe_part}"
                raise InputError(msg)
        if set(named) == set(systems[0]):
            continue
        first, second = recipes[0][0], group[0]
        found = [one for one in first.signature.difference(second.signature) if one.part == "recipe"]
        versions = _only_versions(found)
        fix = (
            "only versions differ: go on with other_versions=True (--other-versions)"
            if versions
            else "score the systems with one recipe"
        )
        msg = (
            f"{metric} of {first.system!r} and of {second.system!r} do not compare, because their signatures differ: "
            f"{_in_words(found)}; {fix}"
        )
        raise SignatureError(msg)


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


def _in_words(differences: Sequence[FieldDifference]) -> str:
    values = [(found.key, found.left or "(absent)", found.right or "(absent)") for found in differences]
    return "; ".join(f"{key} {left} and {right}" for key, left, right in values)


def _check_lengths(scores: Sequence[Score]) -> None:
    first = scores[0]
    for score in scores:
        if len(score) != len(first):
            msg = (
                f"systems are compared on the same segments: {first.metric} of {first.system!r} has {len(first)}, "
                f"{score.metric} of {score.system!r} has {len(score)}"
            )
            raise InputError(msg)


def _check_texts(runs: Mapping[str, SavedScores]) -> None:
    """Runs on different test sets may have as many segments by chance."""
    known: dict[str, tuple[str, str]] = {}
    for file, saved in runs.items():
        for what, digest in saved.texts.items():
            other, expected = known.setdefault(what, (file, digest))
            if digest != expected:
                msg = (
                    f"{other!r} and {file!r} were scored against different {what} (sha256 {short_digest(expected)} "
                    f"and {short_digest(digest)}), so their systems do not compare"
                )
                raise InputError(msg)


def _system_names(runs: Mapping[str, SavedScores]) -> dict[tuple[str, str | None], str]:
    systems = {file: list(dict.fromkeys(score.system for score in saved.scores)) for file, saved in runs.items()}
    keys = [(score.metric, score.system) for saved in runs.values() for score in _once(saved)]
    clash = len(keys) > len(set(keys)) or any(None in named for named in systems.values())
    names: dict[tuple[str, str | None], str] = {}
    labels = _file_labels(list(runs))
    for file, named in systems.items():
        for system in named:
            if not clash and system is not None:
                names[file, system] = system
            else:
                names[file, system] = labels[file] if len(named) == 1 else f"{labels[file]}: {system or 'no name'}"
    return names


def _once(saved: SavedScores) -> list[Score]:
    """One score of each metric and system; two recipes of a metric are no clash of names."""
    return list({(score.metric, score.system): score for score in saved.scores}.values())


def _file_labels(files: Sequence[str]) -> dict[str, str]:
    stems = [Path(file).name.removesuffix(".json") for file in files]
    return dict(zip(files, stems if len(set(stems)) == len(stems) else files, strict=True))
