"""Mark the rows of a column that no other row significantly outperforms (bold in print), and compute intervals.

Papers that bold by a test name it: `test = "williams"` in a table. Williams' test compares Pearson correlations that
share the human judgements; WMT's tau of ranked pairs, for which it is not defined, is tested by the paired bootstrap,
as in those papers. Only computed rows are compared, so a row can be marked that a published row would outperform.

An average over language pairs has an interval: segments are resampled within each pair, and the average is taken in
each resample. Correlations over systems have none, because their few systems cannot be resampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nlgauge.stats.correlation import CorrelationDraws, bootstrap_correlations
from nlgauge.stats.counted_bootstrap import bootstrap_tau, pair_outcomes
from nlgauge.studies.meta.questions import BY_ROW, CORRELATIONS, judgements
from nlgauge.studies.meta.ranks import compare_metrics, unbeaten
from nlgauge.studies.meta.row_scores import RowScores
from nlgauge.studies.published.runs import JudgedRows
from nlgauge.studies.published.tables import Column

Vector = NDArray[np.float64]

#: Significance level of the marks, as in print.
ALPHA = 0.05
#: Resamples of bootstrap tests and intervals, and their seed.
RESAMPLES = 1000
SEED = 12345

#: Names of tests in the legend.
TESTS = {"williams": "Williams' test; paired bootstrap for tau", "bootstrap": "paired bootstrap"}


def best_rows(vectors: Mapping[str, Vector], human: Vector, *, kind: str, test: str) -> tuple[str, ...]:
    """Names of the rows that no other row significantly outperforms; rows with equal scores share the result.

    `vectors` are the scores of each row on the same outputs, systems or hybrids as `human`.
    """
    first = _first_with_same_scores(vectors)
    tested = test == "williams" and kind == "pearson"
    used: Literal["bootstrap", "williams"] = "williams" if tested else "bootstrap"
    compared = compare_metrics(
        {name: vectors[name][None, :] for name in dict.fromkeys(first.values())},
        human[None, :],
        kind=kind,
        test=used,
        undefined="leave out",
        resamples=RESAMPLES,
        seed=SEED,
        alpha=ALPHA,
    )
    names = {name for name, is_best in zip(compared.names, compared.unbeaten, strict=True) if is_best}
    return tuple(row for row, name in first.items() if name in names)


def _first_with_same_scores(vectors: Mapping[str, Vector]) -> dict[str, str]:
    """The first row with the same scores, by row."""
    first: dict[bytes, str] = {}
    return {row: first.setdefault(values.tobytes(), row) for row, values in vectors.items()}


@dataclass(frozen=True)
class ScoredColumn:
    """The computed rows of a column, with their scores and the human judgements."""

    column: Column
    judged: JudgedRows
    scores: Mapping[str, RowScores]
    """By row name."""

    def best(self, test: str) -> tuple[str, ...]:
        """Names of the rows that no other row significantly outperforms."""
        question = self.column.question
        if question is None or not self._vectors:
            return ()
        if question.ranked:
            return self._bootstrapped_best()
        if question.agreement in CORRELATIONS and question.level in (*BY_ROW, "system"):
            return best_rows(self._vectors, self._human, kind=question.agreement, test=test)
        return ()

    def draws(self) -> dict[str, Vector]:
        """The column's value of each row in every resample of segments; empty for other levels and coefficients."""
        question = self.column.question
        if question is None or not self._vectors:
            return {}
        if question.ranked:
            drawn = self._tau_draws()
        elif question.agreement in CORRELATIONS and question.level in BY_ROW:
            table = self._table
            kind = question.agreement
            drawn = bootstrap_correlations(table, self._human, kind=kind, resamples=RESAMPLES, seed=SEED)
        else:
            return {}
        return {row: drawn.draws[:, number] for number, row in enumerate(self._vectors)}

    @cached_property
    def _units(self) -> tuple[str, ...]:
        """Segment of each ranked pair."""
        pairs = self.judged.pairs
        assert pairs is not None
        return tuple(pairs.segment[i] for i in self._ranked_rows)

    @cached_property
    def _ranked_rows(self) -> list[int]:
        pairs = self.judged.pairs
        assert pairs is not None
        return [row for row, pair in enumerate(pairs.langpair) if pair == self.column.langpair]

    @cached_property
    def _human(self) -> Vector:
        assert self.column.question is not None
        gold = judgements(self.column.question, self.judged.table, self.column.langpair).human[0]
        rated: Vector = gold[~np.isnan(gold)]
        return rated

    @cached_property
    def _vectors(self) -> dict[str, Vector]:
        """Scores of the judged outputs or systems by row, or the outcomes of ranked pairs; without undefined rows."""
        question, table = self.column.question, self.judged.table
        assert question is not None
        vectors = {}
        if question.ranked:
            for row, scores in self.scores.items():
                vectors[row] = self._outcomes(scores)
        else:
            shaped = judgements(question, table, self.column.langpair)
            rated = ~np.isnan(shaped.human[0])
            vectors = {row: shaped.scores(scores)[0][rated] for row, scores in self.scores.items()}
        return {row: values for row, values in vectors.items() if values.size > 1 and np.isfinite(values).all()}

    @property
    def _table(self) -> Vector:
        return np.stack(list(self._vectors.values()))

    def _outcomes(self, scores: RowScores) -> Vector:
        table, pairs, langpair = self.judged.table, self.judged.pairs, self.column.langpair
        assert pairs is not None
        outputs = zip(table.langpair, table.system, table.segment, strict=True)
        by_output = dict(zip(outputs, scores.oriented, strict=True))
        better, worse = (
            np.array([by_output.get((langpair, systems[i], pairs.segment[i]), np.nan) for i in self._ranked_rows])
            for systems in (pairs.better, pairs.worse)
        )
        undefined = np.isnan(better) | np.isnan(worse)
        return np.full(better.size, np.nan) if undefined.any() else pair_outcomes(better, worse)

    def _tau_draws(self) -> CorrelationDraws:
        return bootstrap_tau(self._table, self._units, resamples=RESAMPLES, seed=SEED)

    def _bootstrapped_best(self) -> tuple[str, ...]:
        drawn = self._tau_draws()
        order = np.argsort(-drawn.observed, kind="stable")
        p_values = np.full((order.size, order.size), np.nan)
        for i, j in combinations(range(order.size), 2):
            p_values[i, j] = drawn.difference(int(order[i]), int(order[j])).p_value
        names = list(self._vectors)
        is_best = unbeaten(p_values, alpha=ALPHA)
        return tuple(names[number] for number, best in zip(order, is_best, strict=True) if best)


def average_intervals(
    columns: Sequence[Column], draws: Mapping[tuple[str, str], Vector], rows: Sequence[str], *, scale: float = 1.0
) -> dict[tuple[str, str], tuple[float, float]]:
    """95 % percentile intervals by row and column: of language pairs, and of averages whose parts all have draws."""
    every = dict(draws)
    for column in columns:
        for row in rows if column.over else ():
            parts = [every.get((row, label)) for label in column.over]
            if all(part is not None for part in parts):
                # Pairs are resampled independently: an own seed for each would only rename the draws.
                shuffled = [_shuffle(part, i) for i, part in enumerate(parts) if part is not None]
                every[row, column.label] = np.mean(shuffled, axis=0)
    intervals = {}
    for key, values in every.items():
        defined = values[np.isfinite(values)]
        if defined.size:
            low, high = np.percentile(defined, [2.5, 97.5]) * scale
            intervals[key] = (float(low), float(high))
    return intervals


def _shuffle(draws: Vector, number: int) -> Vector:
    """Permute draws, so that the draws of language pairs of the same size are independent of each other."""
    return draws[np.random.default_rng([SEED, number]).permutation(draws.size)]
