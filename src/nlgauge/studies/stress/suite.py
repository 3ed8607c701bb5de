"""Stress test: the score drop of each metric when texts are perturbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import AnnotatorName
from nlgauge.core.corpus import References, as_texts
from nlgauge.core.kinds import Choice, Many
from nlgauge.core.metric import base_metrics, reads_sources
from nlgauge.core.options import option
from nlgauge.core.result import Result
from nlgauge.core.score import Score
from nlgauge.core.scoring import Metrics, metric_list, metric_text, recipes_and_run, score_systems
from nlgauge.core.short_signature import format_signature
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.io.canvas import series_styles
from nlgauge.io.storage import short_digest, text_digest
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.stats.numeric import orient
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.studies.stress.perturbations import PERTURBATIONS, PerturbedTexts, chosen_perturbations, perturb
from nlgauge.studies.stress.triples import DrawOptions
from nlgauge.text.annotation import Annotator
from nlgauge.text.annotators import load_annotator

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import StressKeywords


class Fall(NamedTuple):
    """Score drop of one metric under one perturbation, over the texts that were changed."""

    perturbation: str
    keeps_meaning: bool
    changed: int
    """Texts that were changed."""
    fall: float | None
    """Mean drop of the score, above 0 if the perturbed texts are worse; None if no text was changed."""
    interval: tuple[float, float] | None
    """Confidence interval of the drop; None if fewer than two texts were changed."""
    way_to_unrelated: float | None
    """The drop relative to that of an unrelated text: 0 is no drop, 1 is the drop of an unrelated text."""
    below_paraphrase: float | None
    """Share of perturbed texts that score below their paraphrase; None without paraphrases."""
    below_paraphrase_interval: tuple[float, float] | None

    def bar(self, relative: float) -> Bar:
        """Bar of the relative drop, with the interval on the same scale."""
        if self.interval is None or not self.fall:
            return Bar(relative)
        low, high = self.interval
        return Bar(relative, low * (relative / self.fall), high * (relative / self.fall))

    def cells(self) -> list[Cell]:
        """Cells of a row of the table."""
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
    """Mean score of the unchanged texts."""
    unrelated: float | None
    """Mean score of texts with the reference of another text; None for a single text."""
    paraphrase: Fall | None
    """Score drop of the paraphrases; None without paraphrases."""
    perturbations: tuple[Fall, ...]

    @property
    def falls(self) -> tuple[Fall, ...]:
        """Drops of the paraphrases, if there are any, and of the perturbations."""
        return (*(() if self.paraphrase is None else (self.paraphrase,)), *self.perturbations)


@dataclass(frozen=True)
class StressTest(Result):
    """All metrics under all perturbations."""

    format = "nlgauge-stress-test-1"
    decimals = 3
    line = LINE

    signature: Signature
    """Signature of the test; each metric also has a signature."""
    texts: int
    """Number of texts."""
    unchanged: int
    """Texts that no perturbation could change."""
    metrics: tuple[MetricFalls, ...]

    @property
    def against(self) -> str:
        """What texts are compared with: the texts themselves, or references."""
        return self.signature.recipe["against"]

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return float(self.signature.recipe["interval"])

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric and perturbation."""
        columns = ["metric", "perturbation", "meaning", "changed", "fall", "low", "high", "way"]
        columns += ["below paraphrase", "lo", "hi"]
        rows = [[result.metric, *fall.cells()] for result in self.metrics for fall in result.falls]
        if self.signature.recipe["paraphrases"] == "none":
            columns, rows = columns[:8], [row[:8] for row in rows]
        return [Table(columns, rows, "score drop under perturbation", list(self._notes()))]

    def _notes(self) -> Iterator[str]:
        yield f"signature: {format_signature(self.signature)}"
        yield (
            f"changed: changed texts, of {self.texts}, scored against {self.against}; no perturbation could "
            f"change {self.unchanged} of them"
        )
        yield f"fall: mean score drop over the changed texts; low, high: {self.level:.0%} interval"
        yield "way: the drop relative to that of an unrelated text (0: no drop, 1: unrelated)"
        if self.signature.recipe["paraphrases"] != "none":
            yield "below paraphrase: share of perturbed texts that score below the paraphrase"
            yield "  (ideal: 1 if the perturbation changes the meaning, 0 if it keeps it); lo, hi: interval"
        for result in self.metrics:
            unrelated = "" if result.unrelated is None else f", unrelated texts {result.unrelated:.3f}"
            signature = format_signature(result.signature)
            yield f"{result.metric}: {signature}; unchanged texts {result.original:.3f}{unrelated}"

    def figure(self) -> Any:
        """A group of bars for each perturbation, a bar for each metric, on the scale from 0 to an unrelated text."""
        groups: dict[str, dict[str, Bar]] = {}
        for falls in self.metrics:
            for fall in falls.falls:
                bars = groups.setdefault(fall.perturbation, {})
                if fall.fall is not None and fall.way_to_unrelated is not None:
                    bars[falls.metric] = fall.bar(fall.way_to_unrelated)
        empty = "" if all(groups.values()) else " No value: the perturbation changed no text."
        return draw_bar_panels(
            [BarPanel("", "relative drop (1: unrelated text)", groups)],
            series_styles([falls.metric for falls in self.metrics]),
            title="score drop under perturbation",
            caption=f"{self.texts} texts, against {self.against}; seed {self.signature.recipe['seed']}. Bars: mean "
            f"drop over the texts that a perturbation changed, divided by the drop for an unrelated text. Lines: "
            f"{self.level:.0%} confidence intervals.{empty}",
        )


@dataclass(frozen=True, kw_only=True)
class StressOptions(DrawOptions):
    """Perturbations of texts, and options of intervals."""

    called: ClassVar[str] = "options of a stress test"

    perturbations: tuple[str, ...] | None = option(
        None, Many(Choice(*PERTURBATIONS), least=1), help="perturbations", unset="all for the language"
    )
    # `stress` has a parameter of this name, because an annotator may also be an object.
    annotator: str | None = option(
        None,
        AnnotatorName(),
        help="tagger for names and nouns: spacy-en or a .conllu FILE",
        unset="none",
        metavar="NAME",
    )


#: Names of the systems that are scored with the perturbed ones; names of perturbations contain no space.
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
    """Measure how much metrics drop when texts are perturbed, and whether more than for a paraphrase.

    Args:
        texts: Texts to perturb, such as the outputs of a system.
        refs: References of the texts. Default: each text is its own reference.
        metric: One metric or several, as in `nlgauge.score_systems`. Default: BERTScore.
        sources: Source texts, for metrics that compare with them.
        paraphrases: A paraphrase (such as a second reference) of each text, which should score higher than a text
            whose meaning was changed.
        annotator: Tagger for names and nouns, or its name. Without one, names are found by a rule and nouns are not
            permuted.
        lang: Language of the texts (default: English). For other languages perturbations with English rules are left
            out. Metrics with the option `lang` get it too.
        name: Name of the texts in the signature.
        scorer: Function that scores systems, with the arguments of `nlgauge.score_systems`.
        options: Those of `StressOptions` and of `nlgauge.score`.

    >>> result = stress(["The ferry was late.", "It was hot."], metric="chrf", perturbations=["negation"])
    >>> [(fall.perturbation, fall.changed) for fall in result.metrics[0].perturbations]
    [('negation', 2)]
    """
    keywords: dict[str, Any] = dict(options)
    own = StressOptions.take(keywords)
    tagger = load_annotator(annotator) if isinstance(annotator, str) else annotator
    listed = as_texts(texts, "texts")
    others = None if paraphrases is None else as_texts(paraphrases, "paraphrases")
    language = lang or "en"
    chosen = chosen_perturbations(own.perturbations, lang=language, annotator=tagger is not None)
    changed = perturb(listed, chosen, seed=own.seed, annotator=tagger)
    metrics = metric_list(metric)
    recipes, _ = recipes_and_run(metrics, keywords)
    if lang is not None and any("lang" in recipe.options() for recipe in base_metrics(recipes)):
        keywords["lang"] = lang
    if others is not None and len(others) != len(listed):
        msg = f"each text needs a paraphrase, got {len(listed)} texts and {len(others)} paraphrases"
        raise InputError(msg)
    with_source = reads_sources(recipes)
    if with_source and sources is None:
        sources = listed
    systems = {_ORIGINAL: listed} | {entry.perturbation.name: list(entry.texts) for entry in changed}
    if others is not None:
        systems[_PARAPHRASE] = others
    if len(listed) > 1:
        systems[_UNRELATED] = [*listed[1:], listed[0]]
    against = listed if refs is None else refs
    scores = scorer(systems, against, metrics, sources=sources if with_source else None, **keywords)
    falls = []
    for number, text in enumerate(map(metric_text, metrics)):
        of_metric = scores[number * len(systems) : (number + 1) * len(systems)]
        falls.append(_measure_falls(text, dict(zip(systems, of_metric, strict=True)), changed, own.drawing))
    fields = {
        "texts": _label(name, listed),
        "against": ("the texts themselves" if refs is None else "references") + " and sources" * with_source,
        "perturbations": "+".join(entry.name for entry in chosen),
        "seed": str(own.seed),
        "lang": language,
        "annotator": "none" if tagger is None else tagger.label,
        "paraphrases": "none" if others is None else _label("paraphrases", others),
        **own.signed_intervals,
    }
    moved = np.any([entry.changed for entry in changed], axis=0)
    return StressTest(Signature("stress", fields), len(listed), int((~moved).sum()), tuple(falls))


def _measure_falls(
    metric: str, scores: Mapping[str, Score], changed: Sequence[PerturbedTexts], drawing: dict[str, Any]
) -> MetricFalls:
    original = scores[_ORIGINAL]
    oriented = {
        name: orient(score.segments[score.main], higher_is_better=score.higher_is_better)
        for name, score in scores.items()
    }
    before, unrelated, paraphrase = oriented[_ORIGINAL], oriented.get(_UNRELATED), oriented.get(_PARAPHRASE)
    distance = None if unrelated is None else float(before.mean() - unrelated.mean())
    to_unrelated = distance if distance is not None and distance > 0 else None

    def fall(
        name: str, changed: Sequence[bool], *, keeps_meaning: bool, paraphrased: NDArray[np.float64] | None
    ) -> Fall:
        """Measure the drop over the changed texts, and the share of them that score below their paraphrase."""
        rows, after = np.array(changed), oriented[name]
        difference = (before - after)[rows]
        mean = float(difference.mean()) if len(difference) else None
        relative = mean / to_unrelated if mean is not None and to_unrelated else None
        interval = ends = below = None
        if paraphrased is not None and len(difference) > 1:
            share = bootstrap_mean((after < paraphrased)[rows].astype(np.float64), **drawing)
            below, ends = share.mean, (max(0.0, share.low), min(1.0, share.high))
        if len(difference) > 1:
            drawn = bootstrap_mean(difference, **drawing)
            interval = drawn.low, drawn.high
        return Fall(name, keeps_meaning, len(difference), mean, interval, relative, below, ends)

    own = None
    if paraphrase is not None:
        own = fall(_PARAPHRASE, [True] * len(before), keeps_meaning=True, paraphrased=None)
    falls = tuple(
        fall(kind.name, entry.changed, keeps_meaning=kind.keeps_meaning, paraphrased=paraphrase)
        for entry in changed
        for kind in (entry.perturbation,)
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


def _label(name: str, texts: Sequence[str]) -> str:
    return f"{name}[{len(texts)},{short_digest(text_digest(repr(list(texts))))}]"
