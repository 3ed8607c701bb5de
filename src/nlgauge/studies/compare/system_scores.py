"""Scores of systems for a comparison: one metric as a matrix, from any source.

An instance is what systems are compared on: a segment, a summary, a dialogue turn. Rows are instances, columns are
systems, and `oriented` negates a distance once, so that all later code may take higher for better. Results of
nlgauge, saved runs, plain numbers and files of other tools all become a `ScoreTable`, of which the matrix is a view.
Scores that must not be compared are refused.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import VERSION_FIELDS, FieldDifference, Signature
from nlgauge.data.score_files import ImportedScores
from nlgauge.errors import InputError, NlgaugeWarning, SignatureError, user_stacklevel
from nlgauge.io.storage import short_digest
from nlgauge.stats.numeric import orient

Matrix = NDArray[np.float64]

#: Sizes whose squares, and sums of them, are neither infinite nor 0.
_SMALLEST, _LARGEST = 1e-100, 1e100


@dataclass(frozen=True, eq=False, repr=False)
class SystemScores:
    """A metric's scores of systems on the same instances, as a matrix: a view of a `ScoreTable`.

    >>> table = ScoreTable.from_numbers("wer", {"old": [0.5, 0.75], "new": [0.25, 0.5]}, higher_is_better=False)
    >>> SystemScores(table).oriented.tolist()
    [[-0.5, -0.25], [-0.75, -0.5]]
    """

    scores: ScoreTable
    """A score per system, all of one recipe."""
    metric: str = ""
    """Name of the metric in the comparison; by default its own."""
    instances: tuple[str, ...] = ()
    """Names of the instances; by default their numbers from 0."""
    documents: tuple[str, ...] | None = None
    """The document of each instance; instances of one document are not independent."""

    def __post_init__(self) -> None:
        if not isinstance(self.scores, ScoreTable) or not len(self.scores):
            msg = f"scores must be a ScoreTable with a score per system, got {self.scores!r}; use from_numbers"
            raise InputError(msg)
        object.__setattr__(self, "metric", self.metric or self.scores[0].metric)
        _check_alike(self.metric, self.scores, self.systems)
        object.__setattr__(self, "instances", tuple(map(str, self.instances)) or tuple(map(str, range(self.n))))
        if self.documents is not None:
            object.__setattr__(self, "documents", tuple(map(str, self.documents)))
        for what, names in (("instances", self.instances), ("documents", self.documents)):
            if names is not None and len(names) != self.n:
                msg = f"scores of {self.metric!r} have {self.n} rows, but {len(names)} {what} are named"
                raise InputError(msg)
        _check_values(self)

    def __repr__(self) -> str:
        better = "" if self.higher_is_better else ", lower is better"
        return f"<SystemScores {self.metric}: {self.n} x {self.k}{better}>"

    def _repr_html_(self) -> str:
        return self.scores._repr_html_()

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(score.system or "system" for score in self.scores)

    @property
    def higher_is_better(self) -> bool:
        """Whether the metric is not a distance."""
        return self.scores[0].higher_is_better

    @property
    def signature(self) -> str:
        """Recipe part of the signature; empty for scores of unknown origin."""
        signature = self.scores[0].signature
        return signature.recipe_part if signature.recipe else ""

    @property
    def n(self) -> int:
        """Number of instances."""
        return len(self.scores[0])

    @property
    def k(self) -> int:
        """Number of systems."""
        return len(self.scores)

    @cached_property
    def values(self) -> Matrix:
        """Instances x systems, not oriented; read-only."""
        values = np.column_stack([score.segments[score.main] for score in self.scores])
        values.flags.writeable = False
        return values

    @property
    def oriented(self) -> Matrix:
        """The scores with higher meaning better: a distance is negated."""
        return orient(self.values, higher_is_better=self.higher_is_better)

    @cached_property
    def counts(self) -> Matrix | None:
        """Instances x systems x counts behind corpus scores (BLEU, chrF); None where a system's score is a mean."""
        if all(score.main not in score.corpus for score in self.scores):
            return None
        parts = []
        for score in self.scores:
            if score.statistics is None:
                msg = (
                    f"{score.metric} of {score.system!r} is computed on the whole corpus, and the counts to resample "
                    "are not with this score; score the texts again"
                )
                raise InputError(msg)
            parts.append(score.statistics.counts)
        if {part.shape for part in parts} != {(self.n, parts[0].shape[1])}:
            shapes = ", ".join(str(part.shape) for part in parts)
            msg = f"counts of {self.metric!r} must be alike, of {self.n} instances each, got {shapes}"
            raise InputError(msg)
        return np.stack(parts, axis=1)

    def corpus_score(self, totals: Matrix) -> Matrix:
        """Corpus scores from summed counts, which are the last axis of `totals`.

        A resample of instances adds up other counts. Sums are whole numbers where the counts are, also in approximate
        randomisation.
        """
        statistics = self.scores[0].statistics
        assert statistics is not None
        return statistics.score(totals)

    def take(self, systems: Sequence[str]) -> SystemScores:
        """The scores of some systems, in the given order."""
        by_name = dict(zip(self.systems, self.scores, strict=True))
        unknown = [name for name in systems if name not in by_name]
        if unknown:
            msg = f"no scores of {self.metric!r} for system {unknown[0]!r}; systems: {', '.join(self.systems)}"
            raise InputError(msg)
        return replace(self, scores=replace(self.scores, scores=tuple(by_name[name] for name in systems)))


def _check_alike(metric: str, scores: Sequence[Score], systems: Sequence[str]) -> None:
    """Check that scores have distinct systems, the same segments and the same main component."""
    if len(scores) > 1 and any(score.system is None for score in scores):
        msg = f"a score of {metric!r} has no system name; give one: score(..., system=NAME)"
        raise InputError(msg)
    twice = [name for name, times in Counter(systems).items() if times > 1]
    if twice:
        msg = f"scores of {metric!r}: two systems are called {twice[0]!r}; rename one"
        raise InputError(msg)
    recipes: dict[str, list[Score]] = {}
    for score in scores:
        recipes.setdefault(score.signature.recipe_part, []).append(score)
    check_recipes(metric, list(recipes.values()))
    if len({(score.main, score.higher_is_better) for score in scores}) > 1:
        msg = f"scores of {metric!r} differ in their main component or in whether higher is better"
        raise InputError(msg)
    for name, score in zip(systems, scores, strict=True):
        if len(score) != len(scores[0]):
            msg = (
                f"scores of {metric!r}: system {systems[0]!r} has {len(scores[0])} instances, system {name!r} has "
                f"{len(score)}; all systems must be scored on the same instances"
            )
            raise InputError(msg)


def _check_values(view: SystemScores) -> None:
    """Check that scores and their squares are finite."""
    values, sizes = view.values, np.abs(view.values)
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        row, column = map(int, bad[0])
        more = f", and {len(bad) - 1} more scores are not finite numbers" if len(bad) > 1 else ""
        msg = (
            f"scores of {view.metric!r}: system {view.systems[column]!r} has {float(values[row, column])!r} for "
            f"instance {view.instances[row]!r}{more}; all systems need a score for every instance, so leave such "
            "instances out for all of them"
        )
        raise InputError(msg)
    row, column = (int(index) for index in np.unravel_index(int(sizes.argmax()), sizes.shape))
    if sizes[row, column] and not _SMALLEST <= sizes[row, column] <= _LARGEST:
        msg = (
            f"scores of {view.metric!r}: the largest is {float(values[row, column])!r}, of system "
            f"{view.systems[column]!r} for instance {view.instances[row]!r}; sizes from {_SMALLEST:g} to "
            f"{_LARGEST:g} can be compared, so scale all scores of the metric"
        )
        raise InputError(msg)


#: What can be compared: results of nlgauge, views of them, or by metric and system the scores of the instances.
Scores: TypeAlias = Sequence[Score] | Sequence[SystemScores] | Mapping[str, Mapping[str, Sequence[float]]]


def score_tables(scores: Scores) -> list[SystemScores]:
    """One view per metric, all of the same systems and instances."""
    if isinstance(scores, Mapping):
        views = [SystemScores(ScoreTable.from_numbers(metric, systems)) for metric, systems in scores.items()]
    else:
        if not isinstance(scores, Sequence | ScoreTable) or isinstance(scores, str | bytes):
            msg = (
                "scores must be results of nlgauge.score_systems, SystemScores objects, or a mapping of numbers by "
                f"metric and system, got {scores!r}"
            )
            raise InputError(msg)
        views = [item for item in scores if isinstance(item, SystemScores)]
        results = [item for item in scores if isinstance(item, Score)]
        if len(views) + len(results) != len(scores):
            strange = next(item for item in scores if not isinstance(item, SystemScores | Score))
            msg = f"expected Score or SystemScores objects, or a mapping, got {type(strange).__name__}"
            raise InputError(msg)
        views += system_scores(results)
    if not views:
        msg = "expected at least one score to compare, got none"
        raise InputError(msg)
    return _in_one_order(views)


def system_scores(scores: Sequence[Score], *, documents: Sequence[str] | None = None) -> list[SystemScores]:
    """Views of results of nlgauge, one per recipe: the main component of every system.

    Two results are compared only if the recipe parts of their signatures are equal. `documents` names the
    document of each segment.
    """
    recipes: dict[str, list[Score]] = {}
    for score in scores:
        recipes.setdefault(score.signature.recipe_part, []).append(score)
    by_metric: dict[str, list[list[Score]]] = {}
    for group in recipes.values():
        by_metric.setdefault(group[0].metric, []).append(group)
    for metric, groups in by_metric.items():
        check_recipes(metric, groups)
    views = []
    for group in recipes.values():
        metric, groups = group[0].metric, by_metric[group[0].metric]
        name = metric if len(groups) == 1 else f"{metric} ({groups.index(group) + 1})"
        _check_texts(name, group)
        names = None if documents is None else tuple(documents)
        views.append(SystemScores(ScoreTable(tuple(group)), name, documents=names))
    return views


def _check_texts(metric: str, scores: Sequence[Score]) -> None:
    """Check that results with texts were scored against the same ones; equal counts of segments prove nothing."""
    origins = [(score.system, score.origin.corpus) for score in scores if score.origin is not None]
    for name, corpus in origins[1:]:
        first_name, first = origins[0]
        for what, expected, texts in (
            ("references", first.references, corpus.references),
            ("sources", first.sources or (), corpus.sources or ()),
        ):
            if expected is texts or list(expected) == list(texts) or len(expected) != len(texts):
                continue  # different lengths are reported elsewhere
            segment = next(i for i, pair in enumerate(zip(expected, texts, strict=True)) if pair[0] != pair[1])
            msg = (
                f"{metric!r} of {first_name!r} and of {name!r} was scored against different {what}: segment "
                f"{segment} has {expected[segment]!r} and {texts[segment]!r}; score all systems on the same texts"
            )
            raise InputError(msg)


def _in_one_order(views: list[SystemScores]) -> list[SystemScores]:
    """Order the systems of all views like those of the first; systems and numbers of instances must be equal."""
    first = views[0]
    seen: set[str] = set()
    for view in views:
        if view.metric in seen:
            msg = f"two tables of scores have the metric {view.metric!r}; rename one"
            raise InputError(msg)
        seen.add(view.metric)
        missing = set(first.systems) ^ set(view.systems)
        if missing:
            name = sorted(missing)[0]
            has, lacks = (view, first) if name in view.systems else (first, view)
            systems = {system for other in views for system in other.systems}
            if any(set(other.systems) == systems for other in views):
                fix = f"score it with {lacks.metric!r} too, or compare only metrics that all systems have (metric=)"
            else:
                fix = (
                    f"the systems have no metric in common, so score them all with {lacks.metric!r} or {has.metric!r}"
                )
            msg = f"system {name!r} has scores of {has.metric!r} but none of {lacks.metric!r}; {fix}"
            raise InputError(msg)
        if view.n != first.n:
            msg = (
                f"{first.metric!r} has {first.n} instances, {view.metric!r} has {view.n}; all "
                "metrics need the same instances"
            )
            raise InputError(msg)
    return [view if view.systems == first.systems else view.take(first.systems) for view in views]


def imported_tables(
    imported: Sequence[ImportedScores],
    *,
    beside: Sequence[SystemScores] = (),
    documents: Sequence[str] | None = None,
) -> list[SystemScores]:
    """Scores of other tools, for the systems and segments of `beside`, or else of the first file."""
    if beside:
        first = beside[0]
        names = first.documents if documents is None else documents
        return [imported_table(table, systems=first.systems, segments=first.n, documents=names) for table in imported]
    aligned = [in_line_with(imported[0], table) for table in imported]
    if documents is None:
        documents = next((table.documents for table in aligned if table.documents is not None), None)
    return [imported_table(table, systems=imported[0].systems, documents=documents) for table in aligned]


def imported_table(
    imported: ImportedScores,
    *,
    systems: Sequence[str] | None = None,
    segments: int | None = None,
    documents: Sequence[str] | None = None,
) -> SystemScores:
    """The scores of these systems on so many segments; documents of the caller come before the file's.

    Segments are matched by position: files of other tools do not name them.
    """
    n = len(imported.instances)
    if segments is not None and n != segments:
        msg = (
            f"{imported.file} has scores of {n} segments under {imported.metric}, but there are {segments} segments "
            "to compare"
        )
        raise InputError(msg)
    by_name = dict(zip(imported.systems, imported.scores, strict=True))
    names = imported.systems if systems is None else systems
    table = ScoreTable(tuple(replace(by_name[match_system(name, imported)], system=name) for name in names))
    named = imported.documents if documents is None else tuple(documents)
    return SystemScores(table, instances=imported.instances, documents=named)


def in_line_with(first: ImportedScores, other: ImportedScores) -> ImportedScores:
    """The other file's scores in the order of the first file's instances; both must have the same instances."""
    for file, names, here in ((other, first.instances, other.instances), (first, other.instances, first.instances)):
        missing = next((name for name in names if name not in set(here)), None)
        if missing is not None:
            msg = f"{file.file} lacks segment {missing!r}, which {(first if file is other else other).file} has"
            raise InputError(msg)
    places = {name: place for place, name in enumerate(other.instances)}
    return other.take([places[name] for name in first.instances])


def match_system(name: str, imported: ImportedScores) -> str:
    """Find the file's name of a system: equal, without folder, or without folder and suffix."""
    for shorten in (str, lambda path: PurePath(path).name, lambda path: PurePath(path).name.split(".")[0]):
        matches = [other for other in imported.systems if shorten(other) == shorten(name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            msg = f"{imported.file}: {matches[0]!r} and {matches[1]!r} could both be the system {name!r}"
            raise InputError(msg)
    msg = (
        f"{imported.file} has scores of {', '.join(map(repr, imported.systems))}, but none of system {name!r}; "
        "name its columns after the systems, or the systems after its columns (NAME=FILE)"
    )
    raise InputError(msg)


#: Fields of the run part that every score of a run depends on.
_SHARED_BY_A_RUN = ("range",)


def join_runs(runs: Mapping[str, ScoreTable], *, other_versions: bool = False) -> ScoreTable:
    """The scores of runs by the name of their file, in one table, each system under a name of its own.

    A system without a name is called by its file, and so are systems of one name in several files. Scores of one
    metric must have one recipe; with `other_versions` they may differ in the versions of what computed them.
    """
    _check_digests(runs)
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
    """Add the score to the group of its recipe; `other_versions` accepts another version, with a warning."""
    for group in groups:
        first = group[0]
        differences = _recipe_differences(first, score)
        if not differences:
            group.append(score)
            return
        if other_versions and _only_versions(differences):
            systems = f"{score.metric} of {first.system!r} and {score.system!r}"
            msg = f"{systems} was computed by different versions: {_format_differences(differences)}"
            warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
            signature = Signature(score.metric, first.signature.recipe, score.signature.run)
            group.append(replace(score, signature=signature))
            return
    groups.append([score])


def check_recipes(metric: str, recipes: Sequence[Sequence[Score]]) -> None:
    """Refuse recipes of a metric that only some systems have; recipes that all have are separate metrics."""
    systems = [{score.system for score in group} for group in recipes]
    for group, names in zip(recipes, systems, strict=True):
        if names == systems[0]:
            continue
        first, second = recipes[0][0], group[0]
        differences = _recipe_differences(first, second)
        fix = (
            "only versions differ: continue with other_versions=True (--other-versions)"
            if _only_versions(differences)
            else "score the systems with one recipe"
        )
        msg = (
            f"{metric} of {first.system!r} and of {second.system!r} do not compare, because their signatures differ: "
            f"{_format_differences(differences)}; {fix}"
        )
        raise SignatureError(msg)


def _recipe_differences(first: Score, second: Score) -> list[FieldDifference]:
    return [field for field in first.signature.difference(second.signature) if field.part == "recipe"]


def _only_versions(differences: Sequence[FieldDifference]) -> bool:
    return all(
        field.field in VERSION_FIELDS and field.left and field.right and not field.of_precision
        for field in differences
    )


def _format_differences(differences: Sequence[FieldDifference]) -> str:
    return "; ".join(f"{row.key} {row.left or '(absent)'} and {row.right or '(absent)'}" for row in differences)


def _check_run(metric: str, group: Sequence[Score]) -> None:
    first = group[0]
    for score in group:
        for key in _SHARED_BY_A_RUN:
            expected, value = first.signature.run.get(key), score.signature.run.get(key)
            if expected != value:
                msg = (
                    f"{metric} of {first.system!r} and of {score.system!r} do not compare: each was scaled over its "
                    f"own run ({key} {expected} and {value}); score them in one run, or with frozen bounds"
                )
                raise SignatureError(msg)


def _check_digests(runs: Mapping[str, ScoreTable]) -> None:
    """Refuse runs on different test sets, which may have equal numbers of segments."""
    digests: dict[str, tuple[str, str]] = {}
    for file, run in runs.items():
        for what, digest in run.texts.items():
            other, expected = digests.setdefault(what, (file, digest))
            if digest != expected:
                msg = (
                    f"{other!r} and {file!r} were scored against different {what} (sha256 {short_digest(expected)} "
                    f"and {short_digest(digest)}), so their systems do not compare"
                )
                raise InputError(msg)


def _system_names(runs: Mapping[str, ScoreTable]) -> dict[tuple[str, str | None], str]:
    """Names in the comparison by file and system: the system's own, unless it is missing or not unique."""
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
