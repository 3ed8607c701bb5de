"""Functions that most users need: `score`, `score_systems`, and the `Accumulator` of scores that come in batches.

All build recipes and hand them to the runner.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nlgauge.core.corpus import Corpus, References, make_corpus
from nlgauge.core.metric import Metric, base_metrics, looks_alone
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.prepare import SignatureCheck
from nlgauge.core.registry import (
    METRICS,
    metric_name,
    parse_metric,
    recipe_from_signature,
    todays_signature,
)
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import ENGINE_FIELDS, VERSION_FIELDS, Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.base import precision_name
from nlgauge.encoders.load import engine_names, engine_of_signature, is_added
from nlgauge.errors import InputError, NlgaugeWarning, RecipeError, SignatureError, did_you_mean, user_stacklevel
from nlgauge.text.windows import NO_WINDOWS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords

#: A metric as a call names it: in text, as a recipe, or by the signature that is to come out again.
AnyMetric: TypeAlias = str | Metric | Signature

#: One metric, or several.
Metrics: TypeAlias = AnyMetric | Sequence[AnyMetric]

#: Fields of a signature that may come out differently, with a warning. Any other makes another score.
_MAY_DIFFER = ("refs", "model", *VERSION_FIELDS)

#: Of these, those that say nothing about how a score is computed where they are missing.
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
            (`BERTScore(layer=4)`), or a signature, which is then required to come out again. Default: BERTScore.
        ref_streams: References as sacreBLEU has them, instead of `refs`: a list of streams, each with a
            text per segment.
        sources: The texts that were translated, for metrics that compare with them (`against="source"`).
        options: Fields of the metric's recipe (`model=`, `layer=`, ...), `lang=` (model and baseline by
            table), `unknown="error" | "zero" | "score"` (a text of unknown tokens only), and options of the run:
            `engine="onnx" | "openvino" | "torch"`, `precision="fp32" | "fp16" | "bf16" | "int8"` (what the engine
            has), `device="auto" | "cpu" | "cuda"`, `threads=`, `batch_tokens=`, `long="truncate" | "error" |
            "windows"` (a text over the model's limit is cut, refused, or read in overlapping windows),
            `empty="error" | "zero"`, `alignments=True`, `progress=True`, `cache=FOLDER` (keeps layer vectors
            for the next run), `cache_size=` (GB).

    The two models used last stay in memory, so that the next call need not load them;
    `nlgauge.release_models()` lets them go.

    >>> result = score(["The cat sat."], ["The cat sat."])
    >>> round(result.system_score, 4)
    1.0
    """
    chosen = one_metric(metric, function="score")
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

    Texts are encoded once for all systems and metrics. The result has a `Score` per metric and system, metric
    by metric; options are those of `score`. `metric` is one metric or a list of them.
    """
    call = resolved_call(chosen_metrics(metric), options)
    return call.score(systems, refs, ref_streams=ref_streams, sources=sources)


class Call(NamedTuple):
    """Metrics and options of a call, parsed and checked."""

    recipes: list[Metric]
    run: RunOptions
    check_signature: SignatureCheck
    """Compares what comes out with the signature that was given, if any."""

    def score(
        self,
        systems: Mapping[str, Iterable[str]],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
    ) -> ScoreTable:
        """Scores of texts."""
        alone = looks_alone(self.recipes)
        corpus = make_corpus(systems, refs, ref_streams=ref_streams, sources=sources, alone=alone)
        return ScoreTable(tuple(run_metrics(self.recipes, corpus, self.run, check_signature=self.check_signature)))


class Accumulator:
    """A score that grows: `update` with texts, `compute` the score of all of them, `reset` to begin again.

    `compute` gives what `nlgauge.score` gives for all texts in one call, bit for bit. Recipes that do not look at the
    corpus score each batch as it comes, and keep numbers; the others (`idf=refs`, SentSim with `bounds=corpus`,
    `transforms=position-norm`) keep the texts and score them in `compute`. Options are those of `nlgauge.score`.

    >>> import nlgauge
    >>> running = nlgauge.Accumulator("bertscore")
    >>> for text in ("A cat sat.", "A dog ran."):
    ...     running.update([text], [text])
    >>> len(running.compute())
    2
    """

    def __init__(self, metric: AnyMetric | None = None, **options: Unpack[ScoreKeywords]) -> None:
        chosen = one_metric(metric, function="Accumulator")
        self._recipes, self._run, self._check = resolved_call(chosen, options)
        self.keeps_texts = any(_looks_at_corpus(recipe) for recipe in base_metrics(self._recipes))
        """Whether the recipe looks at the whole corpus, so that texts are scored in `compute`."""
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
        """Add segments; arguments are those of `nlgauge.score`. Texts that are refused leave all as it was."""
        corpus = self.check(hyps, refs, ref_streams=ref_streams, sources=sources)
        if self._texts and (corpus.sources is None) != (self._texts[0].sources is None):
            msg = "sources must be given in every update() or in none"
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
        """The texts as `update` would add them; what it would refuse is refused."""
        alone = looks_alone(self._recipes)
        return make_corpus({"": hyps}, refs, ref_streams=ref_streams, sources=sources, alone=alone)

    def merge(self, other: Accumulator) -> None:
        """Add what another one of the same recipe has seen, such as that of another process."""
        if other is self:
            msg = "an Accumulator cannot take in itself: every segment would count twice"
            raise InputError(msg)
        if (self._recipes, self.keeps_texts) != (other._recipes, other.keeps_texts):
            msg = "an Accumulator takes in one of the same recipe; this one has another"
            raise InputError(msg)
        self._texts += other._texts
        self._scores += other._scores

    def compute(self) -> Score:
        """The score of all segments so far."""
        if not len(self):
            msg = "there is nothing to compute yet: call update() with texts first"
            raise InputError(msg)
        if not self.keeps_texts:
            # Batches that have been joined need not be joined again.
            self._scores = [Score.merge(self._scores)]
            return self._scores[0]
        sources = None if self._texts[0].sources is None else [s for one in self._texts for s in one.sources or ()]
        corpus = Corpus(
            {"": [text for one in self._texts for text in one.systems[""]]},
            [group for one in self._texts for group in one.references],
            sources=sources,
        )
        return run_metrics(self._recipes, corpus, self._run, check_signature=self._check)[0]

    def reset(self) -> None:
        """Forget all segments; the model stays in memory."""
        self._texts, self._scores = [], []


def _looks_at_corpus(recipe: Metric) -> bool:
    """Whether the score of a segment depends on the others."""
    return recipe.whole_corpus or recipe.group > 1 or (isinstance(recipe, VectorMetric) and recipe.counts_idf)


def resolved_call(metrics: Sequence[AnyMetric], options: Mapping[str, Any]) -> Call:
    """Metrics and options as a call names them, parsed and checked."""
    named = [_read(metric) for metric in metrics]
    if not named:
        msg = f"no metric was given; there are: {', '.join(METRICS)}"
        raise RecipeError(msg)
    recipes, run = recipes_and_run(named, options)
    expected = [metric if isinstance(metric, Signature) else None for metric in named]
    long = run.get("long")
    if (
        isinstance(long, str)
        and long == "windows"
        and any(_cuts(*pair) for pair in zip(expected, recipes, strict=True))
    ):
        msg = "the signature is of a score whose long texts were cut, and long='windows' gives another; leave one out"
        raise SignatureError(msg)
    run = _engine_of_signatures(expected) | run

    def check_signature(number: int, got: Signature) -> None:
        asked = expected[number]
        if asked is not None:
            _check_reproduced(asked, got, recipes[number].unused)

    return Call(recipes, RunOptions.of(run), check_signature)


def _cuts(signature: Signature | None, recipe: Metric) -> bool:
    """Whether a signature asks for a score that cuts long texts."""
    return signature is not None and isinstance(recipe, VectorMetric) and recipe.window == NO_WINDOWS


def one_metric(metric: Metrics | None, *, function: str) -> list[AnyMetric]:
    """The metric of a call that takes only one."""
    chosen = chosen_metrics(metric)
    if len(chosen) != 1:
        msg = f"{function}() takes one metric, got {len(chosen)}; score_systems() takes several"
        raise RecipeError(msg)
    return chosen


def chosen_metrics(metric: Metrics | None) -> list[AnyMetric]:
    """The metrics of a call, which names one or several; BERTScore where it names none."""
    if metric is None:
        return ["bertscore"]
    return list(metric) if isinstance(metric, Sequence) and not isinstance(metric, str) else [metric]


def metric_text(metric: AnyMetric) -> str:
    """What a result calls a metric: the text that named it, or the name of its recipe."""
    return metric.name if isinstance(metric, Metric) else str(metric)


def _read(metric: Any) -> Any:
    """A signature, in text or not, under today's names; anything else as it is."""
    if isinstance(metric, Signature) or (isinstance(metric, str) and _is_signature(metric)):
        return todays_signature(Signature.parse(metric) if isinstance(metric, str) else metric)
    return metric


def recipes_and_run(metrics: Sequence[AnyMetric], options: Mapping[str, Any]) -> tuple[list[Metric], dict[str, Any]]:
    """Recipes, with the options that belong to them, and the options of the run; an option of neither is an error."""
    run_names = {f.name for f in fields(RunOptions)}
    run = {name: value for name, value in options.items() if name in run_names}
    shared = {name: value for name, value in options.items() if name not in run_names}
    recipes = [_recipe(metric, shared) for metric in metrics]
    if shared:
        _check_known(shared, recipes, run_names)
        _check_overridden(shared, recipes, metrics)
    return recipes, run


def _check_overridden(shared: Mapping[str, Any], recipes: Sequence[Metric], metrics: Sequence[AnyMetric]) -> None:
    """An option that every metric which knows it sets otherwise would be ignored; that is a mistake."""
    if not all(isinstance(metric, str) and not _is_signature(metric) for metric in metrics):
        return  # a signature meets its options where it is read, and a finished recipe takes none
    for name, value in shared.items():
        knowing = [n for n, recipe in enumerate(recipes) if name in recipe.options()]
        if knowing and all(recipes[n].given[name] != recipes[n].options()[name].parse(value) for n in knowing):
            first = recipes[knowing[0]]
            own = first.options()[name].kind.show(first.given[name])
            msg = f"{name} is {own} in the metric {metrics[knowing[0]]!r} but {value} for the whole call; say it once"
            raise RecipeError(msg)


def _recipe(metric: AnyMetric, shared: Mapping[str, Any]) -> Metric:
    if isinstance(metric, Metric):
        if shared:
            name = type(metric).__name__
            msg = f"options {list(shared)} were given beside a finished recipe; set them in {name}(...)"
            raise RecipeError(msg)
        return metric
    if isinstance(metric, Signature):
        return recipe_from_signature(metric, **shared)
    if not isinstance(metric, str):
        msg = f"metric must be a name, a recipe or a signature, got {metric!r}; names are: {', '.join(METRICS)}"
        raise RecipeError(msg)
    if _is_signature(metric):
        return recipe_from_signature(metric, **shared)
    return parse_metric(metric, **shared)


def _is_signature(metric: str) -> bool:
    """Whether a text is a signature (`name|...`) and not `name:option=value`."""
    return "|" in metric and metric_name(metric) == metric.partition("|")[0]


def _engine_of_signatures(signatures: Sequence[Signature | None]) -> dict[str, str]:
    """Engine and precision that the signatures of a call name; some models bring their own engine."""
    recipes = [one.recipe for signature in signatures if signature is not None for one in signature.members]
    given = [recipe for recipe in recipes if not is_added(recipe.get("model", ""))]
    engines: dict[str, None] = {}
    for text in (recipe[key] for recipe in given for key in ("engine", "sentence_engine") if key in recipe):
        engine = engine_of_signature(text)
        if engine is None:
            msg = (
                f"the signature names the engine {text!r}, which is not here; there are: {', '.join(engine_names())}"
            )
            raise SignatureError(msg)
        if engine.chosen:
            engines[engine.name] = None
    precisions = dict.fromkeys(
        precision_name(recipe[key]) for recipe in given for key in ENGINE_FIELDS if key in recipe
    )
    named: dict[str, str] = {}
    for what, found in (("engine", engines), ("precision", precisions)):
        if len(found) > 1:
            msg = f"the signatures of one call name several {what}s ({', '.join(found)}); score them one by one"
            raise SignatureError(msg)
        if found:
            named[what] = next(iter(found))
    return named


def _check_known(shared: Mapping[str, Any], recipes: Sequence[Metric], run_names: set[str]) -> None:
    """An option that no metric of the call knows is a mistake, not something to ignore."""
    own = (metric.options() for recipe in recipes for metric in (recipe, *recipe.base_metrics))
    known = dict.fromkeys(name for options in own for name in options)
    for name in shared:
        if name not in known:
            names = ", ".join(dict.fromkeys(recipe.name for recipe in recipes))
            hint = did_you_mean(name, [*known, *run_names, "metric"], see=f"nlgauge show {recipes[0].name}")
            msg = f"unknown option {name!r} for {names}{hint}"
            raise RecipeError(msg)


def _check_reproduced(asked: Signature, got: Signature, unused: Collection[str]) -> None:
    """A score asked for by signature is that score, or an error. What the signature does not pin is said.

    `unused` are options that mean nothing in the recipe, so a signature that names their defaults is the same score.
    """
    differences = [d for d in asked.difference(got) if d.part == "recipe" and d.key not in unused]
    loose = [d for d in differences if d.left is None and d.field not in _NAMES_ONLY]
    # Another number of references may be; a source in their place is another question.
    moved = [d for d in differences if d.field == "refs" and "source" in {d.left, d.right}]
    pinned = [d for d in differences if d.left is not None]
    broken = [d for d in pinned if d.field not in _MAY_DIFFER or d in moved or d.of_precision]
    if broken:
        found = "; ".join(f"{d.key}: asked {d.left}, got {d.right}" for d in broken)
        msg = f"the signature cannot be reproduced here: {found}"
        raise SignatureError(msg)
    notes = [f"{d.key}: asked {d.left}, got {d.right}" for d in pinned if d.field not in _NAMES_ONLY]
    if loose:
        notes.append("it does not pin " + ", ".join(f"{d.key} (here {d.right})" for d in loose))
    if notes:
        msg = f"not everything is as in the signature: {'; '.join(notes)}"
        warnings.warn(msg, NlgaugeWarning, stacklevel=user_stacklevel())
