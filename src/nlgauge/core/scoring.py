"""Scoring functions: `score`, `score_systems`, and the `Accumulator` for segments that come in batches.

They parse metrics and options to recipes, and pass them to `run_metrics`.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nlgauge.core.corpus import SEGMENT_NAMES, Corpus, References, TextNames, make_corpus
from nlgauge.core.metric import Metric, base_metrics, needs_no_reference
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.prepare import SignatureCheck
from nlgauge.core.registry import (
    METRICS,
    metric_name,
    parse_metric,
    recipe_from_signature,
    upgrade_signature,
)
from nlgauge.core.run_options import RunOptions
from nlgauge.core.sacrebleu_signature import refuse_sacrebleu_signature
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.short_signature import is_short
from nlgauge.core.signature import ENGINE_FIELDS, VERSION_FIELDS, Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.base import precision_name
from nlgauge.encoders.load import engine_names, engine_of_signature, is_added
from nlgauge.errors import InputError, NlgaugeWarning, RecipeError, SignatureError, user_stacklevel
from nlgauge.text.windows import NO_WINDOWS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords

#: A metric of a call: text, a recipe, or a signature that must be reproduced.
AnyMetric: TypeAlias = str | Metric | Signature

#: One metric, or several.
Metrics: TypeAlias = AnyMetric | Sequence[AnyMetric]

#: Fields that may differ from those of a given signature, with a warning. Any other difference is an error.
_MAY_DIFFER = ("refs", "model", *VERSION_FIELDS)

#: Of these, fields that may be missing without a warning.
_NAMES_ONLY = ("sig",)


def score(
    hyps: Iterable[str],
    refs: References | None = None,
    metric: AnyMetric | None = None,
    *,
    ref_streams: Iterable[Iterable[str]] | None = None,
    sources: Iterable[str] | None = None,
    **options: Unpack[ScoreKeywords],
) -> Score:
    """Score the outputs of one system.

    Args:
        hyps: The system's outputs, one text per segment.
        refs: References per segment: a string, or a list of strings whose number may vary.
        metric: A name (`"bertscore"`), a name with options (`"bertscore:layer=4,idf=refs"`), a recipe
            (`BERTScore(layer=4)`), or a full or short signature, which must be reproduced. Default: BERTScore.
        ref_streams: References in the order of sacreBLEU, instead of `refs`: a list of streams, each with a
            text per segment.
        sources: Source texts, for metrics that compare with them (`against="source"`).
        options: Fields of the metric's recipe (`model=`, `layer=`, ...), `lang=` (chooses model and baseline),
            `unknown="error" | "zero" | "score"` (texts of unknown tokens only), and options of the run:
            `engine="onnx" | "openvino" | "torch"`, `precision="fp32" | "fp16" | "bf16" | "int8"` (if the engine
            supports it), `device="auto" | "cpu" | "cuda"`, `threads=`, `batch_tokens=`, `long="truncate" | "error" |
            "windows"` (texts over the model's limit are truncated, refused, or read in overlapping windows),
            `empty="error" | "zero"`, `alignments=True`, `progress=True`, `cache=FOLDER` (stores layer vectors for
            later runs), `cache_size=` (GB).

    The last two models stay in memory, which saves loading them in the next call. `nlgauge.release_models()` frees
    them.

    >>> result = score(["The cat sat."], ["The cat sat."])
    >>> round(result.system_score, 4)
    1.0
    """
    chosen = single_metric(metric, function="score")
    return score_systems({"": hyps}, refs, chosen, ref_streams=ref_streams, sources=sources, **options)[0]


def score_systems(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    metric: Metrics | None = None,
    *,
    ref_streams: Iterable[Iterable[str]] | None = None,
    sources: Iterable[str] | None = None,
    **options: Unpack[ScoreKeywords],
) -> ScoreTable:
    """Score several systems on the same segments with one or more metrics.

    Texts are encoded once for all systems and metrics. The result has a `Score` per metric and system, ordered by
    metric. Options are those of `score`; `metric` is one metric or a list.
    """
    call = resolve_call(metric_list(metric), options)
    return call.score(systems, refs, ref_streams=ref_streams, sources=sources)


class Call(NamedTuple):
    """Metrics and options of a call, parsed and checked."""

    recipes: list[Metric]
    run: RunOptions
    check_signature: SignatureCheck
    """Compares the signature of a result with the given one, if any."""

    def score(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        names: TextNames = SEGMENT_NAMES,
    ) -> ScoreTable:
        """Score texts; `names` are the names of their segments in messages."""
        alone = needs_no_reference(self.recipes)
        corpus = make_corpus(systems, refs, ref_streams=ref_streams, sources=sources, alone=alone)
        corpus = replace(corpus, names=names)
        return ScoreTable(tuple(run_metrics(self.recipes, corpus, self.run, check_signature=self.check_signature)))


class Accumulator:
    """Score segments in batches: `update` adds texts, `compute` scores all of them, `reset` starts again.

    `compute` returns the same as `nlgauge.score` for all texts in one call, bit for bit. Most recipes score each
    batch at once and store numbers. Recipes that depend on the corpus (`idf=refs`, SentSim with `bounds=corpus`,
    `transforms=position-norm`) store the texts and score them in `compute`. Options are those of `nlgauge.score`.

    >>> import nlgauge
    >>> running = nlgauge.Accumulator("bertscore")
    >>> for text in ("A cat sat.", "A dog ran."):
    ...     running.update([text], [text])
    >>> len(running.compute())
    2
    """

    def __init__(self, metric: AnyMetric | None = None, **options: Unpack[ScoreKeywords]) -> None:
        chosen = single_metric(metric, function="Accumulator")
        self._recipes, self._run, self._check = resolve_call(chosen, options)
        self.keeps_texts = any(_depends_on_corpus(recipe) for recipe in base_metrics(self._recipes))
        """Whether the recipe depends on the whole corpus, so texts are scored in `compute`."""
        self._texts: list[Corpus] = []
        self._scores: list[Score] = []

    def __len__(self) -> int:
        return sum(map(len, self._scores)) + sum(map(len, self._texts))

    def update(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
    ) -> None:
        """Add segments; arguments are those of `nlgauge.score`. Refused texts change nothing."""
        corpus = self.check(hyps, refs, ref_streams=ref_streams, sources=sources)
        if self._texts and (corpus.sources is None) != (self._texts[0].sources is None):
            msg = "pass sources in every update() or in none"
            raise InputError(msg)
        if self.keeps_texts:
            self._texts.append(corpus)
        else:
            self._scores += run_metrics(self._recipes, corpus, self._run, check_signature=self._check)

    def check(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
    ) -> Corpus:
        """Check texts as `update` does, and return them as a corpus."""
        alone = needs_no_reference(self._recipes)
        return make_corpus({"": hyps}, refs, ref_streams=ref_streams, sources=sources, alone=alone)

    def merge(self, other: Accumulator) -> None:
        """Add the segments of another accumulator with the same recipe, such as one of another process."""
        if other is self:
            msg = "cannot merge an Accumulator with itself: every segment would count twice"
            raise InputError(msg)
        if (self._recipes, self.keeps_texts) != (other._recipes, other.keeps_texts):
            msg = "cannot merge Accumulators of different recipes"
            raise InputError(msg)
        self._texts += other._texts
        self._scores += other._scores

    def compute(self) -> Score:
        """The score of all segments so far."""
        if not len(self):
            msg = "no segments to score: call update() first"
            raise InputError(msg)
        if not self.keeps_texts:
            # Merged batches need not be merged again.
            self._scores = [Score.merge(self._scores)]
            return self._scores[0]
        sources = (
            None if self._texts[0].sources is None else [s for batch in self._texts for s in batch.sources or ()]
        )
        corpus = Corpus(
            {"": [text for batch in self._texts for text in batch.systems[""]]},
            [group for batch in self._texts for group in batch.references],
            sources=sources,
        )
        return run_metrics(self._recipes, corpus, self._run, check_signature=self._check)[0]

    def reset(self) -> None:
        """Remove all segments; the model stays in memory."""
        self._texts, self._scores = [], []


def _depends_on_corpus(recipe: Metric) -> bool:
    """Whether the score of a segment depends on other segments."""
    return recipe.whole_corpus or recipe.group > 1 or (isinstance(recipe, VectorMetric) and recipe.counts_idf)


def resolve_call(metrics: Sequence[AnyMetric], options: Mapping[str, Any]) -> Call:
    """Parse and check the metrics and options of a call."""
    named = [_parse_signature(metric) for metric in metrics]
    if not named:
        msg = "no metric was given; 'nlgauge list' shows all metrics"
        raise RecipeError(msg)
    recipes, run = recipes_and_run(named, options)
    expected = [metric if isinstance(metric, Signature) else None for metric in named]
    long = run.get("long")
    if (
        isinstance(long, str)
        and long == "windows"
        and any(_truncates(*pair) for pair in zip(expected, recipes, strict=True))
    ):
        msg = "long='windows' conflicts with the signature, whose long texts are truncated; leave out one of them"
        raise SignatureError(msg)
    run = _engine_of_signatures(expected) | run

    def check_signature(number: int, got: Signature) -> None:
        given = expected[number]
        if given is not None:
            _check_reproduced(given, got, recipes[number].unused)

    return Call(recipes, RunOptions.of(run), check_signature)


def _truncates(signature: Signature | None, recipe: Metric) -> bool:
    """Whether a signature is of a score that truncates long texts."""
    return signature is not None and isinstance(recipe, VectorMetric) and recipe.window == NO_WINDOWS


def single_metric(metric: Metrics | None, *, function: str) -> list[AnyMetric]:
    """The metric of a call that accepts only one."""
    chosen = metric_list(metric)
    if len(chosen) != 1:
        fix = "use score_systems() for several" if function == "score" else f"call {function}() once per metric"
        msg = f"{function}() accepts one metric, got {len(chosen)}; {fix}"
        raise RecipeError(msg)
    return chosen


def metric_list(metric: Metrics | None) -> list[AnyMetric]:
    """The metrics of a call as a list; BERTScore by default."""
    if metric is None:
        return ["bertscore"]
    return list(metric) if isinstance(metric, Sequence) and not isinstance(metric, str) else [metric]


def metric_text(metric: AnyMetric) -> str:
    """The label of a metric in results: its text, or the name of its recipe."""
    return metric.name if isinstance(metric, Metric) else str(metric)


def _parse_signature(metric: Any) -> Any:
    """Parse a full or short signature; anything else is returned unchanged."""
    if isinstance(metric, str) and is_short(metric):
        metric = Signature.find(metric)
    if isinstance(metric, Signature) or (isinstance(metric, str) and _is_signature(metric)):
        return upgrade_signature(Signature.parse(metric) if isinstance(metric, str) else metric)
    return metric


def recipes_and_run(metrics: Sequence[AnyMetric], options: Mapping[str, Any]) -> tuple[list[Metric], dict[str, Any]]:
    """Make recipes, and split the options into those of the recipes and those of the run; refuse others."""
    run_names = {f.name for f in fields(RunOptions)}
    run = {name: value for name, value in options.items() if name in run_names}
    shared = {name: value for name, value in options.items() if name not in run_names}
    recipes = [_make_recipe(metric, shared) for metric in metrics]
    if shared:
        _check_known(shared, recipes, run_names)
        _check_overridden(shared, recipes, metrics)
    return recipes, run


def _check_overridden(shared: Mapping[str, Any], recipes: Sequence[Metric], metrics: Sequence[AnyMetric]) -> None:
    """Refuse an option that every metric with that option overrides, because it would be ignored."""
    if not all(isinstance(metric, str) and not _is_signature(metric) for metric in metrics):
        return  # signatures check their own options, and recipe objects take none
    for name, value in shared.items():
        numbers = [n for n, recipe in enumerate(recipes) if name in recipe.options()]
        if numbers and all(recipes[n].given[name] != recipes[n].options()[name].parse(value) for n in numbers):
            first = recipes[numbers[0]]
            own = first.options()[name].kind.show(first.given[name])
            msg = f"{name} is {own} in {metrics[numbers[0]]!r}, but {value} for all metrics; give one of them"
            raise RecipeError(msg)


def _make_recipe(metric: AnyMetric, shared: Mapping[str, Any]) -> Metric:
    if isinstance(metric, Metric):
        if shared:
            name = type(metric).__name__
            msg = f"options {', '.join(shared)} do not apply to a recipe object; set them in {name}(...)"
            raise RecipeError(msg)
        return metric
    if isinstance(metric, Signature):
        return recipe_from_signature(metric, **shared)
    if not isinstance(metric, str):
        msg = f"metric must be a name, a recipe or a signature, got {metric!r}; 'nlgauge list' shows all names"
        raise RecipeError(msg)
    refuse_sacrebleu_signature(metric)
    if _is_signature(metric):
        return recipe_from_signature(metric, **shared)
    return parse_metric(metric, **shared)


def _is_signature(metric: str) -> bool:
    """Whether a text is a full signature (`name|...`), not `name:option=value`."""
    return "|" in metric and metric_name(metric) == metric.partition("|")[0]


def _engine_of_signatures(signatures: Sequence[Signature | None]) -> dict[str, str]:
    """Engine and precision of the signatures of a call; models with an engine of their own do not count."""
    members = [member.recipe for signature in signatures if signature is not None for member in signature.members]
    recipes = [recipe for recipe in members if not is_added(recipe.get("model", ""))]
    engines: dict[str, None] = {}
    for text in (recipe[key] for recipe in recipes for key in ("engine", "sentence_engine") if key in recipe):
        engine = engine_of_signature(text)
        if engine is None:
            msg = f"engine {text!r} of the signature is not installed; installed engines: {', '.join(engine_names())}"
            raise SignatureError(msg)
        if engine.chosen:
            engines[engine.name] = None
    precisions = dict.fromkeys(
        precision_name(recipe[key]) for recipe in recipes for key in ENGINE_FIELDS if key in recipe
    )
    options: dict[str, str] = {}
    for name, values in (("engine", engines), ("precision", precisions)):
        if len(values) > 1:
            msg = f"the signatures have several {name}s ({', '.join(values)}); score them one by one"
            raise SignatureError(msg)
        if values:
            options[name] = next(iter(values))
    return options


def _check_known(shared: Mapping[str, Any], recipes: Sequence[Metric], run_names: set[str]) -> None:
    """Refuse an option that no metric of the call has."""
    known = dict.fromkeys(name for recipe in recipes for name in recipe.options())
    for name in shared:
        if name not in known:
            distinct = dict.fromkeys(recipe.name for recipe in recipes)
            names = ", ".join(distinct)
            if any(name in metric.options() for metric in METRICS.values()):
                verb = "has" if len(distinct) == 1 else "have"
                fix = f"leave it out ('nlgauge show {recipes[0].name}' lists the options)"
                msg = f"{names} {verb} no option {name!r}; {fix}"
                raise RecipeError(msg)
            hint = _suggest_keyword(name, [*known, *run_names, *_INPUTS])
            msg = f"unknown keyword {name!r} for {names}" + (hint or f"; see 'nlgauge show {recipes[0].name}'")
            raise RecipeError(msg)


#: Keywords that are not options.
_INPUTS = ("metric", "refs", "ref_streams", "sources")

#: Keywords of other packages, and those of nlgauge with the same meaning.
_SYNONYMS = {
    "model_type": "model",
    "num_layers": "layer",
    "rescale_with_baseline": "rescale",
    "references": "refs",
    "src": "sources",
}


def _suggest_keyword(name: str, known: Collection[str]) -> str:
    """The known keyword with the same meaning, or with almost the same spelling, as the end of a message."""
    synonym = _SYNONYMS.get(name, "")
    matches = [synonym] if synonym in known else difflib.get_close_matches(name, known, n=1, cutoff=0.85)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def _check_reproduced(given: Signature, got: Signature, unused: Collection[str]) -> None:
    """Refuse a result whose signature differs from the given one; warn of fields that the given one lacks.

    `unused` are options without effect in the recipe, so a signature may contain their defaults.
    """
    differences = [d for d in given.difference(got) if d.part == "recipe" and d.key not in unused]
    loose = [d for d in differences if d.left is None and d.field not in _NAMES_ONLY]
    # The number of references may differ, but a source instead of references makes another score.
    moved = [d for d in differences if d.field == "refs" and "source" in {d.left, d.right}]
    pinned = [d for d in differences if d.left is not None]
    broken = [d for d in pinned if d.field not in _MAY_DIFFER or d in moved or d.of_precision]
    if broken:
        fields = "; ".join(f"{d.key}: asked {d.left}, got {d.right}" for d in broken)
        msg = f"the signature cannot be reproduced: {fields}"
        raise SignatureError(msg)
    notes = [f"{d.key} {d.left} (here {d.right})" for d in pinned if d.field not in _NAMES_ONLY]
    problems = [f"the score may differ, because the signature was made with {', '.join(notes)}"] if notes else []
    if loose:
        fields = ", ".join(f"{d.key} (here {d.right})" for d in loose)
        problems.append(f"the score may differ, because the signature does not specify {fields}")
    if problems:
        msg = "; ".join(problems)
        warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
