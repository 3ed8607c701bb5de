"""Translationese: does a metric prefer word-by-word translations to human ones? (Zhao et al. 2020, section 5.1.)

    d(y', y; x) = m(x, y') - m(x, y)        y: human translation of x; above 0 the metric prefers y'      (Eq. 1)
    W2W         = share of texts with d > 0                                                              (Eq. 2)

Three kinds of y' are made for each source x:

    literal        each word of x is replaced by its most probable translation, in the order of x; a word without one
                   stays if y has it too (names, numbers), and is left out otherwise: copies of the source would win
    source order   the words of y in the order of the words of x that they are linked to
    shuffled       the words of y in random order

Translations and links come from the word aligner, fitted to parallel text. Pairs of that text whose source is tested
are left out of the lexicon. In place of Google Translate and of experts, as in the paper.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.result import Result
from nlgauge.core.scoring import Metrics, metric_list, metric_text, score_systems
from nlgauge.core.short_signature import format_signature
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.io.canvas import WIDEST, finish_figure, new_panels, shorten
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.stats.numeric import orient
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.alignment.word_aligner import AlignerOptions, Links, align_words
from nlgauge.studies.stress.triples import DrawOptions
from nlgauge.text.words import bare_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import TripleKeywords

KINDS = ("literal", "source order", "shuffled")

_HUMAN, _BINS = "human", 30

#: A word with the punctuation before and behind it.
_PARTS = re.compile(r"^(\W*)(.*?)(\W*)$", flags=re.DOTALL)


class Rewritten(NamedTuple):
    """The three kinds of translations, one per source."""

    literal: list[str]
    source_order: list[str]
    shuffled: list[str]
    untranslated: float
    """Share of source words without a translation in the lexicon."""


@dataclass(frozen=True, eq=False)
class Preference:
    """Preference of a metric for one kind of translation over the human one."""

    computed: ClassVar[tuple[str, ...]] = ("share", "ties", "mean")

    metric: str
    kind: str
    differences: NDArray[np.float64]
    """d of each text; negated for distances."""
    interval: tuple[float, float] | None = None
    """Confidence interval of the share; None for a single text."""
    signature: str = ""

    @property
    def share(self) -> float:
        """Share of texts with d > 0."""
        return float(np.mean(self.differences > 0))

    @property
    def ties(self) -> float:
        """Share of texts with equal scores."""
        return float(np.mean(self.differences == 0))

    @property
    def mean(self) -> float:
        """Mean of d."""
        return float(self.differences.mean())


@dataclass(frozen=True, eq=False)
class Translationese(Result):
    """Preferences of all metrics."""

    format = "nlgauge-translationese-1"
    decimals = 3
    line = LINE

    signature: Signature
    texts: int
    lexicon_pairs: int
    """Pairs of texts that the lexicon is from."""
    untranslated: float
    preferences: tuple[Preference, ...]

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric and kind."""
        rows: list[list[Cell]] = [
            [entry.metric, entry.kind, entry.share, *(entry.interval or (None, None)), entry.ties, entry.mean]
            for entry in self.preferences
        ]
        level = float(self.signature.recipe["interval"])
        signatures = {entry.metric: entry.signature for entry in self.preferences}
        notes = [
            f"signature: {format_signature(self.signature)}",
            f"{self.texts} texts; lexicon from {self.lexicon_pairs} other pairs of texts; {self.untranslated:.1%} of "
            "the source words are not in it: names and numbers stay, others are left out",
            f"preferred: share of texts scored above the human translation; low, high: {level:.0%} interval",
            *(f"{metric}: {format_signature(text)}" for metric, text in signatures.items()),
        ]
        columns = ["metric", "translation", "preferred", "low", "high", "ties", "mean d"]
        return [Table(columns, rows, "preference over human translations", notes)]

    def figure(self) -> Any:
        """A row of histograms of d for each metric (Figure 3 of the paper)."""
        metrics = list(dict.fromkeys(entry.metric for entry in self.preferences))
        figure, panels = new_panels(len(metrics), len(KINDS), width=WIDEST, height=2.1)
        for axes, entry in zip(panels, self.preferences, strict=True):
            share = np.full(len(entry.differences), 1 / len(entry.differences))
            axes.hist(entry.differences, bins=_BINS, weights=share)
            axes.axvline(0.0, color="#444444", linestyle="--", linewidth=1.0)
            axes.set_title(f"{shorten(entry.metric)}, {entry.kind}: {entry.share:.0%}", loc="left", fontsize=8)
            axes.tick_params(labelsize=7)
        finish_figure(
            figure,
            title="difference of scores: rewritten minus human translation",
            caption=f"{self.texts} texts. Right of the dashed line the metric prefers the rewritten translation; its "
            "share is in the title.",
        )
        return figure


def translationese(
    sources: Sequence[str],
    references: Sequence[str],
    parallel: tuple[Sequence[str], Sequence[str]],
    metric: Metrics | None = None,
    **options: Unpack[TripleKeywords],
) -> Translationese:
    """Score rewritten and human translations against their sources; options as in `score_triples`."""
    if not sources or len(sources) != len(references):
        msg = f"expected as many human translations as sources, got {len(references)} and {len(sources)}"
        raise InputError(msg)
    keywords: dict[str, Any] = dict(options)
    drawing = DrawOptions.take(keywords)
    tested = set(sources)
    pairs = [pair for pair in zip(*parallel, strict=True) if pair[0] not in tested]
    texts = rewrite(sources, references, pairs, seed=drawing.seed)
    systems = {_HUMAN: list(references), **dict(zip(KINDS, texts[:3], strict=True))}
    metrics = metric_list(metric)
    scores = score_systems(systems, list(references), metrics, sources=list(sources), **keywords)
    preferences = []
    for number, name in enumerate(map(metric_text, metrics)):
        human, *others = scores[number * len(systems) : (number + 1) * len(systems)]
        for kind, score in zip(KINDS, others, strict=True):
            difference = score.segments[score.main] - human.segments[human.main]
            d = orient(difference, higher_is_better=score.higher_is_better)
            interval = None
            if len(d) > 1:
                drawn = bootstrap_mean((d > 0).astype(np.float64), **drawing.drawing)
                interval = (max(0.0, drawn.low), min(1.0, drawn.high))
            preferences.append(Preference(name, kind, d, interval, score.signature.recipe_part))
    fields = {
        "texts": _digest(zip(sources, references, strict=True)),
        "lexicon": _digest(pairs),
        **drawing.signed_intervals,
        "seed": str(drawing.seed),
    }
    signature = Signature("translationese", fields)
    return Translationese(signature, len(sources), len(pairs), texts.untranslated, tuple(preferences))


def rewrite(
    sources: Sequence[str], references: Sequence[str], parallel: Sequence[tuple[str, str]], *, seed: int = 12345
) -> Rewritten:
    """Make the three kinds of translations; words are split at spaces."""
    if not parallel:
        msg = "the lexicon needs parallel text other than the tested pairs"
        raise InputError(msg)
    left, right = ([bare_words(pair[side]) for pair in parallel] for side in (0, 1))
    lexicon = make_lexicon(left, right)
    spellings = _spellings([target for _, target in parallel])
    missing, count = 0, 0
    literal = []
    for source, reference in zip(sources, references, strict=True):
        words, names = [], set(bare_words(reference))
        for word in source.split():
            before, _, behind = _split(word)
            (key,) = bare_words(word)
            best = lexicon.get(key)
            count += 1
            missing += best is None
            if best is not None:
                words.append(f"{before}{spellings.get(best, best)}{behind}")
            elif key in names:
                words.append(word)
        literal.append(_capitalised(" ".join(words)))
    # The tested pairs take part here, because their own words are linked.
    own = ([bare_words(text) for text in texts] for texts in (sources, references))
    sides = [[*side, *more] for side, more in zip(own, (left, right), strict=True)]
    links = align_words(*sides)[: len(sources)]
    chance = np.random.default_rng(seed)
    ordered = [_in_source_order(text, pairs) for text, pairs in zip(references, links, strict=True)]
    shuffled = [" ".join(chance.permutation(text.split()).tolist()) for text in references]
    return Rewritten(literal, ordered, shuffled, missing / max(count, 1))


def make_lexicon(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> dict[str, str]:
    """The most frequently linked word of each source word, by links of both directions.

    Probabilities of one direction give rare words to each other.
    """
    counts: dict[str, Counter[str]] = {}
    alignments = align_words(source, target, options=AlignerOptions(symmetrise="intersection"))
    for left, right, links in zip(source, target, alignments, strict=True):
        for i, j in links:
            counts.setdefault(left[i], Counter())[right[j]] += 1
    return {word: linked.most_common(1)[0][0] for word, linked in counts.items()}


def _in_source_order(text: str, links: Links) -> str:
    """Order words by the mean position of the linked source words; others stay behind their neighbour.

    >>> _in_source_order("he has seen it", ((0, 0), (1, 1), (3, 2), (2, 3)))
    'he has it seen'
    """
    words = text.split()
    places: list[float] = []
    for j in range(len(words)):
        linked = [i for i, other in links if other == j]
        places.append(sum(linked) / len(linked) if linked else places[-1] if places else -1.0)
    return " ".join(words[j] for j in sorted(range(len(words)), key=lambda j: (places[j], j)))


def _digest(pairs: Iterable[tuple[str, str]]) -> str:
    return short_digest(text_digest(json.dumps(list(pairs))))


def _split(word: str) -> tuple[str, str, str]:
    """Split off the punctuation around a word."""
    match = _PARTS.match(word)
    return (match[1], match[2], match[3]) if match is not None and match[2] else ("", word, "")


def _spellings(texts: Sequence[str]) -> Mapping[str, str]:
    """The most frequent spelling of each word inside texts, where the first letter tells a name."""
    counts: dict[str, Counter[str]] = {}
    for text in texts:
        for word in text.split()[1:]:
            core = _split(word)[1]
            counts.setdefault(core.lower(), Counter())[core] += 1
    return {word: spellings.most_common(1)[0][0] for word, spellings in counts.items()}


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
