"""The stress test: all perturbations by name, texts changed by them, and how far each metric falls.

Perturbations of whole words are here (a word missing, words or nouns in another order); the others are in
perturbations.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import AnnotatorName
from nlgauge.core.composite import leaves
from nlgauge.core.corpus import References, checked_texts
from nlgauge.core.kinds import Choice, Many
from nlgauge.core.options import did_you_mean, option
from nlgauge.core.result import Result
from nlgauge.core.score import Score
from nlgauge.core.scoring import Metrics, chosen_metrics, metric_text, recipes_and_run, score_systems
from nlgauge.core.signature import Signature
from nlgauge.errors import DataWarning, InputError, RecipeError
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.stats.numeric import orient
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.stress.perturbations import (
    MEANING,
    NAMES,
    SURFACE,
    Context,
    Perturbation,
    drawn,
    names_of,
    other_order,
    put_in,
    replaced,
)
from nlgauge.studies.stress.triples import DrawOptions, permuted
from nlgauge.text.annotation import AnnotatedText, Annotator, annotate_each
from nlgauge.text.annotators import load_annotator
from nlgauge.text.words import WordSpan, split_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import StressKeywords

#: Short words carry little; one of these letters or more is dropped where there is one.
_LONG = 4


def without_a_word(text: str, context: Context) -> str | None:
    """Without one of its longer words (four letters or more; of any length where there is none)."""
    words = _letters(text)
    if len(words) < 2:
        return None
    word = context.draw.choice([one for one in words if len(one.text) >= _LONG] or words)
    if text[word.end : word.end + 1] == " ":
        return replaced(text, word.start, word.end + 1, "")
    start = word.start - 1 if text[word.start - 1 : word.start] == " " else word.start
    return replaced(text, start, word.end, "")


def exchanged(text: str, context: Context) -> str | None:
    """With two different words in each other's place; the rest stays."""
    words = _letters(text)
    pairs = [(a, b) for at, a in enumerate(words) for b in words[at + 1 :] if a.text.lower() != b.text.lower()]
    if not pairs:
        return None
    first, second = context.draw.choice(pairs)
    return put_in(text, (first, second), (second.text, first.text))


def shuffled(text: str, context: Context) -> str | None:
    """With all words in a random order; punctuation keeps its places."""
    words = _letters(text)
    other = other_order([word.text for word in words], context.draw)
    return None if other is None else put_in(text, words, other)


def with_nouns_permuted(text: str, context: Context) -> str | None:
    """With its nouns in another order, as the lookalikes of adversarial triples have them."""
    if context.annotated is None:
        return None
    return permuted(context.annotated, seed=context.draw.randrange(2**31))


def _letters(text: str) -> list[WordSpan]:
    return [word for word in split_words(text) if any(char.isalnum() for char in word.text)]


WORDS = (
    Perturbation("word-drop", "one longer word missing", without_a_word, english=False),
    Perturbation("word-swap", "two words in each other's place", exchanged, english=False),
    Perturbation("shuffle", "all words in another order", shuffled, english=False),
    Perturbation("noun-order", "nouns in another order", with_nouns_permuted, english=False, needs_annotator=True),
)


#: By name: first those that change the meaning, then those that keep it.
PERTURBATIONS = {one.name: one for one in (*MEANING, *NAMES, *WORDS, *SURFACE)}


@dataclass(frozen=True)
class PerturbedTexts:
    """Texts under one perturbation."""

    perturbation: Perturbation
    texts: tuple[str, ...]
    """Changed, or as they were."""
    changed: tuple[bool, ...]

    @property
    def count(self) -> int:
        """Texts that could be changed."""
        return sum(self.changed)


def chosen_perturbations(
    names: Sequence[str] | None = None, *, lang: str = "en", annotator: bool = False
) -> tuple[Perturbation, ...]:
    """Perturbations by name; without names, all that the language and the lack of an annotator leave.

    >>> [one.name for one in chosen_perturbations(lang="de")]
    ['number', 'word-drop', 'word-swap', 'shuffle', 'typo', 'casing']
    """
    english = lang.partition("-")[0].lower() == "en"
    if names is None:
        usable = PERTURBATIONS.values()
        return tuple(one for one in usable if (english or not one.english) and (annotator or not one.needs_annotator))
    found = []
    for name in dict.fromkeys(names):
        if name not in PERTURBATIONS:
            hint = did_you_mean(name, PERTURBATIONS)
            msg = f"unknown perturbation {name!r}{hint}; there are: {', '.join(PERTURBATIONS)}"
            raise RecipeError(msg)
        one = PERTURBATIONS[name]
        if one.english and not english:
            others = ", ".join(other.name for other in PERTURBATIONS.values() if not other.english)
            msg = f"{name} has English rules, and the texts are in {lang!r}; for any language there are: {others}"
            raise RecipeError(msg)
        if one.needs_annotator and not annotator:
            msg = f"{name} needs an annotator that knows nouns; name one with annotator="
            raise RecipeError(msg)
        found.append(one)
    if not found:
        msg = f"no perturbation was named; there are: {', '.join(PERTURBATIONS)}"
        raise RecipeError(msg)
    return tuple(found)


def perturb(
    texts: Sequence[str],
    perturbations: Sequence[Perturbation],
    *,
    seed: int = 12345,
    annotator: Annotator | None = None,
) -> list[PerturbedTexts]:
    """The texts under each perturbation, from a seed.

    >>> (found,) = perturb(["The ferry was late.", "Rain."], [PERTURBATIONS["negation"]])
    >>> found.texts, found.count
    (('The ferry was not late.', 'Rain.'), 1)
    """
    listed = list(texts)
    if not listed:
        msg = "there is no text to perturb"
        raise InputError(msg)
    annotated: Sequence[AnnotatedText | None] = [None] * len(listed)
    names = names_of(listed)
    if annotator is not None:
        marked = _annotated(listed, annotator)
        annotated, names = marked, names_of(listed, marked)
    found = []
    for one in perturbations:
        made = [
            one.change(text, Context(drawn(seed, one.name, text), names, mark))
            for text, mark in zip(listed, annotated, strict=True)
        ]
        other = [new if new is not None and new != text else None for new, text in zip(made, listed, strict=True)]
        found.append(
            PerturbedTexts(
                one,
                tuple(text if new is None else new for new, text in zip(other, listed, strict=True)),
                tuple(new is not None for new in other),
            )
        )
    return found


def _annotated(texts: Sequence[str], annotator: Annotator) -> list[AnnotatedText]:
    """Of each text; one that the annotator refuses has no words, so that none of its nouns and names is moved."""
    found = annotate_each(annotator, texts)
    refused = [number for number, text in enumerate(texts) if found[text] is None]
    if refused:
        first = ", ".join(map(str, refused[:10])) + (", ..." if len(refused) > 10 else "")
        msg = f"{len(refused)} of {len(texts)} texts ({first}) have no annotation: their nouns and names stay"
        warnings.warn(msg, DataWarning, stacklevel=3)
    return [found[text] or AnnotatedText(text, ()) for text in texts]


class Fall(NamedTuple):
    """One metric under one perturbation, over the texts that it changed."""

    perturbation: str
    keeps_meaning: bool
    changed: int
    """Texts that were changed."""
    fall: float | None
    """Mean of before minus after, turned so that a fall is above 0; None where no text was changed."""
    interval: tuple[float, float] | None
    """Of the fall; None where less than two texts were changed."""
    way_to_unrelated: float | None
    """The fall as a share of that to an unrelated text: 0 not moved, 1 like another text altogether."""
    below_paraphrase: float | None
    """Share of texts that score below their paraphrase once perturbed; None without paraphrases."""
    below_paraphrase_interval: tuple[float, float] | None

    def cells(self) -> list[Cell]:
        """Cells of a table."""
        ends: list[Cell] = [*(self.interval or (None, None))]
        shares: list[Cell] = [self.below_paraphrase, *(self.below_paraphrase_interval or (None, None))]
        meaning = "kept" if self.keeps_meaning else "changed"
        return [self.perturbation, meaning, self.changed, self.fall, *ends, self.way_to_unrelated, *shares]


@dataclass(frozen=True)
class MetricFalls:
    """One metric under all perturbations."""

    metric: str
    signature: str
    higher_is_better: bool
    original: float
    """Mean score of the texts as they were."""
    unrelated: float | None
    """Mean score of texts beside the reference of another; None for a single text."""
    paraphrase: Fall | None
    """What the paraphrases cost, over all texts that have one."""
    perturbations: tuple[Fall, ...]

    @property
    def falls(self) -> tuple[Fall, ...]:
        """That to the paraphrases, where there are some, and those of the perturbations."""
        return (*(() if self.paraphrase is None else (self.paraphrase,)), *self.perturbations)


@dataclass(frozen=True)
class StressTest(Result):
    """All metrics under all perturbations."""

    format = "nlgauge-stress-test-1"
    decimals = 3
    line = LINE

    signature: Signature
    """What was measured, in one line; each metric has a signature of its own."""
    texts: int
    """How many there are."""
    unchanged: int
    """Texts that no perturbation could change."""
    metrics: tuple[MetricFalls, ...]

    @property
    def against(self) -> str:
        """What scores are against: the texts themselves, or references."""
        return self.signature.recipe["against"]

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return float(self.signature.recipe["interval"])

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric and perturbation."""
        columns = ["metric", "perturbation", "meaning", "changed", "fall", "low", "high", "way"]
        columns += ["below paraphrase", "lo", "hi"]
        rows = [[one.metric, *fall.cells()] for one in self.metrics for fall in one.falls]
        if self.signature.recipe["paraphrases"] == "none":
            columns, rows = columns[:8], [row[:8] for row in rows]
        return [Table(columns, rows, "how far metrics fall", list(self._notes()))]

    def _notes(self) -> Iterator[str]:
        yield f"signature: {self.signature}"
        yield (
            f"changed: of {self.texts} texts, scored against {self.against}; {self.unchanged} could not be changed "
            "by any perturbation"
        )
        yield f"fall: mean score before minus after, over the texts changed; low, high: {self.level:.0%} interval"
        yield "way: the fall as a share of that to an unrelated text (the next one): 0 not moved, 1 like another text"
        if self.signature.recipe["paraphrases"] != "none":
            yield "below paraphrase: share of perturbed texts that score below the paraphrase, which they all should"
            yield "  where the meaning is changed, and none where it is kept"
        for one in self.metrics:
            unrelated = "" if one.unrelated is None else f", unrelated texts {one.unrelated:.3f}"
            yield f"{one.metric}: {one.signature}; as they were {one.original:.3f}{unrelated}"

    def figure(self) -> Any:
        """A group of bars for each perturbation, a bar for each metric, on the scale from 0 to an unrelated text."""
        from nlgauge.studies.stress.figures import draw_falls

        return draw_falls(self)


def fall_of(
    name: str,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    rows: NDArray[np.bool_],
    *,
    keeps_meaning: bool,
    to_unrelated: float | None,
    paraphrase: NDArray[np.float64] | None,
    drawing: dict[str, Any],
) -> Fall:
    """The fall of the chosen rows; scores are oriented, higher being better."""
    difference = (before - after)[rows]
    mean = float(difference.mean()) if len(difference) else None
    way = mean / to_unrelated if mean is not None and to_unrelated else None
    interval = ends = below = None
    if paraphrase is not None and rows.sum() > 1:
        share = bootstrap_mean((after < paraphrase)[rows].astype(np.float64), **drawing)
        below, ends = share.mean, (max(0.0, share.low), min(1.0, share.high))
    if len(difference) > 1:
        drawn_fall = bootstrap_mean(difference, **drawing)
        interval = drawn_fall.low, drawn_fall.high
    return Fall(name, keeps_meaning, int(rows.sum()), mean, interval, way, below, ends)


@dataclass(frozen=True, kw_only=True)
class StressOptions(DrawOptions):
    """What is done to texts, and how intervals are drawn."""

    called: ClassVar[str] = "options of a stress test"

    perturbations: tuple[str, ...] | None = option(
        None, Many(Choice(*PERTURBATIONS), least=1), help="perturbations", unset="all for the language"
    )
    # `stress` has a parameter of this name, because an annotator may also be an object.
    annotator: str | None = option(
        None,
        AnnotatorName(),
        help="finds names and nouns: spacy-en, or parses.conllu",
        unset="none",
        metavar="NAME",
    )


#: Names of the systems that are scored beside the perturbed ones; no perturbation has a blank in its name.
_ORIGINAL, _PARAPHRASE, _UNRELATED = "as it was", "a paraphrase", "another text"


def stress(
    texts: Sequence[str],
    refs: References | None = None,
    metric: Metrics | None = None,
    *,
    sources: Sequence[str] | None = None,
    paraphrases: Sequence[str] | None = None,
    annotator: str | Annotator | None = None,
    lang: str | None = None,
    name: str = "texts",
    scorer: Callable[..., Sequence[Score]] = score_systems,
    **options: Unpack[StressKeywords],
) -> StressTest:
    """How far metrics fall when texts are perturbed, and whether further than for a paraphrase.

    Args:
        texts: What is perturbed, such as the outputs of a system.
        refs: References of the texts. Default: each text is its own, so that a perturbed text is beside the original.
        metric: One or several, as `nlgauge.score_systems` has them. Default: BERTScore.
        sources: For metrics that compare with the source.
        paraphrases: A paraphrase (such as a second reference) of each text, which a metric should not take for worse
            than a text whose meaning was changed.
        annotator: Finds names and nouns, an annotator or its name; without one names are found by a rule, and nouns
            stay.
        lang: Language of the texts (default: English); what has English rules is left out for others. Metrics that
            know the option get it too.
        name: What the texts are called.
        scorer: What scores systems, with the arguments of `nlgauge.score_systems`.
        options: Those of `StressOptions` (each text is changed in the same way wherever it stands), and those of
            `nlgauge.score`.

    >>> found = stress(["The ferry was late.", "It was hot."], metric="chrf", perturbations=["negation"])
    >>> [(fall.perturbation, fall.changed) for fall in found.metrics[0].perturbations]
    [('negation', 2)]
    """
    given: dict[str, Any] = dict(options)
    own = StressOptions.take(given)
    tagger = load_annotator(annotator) if isinstance(annotator, str) else annotator
    listed = checked_texts(texts, "texts")
    others = None if paraphrases is None else checked_texts(paraphrases, "paraphrases")
    language = lang or "en"
    chosen = chosen_perturbations(own.perturbations, lang=language, annotator=tagger is not None)
    changed = perturb(listed, chosen, seed=own.seed, annotator=tagger)
    metrics = chosen_metrics(metric)
    recipes, _ = recipes_and_run(metrics, given)
    if lang is not None and any("lang" in one.options() for one in leaves(recipes)):
        given["lang"] = lang
    if others is not None and len(others) != len(listed):
        msg = f"each text needs a paraphrase, got {len(listed)} texts and {len(others)} paraphrases"
        raise InputError(msg)
    with_source = any(getattr(one, "against", "refs") == "source" for one in leaves(recipes))
    if with_source and sources is None:
        sources = listed
    systems = _systems(listed, changed, others)
    scores = scorer(
        systems,
        listed if refs is None else refs,
        metrics,
        sources=sources if with_source else None,
        **given,
    )
    found = []
    for number, text in enumerate(map(metric_text, metrics)):
        of_metric = scores[number * len(systems) : (number + 1) * len(systems)]
        found.append(_falls(text, dict(zip(systems, of_metric, strict=True)), changed, own.drawing))
    fields = {
        "texts": _label(name, listed),
        "against": _against(refs, sources, with_source=with_source),
        "perturbations": "+".join(one.name for one in chosen),
        "seed": str(own.seed),
        "lang": language,
        "annotator": "none" if tagger is None else tagger.label,
        "paraphrases": "none" if others is None else _label("paraphrases", others),
        **own.signed_intervals,
    }
    moved = np.any([one.changed for one in changed], axis=0)
    return StressTest(Signature("stress", fields), len(listed), int((~moved).sum()), tuple(found))


def _systems(
    texts: list[str], changed: Sequence[PerturbedTexts], paraphrases: Sequence[str] | None
) -> dict[str, list[str]]:
    systems = {_ORIGINAL: texts} | {one.perturbation.name: list(one.texts) for one in changed}
    if paraphrases is not None:
        systems[_PARAPHRASE] = list(paraphrases)
    if len(texts) > 1:
        systems[_UNRELATED] = [*texts[1:], texts[0]]
    return systems


def _falls(
    metric: str, scores: Mapping[str, Score], changed: Sequence[PerturbedTexts], drawing: dict[str, Any]
) -> MetricFalls:
    original = scores[_ORIGINAL]
    before = _oriented(original)
    unrelated = _oriented(scores[_UNRELATED]) if _UNRELATED in scores else None
    distance = None if unrelated is None else float(before.mean() - unrelated.mean())
    way = distance if distance is not None and distance > 0 else None
    paraphrase = _oriented(scores[_PARAPHRASE]) if _PARAPHRASE in scores else None
    every = np.ones(len(before), dtype=bool)
    own = None
    if paraphrase is not None:
        own = fall_of(
            _PARAPHRASE, before, paraphrase, every,
            keeps_meaning=True, to_unrelated=way, paraphrase=None, drawing=drawing,
        )  # fmt: skip
    falls = tuple(
        fall_of(
            one.perturbation.name,
            before,
            _oriented(scores[one.perturbation.name]),
            np.array(one.changed),
            keeps_meaning=one.perturbation.keeps_meaning,
            to_unrelated=way,
            paraphrase=paraphrase,
            drawing=drawing,
        )
        for one in changed
    )
    sign = 1 if original.higher_is_better else -1
    return MetricFalls(
        metric,
        original.signature.recipe_part,
        original.higher_is_better,
        sign * float(before.mean()),
        None if unrelated is None else sign * float(unrelated.mean()),
        own,
        falls,
    )


def _oriented(score: Score) -> NDArray[np.float64]:
    return orient(score.segments[score.main], higher_is_better=score.higher_is_better)


def _label(name: str, texts: Sequence[str]) -> str:
    return f"{name}[{len(texts)},{short_digest(text_digest(repr(list(texts))))}]"


def _against(refs: References | None, sources: Sequence[str] | None, *, with_source: bool) -> str:
    own = "the texts themselves" if refs is None else "references"
    return f"{own} and sources" if with_source and sources is not None else own
