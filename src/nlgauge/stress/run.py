"""Run a stress test: perturb texts, score them as they were and as they are, and see how far metrics fall."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.annotate import Annotator
from nlgauge.corpus.checks import checked_texts
from nlgauge.corpus.texts import References
from nlgauge.errors import InputError
from nlgauge.files.digests import short_digest, text_digest
from nlgauge.recipes.composite import leaves
from nlgauge.recipes.metric import Metric
from nlgauge.scores import Score
from nlgauge.scoring import recipes_and_run, score_systems
from nlgauge.stress.results import MetricFalls, StressTest, fall_of
from nlgauge.stress.suite import PerturbedTexts, chosen_perturbations, perturb

__all__ = ["stress"]

#: Names of the systems that are scored beside the perturbed ones; no perturbation has a blank in its name.
_ORIGINAL, _PARAPHRASE, _UNRELATED = "as it was", "a paraphrase", "another text"


def stress(
    texts: Sequence[str],
    metrics: Sequence[str | Metric],
    refs: References | None = None,
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
    scorer: Callable[..., list[Score]] = score_systems,
    **options: Any,
) -> StressTest:
    """How far metrics fall when texts are perturbed, and whether further than for a paraphrase.

    Args:
        texts: What is perturbed, such as the outputs of a system.
        metrics: As `nlgauge.score_systems` has them.
        refs: References of the texts. Default: each text is its own, so that a perturbed text is beside the original.
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

    >>> found = stress(["The ferry was late.", "It was hot."], ["chrf"], perturbations=["negation"])
    >>> [(fall.perturbation, fall.changed) for fall in found.metrics[0].falls]
    [('negation', 2)]
    """
    listed = checked_texts(texts, "texts")
    others = None if paraphrases is None else checked_texts(paraphrases, "paraphrases")
    language = lang or "en"
    chosen = chosen_perturbations(perturbations, lang=language, annotator=annotator is not None)
    changed = perturb(listed, chosen, seed=seed, annotator=annotator)
    recipes, _ = recipes_and_run(metrics, options)
    if lang is not None and any("lang" in one.options() for one in leaves(recipes)):
        options["lang"] = lang
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
        metrics=list(metrics),
        sources=sources if with_source else None,
        **options,
    )
    drawing = {"level": level, "resamples": resamples, "seed": seed}
    found = []
    for number, metric in enumerate(metrics):
        own = scores[number * len(systems) : (number + 1) * len(systems)]
        shown = metric if isinstance(metric, str) else metric.name
        found.append(_falls(shown, dict(zip(systems, own, strict=True)), changed, drawing))
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
    values: NDArray[np.float64] = score.segments[score.main]
    return values if score.higher_is_better else -values


def _label(name: str, texts: Sequence[str]) -> str:
    return f"{name}[{len(texts)},{short_digest(text_digest(repr(list(texts))))}]"


def _against(refs: References | None, sources: Sequence[str] | None, *, with_source: bool) -> str:
    own = "the texts themselves" if refs is None else "references"
    return f"{own} and sources" if with_source and sources is not None else own
