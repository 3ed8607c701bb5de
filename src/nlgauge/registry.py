"""Metrics by name, and recipes from text: `bertscore:layer=4,idf=refs`, or a signature."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nlgauge.errors import RecipeError, SignatureError
from nlgauge.metrics.baryscore import BaryScore
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.bleu import BLEU
from nlgauge.metrics.chrf import ChrF
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.metrics.rouge import Rouge1, Rouge2, RougeL
from nlgauge.metrics.sentsim import SentSim
from nlgauge.metrics.smd import SMD
from nlgauge.metrics.xmoverscore import XMoverScore
from nlgauge.recipes.metric import CloudMetric, Metric
from nlgauge.recipes.signature import ABBREVIATIONS, OPTIONAL_FIELDS, RUNNER_FIELDS, Signature

__all__ = ["METRICS", "metric_class", "metric_name", "parse_metric", "recipe_from_signature"]

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (BERTScore, MoverScore, SMD, BaryScore, SentSim, XMoverScore, BLEU, ChrF, Rouge1, Rouge2, RougeL)
}


def metric_name(text: str) -> str:
    """The name at the head of `name`, `name:option=value` or a signature."""
    return text.partition("|")[0].partition(":")[0]


def metric_class(name: str) -> type[Metric]:
    """The class behind a name."""
    if name not in METRICS:
        msg = f"unknown metric {name!r}; there are: {', '.join(METRICS)}"
        raise RecipeError(msg)
    return METRICS[name]


def parse_metric(text: str, **shared: Any) -> Metric:
    """A recipe from `name` or `name:option=value,option=value`.

    `shared` are options that apply to every metric of a call: those that the metric knows and the text does
    not set itself.

    >>> parse_metric("bertscore:layer=4", layer=6, idf="refs")  # doctest: +ELLIPSIS
    BERTScore(model='minilm', ..., layer=4, idf='refs', multiref='best-f', rescale='no', stopwords='none')
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
    _refuse_blank(shared | given)
    return metric.from_options({key: value for key, value in shared.items() if key in known} | given)


def recipe_from_signature(signature: str | Signature, **replace: Any) -> Metric:
    """The recipe that a signature describes.

    A signature names an idf or baseline file, or a model in a local folder, by digest only; say where they
    are with `idf=`, `rescale=` and `model=`. That the digests agree is checked when it is scored with
    `nlgauge.score(..., metric=signature)`.

    >>> recipe_from_signature("bertscore|layer:4|idf:none|multiref:mean|rescale:no|model:minilm").multiref
    'mean'
    """
    parsed = Signature.parse(signature) if isinstance(signature, str) else signature
    metric = metric_class(parsed.metric)
    sometimes = OPTIONAL_FIELDS if issubclass(metric, CloudMetric) else ()
    known = (*metric.signature_fields, *sometimes, *RUNNER_FIELDS)
    for key in parsed.recipe:
        if key not in known:
            hint = "; this is the short form, which does not parse back" if key in ABBREVIATIONS.values() else ""
            msg = f"a {metric.name} signature has no field {key!r}{hint}; it has: {', '.join(known)}"
            raise SignatureError(msg)
    options = metric.options_from_signature(parsed.recipe)
    if issubclass(metric, CloudMetric):
        options = _reading_options(parsed.recipe, options)
    _refuse_blank(replace)
    options |= replace
    for key, value in options.items():
        if value == "file":
            msg = f"the signature names its {key} file by digest only ({parsed.recipe[key]}); say {key}=PATH"
            raise SignatureError(msg)
    return metric.from_options(options)


def _refuse_blank(given: Mapping[str, Any]) -> None:
    """An empty value is an unset variable of a shell, and must not stand for the default."""
    for name in ("model", "lang"):
        if given.get(name) == "":
            msg = f"{name} is empty; leave it out for the default, or check the variable that it comes from"
            raise RecipeError(msg)


def _reading_options(recipe: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """A metric's own options, and from the fields of the runner how texts are read and what they meet."""
    options = dict(own) | {key: recipe[key] for key in ("casing", "cut", "unknown") if key in recipe}
    if "refs" in recipe:
        options["against"] = "source" if recipe["refs"] == "source" else "refs"
    if "steps" in recipe:
        by_file = "[" in recipe["steps"]  # a file is named by its digest
        options["steps"] = "file" if by_file else recipe["steps"]
        languages = re.search(r",([^\]]*)\]", recipe["steps"])  # those whose means are meant
        if languages is not None:
            source, _, target = languages[1].rpartition(">")
            options = {"src_lang": source, "lang": target} | options
    return options
