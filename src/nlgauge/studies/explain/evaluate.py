"""Evaluation of word-level error scores against words that people marked as errors.

The protocol is that of the Eval4NLP 2021 shared task: texts whose words are all errors, or none, are skipped; for
each other text AUC, average precision, and recall among the K highest scores, K the number of its errors (of equal
scores the later word counts as higher); then the means over texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.result import Result
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError
from nlgauge.io.table import Cell, Table
from nlgauge.stats.summaries import average_precision, recall_at_positives, roc_auc
from nlgauge.studies.explain.explanation import Explanation, Side
from nlgauge.studies.explain.options import ExplainOptions, split_options
from nlgauge.studies.explain.pairs import iter_explanations
from nlgauge.text.words import split_words

#: Where error scores come from: the match of a word, or what the score gains without it.
METHODS = ("match", "leave-one-out", "shapley")


class TextAgreement(NamedTuple):
    """A value per text that was not skipped."""

    auc: NDArray[np.float64]
    ap: NDArray[np.float64]
    recall: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ErrorAgreement(Result):
    """How well error scores find the words that people marked: means over texts."""

    format = "nlgauge-error-agreement-1"
    decimals = 3
    unwritten = ("by_text",)

    auc: float
    ap: float
    """Average precision."""
    recall: float
    """Among the K highest scores, K the number of a text's errors."""
    texts: int
    """Texts that were not skipped."""
    skipped: int
    """Texts whose words are all errors, or none."""
    scores: str = ""
    """Where the scores come from: a metric or a file."""
    langpair: str | None = None
    by_text: TextAgreement | None = None
    """Not in JSON."""

    def tables(self, form: str = "text") -> list[Table]:
        """One row."""
        return ErrorAgreements((self,)).tables(form)


@dataclass(frozen=True, eq=False)
class ErrorAgreements(Result):
    """Agreement of the error scores of several metrics, or on several language pairs."""

    format = "nlgauge-error-agreements-1"
    decimals = 3

    results: tuple[ErrorAgreement, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """A row per language pair and metric."""
        paired = any(row.langpair for row in self.results)
        columns = [*(["langpair"] if paired else []), "scores", "AUC", "AP", "recall@K", "texts", "skipped"]
        rows: list[list[Cell]] = [
            [*([row.langpair] if paired else []), row.scores, row.auc, row.ap, row.recall, row.texts, row.skipped]
            for row in self.results
        ]
        notes = ["means over texts with errors and other words; K is the number of a text's errors"]
        return [Table(columns, rows, notes=notes)]


def evaluate_errors(gold: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> ErrorAgreement:
    """Compare error scores of words (higher: more likely an error) with 1 for an error and 0 for none, text by text.

    >>> found = evaluate_errors([[0, 1, 0], [0, 0]], [[0.2, 0.9, 0.1], [0.5, 0.5]])
    >>> found.auc, found.ap, found.recall, found.texts, found.skipped
    (1.0, 1.0, 1.0, 1, 1)
    """
    if len(gold) != len(scores):
        msg = f"gold and scores must be of as many texts, got {len(gold)} and {len(scores)}"
        raise InputError(msg)
    found: list[tuple[float, float, float]] = []
    for number, (labels, values) in enumerate(zip(gold, scores, strict=True)):
        if len(labels) != len(values):
            msg = f"text {number}: expected a score for each of {len(labels)} words, got {len(values)}"
            raise InputError(msg)
        if len(set(labels)) > 1:
            row = roc_auc(values, labels), average_precision(values, labels), recall_at_positives(values, labels)
            found.append(row)
    if not found:
        msg = f"none of the {len(gold)} texts has both words that are errors and words that are none"
        raise InputError(msg)
    columns = TextAgreement(*np.array(found).T)
    auc, ap, recall = (float(values.mean()) for values in columns)
    return ErrorAgreement(auc, ap, recall, len(found), len(gold) - len(found), by_text=columns)


def gold_words(table: JudgementTable, *, side: Side = "hypothesis", words: str = "blanks") -> list[list[int]]:
    """For each text of a table 1 for each word that a marked error touches, and 0 for the others.

    `side="reference"` is that of the source, where words are marked that are left out or translated wrongly.
    """
    texts, errors = (
        (table.hypothesis, table.hypothesis_errors) if side == "hypothesis" else (table.source, table.source_errors)
    )
    if texts is None or errors is None:
        msg = f"{table.name} has no errors marked in the {'hypothesis' if side == 'hypothesis' else 'source'}"
        raise InputError(msg)
    return [
        [
            int(any(span.weight > 0 and span.start < word.end and word.start < span.end for span in spans))
            for word in split_words(text, words)
        ]
        for text, spans in zip(texts, errors, strict=True)
    ]


def word_errors(
    table: JudgementTable, *, metric: str = "bertscore", method: str = "match", **options: Any
) -> list[list[float]]:
    """Error scores of the words of each text, by the explanations of a metric.

    `match` is 1 - similarity to the best match, or the cost of moving the word; `leave-one-out` and `shapley` are
    what the score gains without the word. `side=` and the other options are those of `nlgauge.explain_pair`.
    """
    if method not in METHODS:
        msg = f"method must be one of {', '.join(METHODS)}, got {method!r}"
        raise InputError(msg)
    chosen, _ = split_options(options, ExplainOptions)
    references = None if not all(table.references) else list(table.references)
    found = iter_explanations(
        table.hypothesis,
        references,
        sources=table.source,
        metric=metric,
        **(options | {"shapley": method == "shapley", "leave_one_out": method == "leave-one-out"}),
    )
    if method == "match":
        return [one.error_scores(chosen.side).tolist() for one in found]
    return [_gains(one, method, chosen.side) for one in found]


def _gains(found: Explanation, method: str, side: Side) -> list[float]:
    """What the score gains without each word, turned so that more is better."""
    sign = -1.0 if found.higher_is_better else 1.0
    return [sign * value for value in found.attribution(kind=method, side=side).values]
