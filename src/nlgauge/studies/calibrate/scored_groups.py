"""Metric scores and human scores of the systems of a data set, by language pair.

All systems of a language pair are scored on the same segments: all of them, or a sample that depends only on the
seed and the language pair. Systems that are people are left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.run_options import RunOptions
from nlgauge.core.scoring import AnyMetric, metric_text, recipes_and_run
from nlgauge.core.signature import Signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError
from nlgauge.stats.numeric import Vector, orient
from nlgauge.studies.meta.row_scores import RowScores
from nlgauge.studies.meta.score_judgements import score_judgements

#: Fewest segments that all systems of a language pair must share.
_LEAST_SEGMENTS = 10


@dataclass(frozen=True, eq=False)
class ScoredGroup:
    """The systems of one data set and language pair under one metric; higher scores are better."""

    metric: str
    data: str
    """Name of the data set, such as `wmt17`."""
    langpair: str
    systems: tuple[str, ...]
    human: Vector
    """Human score of each system."""
    scores: Vector
    """System score of the metric: a mean over segments, or a corpus score."""
    segments: NDArray[np.float64]
    """Segment scores: systems x segments."""
    signature: Signature

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Indices of the first and second system of each pair."""
        first, second = np.triu_indices(len(self.systems), 1)
        return first, second


def score_groups(
    table: JudgementTable,
    metrics: Sequence[AnyMetric],
    *,
    segments: int | None = None,
    references: int | None = None,
    criterion: str | None = None,
    seed: int = 12345,
    run: RunOptions | None = None,
) -> list[ScoredGroup]:
    """Score the systems of a data set: a group per metric and language pair.

    Args:
        table: Outputs of systems, with scores of systems or of outputs by human raters.
        metrics: Metrics with their options.
        segments: Number of segments to draw for each language pair; all by default.
        references: Number of references to use, the first ones; all by default.
        criterion: Human rating, averaged over a system's outputs; by default that of the data set.
        seed: Seed of the sample.
        run: How the metrics are computed.
    """
    table = table.without_humans() if table.human_systems else table
    if references is not None:
        table = replace(table, references=tuple(group[:references] for group in table.references))
    groups = []
    for langpair in table.langpairs:
        part, grid = _take_grid(table.where(langpair=langpair), segments, seed)
        human = _human_scores(part, langpair, grid, criterion)
        judged = np.flatnonzero(np.isfinite(human))
        scored = score_judgements(part, list(metrics), run=run)
        for metric, scores in zip(metrics, scored.metrics, strict=True):
            groups.append(_group(metric_text(metric), part, langpair, grid, human, scores, judged))
    return groups


def recipe_texts(metrics: Sequence[AnyMetric]) -> list[str]:
    """Check metrics before anything is loaded; their texts."""
    recipes_and_run(list(metrics), {})
    return [metric_text(metric) for metric in metrics]


def _group(
    name: str,
    table: JudgementTable,
    langpair: str,
    grid: NDArray[np.intp],
    human: Vector,
    scores: RowScores,
    judged: NDArray[np.intp],
) -> ScoredGroup:
    matrix = scores.oriented[grid]
    systems = [table.system[row] for row in grid[:, 0]]
    corpus = scores.corpus
    totals = np.asarray(
        [
            orient(np.array([corpus[langpair, system]]), higher_is_better=scores.higher_is_better)[0]
            if (langpair, system) in corpus
            else row.mean()
            for system, row in zip(systems, matrix, strict=True)
        ]
    )
    return ScoredGroup(
        metric=name,
        data=table.name,
        langpair=langpair,
        systems=tuple(systems[index] for index in judged),
        human=human[judged],
        scores=totals[judged],
        segments=matrix[judged],
        signature=scores.parts[0].score.signature,
    )


def _take_grid(table: JudgementTable, count: int | None, seed: int) -> tuple[JudgementTable, NDArray[np.intp]]:
    """Rows of segments that all systems have; systems x segments of row numbers in the new table."""
    rows = {(system, segment): i for i, (system, segment) in enumerate(zip(table.system, table.segment, strict=True))}
    systems = table.systems
    shared = [
        segment for segment in dict.fromkeys(table.segment) if all((system, segment) in rows for system in systems)
    ]
    if len(systems) < 2 or len(shared) < _LEAST_SEGMENTS:
        msg = (
            f"{table.name} {table.langpairs[0]}: a curve needs 2 systems with {_LEAST_SEGMENTS} segments in common, "
            f"got {len(systems)} and {len(shared)}; choose complete system outputs (--set level=system)"
        )
        raise InputError(msg)
    if count is not None and count < len(shared):
        # The sample of a language pair does not depend on which others are scored.
        random = np.random.default_rng([seed, zlib.crc32(table.langpairs[0].encode())])
        drawn = np.sort(random.choice(len(shared), size=count, replace=False))
        shared = [shared[index] for index in drawn]
    chosen = [rows[system, segment] for system in systems for segment in shared]
    taken = replace(table.take(chosen), files=None)
    return taken, np.arange(len(chosen), dtype=np.intp).reshape(len(systems), len(shared))


def _human_scores(table: JudgementTable, langpair: str, grid: NDArray[np.intp], criterion: str | None) -> Vector:
    """Human score of each system; nan for systems without one."""
    official = table.system_scores.get(langpair)
    if criterion is None and official:
        names = [table.system[row] for row in grid[:, 0]]
        return np.asarray([official.get(name, np.nan) for name in names], dtype=np.float64)
    gold = np.asarray(table.gold(criterion), dtype=np.float64)[grid]
    judged = np.isfinite(gold)
    counts = judged.sum(axis=1)
    sums = np.where(judged, gold, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(gold), np.nan), where=counts > 0))
