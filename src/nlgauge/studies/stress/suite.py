"""The stress test: all perturbations by name, texts changed by them, and how far each metric falls.

Perturbations of whole words are here (a word missing, words or nouns in another order); the others are in
perturbations.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.composite import leaves
from nlgauge.core.corpus import References, checked_texts
from nlgauge.core.options import did_you_mean
from nlgauge.core.score import Score
from nlgauge.core.scoring import Metrics, chosen_metrics, metric_text, recipes_and_run, score_systems
from nlgauge.errors import DataWarning, InputError, RecipeError
from nlgauge.io.formats import HtmlCell, html_table
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.stats.numeric import orient
from nlgauge.stats.resampling import Interval, bootstrap_mean
from nlgauge.studies.explain.explanation import annotate_each
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
from nlgauge.studies.stress.triples import permuted
from nlgauge.text.annotation import AnnotatedText, Annotator
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
    fall: Interval | None
    """Mean of before minus after, turned so that a fall is above 0; None where less than two texts were changed."""
    mean: float | None
    """The same without an interval; None where no text was changed."""
    way: float | None
    """The mean as a share of the fall to an unrelated text: 0 not moved, 1 like another text altogether."""
    below_paraphrase: Interval | None
    """Share of texts that score below their paraphrase once perturbed; None without paraphrases."""


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
    falls: tuple[Fall, ...]


@dataclass(frozen=True)
class StressTest:
    """All metrics under all perturbations."""

    texts: str
    """Name, number and digest of the texts."""
    against: str
    """What scores are against: the texts themselves, or references."""
    size: int
    perturbations: tuple[str, ...]
    unchanged: int
    """Texts that no perturbation could change."""
    metrics: tuple[MetricFalls, ...]
    seed: int
    lang: str
    annotator: str
    paraphrases: str
    """Name, number and digest of the paraphrases; empty without."""
    level: float
    resamples: int

    @property
    def signature(self) -> str:
        """What was measured, in one line; each metric has a signature of its own."""
        fields = {
            "texts": self.texts,
            "against": self.against,
            "perturbations": "+".join(self.perturbations),
            "seed": str(self.seed),
            "lang": self.lang,
            "annotator": self.annotator or "none",
            "paraphrases": self.paraphrases or "none",
            "interval": f"{self.level:g}",
            "resamples": str(self.resamples),
        }
        return "stress|" + "|".join(f"{key}:{value}" for key, value in fields.items())

    def _repr_html_(self) -> str:
        rows: list[list[HtmlCell]] = []
        for one in self.metrics:
            for fall in (*(() if one.paraphrase is None else (one.paraphrase,)), *one.falls):
                low, high = (None, None) if fall.fall is None else (fall.fall.low, fall.fall.high)
                meaning = "kept" if fall.keeps_meaning else "changed"
                rows.append([one.metric, fall.perturbation, meaning, fall.changed, fall.mean, low, high, fall.way])
        columns = ["metric", "perturbation", "meaning", "changed", "fall", "low", "high", "way"]
        notes = [f"signature: {self.signature}"]
        return html_table(columns, rows, caption=f"how far metrics fall, {self.size} texts", notes=notes, width=3)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "signature": self.signature,
            "texts": self.size,
            "unchanged": self.unchanged,
            "metrics": [
                {
                    "metric": one.metric,
                    "signature": one.signature,
                    "higher_is_better": one.higher_is_better,
                    "original": one.original,
                    "unrelated": one.unrelated,
                    "paraphrase": None if one.paraphrase is None else _record(one.paraphrase),
                    "perturbations": [_record(fall) for fall in one.falls],
                }
                for one in self.metrics
            ],
        }


def _record(fall: Fall) -> dict[str, Any]:
    return {
        "perturbation": fall.perturbation,
        "keeps_meaning": fall.keeps_meaning,
        "changed": fall.changed,
        "fall": fall.mean,
        "interval": None if fall.fall is None else [fall.fall.low, fall.fall.high],
        "way_to_unrelated": fall.way,
        "below_paraphrase": None if fall.below_paraphrase is None else fall.below_paraphrase.mean,
        "below_paraphrase_interval": None
        if fall.below_paraphrase is None
        else [fall.below_paraphrase.low, fall.below_paraphrase.high],
    }


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
    below = None
    if paraphrase is not None and rows.sum() > 1:
        found = bootstrap_mean((after < paraphrase)[rows].astype(np.float64), **drawing)
        below = found._replace(low=max(0.0, found.low), high=min(1.0, found.high))
    interval = bootstrap_mean(difference, **drawing) if len(difference) > 1 else None
    return Fall(name, keeps_meaning, int(rows.sum()), interval, mean, way, below)


#: Names of the systems that are scored beside the perturbed ones; no perturbation has a blank in its name.
_ORIGINAL, _PARAPHRASE, _UNRELATED = "as it was", "a paraphrase", "another text"


def stress(
    texts: Sequence[str],
    refs: References | None = None,
    metric: Metrics | None = None,
    *,
    sources: Sequence[str] | None = None,
    paraphrases: Sequence[str] | None = None,
    perturbations: Sequence[str] | None = None,
    annotator: Annotator | None = None,
    lang: str | None = None,
    seed: int = 12345,
    level: float = 0.95,
    resamples: int = 1000,
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
        perturbations: By name. Default: all that the language leaves (see `PERTURBATIONS`).
        annotator: Finds names and nouns; without one names are found by a rule, and nouns stay.
        lang: Language of the texts (default: English); what has English rules is left out for others. Metrics that
            know the option get it too.
        seed: Of what is drawn; each text is changed in the same way wherever it stands.
        level: Of the intervals.
        resamples: Of the intervals.
        name: What the texts are called.
        scorer: What scores systems, with the arguments of `nlgauge.score_systems`.
        options: As `nlgauge.score` has them.

    >>> found = stress(["The ferry was late.", "It was hot."], metric="chrf", perturbations=["negation"])
    >>> [(fall.perturbation, fall.changed) for fall in found.metrics[0].falls]
    [('negation', 2)]
    """
    listed = checked_texts(texts, "texts")
    others = None if paraphrases is None else checked_texts(paraphrases, "paraphrases")
    language = lang or "en"
    chosen = chosen_perturbations(perturbations, lang=language, annotator=annotator is not None)
    changed = perturb(listed, chosen, seed=seed, annotator=annotator)
    metrics = chosen_metrics(metric)
    recipes, _ = recipes_and_run(metrics, options)
    given: dict[str, Any] = {**options}
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
    drawing = {"level": level, "resamples": resamples, "seed": seed}
    found = []
    for number, text in enumerate(map(metric_text, metrics)):
        own = scores[number * len(systems) : (number + 1) * len(systems)]
        found.append(_falls(text, dict(zip(systems, own, strict=True)), changed, drawing))
    moved = np.any([one.changed for one in changed], axis=0)
    return StressTest(
        texts=_label(name, listed),
        against=_against(refs, sources, with_source=with_source),
        size=len(listed),
        perturbations=tuple(one.name for one in chosen),
        unchanged=int((~moved).sum()),
        metrics=tuple(found),
        seed=seed,
        lang=language,
        annotator="" if annotator is None else annotator.label,
        paraphrases="" if others is None else _label("paraphrases", others),
        level=level,
        resamples=resamples,
    )


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
