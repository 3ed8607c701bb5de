"""Scores of several systems on the same instances under one metric: the input of every comparison.

An instance is what systems are compared on: a segment, a summary, a dialogue turn. Rows are instances, columns are
systems, and `oriented` negates a distance once, so that all later code may take higher for better. Scores of other
tools are aligned with the systems and segments of texts. Saved runs are joined; those that must not be compared are
refused with what differs. A budget file adds what was spent on each system.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import VERSION_FIELDS, FieldDifference, Signature
from nlgauge.data.score_files import ImportedTable, read_score_rows
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, SignatureError, user_stacklevel
from nlgauge.io.formats import HtmlCell, html_table
from nlgauge.io.storage import short_digest
from nlgauge.stats.numeric import orient
from nlgauge.stats.validation import numbers

Matrix = NDArray[np.float64]

#: Sizes whose squares, and sums of them, are neither infinite nor 0.
_SMALLEST, _LARGEST = 1e-100, 1e100


class CorpusStatistics(Protocol):
    """Counts behind a score of a whole corpus (BLEU, chrF): a resample of instances adds up other counts."""

    @property
    def counts(self) -> Matrix:
        """Instances x systems x counts."""

    def score(self, totals: Matrix) -> Matrix:
        """The corpus score for summed counts; the last axis of `totals` is that of the counts, and goes.

        The score is the metric's own (a distance stays one). Sums of a resample are whole numbers where the counts
        are; in approximate randomisation they are too.
        """

    def take(self, systems: Sequence[int]) -> CorpusStatistics:
        """The same of some systems, by number."""


@dataclass(frozen=True, eq=False, repr=False)
class SystemScores:
    """Scores of systems on the same instances, one metric; read-only.

    >>> scores = SystemScores("wer", ("old", "new"), [[0.5, 0.25], [0.75, 0.5]], higher_is_better=False)
    >>> scores.oriented.tolist()
    [[-0.5, -0.25], [-0.75, -0.5]]
    """

    metric: str
    systems: tuple[str, ...]
    values: Matrix
    """Instances x systems, as the metric gave them."""
    higher_is_better: bool = True
    signature: str = ""
    """Recipe part of the signature; of scores from a file what the file says, and its digest."""
    instances: tuple[str, ...] = ()
    """Names of the instances; their numbers from 0 where nothing names them."""
    documents: tuple[str, ...] | None = None
    """The document of each instance; instances of one document are not independent."""
    statistics: CorpusStatistics | None = None
    """Behind the score of a whole system, where it is no mean over instances."""

    def __post_init__(self) -> None:
        values = np.array(numbers(self.values, f"scores of {self.metric!r}"))
        if values.ndim != 2 or values.size == 0:
            msg = f"scores of {self.metric!r} must be instances x systems, got shape {values.shape}"
            raise InputError(msg)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "systems", tuple(map(str, self.systems)))
        object.__setattr__(self, "instances", tuple(map(str, self.instances)) or tuple(map(str, range(len(values)))))
        if self.documents is not None:
            object.__setattr__(self, "documents", tuple(map(str, self.documents)))
        self._check_names()
        self._check_values()

    def _check_names(self) -> None:
        if len(self.systems) != self.k:
            msg = f"scores of {self.metric!r} have {self.k} columns, but {len(self.systems)} systems are named"
            raise InputError(msg)
        twice = [name for name, times in Counter(self.systems).items() if times > 1]
        if twice:
            msg = f"scores of {self.metric!r}: two systems are called {twice[0]!r}; give each a name of its own"
            raise InputError(msg)
        for what, names in (("instances", self.instances), ("documents", self.documents)):
            if names is not None and len(names) != self.n:
                msg = f"scores of {self.metric!r} have {self.n} rows, but {len(names)} {what} are named"
                raise InputError(msg)
        counts = None if self.statistics is None else np.shape(self.statistics.counts)[:2]
        if counts is not None and counts != (self.n, self.k):
            msg = f"statistics of {self.metric!r} must be of {self.n} instances x {self.k} systems, got {counts}"
            raise InputError(msg)

    def _check_values(self) -> None:
        bad = np.argwhere(~np.isfinite(self.values))
        if not bad.size:
            self._check_sizes()
            return
        row, column = map(int, bad[0])
        more = f", and {len(bad) - 1} more scores are no finite numbers" if len(bad) > 1 else ""
        msg = (
            f"scores of {self.metric!r}: system {self.systems[column]!r} has {float(self.values[row, column])!r} for "
            f"instance {self.instances[row]!r}{more}; all systems need a score for every instance, so leave such "
            "instances out for all of them"
        )
        raise InputError(msg)

    def _check_sizes(self) -> None:
        """Scores are squared on the way; what is then no number any more is refused before."""
        sizes = np.abs(self.values)
        row, column = (int(at) for at in np.unravel_index(int(sizes.argmax()), sizes.shape))
        largest = float(sizes[row, column])
        if largest == 0 or _SMALLEST <= largest <= _LARGEST:
            return
        msg = (
            f"scores of {self.metric!r}: the largest is {float(self.values[row, column])!r}, of system "
            f"{self.systems[column]!r} for instance {self.instances[row]!r}; sizes from {_SMALLEST:g} to "
            f"{_LARGEST:g} can be compared, so scale all scores of the metric"
        )
        raise InputError(msg)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.values.shape))
        return f"<SystemScores {self.metric}: {shape}{'' if self.higher_is_better else ', lower is better'}>"

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = [
            [name, float(column.mean()), float(np.median(column)), float(column.min()), float(column.max())]
            for name, column in zip(self.systems, self.values.T, strict=True)
        ]
        columns = ["system", "mean", "median", "lowest", "highest"]
        return html_table(columns, rows, caption=repr(self)[1:-1], notes=[self.signature] if self.signature else [])

    @property
    def n(self) -> int:
        """How many instances."""
        return int(self.values.shape[0])

    @property
    def k(self) -> int:
        """How many systems."""
        return int(self.values.shape[1])

    @property
    def oriented(self) -> Matrix:
        """The scores with higher meaning better: a distance is negated."""
        return orient(self.values, higher_is_better=self.higher_is_better)

    def take(self, systems: Sequence[str]) -> SystemScores:
        """The same of some systems, in the order asked for."""
        unknown = [name for name in systems if name not in self.systems]
        if unknown:
            msg = f"there are no scores of {self.metric!r} for system {unknown[0]!r}; there are {list(self.systems)}"
            raise InputError(msg)
        at = [self.systems.index(name) for name in systems]
        statistics = None if self.statistics is None else self.statistics.take(at)
        return replace(self, systems=tuple(systems), values=self.values[:, at], statistics=statistics)


def imported_tables(
    imported: Sequence[ImportedTable],
    *,
    beside: Sequence[SystemScores] = (),
    documents: Sequence[str] | None = None,
) -> list[SystemScores]:
    """Scores of other tools as tables of the same systems and segments: those `beside`, or those of the first."""
    if beside:
        first = beside[0]
        known = first.documents if documents is None else documents
        return [imported_table(one, systems=first.systems, segments=first.n, documents=known) for one in imported]
    aligned = [in_line_with(imported[0], one) for one in imported]
    if documents is None:
        documents = next((one.documents for one in aligned if one.documents is not None), None)
    return [imported_table(one, systems=imported[0].systems, documents=documents) for one in aligned]


def imported_table(
    imported: ImportedTable,
    *,
    systems: Sequence[str] | None = None,
    segments: int | None = None,
    documents: Sequence[str] | None = None,
) -> SystemScores:
    """The scores as a table of these systems on so many segments; documents of the caller come before the file's.

    Segments are those of the caller in their order: a file of another tool knows only their places.
    """
    table = SystemScores(
        imported.metric,
        imported.systems,
        imported.values,
        higher_is_better=imported.higher_is_better,
        signature=str(imported.signature),
        instances=imported.instances,
        documents=imported.documents if documents is None else tuple(documents),
    )
    if segments is not None and table.n != segments:
        msg = (
            f"{imported.file} has scores of {table.n} segments under {imported.metric}, but there are {segments} "
            "segments to compare"
        )
        raise InputError(msg)
    if systems is None:
        return table
    return replace(table.take(match_systems(systems, imported)), systems=tuple(systems))


def in_line_with(first: ImportedTable, other: ImportedTable) -> ImportedTable:
    """The other file's scores with its instances in the order of the first's; both must have the same."""
    there = {name: at for at, name in enumerate(other.instances)}
    if set(there) != set(first.instances):
        lacking, missing = next(
            (file, name)
            for file, names, others in (
                (other.file, first.instances, other.instances),
                (first.file, other.instances, first.instances),
            )
            for name in names
            if name not in set(others)
        )
        msg = f"{lacking} lacks segment {missing!r}, which {first.file if lacking == other.file else other.file} has"
        raise InputError(msg)
    at = [there[name] for name in first.instances]
    documents = None if other.documents is None else tuple(other.documents[place] for place in at)
    return replace(other, instances=first.instances, values=other.values[at], documents=documents)


def match_systems(systems: Sequence[str], imported: ImportedTable) -> list[str]:
    """What the file calls each of the systems: the same, without folder, or without folder and suffix."""
    return [_match(name, imported) for name in systems]


def _match(name: str, imported: ImportedTable) -> str:
    for short in (str, _without_folder, _stem):
        there = [other for other in imported.systems if short(other) == short(name)]
        if len(there) == 1:
            return there[0]
        if there:
            msg = f"{imported.file}: {there[0]!r} and {there[1]!r} could both be the system {name!r}"
            raise InputError(msg)
    msg = (
        f"{imported.file} has no scores of system {name!r} under {imported.metric}; it has "
        f"{', '.join(map(repr, imported.systems))}"
    )
    raise InputError(msg)


def _without_folder(name: str) -> str:
    return PurePath(name).name


def _stem(name: str) -> str:
    return PurePath(name).name.split(".")[0]


#: Fields of the run part that every score of a run depends on.
_SHARED_BY_A_RUN = ("range",)


def join_runs(runs: Mapping[str, ScoreTable], *, other_versions: bool = False) -> list[Score]:
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


def _check_texts(runs: Mapping[str, ScoreTable]) -> None:
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


def _system_names(runs: Mapping[str, ScoreTable]) -> dict[tuple[str, str | None], str]:
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


def _once(saved: ScoreTable) -> list[Score]:
    """One score of each metric and system; two recipes of a metric are no clash of names."""
    return list({(score.metric, score.system): score for score in saved.scores}.values())


def _file_labels(files: Sequence[str]) -> dict[str, str]:
    stems = [Path(file).name.removesuffix(".json") for file in files]
    return dict(zip(files, stems if len(set(stems)) == len(stems) else files, strict=True))


#: By system and by what is counted, such as {"big": {"GPU hours": 12, "parameters": "110M"}}.
Budgets = dict[str, dict[str, str | float]]


def read_budgets(path: str | os.PathLike[str], systems: Sequence[str]) -> Budgets:
    """The budgets of these systems; an empty cell is not known, and a system that is not there is an error."""
    name = os.fspath(path)
    found: Budgets = {}
    for row in read_score_rows(name):
        system = row.label("system")
        if system in found:
            msg = f"{row.at('system')}: the budget of {system!r} stands there already; keep one"
            raise FileFormatError(msg)
        if system not in systems:
            msg = f"{row.at('system')}: there is no system {system!r} to compare; there are {', '.join(systems)}"
            raise InputError(msg)
        values = {key: value for key, value in row.values.items() if key != "system" and value not in ("", None)}
        found[system] = {
            key: value if isinstance(value, int | float) else str(value) for key, value in values.items()
        }
    return found
