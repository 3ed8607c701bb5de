"""Metrics by name, and recipes from text: `bertscore:layer=4,idf=refs`, or a signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nlgauge.errors import RecipeError, SignatureError
from nlgauge.metrics.base import Metric
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.signature import Signature

__all__ = ["METRICS", "parse_metric", "parse_metrics", "recipe_from_signature"]

METRICS: dict[str, type[Metric[Any, Any]]] = {metric.name: metric for metric in (BERTScore,)}


def metric_class(name: str) -> type[Metric[Any, Any]]:
    """The class behind a name."""
    if name not in METRICS:
        msg = f"unknown metric {name!r}; there are: {', '.join(METRICS)}"
        raise RecipeError(msg)
    return METRICS[name]


def parse_metric(text: str, shared: Mapping[str, str] | None = None) -> Metric[Any, Any]:
    """A recipe from `name` or `name:option=value,option=value`.

    `shared` are options that apply unless the text sets them, as far as the metric knows them.

    >>> parse_metric("bertscore:layer=4,idf=refs").layer
    4
    """
    name, _, tail = text.partition(":")
    metric = metric_class(name)
    given: dict[str, str] = {}
    for part in tail.split(",") if tail else []:
        key, equals, value = part.partition("=")
        if not equals or not key:
            msg = f"expected option=value in {text!r}, got {part!r}"
            raise RecipeError(msg)
        if key in given:
            msg = f"option {key!r} stands twice in {text!r}"
            raise RecipeError(msg)
        given[key] = value
    known = metric.options()
    inherited = {key: value for key, value in (shared or {}).items() if key in known}
    return metric.from_options(inherited | given)


def parse_metrics(texts: Sequence[str], shared: Mapping[str, str]) -> list[Metric[Any, Any]]:
    """Recipes of one call. A shared option that none of the metrics knows is an error."""
    known = {key for text in texts for key in metric_class(text.partition(":")[0]).options()}
    for key in shared:
        if key not in known:
            names = ", ".join(text.partition(":")[0] for text in texts)
            msg = f"option {key!r} is not known to any metric of this call ({names})"
            raise RecipeError(msg)
    return [parse_metric(text, shared) for text in texts]


def recipe_from_signature(signature: str | Signature, **replace: str) -> Metric[Any, Any]:
    """The recipe that a signature describes.

    A signature names an idf or baseline file, or a model in a local folder, by digest only; say where they
    are with `idf=`, `rescale=` and `model=`. That the digests agree is checked when it is scored with
    `nlgauge.score(..., metric=signature)`.

    >>> recipe = recipe_from_signature("bertscore|layer:4|idf:none|multiref:mean|rescale:no|model:minilm")
    >>> recipe.multiref
    'mean'
    """
    parsed = Signature.parse(signature) if isinstance(signature, str) else signature
    fields = {**parsed.recipe, **replace}
    for key in ("idf", "rescale"):
        if fields.get(key, "").partition("[")[0] == "file":
            msg = f"the signature names its {key} file by digest only ({fields[key]}); say where it is with {key}=PATH"
            raise SignatureError(msg)
    metric = metric_class(parsed.metric)
    recipe = metric.from_description({**parsed.recipe, **{k: v for k, v in replace.items() if k == "model"}})
    changed = {key: value for key, value in replace.items() if key != "model"}
    if not changed:
        return recipe
    unknown = [key for key in changed if key not in metric.options()]
    if unknown:
        msg = f"metric {metric.name!r} has no option {unknown[0]!r}"
        raise SignatureError(msg)
    return type(recipe)(**{name: getattr(recipe, name) for name in metric.options()} | changed)
