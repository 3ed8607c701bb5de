"""How well metrics agree with people on a data set: one table per question.

    level     segment   every judged row on its own
              topic     systems of one topic (document, item) against each other, averaged over topics
              system    systems against each other
    agreement pearson, spearman, kendall          correlation
              acc-eq                              pairs of systems ordered as people do, ties calibrated (topic level)
              differences                         Pearson of differences within an item (topic level)
              spa                                 soft pairwise accuracy (system level)

Language pairs are averaged without weights, as published. A metric that no other one beats significantly is marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.data import JudgementTable
from nlgauge.errors import InputError
from nlgauge.meta.difference_correlation import pairwise_difference_pearson
from nlgauge.meta.levels import aggregated
from nlgauge.meta.metric_scores import Matrix, MetricScores, distinct_names
from nlgauge.meta.question import Significance, check_question
from nlgauge.meta.ranks import compare_metrics
from nlgauge.meta.score_table import RowScores, ScoredTable
from nlgauge.meta.soft_accuracy import soft_pairwise_accuracies
from nlgauge.meta.tie_accuracy import tie_calibrated_accuracy
from nlgauge.meta.tie_comparison import compare_tie_accuracies
from nlgauge.stats import bootstrap_correlations, bootstrap_mean, correlate

__all__ = ["Agreement", "Cell", "evaluate"]

#: Lines and columns of rows in a matrix of systems x topics.
_Place: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Cell:
    """One metric on one language pair."""

    value: float
    low: float = float("nan")
    high: float = float("nan")
    unbeaten: bool = False
    """No other metric is significantly better here."""
    rank: int | None = None
    count: int = 0
    """Judgements, or systems, behind the value."""
    note: str = ""
    """Why there is no value, or what belongs beside it (a tie threshold, a chance level)."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """A table of metrics x language pairs."""

    data: str
    criterion: str
    level: str
    agreement: str
    langpairs: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Cell]]
    """By metric, then by language pair."""
    signatures: Mapping[str, Mapping[str, str]]
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def averages(self) -> dict[str, float]:
        """Unweighted mean over language pairs; nan for a metric that lacks one."""
        return {
            name: float(np.mean([row[pair].value for pair in self.langpairs])) for name, row in self.cells.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; a value that does not exist is None."""
        return {
            "data": self.data,
            "criterion": self.criterion,
            "level": self.level,
            "agreement": self.agreement,
            "langpairs": list(self.langpairs),
            "metrics": [
                {
                    "metric": name,
                    "average": _plain(self.averages[name]),
                    "by_langpair": {
                        pair: {key: _plain(value) for key, value in vars(cell).items()} for pair, cell in row.items()
                    },
                    "signatures": dict(self.signatures.get(name, {})),
                }
                for name, row in self.cells.items()
            ],
            "notes": list(self.notes),
            "options": dict(self.options),
        }


def evaluate(
    scored: ScoredTable,
    *,
    level: Literal["segment", "topic", "system"] = "segment",
    agreement: str = "pearson",
    criterion: str | None = None,
    aggregate: Literal["mean", "median"] = "mean",
    significance: Significance | None = None,
) -> Agreement:
    """The agreement of each metric with people, per language pair, with intervals and significance."""
    table = scored.table
    distinct_names([MetricScores(metric.name, metric.values[None, :]) for metric in scored.metrics])
    significance = check_question(
        table, level, agreement, criterion=criterion, aggregate=aggregate, significance=significance
    )
    cells: dict[str, dict[str, Cell]] = {metric.name: {} for metric in scored.metrics}
    for langpair in table.langpairs:
        rows = np.array([at for at, pair in enumerate(table.langpair) if pair == langpair], dtype=np.intp)
        if level == "system":
            found = _systems(scored, langpair, rows, agreement, criterion, aggregate, significance)
        else:
            found = _rows(scored, rows, level, agreement, criterion, significance)
        for name, cell in found.items():
            cells[name][langpair] = cell
    name = criterion or table.default_criterion or "official system scores"
    return Agreement(
        table.name,
        name,
        level,
        agreement,
        table.langpairs,
        cells,
        {metric.name: metric.signatures for metric in scored.metrics},
        table.notes,
        {"aggregate": aggregate, **asdict(significance)},
    )


def _rows(
    scored: ScoredTable,
    rows: NDArray[np.intp],
    level: str,
    agreement: str,
    criterion: str | None,
    significance: Significance,
) -> dict[str, Cell]:
    gold = scored.table.gold(criterion)[rows]
    if level == "segment":
        human, place = gold[None, :], None
    else:
        place, shape = _places(scored.table, rows)
        human = np.full(shape, np.nan)
        human[place] = gold
    metrics = [_matrix(metric, rows, human.shape, place) for metric in scored.metrics]
    if agreement == "acc-eq":
        return _tie_accuracies(metrics, human, significance)
    if agreement == "differences":
        found = {metric.name: pairwise_difference_pearson(metric, human, undefined="nan") for metric in metrics}
        return {name: Cell(one.value, count=one.pairs, note=one.reason or "") for name, one in found.items()}
    tested = significance.test != "none"
    comparison = compare_metrics(
        metrics,
        human,
        level="segment" if place is None else "item",
        kind=agreement,
        test="permutation" if not tested else significance.test,  # type: ignore[arg-type]  # resolved above
        undefined="leave out",
        **(significance.pairs if tested else {"resamples": 1}),
    )
    cells = {name: Cell(float("nan"), note=why) for name, why in comparison.left_out.items()}
    kept = [metric for metric in metrics if metric.name in comparison.names]
    draw = _intervals if place is None else _topic_intervals
    intervals = draw(kept, human, agreement, significance)
    for at, name in enumerate(comparison.names):
        cells[name] = Cell(
            float(comparison.correlations[at]),
            *intervals.get(name, (float("nan"), float("nan"))),
            unbeaten=tested and comparison.unbeaten[at],
            rank=comparison.ranks[at] if tested else None,
            count=int((~np.isnan(human)).sum()),
        )
    return cells


def _places(
    table: JudgementTable, rows: NDArray[np.intp]
) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], tuple[int, int]]:
    """Where rows stand in a matrix of systems x topics."""
    topics = table.topic if table.topic is not None else table.segment
    columns = {topic: number for number, topic in enumerate(dict.fromkeys(topics[at] for at in rows))}
    lines = {system: number for number, system in enumerate(dict.fromkeys(table.system[at] for at in rows))}
    place = (
        np.array([lines[table.system[at]] for at in rows], dtype=np.intp),
        np.array([columns[topics[at]] for at in rows], dtype=np.intp),
    )
    if len(set(zip(*map(list, place), strict=True))) != len(rows):
        msg = (
            f"{table.name}: a system has several rows of one topic, so there is no matrix of systems x topics; "
            "use level 'segment'"
        )
        raise InputError(msg)
    if len(lines) < 2:
        msg = f"{table.name} does not say which systems its rows are of, so only level 'segment' is defined"
        raise InputError(msg)
    return place, (len(lines), len(columns))


def _matrix(
    metric: RowScores,
    rows: NDArray[np.intp],
    shape: tuple[int, ...],
    place: _Place | None,
) -> MetricScores:
    values = metric.values[rows]
    if place is None:
        return MetricScores(metric.name, values[None, :], metric.higher_is_better)
    matrix = np.full(shape, np.nan)
    matrix[place] = values
    return MetricScores(metric.name, matrix, metric.higher_is_better)


def _intervals(
    metrics: Sequence[MetricScores], human: Matrix, kind: str, significance: Significance
) -> dict[str, tuple[float, float]]:
    judged = ~np.isnan(human)
    if not metrics:
        return {}
    table = np.stack([metric.oriented[judged] for metric in metrics])
    drawn = bootstrap_correlations(table, human[judged], kind=kind, **significance.draws)
    intervals = [drawn.interval(at) for at in range(len(metrics))]
    return {metric.name: (one.low, one.high) for metric, one in zip(metrics, intervals, strict=True)}


def _topic_intervals(
    metrics: Sequence[MetricScores], human: Matrix, kind: str, significance: Significance
) -> dict[str, tuple[float, float]]:
    """Topics are what is drawn; those without a correlation are left out, as in the mean."""
    found = {}
    for metric in metrics:
        values = []
        for ours, theirs in zip(metric.oriented.T, human.T, strict=True):
            judged = ~np.isnan(theirs)
            if judged.sum() > 1:
                value = correlate(ours[judged], theirs[judged], kind=kind, undefined="nan").value
                values += [value] if np.isfinite(value) else []
        one = bootstrap_mean(values, **significance.draws)
        found[metric.name] = (one.low, one.high)
    return found


def _tie_accuracies(metrics: Sequence[MetricScores], human: Matrix, significance: Significance) -> dict[str, Cell]:
    found = {metric.name: tie_calibrated_accuracy(metric, human) for metric in metrics}
    compared = None
    if significance.test != "none" and len(metrics) > 1:
        compared = compare_tie_accuracies(metrics, human, **significance.pairs).comparison
    cells = {}
    for name, one in found.items():
        at = None if compared is None else compared.names.index(name)
        cells[name] = Cell(
            one.value,
            unbeaten=compared is not None and at is not None and compared.unbeaten[at],
            rank=None if compared is None or at is None else compared.ranks[at],
            count=one.pairs,
            note=f"epsilon {one.epsilon:.4g}, chance {one.chance:.3f}",
        )
    return cells


def _systems(
    scored: ScoredTable,
    langpair: str,
    rows: NDArray[np.intp],
    agreement: str,
    criterion: str | None,
    aggregate: str,
    significance: Significance,
) -> dict[str, Cell]:
    """People's side is the official score of a system where there is one, never a mean of its segments then."""
    table = scored.table
    official = table.system_scores.get(langpair) if criterion is None else None
    place, shape = _places(table, rows)
    matrices = [_matrix(metric, rows, shape, place) for metric in scored.metrics]
    if agreement == "spa" or official is None:
        human = np.full(shape, np.nan)
        human[place] = table.gold(criterion)[rows]
    if agreement == "spa":
        found = soft_pairwise_accuracies(matrices, human, undefined="nan", **significance.draws)
        return {one.metric: Cell(one.value, count=one.pairs, note=one.reason or "") for one in found}
    systems = list(dict.fromkeys(table.system[at] for at in rows))
    if official is not None:
        kept = np.array([at for at, system in enumerate(systems) if system in official], dtype=np.intp)
        gold = np.array([official[systems[at]] for at in kept])
    else:
        kept = np.flatnonzero(~np.isnan(human).all(axis=1))
        gold = np.array([np.nanmean(human[at]) for at in kept])
    vectors = {
        metric.name: _system_values(metric, matrix, langpair, systems, kept, aggregate)
        for metric, matrix in zip(scored.metrics, matrices, strict=True)
    }
    return _compared_systems(vectors, gold, agreement, significance)


def _system_values(
    metric: RowScores,
    matrix: MetricScores,
    langpair: str,
    systems: Sequence[str],
    kept: NDArray[np.intp],
    aggregate: str,
) -> NDArray[np.float64]:
    """A score per system, higher is better: that of the whole corpus for metrics that have one, else the mean."""
    if aggregate == "mean" and metric.corpus:
        whole = [metric.corpus.get((langpair, systems[at]), np.nan) for at in kept]
        return (1 if metric.higher_is_better else -1) * np.array(whole)
    values: NDArray[np.float64] = aggregated(matrix.oriented[kept], aggregate)
    return values


def _compared_systems(
    vectors: Mapping[str, NDArray[np.float64]], gold: NDArray[np.float64], kind: str, significance: Significance
) -> dict[str, Cell]:
    found = {name: correlate(values, gold, kind=kind, undefined="nan") for name, values in vectors.items()}
    cells = {name: Cell(one.value, count=len(gold), note=one.reason or "") for name, one in found.items()}
    names = [name for name, cell in cells.items() if np.isfinite(cell.value)]
    if len(gold) < 4:
        return cells
    kept = [MetricScores(name, vectors[name][None, :]) for name in names]
    for name, (low, high) in _intervals(kept, gold[None, :], kind, significance).items():
        cells[name] = replace(cells[name], low=low, high=high)
    if significance.test == "none" or len(names) < 2:
        return cells
    compared = compare_metrics(
        kept,
        gold[None, :],
        level="segment",  # one score per system: systems are what is drawn
        kind=kind,
        test=significance.test,  # type: ignore[arg-type]  # resolved above
        undefined="leave out",
        **significance.pairs,
    )
    for at, name in enumerate(compared.names):
        cells[name] = replace(cells[name], unbeaten=compared.unbeaten[at], rank=compared.ranks[at])
    return cells


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
