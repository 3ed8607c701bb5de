"""Explanations of a whole corpus: contributions of groups of words, and agreement with human error annotations.

`nlgauge.explain_corpus` adds up the contributions of all words (`Attribution`), by part of speech and by whether a
word matches a word of the other text:

    same word     the other text has the same word, ignoring case (as in LEX)
    same lemma    the other text has another form of the word (as in MOR)
    other word    neither: only semantic metrics can give credit
    punctuation   punctuation, matched or not

Shares are of absolute contributions, because contributions may be negative. Intervals are percentile bootstraps of
texts.

`evaluate_errors` compares error scores of words, computed or read from files, with marked words. The protocol is that
of the Eval4NLP 2021 shared task: texts whose words are all errors, or all correct, are skipped; each other text has
an AUC, an average precision, and a recall among the K highest scores, where K is the number of its errors (of equal
scores the later word counts as higher). Results are means over texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import AnnotatedTextMetric, check_annotator
from nlgauge.core.corpus import References
from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.core.scoring import AnyMetric, resolve_call, single_metric
from nlgauge.core.short_signature import format_signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.io.tables import read_jsonl, read_lines
from nlgauge.io.textfiles import parse_source
from nlgauge.stats.correlation import average_precision, recall_at_positives, roc_auc
from nlgauge.stats.resampling import bootstrap_sums, expanded_tail
from nlgauge.studies.explain.explanation import Attribution, ExplainOptions, Side, Word
from nlgauge.studies.explain.pairs import iter_explanations
from nlgauge.text.annotation import AnnotatedText, annotate_each
from nlgauge.text.annotators import load_annotator
from nlgauge.text.tokenizer import is_punctuation
from nlgauge.text.words import split_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import SummaryKeywords


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(OptionSet):
    """Contributions to add up, the text they belong to, and options of intervals."""

    called: ClassVar[str] = "options of a summary of explanations"

    method: str = option(
        "linear",
        Choice("linear", "leave-one-out", "shapley", "lime"),
        help="word contributions: summands of the score (linear), or the drop without the word",
    )
    side: Side = option(
        "hypothesis",
        Choice("hypothesis", "reference"),
        help="text whose words are counted (reference: also the source)",
    )
    annotator: str = AnnotatedTextMetric.same_option("annotator")
    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(1), help="bootstrap resamples of texts", hidden=True, limit=10_000)
    seed: int = seed_option()


MATCHES = ("same word", "same lemma", "other word", "punctuation")


class GroupShare(NamedTuple):
    """Contribution of a group of words to the score."""

    group: str
    words: int
    of_words: float
    """Share of all words."""
    share: float
    """Share of the absolute contributions of all words."""
    low: float | None
    """Lower end of the confidence interval of `share`; None for a single text."""
    high: float | None
    mean: float
    """Mean contribution of a word, with its sign."""


@dataclass(frozen=True)
class CorpusSummary(Result):
    """Contributions of groups of words to a metric's score."""

    format = "nlgauge-corpus-summary-1"
    decimals = 3
    line = LINE

    metric: str
    of: str
    """The number that contributions sum to: precision, recall, cost, or a component of the score."""
    method: str
    side: Side
    texts: int
    skipped: int
    """Texts left out because they could not be annotated or have no contributions."""
    parts_of_speech: tuple[GroupShare, ...]
    """Largest share first."""
    matches: tuple[GroupShare, ...]
    annotator: str
    signature: str
    level: float

    def tables(self, form: str = "text") -> list[Table]:
        """A row per group of words."""
        rows: list[list[Cell]] = []
        for title, groups in (("part of speech", self.parts_of_speech), ("match", self.matches)):
            rows += [[title, *group] for group in groups]
        left_out = f"; left out: {self.skipped} without annotation or contributions" if self.skipped else ""
        intervals = f"{100 * self.level:g} % intervals, bootstrap of texts"
        notes = [
            f"texts: {self.texts}{left_out}",
            f"share: of all absolute contributions; low, high: {intervals}",
            "mean: mean contribution of a word, with its sign",
            f"annotator: {self.annotator}",
            f"signature: {format_signature(self.signature)}",
        ]
        columns = ["by", "group", "words", "of words", "share", "low", "high", "mean"]
        caption = f"{self.metric}: contributions of words of the {self.side} to {self.of} ({self.method})"
        return [Table(columns, rows, caption=caption, notes=notes)]


def explain_corpus(
    hyps: Iterable[str],
    refs: References | None = None,
    metric: AnyMetric | None = None,
    *,
    sources: Iterable[str] | None = None,
    **options: Unpack[SummaryKeywords],
) -> CorpusSummary:
    """Add up the contributions of the words of all texts to a metric's score.

    Args:
        hyps: Hypotheses.
        refs: References; of several the best is explained.
        metric: As in `nlgauge.score`. Default: BERTScore.
        sources: Source texts, for metrics that compare with them.
        options: Those of `CorpusOptions` (`annotator=`, `side=`, `method=`, `level=`, `resamples=`, `seed=`), of
            `nlgauge.score`, and of `nlgauge.explain_pair`.
    """
    rest: dict[str, Any] = dict(options)
    chosen = CorpusOptions.take(rest)
    method, side = chosen.method, chosen.side
    tagger = load_annotator(chosen.annotator)
    rest |= _flags_of(method) | {"side": side}
    if tagger.language:
        of_recipe = {name: value for name, value in rest.items() if name not in ExplainOptions.options()}
        (recipe,), _, _ = resolve_call(single_metric(metric, function="explain_corpus"), of_recipe)
        check_annotator(recipe, chosen.annotator, (tagger.language,))
    count, first = 0, None
    parts: list[_TextParts] = []
    for explanation in iter_explanations(hyps, refs, metric=metric, sources=sources, **rest):
        count += 1
        own_parts = (part for part in explanation.attributions if part.kind == method and part.side == side)
        part = next(own_parts, None)
        if part is not None and any(part.values):
            first = first or explanation
            texts = explanation.hypothesis.text, explanation.reference.text
            parts.append(_TextParts(explanation.words(side), part, *(texts if side == "hypothesis" else texts[::-1])))
    if first is None:
        msg = f"none of the {count} texts has {method} contributions of the {side}; try method='leave-one-out'"
        raise InputError(msg)
    annotations = annotate_each(tagger, [text for part in parts for text in (part.own, part.other)])
    groups = [
        _group_words(part, own, other)
        for part in parts
        if (own := annotations[part.own]) is not None and (other := annotations[part.other]) is not None
    ]
    if not groups:
        msg = f"{tagger.label} could not annotate both texts of any of the {count} pairs"
        raise InputError(msg)
    tags = _shares([[(tag, value) for tag, _, value in rows] for rows in groups], chosen)
    matches = _shares([[(match, value) for _, match, value in rows] for rows in groups], chosen)
    return CorpusSummary(
        first.metric,
        parts[0].attribution.of,
        method,
        side,
        len(groups),
        count - len(groups),
        tuple(sorted(tags, key=lambda group: -group.share)),
        tuple(sorted(matches, key=lambda group: MATCHES.index(group.group))),
        tagger.label,
        first.signature.recipe_part,
        chosen.level,
    )


def _flags_of(method: str) -> dict[str, bool]:
    """The options of an explanation that compute a method's contributions."""
    return {"shapley": method == "shapley", "leave_one_out": method == "leave-one-out", "lime": method == "lime"}


class _TextParts(NamedTuple):
    """Words and contributions of one explanation."""

    words: Sequence[Word]
    attribution: Attribution
    own: str
    """The text whose words are explained."""
    other: str


def _group_words(part: _TextParts, own: AnnotatedText, other: AnnotatedText) -> list[tuple[str, str, float]]:
    """Tag, match and contribution of each word of a text."""
    annotated, others = ([word for sentence in text.sentences for word in sentence.words] for text in (own, other))
    forms, lemmas = {word.form.lower() for word in others}, {word.lemma.lower() for word in others}
    rows = []
    for word, value in zip(part.words, part.attribution.values, strict=True):
        # The first of the annotated words that share most characters with the word.
        shared = [min(word.end, entry.end) - max(word.start, entry.start) for entry in annotated]
        most = max(shared, default=0)
        tag = annotated[shared.index(most)] if most > 0 else None
        match = "other word"
        if all(map(is_punctuation, word.text)):
            match = "punctuation"
        elif word.text.lower() in forms or (tag is not None and tag.form.lower() in forms):
            match = "same word"
        elif tag is not None and tag.lemma.lower() in lemmas:
            match = "same lemma"
        rows.append((tag.upos if tag else "X", match, float(value)))
    return rows


def _shares(texts: Sequence[Sequence[tuple[str, float]]], options: CorpusOptions) -> list[GroupShare]:
    """Contribution of each group, with an interval over texts; a text is a list of (group, contribution) of words."""
    groups = sorted({group for rows in texts for group, _ in rows})
    sizes, counts = np.zeros((2, len(texts), len(groups)))
    signed = np.zeros(len(groups))
    for text, rows in enumerate(texts):
        for name, value in rows:
            group = groups.index(name)
            sizes[text, group] += abs(value)
            counts[text, group] += 1
            signed[group] += value
    total, words = sizes.sum(axis=0), counts.sum(axis=0)
    ends: list[list[float | None]] = [[None, None]] * len(groups)
    if len(sizes) > 1:
        drawn = np.concatenate(list(bootstrap_sums(sizes, resamples=options.resamples, seed=options.seed)))
        tail = 100 * expanded_tail(options.level, len(sizes))
        ends = np.percentile(drawn / drawn.sum(axis=1, keepdims=True), [tail, 100 - tail], axis=0).T.tolist()
    columns = words.astype(int), words / words.sum(), total / total.sum(), signed / words
    return [
        GroupShare(group, count, of_words, share, low, high, mean)
        for group, count, of_words, share, mean, (low, high) in zip(
            groups, *(column.tolist() for column in columns), ends, strict=True
        )
    ]


#: Sources of error scores: the match of a word, or the gain of the score without it.
METHODS = ("match", "leave-one-out", "shapley", "lime")


#: Agreement of a text's error scores with its marked words, by name.
ERROR_MEASURES: Mapping[str, Callable[[Sequence[float], Sequence[int]], float]] = {
    "AUC": roc_auc,
    "AP": average_precision,
    "recall@K": recall_at_positives,
}


@dataclass(frozen=True)
class ErrorAgreement(Result):
    """Agreement of error scores with words marked as errors: means over texts."""

    format = "nlgauge-error-agreement-1"
    decimals = 3

    auc: float
    ap: float
    """Average precision."""
    recall: float
    """Recall among the K highest scores, where K is the number of a text's errors."""
    texts: int
    """Texts that were not skipped."""
    skipped: int
    """Texts whose words are all errors, or all correct."""
    scores: str = ""
    """Source of the scores: a metric or a file."""
    langpair: str | None = None

    def tables(self, form: str = "text") -> list[Table]:
        """One row."""
        return ErrorAgreements((self,)).tables(form)


@dataclass(frozen=True)
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
        notes = ["means over texts with errors and correct words; K: number of errors of a text"]
        return [Table(columns, rows, notes=notes)]


def evaluate_errors(gold: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> ErrorAgreement:
    """Compare error scores of words (higher: more likely an error) with labels (1: error, 0: correct), text by text.

    >>> agreement = evaluate_errors([[0, 1, 0], [0, 0]], [[0.2, 0.9, 0.1], [0.5, 0.5]])
    >>> agreement.auc, agreement.ap, agreement.recall, agreement.texts, agreement.skipped
    (1.0, 1.0, 1.0, 1, 1)
    """
    rows = measure_errors(gold, scores)
    used = ~np.isnan(rows[:, 0]) if len(rows) else np.zeros(0, dtype=np.bool_)
    if not used.any():
        msg = f"none of the {len(gold)} texts has both errors and correct words"
        raise InputError(msg)
    auc, ap, recall = rows[used].mean(axis=0).tolist()
    return ErrorAgreement(auc, ap, recall, int(used.sum()), int((~used).sum()))


def measure_errors(gold: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """`ERROR_MEASURES` of each text; nan for texts whose words are all errors, or all correct."""
    if len(gold) != len(scores):
        msg = f"gold and scores must have the same number of texts, got {len(gold)} and {len(scores)}"
        raise InputError(msg)
    rows = np.full((len(gold), len(ERROR_MEASURES)), np.nan)
    for number, (labels, values) in enumerate(zip(gold, scores, strict=True)):
        if len(labels) != len(values):
            msg = f"text {number}: expected a score for each of {len(labels)} words, got {len(values)}"
            raise InputError(msg)
        if len(set(labels)) > 1:
            rows[number] = [measure(values, labels) for measure in ERROR_MEASURES.values()]
    return rows


def gold_words(table: JudgementTable, *, side: Side = "hypothesis", words: str = "blanks") -> list[list[int]]:
    """Labels of words for each text of a table: 1 for words that overlap a marked error, else 0.

    `side="reference"` is the source, in which omitted or wrongly translated words are marked.
    """
    texts, errors = (
        (table.hypothesis, table.hypothesis_errors) if side == "hypothesis" else (table.source, table.source_errors)
    )
    if texts is None or errors is None:
        text = "hypothesis" if side == "hypothesis" else "source"
        msg = f"{table.name} has no marked errors in the {text}; choose a data set that has them, such as eval4nlp"
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
    """Error scores of the words of each text, from the explanations of a metric.

    `match` is 1 - similarity to the best match, or the cost of moving the word; `leave-one-out`, `shapley` and `lime`
    are the gain of the score without the word. `side=` and the other options are those of `nlgauge.explain_pair`.
    """
    if method not in METHODS:
        msg = f"method must be one of {', '.join(METHODS)}, got {method!r}"
        raise InputError(msg)
    side = ExplainOptions.take(dict(options)).side
    options |= _flags_of(method)
    references = None if not all(table.references) else list(table.references)
    explanations = iter_explanations(table.hypothesis, references, metric, sources=table.source, **options)
    if method == "match":
        return [explanation.error_scores(side).tolist() for explanation in explanations]
    return [
        # Contributions are negated for similarities: a higher value is then more likely an error.
        [value if not explanation.higher_is_better else -value for value in part.values]
        for explanation in explanations
        for part in [explanation.attribution(kind=method, side=side)]
    ]


def read_word_tags(path: str) -> list[list[int]]:
    """Read labels of words: 0 or 1 for each word, separated by spaces, one text per line."""
    texts = []
    for number, line in enumerate(read_lines(path), start=1):
        tags = line.split()
        if not tags or not set(tags) <= {"0", "1"}:
            msg = f"{path}, line {number}: expected 0 or 1 for each word, got {line[:60]!r}"
            raise FileFormatError(msg)
        texts.append([int(tag) for tag in tags])
    return texts


def read_word_scores(path: str, *, lower_is_error: bool = False) -> list[list[float]]:
    """Read error scores of words, separated by spaces, or lists under a key of a JSONL file (`FILE.jsonl:KEY`).

    `lower_is_error` negates them.
    """
    source = parse_source(path)
    name, rows = source.path or path, []
    if source.column is None:
        rows = [(f"{name}, line {n}", line.split()) for n, line in enumerate(read_lines(name), start=1)]
    else:
        for row in read_jsonl(name):
            value = row.value(source.column)
            rows.append((row.location(source.column), value if isinstance(value, list) else [value]))
    sign = -1.0 if lower_is_error else 1.0
    return [[sign * _number(value, place) for value in values] for place, values in rows]


def _number(value: object, place: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # other types raise an error below
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        msg = f"{place}: expected a number for each word, got {value!r}"
        raise FileFormatError(msg)
    return number
