"""Scores of metrics in one orientation: higher is better. Scores of other tools can be rows next to ours.

    MetricValues      what one metric gave: to the rows of a table, or to systems x segments
    ScoredJudgements  a judgement table with the scores of its rows by several metrics

Human scores are higher for better outputs; `oriented` negates a distance, so that no correlation is negated, or made
absolute, later on. Functions of this folder that compare with human scores of systems x segments take scores of the
same shape; nan means that nobody judged that output.

A file of another tool names the outputs that it scores by columns `system` and `segment` (and `langpair`), or it has
a row for each row of the table, in their order. Files are those of `nlgauge.data.score_files`, without a full grid.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nlgauge.data.judgements import UNKNOWN_SYSTEM, JudgementTable
from nlgauge.data.score_files import ScoreSpec, find_roles, metric_name, read_score_rows, score_columns, signed
from nlgauge.errors import FileFormatError, InputError, NlgaugeError, NlgaugeWarning, RecipeError, user_stacklevel
from nlgauge.io.formats import HtmlCell, html_table
from nlgauge.io.lines import read_bytes
from nlgauge.io.tables import Row
from nlgauge.stats.numeric import orient
from nlgauge.stats.validation import numbers

Matrix: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class MetricValues:
    """What one metric gave to every output; nan where there was no output to score.

    >>> MetricValues("wmd", [[0.2, 0.4]], higher_is_better=False).oriented.tolist()
    [[-0.2, -0.4]]
    """

    name: str
    values: Matrix
    """One per row of a table, or systems x segments; as the metric gave them."""
    higher_is_better: bool = True
    signature: str = ""
    components: Mapping[str, Matrix] = field(default_factory=dict)
    """All components of the metric, of which `values` is the main one."""
    distances: frozenset[str] = frozenset()
    """Components that are better when they are lower, beside a main component that is not one of them."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """Recipe part of the signature by language pair; one text where idf makes no difference between systems."""
    corpus: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Score of the whole system by language pair and system, for metrics (BLEU) whose score is no mean."""
    failed: Mapping[str, NlgaugeError] = field(default_factory=dict)
    """Why there are no scores (all nan), by language pair."""

    def __post_init__(self) -> None:
        values = numbers(self.values, f"scores of {self.name!r}").copy()
        if values.ndim not in (1, 2) or values.size == 0:
            msg = f"scores of {self.name!r} must be those of rows, or systems x segments, got shape {values.shape}"
            raise InputError(msg)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.values.shape))
        return f"<MetricValues {self.name}: {shape}{'' if self.higher_is_better else ', lower is better'}>"

    @property
    def oriented(self) -> Matrix:
        """The scores with higher meaning better: a distance is negated."""
        return orient(self.values, higher_is_better=self.higher_is_better)

    def component(self, name: str) -> MetricValues:
        """The same scores with another component standing for the metric: `scores.component("recall")`."""
        if name not in self.components:
            msg = f"{self.name} has no component {name!r}; it has {', '.join(self.components)}"
            raise RecipeError(msg)
        return replace(
            self,
            name=f"{self.name} {name}",
            values=self.components[name],
            higher_is_better=self.higher_is_better and name not in self.distances,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ScoredJudgements:
    """A judgement table with the scores of its rows: rows x metrics."""

    table: JudgementTable
    metrics: tuple[MetricValues, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", tuple(self.metrics))
        distinct_names(self.metrics)
        for metric in self.metrics:
            if metric.values.shape != (len(self.table),):
                msg = (
                    f"{metric.name!r} must have a score for each of the {len(self.table)} rows of {self.table.name}, "
                    f"got shape {metric.values.shape}"
                )
                raise InputError(msg)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<ScoredJudgements {self.table.name}: {len(self)} rows x {', '.join(self.names) or 'no metric'}>"

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = []
        for pair in self.table.langpairs:
            chosen = np.array([one == pair for one in self.table.langpair])
            for metric in self.metrics:
                found = metric.values[chosen & np.isfinite(metric.values)]
                spread = (float(found.mean()), float(found.std())) if len(found) else (None, None)
                better = "higher" if metric.higher_is_better else "lower"
                rows.append([pair, metric.name, better, len(found), *spread])
        columns = ["langpair", "metric", "better", "rows", "mean", "deviation"]
        return html_table(columns, rows, caption=repr(self)[1:-1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(metric.name for metric in self.metrics)

    def __getitem__(self, name: str) -> MetricValues:
        for metric in self.metrics:
            if metric.name == name:
                return metric
        msg = f"{self.table.name} has no scores of {name!r}; it has those of {', '.join(self.names) or 'no metric'}"
        raise RecipeError(msg)

    def add(self, *more: MetricValues) -> ScoredJudgements:
        """The same with further metrics; one whose name is taken is called `NAME (2)`."""
        kept = list(self.metrics)
        for metric in more:
            names = [one.name for one in kept]
            number = 2
            name = metric.name
            while name in names:
                name, number = f"{metric.name} ({number})", number + 1
            kept.append(replace(metric, name=name))
        return ScoredJudgements(self.table, tuple(kept))

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> ScoredJudgements:
        """The scores of some rows, by index."""
        table, index = self.table.take(rows), np.asarray(rows, dtype=np.intp).reshape(-1)
        kept = [
            replace(
                metric,
                values=metric.values[index],
                components={name: values[index] for name, values in metric.components.items()},
            )
            for metric in self.metrics
        ]
        return ScoredJudgements(table, tuple(kept))

    def by_system(self, metric: str, langpair: str) -> dict[str, dict[str, float]]:
        """Scores of a metric, higher is better: by system, the score of each of its segments in a language pair.

        Rows whose system is not known are left out.
        """
        found: dict[str, dict[str, float]] = {}
        for at, value in enumerate(self[metric].oriented):
            system = self.table.system[at]
            if self.table.langpair[at] == langpair and system != UNKNOWN_SYSTEM:
                found.setdefault(system, {})[self.table.segment[at]] = float(value)
        return found


def human_scores(human: ArrayLike) -> Matrix:
    """Human scores of systems x segments; nan where nobody judged."""
    gold = numbers(human, "human")
    if gold.ndim != 2 or gold.size == 0:
        msg = f"human scores must be systems x segments, got shape {gold.shape}"
        raise InputError(msg)
    bad = np.argwhere(np.isinf(gold))
    if bad.size:
        system, segment = bad[0]
        msg = f"human score of system {system}, segment {segment} is {float(gold[system, segment])!r}"
        raise InputError(msg)
    if np.isnan(gold).all():
        msg = "there is not a single human score"
        raise InputError(msg)
    return gold


def check_matrix(metric: MetricValues) -> Matrix:
    """The scores as the metric gave them, refused where they are not systems x segments."""
    if metric.values.ndim != 2:
        msg = f"scores of {metric.name!r} must be systems x segments, got shape {metric.values.shape}"
        raise InputError(msg)
    return metric.values


def check_scores(metric: MetricValues, needed: Mask) -> Matrix:
    """The oriented scores, finite wherever they are needed."""
    if metric.values.shape != needed.shape:
        msg = (
            f"scores of {metric.name!r} have shape {metric.values.shape}, human scores {needed.shape}; "
            "both must be systems x segments in the same order"
        )
        raise InputError(msg)
    bad = np.argwhere(needed & ~np.isfinite(metric.values))
    if bad.size:
        system, segment = bad[0]
        msg = (
            f"{metric.name!r} gives {float(metric.values[system, segment])!r} to system {system}, segment {segment} "
            f"({len(bad)} such score(s)); score these outputs, or leave them out of the human scores"
        )
        raise InputError(msg)
    return metric.oriented


def judged_systems(gold: Matrix) -> tuple[NDArray[np.intp], int]:
    """Segments on which every system was judged, and how many were not; an error where there is none."""
    complete = np.flatnonzero(~np.isnan(gold).any(axis=0))
    if not complete.size:
        msg = "no segment was judged for every system; leave out the systems that were not judged"
        raise InputError(msg)
    return complete, gold.shape[1] - complete.size


def distinct_names(metrics: Sequence[MetricValues]) -> tuple[str, ...]:
    """Names of the metrics, refused where two are the same."""
    names = tuple(metric.name for metric in metrics)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"two metrics are called {twice!r}; give each a name of its own"
        raise InputError(msg)
    return names


#: Language pair (empty where the file has none), system (likewise) and segment of a row.
Key = tuple[str, str, str]


def imported_rows(
    table: JudgementTable,
    specs: Sequence[str | os.PathLike[str]],
    *,
    columns: Mapping[str, str] | None = None,
    lower_is_better: Collection[str] = (),
) -> tuple[MetricValues, ...]:
    """The scores in files, one per metric, for the rows of a table; options are those of `read_score_file`.

    Every row of the table must have its score, and one only. Rows that the table has not are left out and counted.
    """
    found = [one for spec in specs for one in _read(table, os.fspath(spec), columns or {}, lower_is_better)]
    for name in lower_is_better:
        if name not in [one.name for one in found]:
            msg = (
                f"{name!r} is said to be better when lower, but it is none of {', '.join(one.name for one in found)}"
            )
            raise RecipeError(msg)
    return tuple(found)


def _read(
    table: JudgementTable, spec: str, columns: Mapping[str, str], lower_is_better: Collection[str]
) -> list[MetricValues]:
    named = ScoreSpec.parse(spec)
    data = read_bytes(named.path)
    rows = list(read_score_rows(named.path, data=data))
    roles = find_roles(rows[0], columns)
    if "metric" in roles:
        msg = f"{named.path}: scores of several metrics below each other; give each a column of its own"
        raise RecipeError(msg)
    chosen = named.columns or score_columns(rows[0], roles, named)
    places = _places(table, rows, roles, named.path)
    found = []
    for column in chosen:
        name = metric_name(column, chosen, named)
        signature = signed(name, data, lower_is_better)
        found.append(
            MetricValues(
                name,
                np.array([rows[at].number(column) for at in places]),
                name not in lower_is_better,
                signatures=dict.fromkeys(table.langpairs, str(signature)),
            )
        )
    return found


def _places(table: JudgementTable, rows: Sequence[Row], roles: Mapping[str, str], file: str) -> NDArray[np.intp]:
    """For each row of the table the row of the file that scores it."""
    if "segment" not in roles:
        if len(rows) != len(table):
            msg = f"{file}: {len(rows)} rows without a column of segments, but {table.name} has {len(table)} rows"
            raise FileFormatError(msg)
        return np.arange(len(rows))
    known: dict[Key, int] = {}
    for at, row in enumerate(rows):
        key = (_label(row, roles, "langpair"), _label(row, roles, "system"), row.label(roles["segment"]))
        if key in known:
            msg = f"{row.at()}: {_in_words(key)} has a score already ({rows[known[key]].where}); keep one"
            raise FileFormatError(msg)
        known[key] = at
    keys = [
        (langpair if "langpair" in roles else "", system if "system" in roles else "", segment)
        for langpair, system, segment in zip(table.langpair, table.system, table.segment, strict=True)
    ]
    missing = [key for key in keys if key not in known]
    if missing:
        more = f" and {len(missing) - 1} more rows" if len(missing) > 1 else ""
        msg = f"{file} has no score for {_in_words(missing[0])}{more} of {table.name}"
        raise InputError(msg)
    extra = len(known) - len(set(keys))
    if extra:
        msg = f"{file}: {extra} of {len(known)} scores are of outputs that {table.name} has not; they are left out"
        warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
    return np.array([known[key] for key in keys], dtype=np.intp)


def _label(row: Row, roles: Mapping[str, str], role: str) -> str:
    return row.label(roles[role]) if role in roles else ""


def _in_words(key: Key) -> str:
    langpair, system, segment = key
    return f"segment {segment!r}" + (f" of {system!r}" if system else "") + (f" ({langpair})" if langpair else "")
