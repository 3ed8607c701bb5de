"""Questions to a data set (level, agreement, test) and their answers: one number per language pair.

Every agreement of a metric with human judgements is computed by `answer`: tables of agreement (`evaluation.py`),
published tables, studies of sensitivity, layer tuning. It computes the number only; `evaluation.py` adds intervals
and significance. A question that the data cannot answer is an error before anything is scored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Flag, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.data.judgements import JudgementTable, RankedPairs
from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.correlation import Correlation, correlate, relative_ranking, roc_auc
from nlgauge.stats.counted_bootstrap import pair_outcomes
from nlgauge.stats.numeric import LEAST_RESAMPLES
from nlgauge.stats.resampling import unit_numbers
from nlgauge.studies.meta.levels import (
    LevelCorrelation,
    Matrix,
    aggregate_systems,
    check_choices,
    grouped_level,
    segment_level,
)
from nlgauge.studies.meta.pairwise import (
    pair_rows,
    pairwise_difference_pearson,
    soft_pairwise_accuracies,
    tie_calibrated_accuracy,
)
from nlgauge.studies.meta.ranks import check_comparison
from nlgauge.studies.meta.row_scores import RowScores, check_count

LEVELS = ("segment", "document", "topic", "system")

#: Levels at which the unit is a judged row of the table.
BY_ROW = ("segment", "document")
CORRELATIONS = ("pearson", "spearman", "kendall")
#: WMT's tau on relative rankings: it needs ranked pairs instead of human scores.
_RANKED = "darr"
AGREEMENTS = (*CORRELATIONS, "acc-eq", "differences", "spa", "auc", _RANKED)

#: Agreements whose intervals and tests are a bootstrap of counts.
COUNTED = ("auc", _RANKED)

#: Levels at which an agreement is defined.
_DEFINED = {"acc-eq": "topic", "differences": "topic", "spa": "system", "auc": "segment", _RANKED: "segment"}

#: Agreements without a significance test.
_UNTESTED = ("differences", "spa")


@dataclass(frozen=True)
class Question:
    """Level and kind of agreement between metric scores and human judgements::

        level     segment, document (rows that are documents: `nlgauge.data.document_table`), topic, system
        agreement pearson, spearman, kendall, acc-eq, differences, spa (`studies.meta.evaluation` explains them),
                  auc (gold is 0 or 1), darr (WMT's tau on ranked pairs)

    `data` is the name of the data set, if it is not loaded yet.
    """

    data: str = ""
    level: str = "segment"
    agreement: str = "pearson"
    criterion: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    """Options of `nlgauge.data.load`."""
    aggregate: str = "mean"
    """How a system's scores become one number: mean, median or bt (Bradley-Terry strength)."""

    @property
    def ranked(self) -> bool:
        """Whether human judgements are ranked pairs of outputs."""
        return self.agreement == _RANKED

    @property
    def unit(self) -> str | None:
        """Unit of resampling, unless whole documents are resampled; None if there is no interval and no test."""
        if self.agreement in ("spa", _RANKED):
            return "segment"
        units = {"segment": "judged output", "document": "judged document", "topic": "topic", "system": "system"}
        return units[self.level] if self.testable else None

    @property
    def testable(self) -> bool:
        """Whether there is a significance test for differences between metrics."""
        return self.agreement not in _UNTESTED

    @property
    def whole(self) -> bool:
        """Whether each system has one number."""
        return self.level == "system" and self.agreement != "spa"


@dataclass(frozen=True, kw_only=True)
class Significance(OptionSet):
    """Significance test of differences between metrics, and resampling of intervals."""

    called: ClassVar[str] = "options of significance"

    # default: PERM-BOTH; Williams' test for Pearson over systems, which are often too few to permute.
    test: Literal["default", "permutation", "bootstrap", "williams", "none"] = option(
        "default",
        Choice("default", "permutation", "bootstrap", "williams", "none"),
        help="test of differences between metrics",
        hidden=True,
    )
    alpha: float = option(0.05, Float(above=0, below=1), help="significance level", metavar="P", hidden=True)
    correction: Literal["bonferroni", "holm"] | None = option(
        None, Choice("bonferroni", "holm"), help="correction for the number of pairs of metrics", hidden=True
    )
    resamples: int = option(1000, Int(LEAST_RESAMPLES), help="number of resamples", hidden=True, limit=10_000)
    seed: int = seed_option()
    # Outputs, or topics, of one document are not independent.
    documents: bool = option(
        False, Flag(), help="resample whole documents (column document of the table) instead of rows"
    )

    def resolved(self, question: Question) -> Significance:
        """Replace the default test by that of the question; raise an error if the question has no such test."""
        level, agreement = question.level, question.agreement
        if not question.testable:
            if self.test not in ("default", "none"):
                msg = f"there is no significance test for agreement {agreement!r}; remove test={self.test!r}"
                raise RecipeError(msg)
            return replace(self, test="none")
        if agreement in COUNTED:
            if self.test not in ("default", "bootstrap", "none"):
                msg = f"agreement {agreement!r} needs test 'bootstrap', got {self.test!r}"
                raise RecipeError(msg)
            return replace(self, test="none" if self.test == "none" else "bootstrap")
        if self.test == "default":
            few = level == "system" and agreement == "pearson"
            return replace(self, test="williams" if few else "permutation")
        if agreement == "acc-eq" and self.test not in ("permutation", "none"):
            msg = f"agreement 'acc-eq' needs test 'permutation', got {self.test!r}"
            raise RecipeError(msg)
        if self.test != "none":
            kind = agreement if agreement in CORRELATIONS else "pearson"
            tested = "item" if level == "topic" else "segment"
            check_comparison(tested, kind, self.test, self.alpha, self.correction, documents=self.documents)
        return self

    @property
    def draws(self) -> dict[str, int]:
        """Keyword arguments of resampling functions."""
        return {"resamples": self.resamples, "seed": self.seed}

    @property
    def pairs(self) -> dict[str, Any]:
        """Keyword arguments of functions that compare metrics."""
        return {"alpha": self.alpha, "correction": self.correction, **self.draws}


def check_question(
    question: Question, table: JudgementTable, *, pairs: RankedPairs | None = None, documents: bool = False
) -> None:
    """Raise an error, before hours of work, if the data cannot answer a question.

    `documents`: whether whole documents are resampled.
    """
    level, agreement = question.level, question.agreement
    check_choices(level=(level, LEVELS), agreement=(agreement, AGREEMENTS))
    if _DEFINED.get(agreement, level) != level:
        msg = f"agreement {agreement!r} is defined at level {_DEFINED[agreement]!r}, not at level {level!r}"
        raise RecipeError(msg)
    if question.aggregate != "mean" and (level != "system" or agreement == "spa"):
        msg = (
            f"aggregate={question.aggregate!r} has no effect on {agreement} at level {level!r}; "
            "it needs level 'system' and another agreement than spa"
        )
        raise RecipeError(msg)
    if documents:
        if question.unit in (None, "system"):
            unit = "nothing is resampled" if question.unit is None else "systems are resampled"
            msg = f"documents have no effect on {agreement} at level {level!r}, where {unit}; remove this option"
            raise RecipeError(msg)
        table.document_of_rows()
    if question.ranked:
        if pairs is None:
            msg = (
                f"agreement {agreement!r} needs ranked pairs of outputs (nlgauge.data.load_wmt_rankings, or "
                "nlgauge.studies.meta.derive_pairs from raw direct assessments)"
            )
            raise RecipeError(msg)
        return
    criterion = question.criterion
    if agreement == "spa" and table.default_criterion is None and criterion is None:
        msg = (
            f"agreement 'spa' needs judgements of the same segments for all systems, which {table.name} does not "
            "have; use agreement='pearson'"
        )
        raise RecipeError(msg)
    official = level == "system" and criterion is None and set(table.langpairs) <= set(table.system_scores)
    if not official or agreement == "spa":
        table.gold(criterion)


#: Position of each row in a matrix of systems x topics: lines and columns.
_Positions: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class AgreementCell:
    """Agreement of one metric with human judgements on one language pair."""

    value: float
    """nan if undefined; `note` contains the reason."""
    low: float = float("nan")
    high: float = float("nan")
    unbeaten: bool = False
    """No other metric is significantly better here."""
    rank: int | None = None
    count: int = 0
    """Judgements, systems or pairs behind the value."""
    note: str = ""
    """Why the value is undefined, or details of it (tie threshold, chance level)."""


def answer(
    question: Question,
    table: JudgementTable,
    scores: RowScores,
    *,
    pairs: RankedPairs | None = None,
    resamples: int = 1000,
    seed: int = 12345,
) -> dict[str, AgreementCell]:
    """Answer a question with the scores of a table's rows, by language pair.

    `pairs` are the human judgements of agreement `darr`. Soft pairwise accuracy uses `resamples` and `seed`.
    """
    check_question(question, table, pairs=pairs)
    check_count(scores, table)
    draws = {"resamples": resamples, "seed": seed}
    return {pair: judgements(question, table, pair, pairs=pairs).answer(scores, **draws) for pair in table.langpairs}


@dataclass(frozen=True, eq=False)
class Judgements:
    """Human judgements of the rows of one language pair, in the shape that a question needs.

    segment   1 x rows, also for level document
    topic     systems x topics, also for `spa` at system level
    system    1 x systems
    darr      1 x pairs, all 1: the metric's score is 1 for a concordant pair, else -1
    """

    question: Question
    langpair: str
    rows: NDArray[np.intp]
    human: Matrix
    positions: _Positions | None = None
    """Positions of the rows in systems x topics."""
    shape: tuple[int, int] = (0, 0)
    """Number of systems and topics."""
    systems: tuple[tuple[int, str], ...] = ()
    """Line and name of the systems that have a human score, at system level."""
    documents: NDArray[np.intp] | None = None
    """Number of the document of each column of `human`, if documents are resampled; else of a pair's segment."""
    pairs: NDArray[np.intp] | None = None
    """Rows of the better and the worse outputs of ranked pairs."""

    @property
    def items(self) -> int:
        """Number of units to resample: judged rows, topics or systems, or their documents."""
        judged = (~np.isnan(self.human)).any(axis=0)
        return int(judged.sum() if self.documents is None else np.unique(self.documents[judged]).size)

    def scores(self, metric: RowScores) -> Matrix:
        """Scores of a metric in the shape of `human`, higher for better outputs."""
        if self.pairs is not None:
            return pair_outcomes(*metric.oriented[self.pairs])[None, :]
        values = metric.oriented[self.rows]
        if self.positions is None:
            return values[None, :]
        matrix = np.full(self.shape, np.nan)
        matrix[self.positions] = values
        if not self.question.whole:
            return matrix
        if self.question.aggregate == "mean" and metric.corpus:  # the corpus score replaces the mean
            sign = 1 if metric.higher_is_better else -1
            corpus = metric.corpus
            return sign * np.array([[corpus.get((self.langpair, name), np.nan) for _, name in self.systems]])
        return aggregate_systems(matrix[[line for line, _ in self.systems]], self.question.aggregate)[None, :]

    def answer(self, metric: RowScores, *, resamples: int = 1000, seed: int = 12345) -> AgreementCell:
        """Agreement of one metric, without interval and test."""
        if not self.human.size:
            return AgreementCell(float("nan"), note="no system has a human score")
        if self.pairs is not None:
            tau = relative_ranking(*metric.oriented[self.pairs], undefined="nan")
            return AgreementCell(tau.value, count=self.human.size, note=tau.reason or "")
        kind, name, ours = self.question.agreement, metric.name, self.scores(metric)
        judged = ~np.isnan(self.human)
        if kind == "acc-eq":
            ties = tie_calibrated_accuracy(ours, self.human, name=name)
            tied = f"scores that differ by at most {ties.epsilon:.4g}" if ties.epsilon else "only equal scores"
            note = f"{tied} count as ties (threshold fitted to the data); a random metric gets {ties.chance:.3f}"
            return AgreementCell(ties.value, count=ties.pairs, note=note)
        if kind == "auc":
            return AgreementCell(roc_auc(ours[judged], self.human[judged]), count=int(judged.sum()))
        if kind == "differences":
            pairs = pairwise_difference_pearson(ours, self.human, undefined="nan", name=name)
            return AgreementCell(pairs.value, count=pairs.pairs, note=pairs.reason or "")
        if kind == "spa":
            draws: dict[str, Any] = {"documents": self.documents, "resamples": resamples, "seed": seed}
            (soft,) = soft_pairwise_accuracies({name: ours}, self.human, undefined="nan", **draws)
            return AgreementCell(soft.value, count=soft.pairs, note=soft.reason or "")
        result: Correlation | LevelCorrelation
        if self.question.whole:  # a system without a score is not an error here
            result = correlate(ours[0], self.human[0], kind=kind, undefined="nan")
        else:
            by_level = segment_level if self.positions is None else grouped_level
            result = by_level(ours, self.human, kind=kind, undefined="nan", name=name)
        return AgreementCell(result.value, count=int(judged.sum()), note=result.reason or "")


def judgements(
    question: Question,
    table: JudgementTable,
    langpair: str,
    *,
    documents: bool = False,
    pairs: RankedPairs | None = None,
) -> Judgements:
    """Collect the human judgements of one language pair for a question.

    At system level these are the official scores if the data has them, else means over segments. `documents` adds
    the documents of rows or topics. `pairs` are the human judgements of agreement `darr`.
    """
    rows = table.rows_of(langpair)
    if pairs is not None and question.ranked:
        ranked = pair_rows(table, pairs, langpair)
        units_of_rows = table.document_of_rows() if documents else table.segment
        of_pair = [units_of_rows[row] for row in ranked[0]]
        if not of_pair:
            msg = f"{table.name}, {langpair}: no ranked pair of outputs"
            raise InputError(msg)
        units = unit_numbers(of_pair, len(of_pair))
        return Judgements(question, langpair, rows, np.ones((1, len(of_pair))), documents=units, pairs=ranked)
    if question.level in BY_ROW:
        human = table.gold(question.criterion)[rows][None, :]
        document_numbers = _documents(table, rows, np.arange(rows.size)) if documents else None
        return Judgements(question, langpair, rows, human, documents=document_numbers)
    positions, shape = _positions(table, rows)
    official = table.system_scores.get(langpair) if question.whole and question.criterion is None else None
    names = dict.fromkeys(table.system[row] for row in rows)
    if official is None:
        human = np.full(shape, np.nan)
        human[positions] = table.gold(question.criterion)[rows]
        if not question.whole:
            document_numbers = _documents(table, rows, positions[1]) if documents else None
            return Judgements(question, langpair, rows, human, positions, shape, documents=document_numbers)
        judged = [(name, line) for name, line in zip(names, human, strict=True) if not np.isnan(line).all()]
        official = {name: float(np.nanmean(line)) for name, line in judged}
    systems = tuple((line, name) for line, name in enumerate(names) if name in official)
    gold = np.array([[official[name] for _, name in systems]])
    return Judgements(question, langpair, rows, gold, positions, shape, systems)


def _documents(table: JudgementTable, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number of the document of each column (a row or a topic)."""
    names = table.document_of_rows()
    documents: dict[int, str] = {}
    for row, column in zip(rows, columns.tolist(), strict=True):
        own = names[row]
        first = documents.setdefault(column, own)
        if first != own:
            msg = (
                f"{table.name}: outputs of one topic belong to documents {first!r} and {own!r}, so documents cannot "
                "be resampled; use level 'segment'"
            )
            raise InputError(msg)
    return unit_numbers([documents[column] for column in range(len(documents))], len(documents))


def _positions(table: JudgementTable, rows: NDArray[np.intp]) -> tuple[_Positions, tuple[int, int]]:
    """Positions of rows in a matrix of systems x topics, and its shape."""
    topics = table.topic if table.topic is not None else table.segment
    columns = {topic: number for number, topic in enumerate(dict.fromkeys(topics[row] for row in rows))}
    lines = {system: number for number, system in enumerate(dict.fromkeys(table.system[row] for row in rows))}
    positions = (
        np.array([lines[table.system[row]] for row in rows], dtype=np.intp),
        np.array([columns[topics[row]] for row in rows], dtype=np.intp),
    )
    if len(set(zip(*map(list, positions), strict=True))) != len(rows):
        msg = f"{table.name}: a system has several rows of one topic; use level 'segment'"
        raise InputError(msg)
    if len(lines) < 2:
        msg = f"{table.name} has fewer than two named systems; use level 'segment'"
        raise InputError(msg)
    return positions, (len(lines), len(columns))
