"""nlgauge.explain_corpus: which words carry the score of a metric, over a whole corpus.

Each word of each text has a part in the score (`nlgauge.studies.explain.explanation.Attribution`). Here the parts
are added up by part of speech, and by what a word finds in the other text:

    same word     it stands there too, whatever its case: what LEX sees
    same lemma    another form of it does: what MOR sees
    other word    neither does: what only a metric of meaning can give credit for
    punctuation   whatever it finds

A share is of the sizes of all parts, because parts may be negative. Intervals are percentile bootstraps of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nlgauge.core.annotation import check_annotator
from nlgauge.core.corpus import References
from nlgauge.core.result import Result
from nlgauge.core.scoring import AnyMetric, one_metric, resolved_call
from nlgauge.errors import InputError
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.stats.resampling import bootstrap_sums, expanded_tail
from nlgauge.stats.validation import Vector
from nlgauge.studies.explain.explanation import Attribution, Explanation, Side, Word
from nlgauge.studies.explain.options import CorpusOptions, ExplainOptions, split_options
from nlgauge.studies.explain.pairs import iter_explanations
from nlgauge.text.annotation import AnnotatedText, AnnotatedWord, Annotator, annotate_each
from nlgauge.text.annotators import load_annotator
from nlgauge.text.tokenizer import is_punctuation

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import SummaryKeywords

MATCHES = ("same word", "same lemma", "other word", "punctuation")


class GroupShare(NamedTuple):
    """What the words of a group have to do with the score."""

    group: str
    words: int
    of_words: float
    """Share of all words."""
    share: float
    """Share of what all words contribute."""
    low: float | None
    """End of its interval; None where there is one text only, and so no other to draw."""
    high: float | None
    mean: float
    """Contribution of a word, with its sign."""


@dataclass(frozen=True)
class CorpusSummary(Result):
    """Which words carry a metric's score."""

    format = "nlgauge-corpus-summary-1"
    decimals = 3
    line = LINE

    metric: str
    of: str
    """What the parts sum to: precision, recall, cost, or a component of the score."""
    method: str
    side: Side
    texts: int
    skipped: int
    """Texts that could not be annotated or had no part of a word; they are left out."""
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
            f"share: of the sizes of all contributions; low, high: {intervals}",
            "mean: contribution of a word, with its sign",
            f"annotator: {self.annotator}",
            f"signature: {self.signature}",
        ]
        columns = ["by", "group", "words", "of words", "share", "low", "high", "mean"]
        caption = f"{self.metric}: what words of the {self.side} contribute to {self.of} ({self.method})"
        return [Table(columns, rows, caption=caption, notes=notes)]


def explain_corpus(
    hyps: Iterable[str],
    refs: References | None = None,
    metric: AnyMetric | None = None,
    *,
    sources: Iterable[str] | None = None,
    **options: Unpack[SummaryKeywords],
) -> CorpusSummary:
    """Sum up what the words of all texts contribute to a metric's score.

    Args:
        hyps: Hypotheses.
        refs: References; the best of several is looked at.
        metric: As in `nlgauge.score`. Default: BERTScore.
        sources: What was translated, for metrics that compare with it.
        options: Those of `nlgauge.studies.explain.options.CorpusOptions`: `annotator=`, `side=`, `method=`, `level=`,
            `resamples=`, `seed=`; those of `nlgauge.score`, and of `nlgauge.explain_pair`.
    """
    chosen, rest = split_options(options, CorpusOptions)
    method, side = chosen.method, chosen.side
    tagger = load_annotator(chosen.annotator)
    asked = rest | {"shapley": method == "shapley", "leave_one_out": method == "leave-one-out", "side": side}
    if tagger.language:
        _, of_recipe = split_options(asked, ExplainOptions)
        named = one_metric(metric, function="explain_corpus")
        (recipe,), _, _ = resolved_call(named, of_recipe)
        check_annotator(recipe, chosen.annotator, (tagger.language,))
    first: tuple[Explanation, Attribution] | None = None
    parts: list[_TextParts] = []
    count = 0
    for found in iter_explanations(hyps, refs, metric=metric, sources=sources, **asked):
        count += 1
        part = _attribution(found, method, side)
        if part is not None and any(part.values):
            first = first or (found, part)
            parts.append(_TextParts(found.words(side), part.values, *_ordered(found, side)))
    if first is None:
        msg = f"none of the {count} texts has {method} contributions of the {side}; try method='leave-one-out'"
        raise InputError(msg)
    explanation, part = first
    collected = _collected(parts, tagger)
    if not collected.texts:
        msg = f"none of the {count} pairs of texts is annotated on both sides by {tagger.label}"
        raise InputError(msg)
    shares = [collected.shares(kind, chosen) for kind in ("tag", "match")]
    return CorpusSummary(
        explanation.metric,
        part.of,
        method,
        side,
        len(collected.texts),
        count - len(collected.texts),
        tuple(sorted(shares[0], key=lambda one: -one.share)),
        tuple(sorted(shares[1], key=lambda one: MATCHES.index(one.group))),
        tagger.label,
        explanation.signature.recipe_part,
        chosen.level,
    )


def _attribution(found: Explanation, method: str, side: Side) -> Attribution | None:
    return next((one for one in found.attributions if one.kind == method and one.side == side), None)


def _ordered(found: Explanation, side: Side) -> tuple[str, str]:
    """The text whose words are looked at, then the other."""
    pair = found.hypothesis.text, found.reference.text
    return pair if side == "hypothesis" else pair[::-1]


class _TextParts(NamedTuple):
    """What is kept of an explanation."""

    words: Sequence[Word]
    values: Sequence[float]
    own: str
    other: str


def _collected(parts: Sequence[_TextParts], annotator: Annotator) -> _Collected:
    """All texts whose two sides can be annotated."""
    annotated = annotate_each(annotator, [text for one in parts for text in (one.own, one.other)])
    found = _Collected()
    for one in parts:
        own, other = annotated[one.own], annotated[one.other]
        if own is not None and other is not None:
            found.add(one.words, one.values, own, other)
    return found


class _Collected:
    """Words of texts with their groups and contributions."""

    def __init__(self) -> None:
        self.texts: list[list[tuple[str, str, float]]] = []
        """By text: tag, match and contribution of each word."""

    def add(self, words: Sequence[Word], values: Sequence[float], own: AnnotatedText, other: AnnotatedText) -> None:
        annotated = [word for sentence in own.sentences for word in sentence.words]
        there = [word for sentence in other.sentences for word in sentence.words]
        forms, lemmas = {word.form.lower() for word in there}, {word.lemma.lower() for word in there}
        rows = []
        for word, value in zip(words, values, strict=True):
            tag = _nearest(word, annotated)
            rows.append((tag.upos if tag else "X", _match(word, tag, forms, lemmas), float(value)))
        self.texts.append(rows)

    def shares(self, kind: str, options: CorpusOptions) -> list[GroupShare]:
        """What each group contributes, with an interval over texts."""
        at = ("tag", "match").index(kind)
        groups = sorted({str(row[at]) for rows in self.texts for row in rows})
        sizes, counts = np.zeros((2, len(self.texts), len(groups)))
        signed = np.zeros(len(groups))
        for text, rows in enumerate(self.texts):
            for row in rows:
                group = groups.index(str(row[at]))
                sizes[text, group] += abs(row[2])
                counts[text, group] += 1
                signed[group] += row[2]
        intervals = _intervals(sizes, options)
        total, words = sizes.sum(axis=0), counts.sum(axis=0)
        return [
            GroupShare(
                group,
                int(words[number]),
                float(words[number] / words.sum()),
                float(total[number] / total.sum()),
                *intervals[number],
                float(signed[number] / words[number]),
            )
            for number, group in enumerate(groups)
        ]


def _intervals(sizes: Vector, options: CorpusOptions) -> list[tuple[float | None, float | None]]:
    """Ends of the interval of each share."""
    if len(sizes) < 2:
        return [(None, None)] * sizes.shape[1]
    drawn = np.concatenate(list(bootstrap_sums(sizes, resamples=options.resamples, seed=options.seed)))
    tail = 100 * expanded_tail(options.level, len(sizes))
    low, high = np.percentile(drawn / drawn.sum(axis=1, keepdims=True), [tail, 100 - tail], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _nearest(word: Word, annotated: Sequence[AnnotatedWord]) -> AnnotatedWord | None:
    """The annotated word that a word shares most characters with; of equal ones the first."""
    shared = [min(word.end, one.end) - max(word.start, one.start) for one in annotated]
    best = max(shared, default=0)
    return annotated[shared.index(best)] if best > 0 else None


def _match(word: Word, tag: AnnotatedWord | None, forms: set[str], lemmas: set[str]) -> str:
    if all(map(is_punctuation, word.text)):
        return "punctuation"
    if word.text.lower() in forms or (tag is not None and tag.form.lower() in forms):
        return "same word"
    return "same lemma" if tag is not None and tag.lemma.lower() in lemmas else "other word"
