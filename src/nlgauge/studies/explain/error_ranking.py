"""Explanation methods as systems, ranked by how well they find marked errors.

As in chapter 11 of W. Zhao's dissertation on the Eval4NLP 2021 shared task: a system is an explanation method of a
metric, an instance is a text, and a metric is one of

    AUC         area under the ROC curve of a text's words
    AP          average precision
    recall@K    share of the text's K errors among the K words with the highest scores

Systems are ranked by mean, median and Bradley-Terry. Table 11.1 is the disagreement of mean and Bradley-Terry,
(1 - tau_b) / 2; Figure 11.1 the share of texts on which one system beats another, with the sign test. Texts whose
words are all errors, or all correct, are left out (`corpus.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nlgauge.core.result import Result
from nlgauge.core.score_table import ScoreTable
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, NlgaugeWarning, user_stacklevel
from nlgauge.io.canvas import WIDEST, finish_figure, new_panels, shorten
from nlgauge.io.table import LINE, Cell, Marked, Table
from nlgauge.studies.compare.comparison import CompareSettings, MetricComparison, SystemComparison
from nlgauge.studies.compare.rankings import disagreement
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.explain.corpus import ERROR_MEASURES, measure_errors, word_errors
from nlgauge.studies.explain.explanation import NoAlignmentError

#: Bradley-Terry and the sign test, as in the figure.
SETTINGS = CompareSettings(ranking="bt", test="sign", tests_shown=())


class ErrorSystem(NamedTuple):
    """An explanation method of a metric."""

    metric: str
    method: str

    def name(self, systems: Iterable[ErrorSystem]) -> str:
        """Such as `bertscore lime`; with the options of the metric if several recipes have its name."""
        short = self.metric.partition(":")[0]
        recipes = {system.metric for system in systems if system.metric.partition(":")[0] == short}
        return f"{short if len(recipes) == 1 else self.metric} {self.method}"


class ErrorRanking(NamedTuple):
    """Systems compared on the texts of a language pair."""

    langpair: str | None
    texts: int
    """Texts with errors and correct words."""
    skipped: int
    comparison: SystemComparison

    def disagreement(self, measure: str) -> float:
        """Disagreement of the rankings by mean and by Bradley-Terry; nan if one ties all systems."""
        rows = self.comparison.metric(measure).systems
        return disagreement([row.mean for row in rows], [row.bradley_terry for row in rows])


@dataclass(frozen=True)
class ErrorRankings(Result):
    """Explanation methods ranked on one or several language pairs."""

    format = "nlgauge-error-rankings-1"
    decimals = 3
    line = LINE
    further = ("pairs", "disagreements")

    rankings: tuple[ErrorRanking, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """A table of systems per language pair, then the disagreement of mean and Bradley-Terry."""
        if form == "pairs":
            tables = [(ranking, ranking.comparison.tables("pairs")[0]) for ranking in self.rankings]
            rows = [[ranking.langpair, *row] for ranking, table in tables for row in table.rows]
            return [Table(["langpair", *tables[0][1].columns], rows)]
        if form == "disagreements":
            return [self._disagreements()]
        if form in ("tsv", "csv"):
            rows = [[ranking.langpair, *row] for ranking in self.rankings for row in _rows(ranking)]
            return [Table(["langpair", *_columns()], rows)]
        return [*(self._systems(ranking) for ranking in self.rankings), self._disagreements()]

    def _systems(self, ranking: ErrorRanking) -> Table:
        where = "" if ranking.langpair is None else f"{ranking.langpair}: "
        caption = f"{where}{ranking.texts} texts, {ranking.skipped} without errors or without correct words"
        notes = ["BT: Bradley-Terry strength; the best of each column is marked"]
        rows = _rows(ranking)
        for column in range(1, len(_columns())):
            best = max(float(row[column] or 0.0) for row in rows)  # type: ignore[arg-type]
            for row in rows:
                if row[column] == best:
                    row[column] = Marked(best)
        return Table(_columns(), rows, caption, notes)

    def _disagreements(self) -> Table:
        columns = ["score", *(ranking.langpair or "texts" for ranking in self.rankings)]
        rows: list[list[Cell]] = []
        for measure in ERROR_MEASURES:
            values = [ranking.disagreement(measure) for ranking in self.rankings]
            rows.append([measure, *(None if np.isnan(value) else value for value in values)])
        return Table(columns, rows, "Share of pairs of systems that mean and Bradley-Terry order differently")

    def figure(self) -> Any:
        """Share of texts on which the system of a row beats that of a column, with the sign test."""
        return _draw(self.rankings)


def _columns() -> list[str]:
    return ["system", *(f"{measure} {kind}" for measure in ERROR_MEASURES for kind in ("mean", "median", "BT"))]


def _rows(ranking: ErrorRanking) -> list[list[Cell]]:
    by_measure = {
        measure: {row.system: row for row in ranking.comparison.metric(measure).systems} for measure in ERROR_MEASURES
    }
    systems = [row.system for row in ranking.comparison.metrics[0].systems]
    return [
        [
            system,
            *(
                value
                for measure in ERROR_MEASURES
                for row in [by_measure[measure][system]]
                for value in (row.mean, row.median, row.bradley_terry)
            ),
        ]
        for system in systems
    ]


def rank_error_scores(
    gold: Sequence[Sequence[int]],
    scores: Mapping[str, Sequence[Sequence[float]]],
    *,
    langpair: str | None = None,
    settings: CompareSettings = SETTINGS,
) -> ErrorRanking:
    """Compare systems by the error scores of words: by system, for each text, a number per word.

    >>> gold = [[0, 1, 0], [1, 0], [0, 0]]
    >>> right, wrong = [[0.1, 0.9, 0.2], [0.8, 0.1], [0.0, 0.0]], [[0.9, 0.1, 0.2], [0.2, 0.1], [0.0, 0.0]]
    >>> ranking = rank_error_scores(gold, {"right": right, "wrong": wrong})
    >>> ranking.texts, ranking.skipped, ranking.comparison.winners["AUC"]
    (2, 1, 'right')
    """
    if len(scores) < 2:
        msg = f"a ranking needs at least two systems, got {len(scores)}; use several metrics or methods"
        raise InputError(msg)
    measured = {system: measure_errors(gold, values) for system, values in scores.items()}
    used = np.flatnonzero(~np.isnan(next(iter(measured.values()))[:, 0]))
    if not used.size:
        msg = f"none of the {len(gold)} texts has both errors and correct words"
        raise InputError(msg)
    tables = [
        SystemScores(
            ScoreTable.from_numbers(measure, {system: values[used, i] for system, values in measured.items()}),
            instances=tuple(map(str, used.tolist())),
        )
        for i, measure in enumerate(ERROR_MEASURES)
    ]
    comparison = compare_systems(tables, settings=settings)
    return ErrorRanking(langpair, int(used.size), len(gold) - int(used.size), comparison)


def error_scores_of(
    table: JudgementTable, systems: Sequence[ErrorSystem], **options: Any
) -> dict[ErrorSystem, list[list[float]]]:
    """Error scores of the words of each text by each system; `options` are those of `word_errors`.

    Of several systems, the matches of a metric that does not align words are left out, with a warning.
    """
    scores = {}
    for system in systems:
        try:
            scores[system] = word_errors(table, metric=system.metric, method=system.method, **options)
        except NoAlignmentError as error:
            if len(systems) == 1:
                raise
            warnings.warn(
                f"no system {system.name(systems)!r}: {error}", NlgaugeWarning, stacklevel=user_stacklevel()
            )
    return scores


def _draw(rankings: Sequence[ErrorRanking]) -> Any:
    """A panel per language pair and measure; the best system by Bradley-Terry is in the last row."""
    count = max(len(ranking.comparison.metrics[0].systems) for ranking in rankings)
    size = min(3.6, WIDEST / len(ERROR_MEASURES))
    figure, panels = new_panels(len(rankings), len(ERROR_MEASURES), width=WIDEST, height=max(size, 0.3 * count + 0.8))
    places = iter(panels)
    for ranking in rankings:
        for measure in ERROR_MEASURES:
            title = measure if ranking.langpair is None else f"{ranking.langpair} {measure}"
            _draw_wins(next(places), ranking.comparison.metric(measure), title)
    finish_figure(
        figure,
        title="Explanation methods compared in pairs",
        caption="Per cent of texts on which the system of the row beats that of the column. *: sign test, p < .05, "
        "Holm-corrected. Systems are ordered by Bradley-Terry, the best in the last row; columns have their numbers.",
    )
    return figure


def _draw_wins(axes: Any, metric: MetricComparison, title: str) -> None:
    order = list(reversed(range(len(metric.systems))))
    names = [metric.systems[i].system for i in order]
    shares = 100 * np.asarray(metric.win_matrix)[np.ix_(order, order)]
    np.fill_diagonal(shares, np.nan)
    axes.imshow(shares, cmap="RdBu", vmin=0, vmax=100, aspect="auto")
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            if i != j:
                star = "*" if metric.pair(first, second).significant else ""
                colour = "white" if abs(shares[i, j] - 50) > 30 else "#222222"
                text = f"{shares[i, j]:.0f}{star}"
                axes.text(j, i, text, ha="center", va="center", fontsize=6, color=colour)
    axes.grid(visible=False)
    axes.set_xticks(range(len(names)), [str(number + 1) for number in range(len(names))], fontsize=7)
    labels = [f"{shorten(name, 22)} {number + 1}" for number, name in enumerate(names)]
    axes.set_yticks(range(len(names)), labels, fontsize=6, parse_math=False)
    axes.set_title(title, loc="left", fontsize=9)
