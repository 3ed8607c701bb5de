"""The two functions most users need. Both build recipes and hand them to the runner."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from nlgauge.corpus.checks import make_corpus
from nlgauge.corpus.texts import References
from nlgauge.engine.notes import callers_level
from nlgauge.engine.run import run_metrics
from nlgauge.errors import NlgaugeWarning, RecipeError, SignatureError
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.signature import Signature
from nlgauge.registry import METRICS, metric_name, parse_metric, recipe_from_signature
from nlgauge.scores import Score

__all__ = ["recipes_and_run", "score", "score_systems"]

#: Fields of a signature that may come out differently, with a warning. Any other makes another score.
_MAY_DIFFER = ("refs", "model", "engine", "nlgauge")


def score(
    hyps: Iterable[str],
    refs: References | None = None,
    *,
    metric: str | Metric | Signature = "bertscore",
    ref_streams: Iterable[Iterable[str]] | None = None,
    sources: Iterable[str] | None = None,
    **options: Any,
) -> Score:
    """Score the outputs of one system.

    Args:
        hyps: The system's outputs, one text per segment.
        refs: References per segment: a string, or a list of strings whose number may vary.
        metric: A name (`"bertscore"`), a name with options (`"bertscore:layer=4,idf=refs"`), a recipe
            (`BERTScore(layer=4)`), or a signature, which is then required to come out again.
        ref_streams: References as sacreBLEU has them, instead of `refs`: a list of streams, each with a
            text per segment.
        sources: The texts that were translated, for metrics that compare with them (`against="source"`).
        options: Fields of the metric's recipe (`model=`, `layer=`, ...), `lang=` (model and baseline by
            table), `unknown="error" | "zero" | "score"` (a text of unknown tokens only), and options of the run:
            `engine="onnx" | "torch"`, `device="auto" | "cpu" | "cuda"`,
            `threads=`, `batch_tokens=`, `long="truncate" | "error"`, `empty="error" | "zero"`,
            `alignments=True`, `progress=True`, `cache=FOLDER` (keeps layer vectors for the next run), `cache_size=`
            (GB).

    >>> result = score(["The cat sat."], ["The cat sat."])
    >>> round(result.system_score, 4)
    1.0
    """
    return score_systems({"": hyps}, refs, metrics=[metric], ref_streams=ref_streams, sources=sources, **options)[0]


def score_systems(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    *,
    metrics: Sequence[str | Metric | Signature] = ("bertscore",),
    ref_streams: Iterable[Iterable[str]] | None = None,
    sources: Iterable[str] | None = None,
    **options: Any,
) -> list[Score]:
    """Score several systems on the same segments with one or more metrics.

    Texts are encoded once for all systems and metrics. The result has a `Score` per metric and system, metric
    by metric; options are those of `score`.
    """
    if isinstance(metrics, str | Metric | Signature):
        metrics = [metrics]
    named = [str(metric) if isinstance(metric, Signature) else metric for metric in metrics]
    if not named:
        msg = f"no metric was given; there are: {', '.join(METRICS)}"
        raise RecipeError(msg)
    recipes, run = recipes_and_run(named, options)
    expected = [Signature.parse(m) if isinstance(m, str) and _is_signature(m) else None for m in named]
    run.setdefault("engine", _one_engine(expected))
    corpus = make_corpus(systems, refs, ref_streams=ref_streams, sources=sources)

    def approve(number: int, got: Signature) -> None:
        asked = expected[number]
        if asked is not None:
            _require(asked, got)

    return run_metrics(recipes, corpus, RunOptions.of(run), approve=approve)


def recipes_and_run(
    metrics: Sequence[str | Metric], options: Mapping[str, Any]
) -> tuple[list[Metric], dict[str, Any]]:
    """Recipes, with the options that belong to them, and the options of the run; an option of neither is an error."""
    run_names = {f.name for f in fields(RunOptions)}
    run = {name: value for name, value in options.items() if name in run_names}
    shared = {name: value for name, value in options.items() if name not in run_names}
    recipes = [_recipe(metric, shared) for metric in metrics]
    _check_known(shared, recipes, run_names)
    return recipes, run


def _recipe(metric: str | Metric, shared: Mapping[str, Any]) -> Metric:
    if isinstance(metric, Metric):
        if shared:
            name = type(metric).__name__
            msg = f"options {list(shared)} were given beside a finished recipe; set them in {name}(...)"
            raise RecipeError(msg)
        return metric
    if not isinstance(metric, str):
        msg = f"metric must be a name, a recipe or a signature, got {metric!r}; names are: {', '.join(METRICS)}"
        raise RecipeError(msg)
    if _is_signature(metric):
        return recipe_from_signature(metric, **shared)
    return parse_metric(metric, **shared)


def _is_signature(metric: str) -> bool:
    """Whether a text is a signature (`name|...`) and not `name:option=value`."""
    return "|" in metric and metric_name(metric) == metric.partition("|")[0]


def _one_engine(signatures: Sequence[Signature | None]) -> str:
    """The engine that the signatures of a call name, or the default."""
    named = {s.recipe["engine"].partition("-")[0] for s in signatures if s is not None and "engine" in s.recipe}
    named.discard("static")  # word vectors need no engine
    if len(named) > 1:
        msg = f"the signatures of one call name several engines ({', '.join(sorted(named))}); score them one by one"
        raise SignatureError(msg)
    return "torch" if named == {"torch"} else RunOptions().engine


def _check_known(shared: Mapping[str, Any], recipes: Sequence[Metric], run_names: set[str]) -> None:
    """An option that no metric of the call knows is a mistake, not something to ignore."""
    known = {name: None for recipe in recipes for name in recipe.options()}
    for name in shared:
        if name not in known:
            names = ", ".join(dict.fromkeys(recipe.name for recipe in recipes))
            msg = (
                f"option {name!r} is not known to any metric of this call ({names}: {', '.join(known)}); "
                f"options of a run are {', '.join(sorted(run_names))}"
            )
            raise RecipeError(msg)


def _require(asked: Signature, got: Signature) -> None:
    """A score asked for by signature is that score, or an error. Fields it lacks are free."""
    differences = [d for d in asked.difference(got) if d.part == "recipe" and d.left is not None]
    # Another number of references may be; a source in their place is another question.
    moved = [d for d in differences if d.key == "refs" and "source" in {d.left, d.right}]
    broken = [d for d in differences if d.key not in _MAY_DIFFER or d in moved]
    if broken:
        found = "; ".join(f"{d.key}: asked {d.left}, got {d.right}" for d in broken)
        msg = f"the signature cannot be reproduced here: {found}"
        raise SignatureError(msg)
    if differences:
        found = "; ".join(f"{d.key}: asked {d.left}, got {d.right}" for d in differences)
        warnings.warn(f"not everything is as in the signature: {found}", NlgaugeWarning, stacklevel=callers_level())
