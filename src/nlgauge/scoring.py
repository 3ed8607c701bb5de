"""The two functions most users need. Both build recipes and hand them to the runner."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from nlgauge.errors import NlgaugeWarning, RecipeError, SignatureError
from nlgauge.metrics import (
    METRICS,
    Metric,
    References,
    RunOptions,
    make_corpus,
    model_for_language,
    parse_metric,
    recipe_from_signature,
    run_metrics,
)
from nlgauge.scores import Score
from nlgauge.signature import Signature

__all__ = ["score", "score_systems"]

#: Fields of a signature that must come out again, or the score is another one.
_MUST_MATCH = ("weights", "tokenizer", "maxlen", "layer", "idf", "multiref", "rescale")


def score(
    hyps: Iterable[str],
    refs: References | None = None,
    *,
    metric: str | Metric[Any, Any] = "bertscore",
    ref_streams: Iterable[Iterable[str]] | None = None,
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
        options: Fields of the metric's recipe (`model=`, `layer=`, ...), `lang=` (model and baseline by
            table), and options of the run: `engine="onnx" | "torch"`, `device="auto" | "cpu" | "cuda"`,
            `threads=`, `batch_tokens=`, `long="truncate" | "error"`, `empty="error" | "zero"`,
            `alignments=True`, `progress=True`.

    >>> result = score(["The cat sat."], ["The cat sat."])
    >>> round(result.mean, 4)
    1.0
    """
    return score_systems({"": hyps}, refs, metrics=[metric], ref_streams=ref_streams, **options)[0]


def score_systems(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    *,
    metrics: Sequence[str | Metric[Any, Any]] = ("bertscore",),
    ref_streams: Iterable[Iterable[str]] | None = None,
    **options: Any,
) -> list[Score]:
    """Score several systems on the same segments with one or more metrics.

    Texts are encoded once for all systems and metrics. The result has a `Score` per metric and system, metric
    by metric; options are those of `score`.
    """
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    run_names = {f.name for f in fields(RunOptions)}
    run = {name: value for name, value in options.items() if name in run_names}
    recipe = {name: value for name, value in options.items() if name not in run_names}
    if recipe.get("lang") and "model" not in recipe:
        recipe["model"] = model_for_language(recipe["lang"])
    expected = [Signature.parse(m) if isinstance(m, str) and "|" in m else None for m in metrics]
    _check_known(recipe, metrics)
    recipes = [_recipe(m, recipe) for m in metrics]
    for signature in expected:
        if signature is not None and "engine" not in run:
            run["engine"] = "torch" if signature.recipe.get("engine", "").startswith("torch") else "onnx"
    corpus = make_corpus(systems, refs, ref_streams=ref_streams)
    scores = run_metrics(recipes, corpus, RunOptions.of(run))
    count = len(corpus.systems)
    for number, signature in enumerate(expected):
        if signature is not None:
            _require(signature, scores[number * count].signature)
    return scores


def _recipe(metric: str | Metric[Any, Any], options: Mapping[str, Any]) -> Metric[Any, Any]:
    if isinstance(metric, Metric):
        if options:
            msg = f"options {list(options)} were given beside a finished recipe; set them in {type(metric).__name__}(...)"
            raise RecipeError(msg)
        return metric
    if not isinstance(metric, str):
        msg = f"metric must be a name, a recipe or a signature, got {metric!r}; names are: {', '.join(METRICS)}"
        raise RecipeError(msg)
    if "|" in metric:
        return recipe_from_signature(metric, **options)
    parsed = parse_metric(metric)
    known = {name: value for name, value in options.items() if name in parsed.options()}
    # What the text sets by name wins over what applies to every metric of the call.
    named = {part.partition("=")[0] for part in metric.partition(":")[2].split(",")}
    merged = {name: getattr(parsed, name) for name in parsed.options()}
    return type(parsed)(**merged | {name: value for name, value in known.items() if name not in named})


def _check_known(options: Mapping[str, Any], metrics: Sequence[str | Metric[Any, Any]]) -> None:
    names = [metric.partition(":")[0].partition("|")[0] for metric in metrics if isinstance(metric, str)]
    known = {name for metric in names if metric in METRICS for name in METRICS[metric].options()}
    for name in options:
        if names and all(metric in METRICS for metric in names) and name not in known:
            run = ", ".join(f.name for f in fields(RunOptions))
            msg = f"unknown option {name!r}; {', '.join(names)} knows {', '.join(sorted(known))}; a run knows {run}"
            raise RecipeError(msg)


def _require(asked: Signature, got: Signature) -> None:
    """A score asked for by signature is that score, or an error."""
    differences = [d for d in asked.difference(got) if d.part == "recipe" and d.left is not None]
    broken = [d for d in differences if d.key in _MUST_MATCH]
    if broken:
        found = "; ".join(f"{d.key}: asked {d.left}, got {d.right}" for d in broken)
        msg = f"the signature cannot be reproduced here: {found}"
        raise SignatureError(msg)
    if differences:
        found = "; ".join(f"{d.key}: asked {d.left}, got {d.right}" for d in differences)
        warnings.warn(f"not everything is as in the signature: {found}", NlgaugeWarning, stacklevel=3)
