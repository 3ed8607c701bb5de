"""Questions to a data set (level, agreement, test) and their answers: one number per language pair.

Everything that asks how well a metric agrees with people goes through `answer`: tables of agreement
(`evaluation.py`), published tables, studies of sensitivity, the choice of a layer. Only the number is computed;
intervals and significance belong to a table with several metrics. A question without an answer is refused early.
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
from nlgauge.stats.correlation import Correlation, correlate, roc_auc
from nlgauge.stats.numeric import LEAST_RESAMPLES
from nlgauge.stats.resampling import unit_numbers
from nlgauge.studies.meta.levels import (
    LevelCorrelation,
    Matrix,
    aggregated,
    check_choices,
    grouped_level,
    segment_level,
)
from nlgauge.studies.meta.pairwise import (
    pairwise_difference_pearson,
    ranking_tau,
    soft_pairwise_accuracies,
    tie_calibrated_accuracy,
)
from nlgauge.studies.meta.ranks import check_comparison
from nlgauge.studies.meta.row_scores import RowScores, check_count

LEVELS = ("segment", "document", "topic", "system")

#: Levels at which every judged row of a table counts on its own.
BY_ROW = ("segment", "document")
CORRELATIONS = ("pearson", "spearman", "kendall")
AGREEMENTS = (*CORRELATIONS, "acc-eq", "differences", "spa", "auc")

#: WMT's tau on relative rankings: it needs ranked pairs instead of scores by people.
_RANKED = "darr"

#: Levels at which an agreement is defined.
_DEFINED = {"acc-eq": "topic", "differences": "topic", "spa": "system", "auc": "segment", _RANKED: "segment"}

#: Agreements that metrics cannot be tested on.
_UNTESTED = ("differences", "spa", "auc", _RANKED)


@dataclass(frozen=True)
class Question:
    """What is asked of judgements and scores::

        level     segment, document (rows that are documents: `nlgauge.data.document_table`), topic, system
        agreement pearson, spearman, kendall, acc-eq, differences, spa (`studies.meta.evaluation` explains them),
                  auc (gold is 0 or 1), darr (WMT's tau on ranked pairs)

    `data` names the data set where it is not at hand already.
    """

    data: str = ""
    level: str = "segment"
    agreement: str = "pearson"
    criterion: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    """Options of `nlgauge.data.load`."""
    aggregate: str = "mean"
    """How a system's scores become one number: mean or median."""

    @property
    def ranked(self) -> bool:
        """Whether people's side is ranked pairs of outputs."""
        return self.agreement == _RANKED

    @property
    def unit(self) -> str | None:
        """What intervals and tests draw where no documents are asked for; None where there is neither."""
        if self.agreement == "spa":
            return "segment"
        units = {"segment": "judged output", "document": "judged document", "topic": "topic", "system": "system"}
        return units[self.level] if self.testable else None

    @property
    def testable(self) -> bool:
        """Whether metrics can be tested against each other on it."""
        return self.agreement not in _UNTESTED

    @property
    def whole(self) -> bool:
        """Whether whole systems are compared, one number each."""
        return self.level == "system" and self.agreement != "spa"


@dataclass(frozen=True, kw_only=True)
class Significance(OptionSet):
    """How metrics are tested against each other, and intervals drawn."""

    called: ClassVar[str] = "options of significance"

    # default: PERM-BOTH; for Pearson over systems Williams' test, because few systems leave little to permute.
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
    resamples: int = option(1000, Int(LEAST_RESAMPLES), help="draws", hidden=True, limit=10_000)
    seed: int = seed_option()
    # Outputs, or topics, of one document are not independent.
    documents: bool = option(
        False, Flag(), help="resample whole documents (column document of the table) instead of rows"
    )

    def resolved(self, question: Question) -> Significance:
        """With the test that a question really gets; one that does not exist for it is refused."""
        level, agreement = question.level, question.agreement
        if not question.testable:
            if self.test not in ("default", "none"):
                msg = f"there is no significance test for agreement {agreement!r}; leave out test={self.test!r}"
                raise RecipeError(msg)
            return replace(self, test="none")
        if self.test == "default":
            few = level == "system" and agreement == "pearson"
            return replace(self, test="williams" if few else "permutation")
        if agreement == "acc-eq" and self.test not in ("permutation", "none"):
            msg = f"agreement 'acc-eq' is tested by permutation, not by {self.test!r}"
            raise RecipeError(msg)
        if self.test != "none":
            kind = agreement if agreement in CORRELATIONS else "pearson"
            tested = "item" if level == "topic" else "segment"
            check_comparison(tested, kind, self.test, self.alpha, self.correction, documents=self.documents)
        return self

    @property
    def draws(self) -> dict[str, int]:
        """What every resampling function takes."""
        return {"resamples": self.resamples, "seed": self.seed}

    @property
    def pairs(self) -> dict[str, Any]:
        """What every comparison of metrics takes."""
        return {"alpha": self.alpha, "correction": self.correction, **self.draws}


def check_question(
    question: Question, table: JudgementTable, *, pairs: RankedPairs | None = None, documents: bool = False
) -> None:
    """Refuse a question that has no answer on this data, before hours of work; `documents`: are those to be drawn?"""
    level, agreement = question.level, question.agreement
    check_choices(level=(level, LEVELS), agreement=(agreement, (*AGREEMENTS, _RANKED)))
    if _DEFINED.get(agreement, level) != level:
        msg = f"agreement {agreement!r} is defined at level {_DEFINED[agreement]!r}, not at level {level!r}"
        raise RecipeError(msg)
    if question.aggregate != "mean" and (level != "system" or agreement == "spa"):
        msg = (
            f"aggregate={question.aggregate!r} joins a system's scores; "
            f"it means nothing to {agreement} at level {level!r}"
        )
        raise RecipeError(msg)
    if documents:
        if question.unit in (None, "system"):
            drawn = "nothing is drawn" if question.unit is None else "systems are drawn"
            msg = f"documents mean nothing to {agreement} at level {level!r}, where {drawn}; leave them out"
            raise RecipeError(msg)
        table.document_of_rows()
    if question.ranked:
        if pairs is None:
            msg = f"agreement {agreement!r} needs ranked pairs of outputs (nlgauge.data.load_wmt_rankings)"
            raise RecipeError(msg)
        return
    criterion = question.criterion
    if agreement == "spa" and table.default_criterion is None and criterion is None:
        msg = f"{table.name} has judgements of whole systems only; 'spa' needs judgements of segments"
        raise RecipeError(msg)
    official = level == "system" and criterion is None and set(table.langpairs) <= set(table.system_scores)
    if not official or agreement == "spa":
        table.gold(criterion)


#: Lines and columns of rows in a matrix of systems x topics.
_Place: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class AgreementCell:
    """How well one metric agrees with people on one language pair."""

    value: float
    """nan where there is none; `note` says why."""
    low: float = float("nan")
    high: float = float("nan")
    unbeaten: bool = False
    """No other metric is significantly better here."""
    rank: int | None = None
    count: int = 0
    """Judgements, systems or pairs behind the value."""
    note: str = ""
    """Why there is no value, or what belongs beside it (a tie threshold, a chance level)."""


def answer(
    question: Question,
    table: JudgementTable,
    scores: RowScores,
    *,
    pairs: RankedPairs | None = None,
    resamples: int = 1000,
    seed: int = 12345,
) -> dict[str, AgreementCell]:
    """What the scores of a table's rows answer to a question, by language pair.

    `pairs` are people's side of agreement `darr`. Soft pairwise accuracy is defined by draws: `resamples`, `seed`.
    """
    check_question(question, table, pairs=pairs)
    check_count(scores, table)
    if pairs is not None and question.ranked:
        taus = {pair: ranking_tau(table, scores.oriented, pairs, pair) for pair in table.langpairs}
        return {
            pair: AgreementCell(tau.value, count=pairs.langpair.count(pair), note=tau.reason or "")
            for pair, tau in taus.items()
        }
    draws = {"resamples": resamples, "seed": seed}
    return {pair: judgements(question, table, pair).answer(scores, **draws) for pair in table.langpairs}


@dataclass(frozen=True, eq=False)
class Judgements:
    """What people said of the rows of one language pair, in the shape that a question needs.

    segment   1 x rows; document likewise
    topic     systems x topics (and `spa` at system level)
    system    1 x systems
    """

    question: Question
    langpair: str
    rows: NDArray[np.intp]
    human: Matrix
    place: _Place | None = None
    """Where the rows stand in systems x topics."""
    shape: tuple[int, int] = (0, 0)
    """Of systems x topics."""
    systems: tuple[tuple[int, str], ...] = ()
    """Line and name of the systems that have a human score; of system level only."""
    documents: NDArray[np.intp] | None = None
    """The document of each column of `human`, by its number, where documents are drawn."""

    @property
    def items(self) -> int:
        """How many things are drawn in a resampling: judged rows, topics or systems; or documents of them."""
        judged = (~np.isnan(self.human)).any(axis=0)
        return int(judged.sum() if self.documents is None else np.unique(self.documents[judged]).size)

    def scores(self, metric: RowScores) -> Matrix:
        """A metric's scores in the shape of the human ones, higher for better outputs."""
        values = metric.oriented[self.rows]
        if self.place is None:
            return values[None, :]
        matrix = np.full(self.shape, np.nan)
        matrix[self.place] = values
        if not self.question.whole:
            return matrix
        if self.question.aggregate == "mean" and metric.corpus:  # that of the whole corpus, where there is one
            sign = 1 if metric.higher_is_better else -1
            corpus = metric.corpus
            return sign * np.array([[corpus.get((self.langpair, name), np.nan) for _, name in self.systems]])
        return aggregated(matrix[[line for line, _ in self.systems]], self.question.aggregate)[None, :]

    def answer(self, metric: RowScores, *, resamples: int = 1000, seed: int = 12345) -> AgreementCell:
        """The number of one metric, without interval and test."""
        if not self.human.size:
            return AgreementCell(float("nan"), note="no system has a human score")
        kind, name, ours = self.question.agreement, metric.name, self.scores(metric)
        there = ~np.isnan(self.human)
        if kind == "acc-eq":
            ties = tie_calibrated_accuracy(ours, self.human, name=name)
            note = f"epsilon {ties.epsilon:.4g}, chance {ties.chance:.3f}"
            return AgreementCell(ties.value, count=ties.pairs, note=note)
        if kind == "auc":
            return AgreementCell(roc_auc(ours[there], self.human[there]), count=int(there.sum()))
        if kind == "differences":
            pairs = pairwise_difference_pearson(ours, self.human, undefined="nan", name=name)
            return AgreementCell(pairs.value, count=pairs.pairs, note=pairs.reason or "")
        if kind == "spa":
            draws: dict[str, Any] = {"documents": self.documents, "resamples": resamples, "seed": seed}
            (soft,) = soft_pairwise_accuracies({name: ours}, self.human, undefined="nan", **draws)
            return AgreementCell(soft.value, count=soft.pairs, note=soft.reason or "")
        result: Correlation | LevelCorrelation
        if self.question.whole:  # a system may lack a score, which is no error here
            result = correlate(ours[0], self.human[0], kind=kind, undefined="nan")
        else:
            by_level = segment_level if self.place is None else grouped_level
            result = by_level(ours, self.human, kind=kind, undefined="nan", name=name)
        return AgreementCell(result.value, count=int(there.sum()), note=result.reason or "")


def judgements(question: Question, table: JudgementTable, langpair: str, *, documents: bool = False) -> Judgements:
    """People's side of a question for one language pair; with the documents of rows or topics where those are drawn.

    Of a whole system that is the official score where there is one, never a mean of its segments then.
    """
    rows = table.rows_of(langpair)
    if question.level in BY_ROW:
        human = table.gold(question.criterion)[rows][None, :]
        known = _documents(table, rows, np.arange(rows.size)) if documents else None
        return Judgements(question, langpair, rows, human, documents=known)
    place, shape = _places(table, rows)
    official = table.system_scores.get(langpair) if question.whole and question.criterion is None else None
    names = dict.fromkeys(table.system[row] for row in rows)
    if official is None:
        human = np.full(shape, np.nan)
        human[place] = table.gold(question.criterion)[rows]
        if not question.whole:
            known = _documents(table, rows, place[1]) if documents else None
            return Judgements(question, langpair, rows, human, place, shape, documents=known)
        judged = [(name, line) for name, line in zip(names, human, strict=True) if not np.isnan(line).all()]
        official = {name: float(np.nanmean(line)) for name, line in judged}
    systems = tuple((line, name) for line, name in enumerate(names) if name in official)
    gold = np.array([[official[name] for _, name in systems]])
    return Judgements(question, langpair, rows, gold, place, shape, systems)


def _documents(table: JudgementTable, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """The document of each column (a row, or a topic), by its number."""
    names = table.document_of_rows()
    documents: dict[int, str] = {}
    for row, column in zip(rows, columns.tolist(), strict=True):
        own = names[row]
        first = documents.setdefault(column, own)
        if first != own:
            msg = (
                f"{table.name}: outputs of one topic are of documents {first!r} and {own!r}, so documents cannot be "
                "drawn; use level 'segment'"
            )
            raise InputError(msg)
    return unit_numbers([documents[column] for column in range(len(documents))], len(documents))


def _places(table: JudgementTable, rows: NDArray[np.intp]) -> tuple[_Place, tuple[int, int]]:
    """Where rows stand in a matrix of systems x topics."""
    topics = table.topic if table.topic is not None else table.segment
    columns = {topic: number for number, topic in enumerate(dict.fromkeys(topics[row] for row in rows))}
    lines = {system: number for number, system in enumerate(dict.fromkeys(table.system[row] for row in rows))}
    place = (
        np.array([lines[table.system[row]] for row in rows], dtype=np.intp),
        np.array([columns[topics[row]] for row in rows], dtype=np.intp),
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
