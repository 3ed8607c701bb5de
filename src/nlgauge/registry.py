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
from nlgauge.names import did_you_mean
from nlgauge.recipes.metric import CloudMetric, Metric
from nlgauge.recipes.signature import ABBREVIATIONS, OPTIONAL_FIELDS, RUNNER_FIELDS, Signature

__all__ = [
    "METRICS",
    "check_signature_fields",
    "metric_class",
    "metric_name",
    "parse_metric",
    "recipe_from_signature",
    "split_recipe",
    "with_options",
]

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (BERTScore, MoverScore, SMD, BaryScore, SentSim, XMoverScore, BLEU, ChrF, Rouge1, Rouge2, RougeL)
}


def metric_name(text: str) -> str:
    """The name at the head of `name`, `name:option=value` or a signature."""
    return text.partition("|")[0].partition(":")[0]


def metric_class(name: str) -> type[Metric]:
    """The class behind a name, in capitals or not."""
    found = METRICS.get(name) or METRICS.get(name.casefold())
    if found is None:
        msg = f"unknown metric {name!r}; there are: {', '.join(METRICS)}{did_you_mean(name, METRICS)}"
        raise RecipeError(msg)
    return found


def split_recipe(text: str) -> tuple[str, dict[str, str]]:
    """The name and the options of `name:option=value,option=value`.

    >>> split_recipe("bertscore:layer=4,idf=refs")
    ('bertscore', {'layer': '4', 'idf': 'refs'})
    """
    name, _, tail = text.partition(":")
    given: dict[str, str] = {}
    for part in tail.split(",") if tail else []:
        key, equals, value = part.partition("=")
        if not equals or not key:
            last = next(reversed(given), None)
            hint = f"; a value with a comma is given outside of the recipe: {last}=FILE" if last else ""
            msg = f"expected option=value in {text!r}, got {part!r}{hint}"
            raise RecipeError(msg)
        if key in given:
            msg = f"option {key!r} stands twice in {text!r}"
            raise RecipeError(msg)
        given[key] = value
    return name, given


def with_options(text: str, shared: Mapping[str, str]) -> str:
    """`name:option=value` with those of the shared options that the metric knows and the text does not set itself.

    >>> with_options("bertscore:idf=refs", {"layer": "5", "idf": "none", "chars": "3"})
    'bertscore:idf=refs,layer=5'
    """
    name, given = split_recipe(text)
    known = metric_class(name).options()
    given |= {key: value for key, value in shared.items() if key in known and key not in given}
    for key, value in given.items():
        if "," in value:
            msg = f"the value of {key} cannot hold a comma here, got {value!r}"
            raise RecipeError(msg)
    return f"{name}:{','.join(f'{key}={value}' for key, value in given.items())}" if given else name


def parse_metric(text: str, **shared: Any) -> Metric:
    """A recipe from `name` or `name:option=value,option=value`.

    `shared` are options that apply to every metric of a call: those that the metric knows and the text does
    not set itself.

    >>> parse_metric("bertscore:layer=4", layer=6, idf="refs")  # doctest: +ELLIPSIS
    BERTScore(model='minilm', ..., layer=4, idf='refs', multiref='best-f', rescale='no', stopwords='none')
    """
    metric = metric_class(text.partition(":")[0])
    _, given = split_recipe(text)
    known = metric.options()
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
    metric = check_signature_fields(parsed)
    options = metric.options_from_signature(parsed.recipe)
    if issubclass(metric, CloudMetric):
        options = _reading_options(parsed.recipe, options)
    options |= replace
    for key, value in options.items():
        if value == "file":
            msg = f"the signature names its {key} file by digest only ({parsed.recipe[key]}); say {key}=PATH"
            raise SignatureError(msg)
    return metric.from_options(options)


def check_signature_fields(signature: Signature) -> type[Metric]:
    """The metric of a signature, whose recipe part must have no other fields than that metric's."""
    metric = metric_class(signature.metric)
    sometimes = OPTIONAL_FIELDS if issubclass(metric, CloudMetric) else ()
    known = (*metric.signature_fields, *sometimes, *RUNNER_FIELDS)
    for key in signature.recipe:
        if key not in known:
            hint = "; this is the short form, which does not parse back" if key in ABBREVIATIONS.values() else ""
            msg = f"a {metric.name} signature has no field {key!r}{hint}; it has: {', '.join(known)}"
            raise SignatureError(msg)
    return metric


def _reading_options(recipe: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """A metric's own options, and from the fields of the runner how texts are read and what they meet."""
    options = dict(own) | {key: recipe[key] for key in ("casing", "cut") if key in recipe}
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
