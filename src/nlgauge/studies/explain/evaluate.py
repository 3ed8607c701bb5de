"""Evaluation of word-level error scores, computed or read from files, against words that people marked as errors.

The protocol is that of the Eval4NLP 2021 shared task: texts whose words are all errors, or none, are skipped; for
each other text AUC, average precision, and recall among the K highest scores, K the number of its errors (of equal
scores the later word counts as higher); then the means over texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.result import Result
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.table import Cell, Table
from nlgauge.io.tables import read_jsonl, read_lines
from nlgauge.io.textfiles import parse_source
from nlgauge.stats.correlation import average_precision, recall_at_positives, roc_auc
from nlgauge.studies.explain.explanation import Side
from nlgauge.studies.explain.options import ExplainOptions
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
    rows: list[tuple[float, float, float]] = []
    for number, (labels, values) in enumerate(zip(gold, scores, strict=True)):
        if len(labels) != len(values):
            msg = f"text {number}: expected a score for each of {len(labels)} words, got {len(values)}"
            raise InputError(msg)
        if len(set(labels)) > 1:
            row = roc_auc(values, labels), average_precision(values, labels), recall_at_positives(values, labels)
            rows.append(row)
    if not rows:
        msg = f"none of the {len(gold)} texts has both words that are errors and words that are none"
        raise InputError(msg)
    columns = TextAgreement(*np.array(rows).T)
    auc, ap, recall = (float(values.mean()) for values in columns)
    return ErrorAgreement(auc, ap, recall, len(rows), len(gold) - len(rows), by_text=columns)


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
    side = ExplainOptions.take(dict(options)).side
    options |= {"shapley": method == "shapley", "leave_one_out": method == "leave-one-out"}
    references = None if not all(table.references) else list(table.references)
    explanations = iter_explanations(table.hypothesis, references, metric, sources=table.source, **options)
    if method == "match":
        return [explanation.error_scores(side).tolist() for explanation in explanations]
    return [
        # Gains, turned so that more is better.
        [value if not explanation.higher_is_better else -value for value in part.values]
        for explanation in explanations
        for part in [explanation.attribution(kind=method, side=side)]
    ]


def read_word_tags(path: str) -> list[list[int]]:
    """0 or 1 for each word, blanks between them."""
    texts = []
    for number, line in enumerate(read_lines(path), start=1):
        tags = line.split()
        if not tags or not set(tags) <= {"0", "1"}:
            msg = f"{path}, line {number}: expected 0 or 1 for each word, got {line[:60]!r}"
            raise FileFormatError(msg)
        texts.append([int(tag) for tag in tags])
    return texts


def read_word_scores(path: str, *, lower_is_error: bool = False) -> list[list[float]]:
    """A number for each word, blanks between them, or lists under a key of a JSONL file (`FILE.jsonl:KEY`).

    They are turned where a low one speaks for an error.
    """
    source = parse_source(path)
    name, rows = source.path or path, []
    if source.column is None:
        rows = [(f"{name}, line {n}", line.split()) for n, line in enumerate(read_lines(name), start=1)]
    else:
        for row in read_jsonl(name):
            value = row.value(source.column)
            rows.append((row.at(source.column), value if isinstance(value, list) else [value]))
    sign = -1.0 if lower_is_error else 1.0
    return [[sign * _number(value, place) for value in values] for place, values in rows]


def _number(value: object, place: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever is no number is refused below
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        msg = f"{place}: expected a number for each word, got {value!r}"
        raise FileFormatError(msg)
    return number
