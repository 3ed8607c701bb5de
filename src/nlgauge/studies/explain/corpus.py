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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nlgauge.core.annotation import check_annotator
from nlgauge.core.corpus import References
from nlgauge.core.result import Result
from nlgauge.core.scoring import AnyMetric, one_metric, resolved_call
from nlgauge.errors import InputError
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.stats.numeric import Vector
from nlgauge.stats.resampling import bootstrap_sums, expanded_tail
from nlgauge.studies.explain.explanation import Attribution, Side, Word
from nlgauge.studies.explain.options import CorpusOptions, ExplainOptions
from nlgauge.studies.explain.pairs import iter_explanations
from nlgauge.text.annotation import AnnotatedText, AnnotatedWord, annotate_each
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
    rest: dict[str, Any] = dict(options)
    chosen = CorpusOptions.take(rest)
    method, side = chosen.method, chosen.side
    tagger = load_annotator(chosen.annotator)
    rest |= {"shapley": method == "shapley", "leave_one_out": method == "leave-one-out", "side": side}
    if tagger.language:
        of_recipe = {name: value for name, value in rest.items() if name not in ExplainOptions.options()}
        (recipe,), _, _ = resolved_call(one_metric(metric, function="explain_corpus"), of_recipe)
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
        msg = f"none of the {count} pairs of texts is annotated on both sides by {tagger.label}"
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


class _TextParts(NamedTuple):
    """What is kept of an explanation."""

    words: Sequence[Word]
    attribution: Attribution
    own: str
    """The text whose words are looked at."""
    other: str


def _group_words(part: _TextParts, own: AnnotatedText, other: AnnotatedText) -> list[tuple[str, str, float]]:
    """Tag, match and contribution of each word of a text."""
    annotated, there = ([word for sentence in text.sentences for word in sentence.words] for text in (own, other))
    forms, lemmas = {word.form.lower() for word in there}, {word.lemma.lower() for word in there}
    rows = []
    for word, value in zip(part.words, part.attribution.values, strict=True):
        # The annotated word that shares most characters with it; of equal ones the first.
        shared = [min(word.end, entry.end) - max(word.start, entry.start) for entry in annotated]
        most = max(shared, default=0)
        tag = annotated[shared.index(most)] if most > 0 else None
        rows.append((tag.upos if tag else "X", _match(word, tag, forms, lemmas), float(value)))
    return rows


def _match(word: Word, tag: AnnotatedWord | None, forms: set[str], lemmas: set[str]) -> str:
    if all(map(is_punctuation, word.text)):
        return "punctuation"
    if word.text.lower() in forms or (tag is not None and tag.form.lower() in forms):
        return "same word"
    return "same lemma" if tag is not None and tag.lemma.lower() in lemmas else "other word"


def _shares(texts: Sequence[Sequence[tuple[str, float]]], options: CorpusOptions) -> list[GroupShare]:
    """What each group contributes, with an interval over texts; a text is a list of groups and values of words."""
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
    return [
        GroupShare(
            group,
            int(words[number]),
            float(words[number] / words.sum()),
            float(total[number] / total.sum()),
            *ends,
            float(signed[number] / words[number]),
        )
        for number, (group, ends) in enumerate(zip(groups, _intervals(sizes, options), strict=True))
    ]


def _intervals(sizes: Vector, options: CorpusOptions) -> list[tuple[float | None, float | None]]:
    """Ends of the interval of each share."""
    if len(sizes) < 2:
        return [(None, None)] * sizes.shape[1]
    drawn = np.concatenate(list(bootstrap_sums(sizes, resamples=options.resamples, seed=options.seed)))
    tail = 100 * expanded_tail(options.level, len(sizes))
    low, high = np.percentile(drawn / drawn.sum(axis=1, keepdims=True), [tail, 100 - tail], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))
