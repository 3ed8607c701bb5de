"""Metrics by name, and recipes from text: `bertscore:layer=4,idf=refs`, or a signature.

A metric is found, never listed: those of nlgauge by looking through `metrics/`, those of others by the entry points
of the group `nlgauge.metrics` that their packages declare.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from nlgauge.core.composite import (
    CompositeMetric,
    member_recipe,
    member_text,
    split_outside,
    texts_of_options,
)
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.resources import Resource
from nlgauge.core.signature import GRAMMAR, RUNNER_FIELDS, Signature, member_key
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import NlgaugeWarning, RecipeError, SignatureError, did_you_mean, user_stacklevel
from nlgauge.io.store.catalog import CARDS

#: Group of entry points under which a package offers metrics: `name = "module:Class"`.
GROUP = "nlgauge.metrics"


def built_in_metrics() -> dict[str, type[Metric]]:
    """The metrics of nlgauge, by name: one or more to a file of `metrics/`."""
    metrics: dict[str, type[Metric]] = {}
    folder = importlib.import_module("nlgauge.metrics").__path__  # a later room, found as those of other packages are
    for module in pkgutil.iter_modules(folder):
        if not module.ispkg:
            metrics |= _metrics_in(f"nlgauge.metrics.{module.name}")
    return dict(sorted(metrics.items()))


def _metrics_in(module: str) -> dict[str, type[Metric]]:
    """The metrics that a module defines, by name."""
    members = sorted(vars(importlib.import_module(module)).items())
    own = [made for _, made in members if getattr(made, "__module__", "") == module and _is_metric(made)]
    # A class without a name of its own holds options that a metric of the same file inherits.
    return {metric.name: metric for metric in own if "name" in vars(metric)}


def _is_metric(made: Any) -> bool:
    # By its type: on Python 3.10 generic aliases such as NDArray pass for classes, and issubclass refuses them.
    if not issubclass(type(made), type):
        return False
    kinds = (VectorMetric, TextMetric, CompositeMetric)
    return issubclass(made, kinds) and not inspect.isabstract(made) and isinstance(getattr(made, "name", None), str)


class _Metrics(Mapping[str, type[Metric]]):
    """All metrics by name; packages are asked when the first one is looked up.

    A metric whose file has its name is loaded alone, so that a command does not wait for the others. Where packages
    offer metrics, all are loaded: one that cannot be used is reported, whichever metric is asked for.
    """

    def __init__(self) -> None:
        self._alone: dict[str, type[Metric]] = {}

    @cached_property
    def offered(self) -> list[EntryPoint]:
        """What packages offer."""
        return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)

    @cached_property
    def _all(self) -> dict[str, type[Metric]]:
        metrics = built_in_metrics()
        for entry in self.offered:
            if entry.name in metrics:
                owner = metrics[entry.name].__module__
                self._warn(f"metric {entry.name!r} of {entry.value} is left out: {owner} has it already")
                continue
            try:
                made = entry.load()
            except Exception as error:  # whatever a foreign module may raise, the other metrics work
                self._warn(f"metric {entry.name!r} of {entry.value} cannot be loaded: {error}")
                continue
            if not _is_metric(made) or made.name != entry.name:
                self._warn(f"metric {entry.name!r} of {entry.value} is left out: it is not a metric of that name")
                continue
            metrics[entry.name] = made
        return metrics

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, NlgaugeWarning, stacklevel=user_stacklevel())

    def __getitem__(self, name: str) -> type[Metric]:
        if "_all" in vars(self) or self.offered:
            return self._all[name]
        module = f"nlgauge.metrics.{name}"
        if name not in self._alone and name.isidentifier() and find_spec(module) is not None:
            self._alone |= _metrics_in(module)
        return self._alone[name] if name in self._alone else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


METRICS = _Metrics()


def metric_name(text: str) -> str:
    """The name at the head of `name`, `name:option=value` or a signature."""
    return text.partition("|")[0].partition(":")[0]


def metric_class(name: str) -> type[Metric]:
    """The class behind a name, in whatever case it is written."""
    if name in METRICS:
        return METRICS[name]
    lower = {known.lower(): known for known in METRICS}
    if name.lower() in lower:
        return METRICS[lower[name.lower()]]
    msg = f"unknown metric {name!r}{did_you_mean(name, METRICS, see='nlgauge list')}"
    names = name.split(",")
    if len(names) > 1 and all(part in METRICS for part in names):
        msg = f"unknown metric {name!r}; separate metrics by spaces: -m {' '.join(names)}"
    raise RecipeError(msg)


def split_recipe(text: str) -> tuple[str, dict[str, str]]:
    """The name and the options of `name:option=value,option=value`.

    >>> split_recipe("bertscore:layer=4,idf=refs")
    ('bertscore', {'layer': '4', 'idf': 'refs'})
    >>> split_recipe("ensemble:bertscore(layer=4)+chrf")
    ('ensemble', {'members': 'bertscore(layer=4)+chrf'})
    """
    name, _, tail = text.partition(":")
    given: dict[str, str] = {}
    if tail.count("(") != tail.count(")") and _leading_option(name):
        msg = f"a bracket is not closed, or not opened, in {text!r}; members are written bertscore(layer=5)+chrf"
        raise RecipeError(msg)
    for part in split_outside(tail, ",") if tail else []:
        key, equals, value = part.partition("=")
        if not given and len(split_outside(part, "=")) == 1 and (leading := _leading_option(name)):
            key, equals, value = leading, "=", part
        if not equals or not key:
            last = next(reversed(given), None)
            hint = f"; a value with a comma is given outside of the recipe: {last}=FILE" if last else ""
            msg = f"expected option=value in {text!r}, got {part!r}{hint}"
            raise RecipeError(msg)
        if key in given:
            msg = f"option {key!r} is given twice in {text!r}"
            raise RecipeError(msg)
        given[key] = value
    return name, given


def _leading_option(name: str) -> str:
    """The option of a metric that needs no name, if it has one."""
    known = name if name in METRICS else {metric.lower(): metric for metric in METRICS}.get(name.lower())
    return "" if known is None else METRICS[known].leading_option


def with_options(text: str, shared: Mapping[str, str]) -> str:
    """`name:option=value` with those of the shared options that the metric knows and the text does not set itself.

    >>> with_options("bertscore:idf=refs", {"layer": "5", "idf": "none", "chars": "3"})
    'bertscore:idf=refs,layer=5'

    Members of an ensemble get those that they know:

    >>> with_options("ensemble:bertscore+chrf", {"layer": "5"})
    'ensemble:members=bertscore(layer=5)+chrf'
    """
    name, _ = split_recipe(text)
    metric = metric_class(name)
    given = metric.known_options(split_recipe(text)[1])
    given |= {key: value for key, value in shared.items() if key in metric.options() and key not in given}
    if issubclass(metric, CompositeMetric):
        members = split_outside(given.get("members", metric.options()["members"].default), "+")
        rest = {key: value for key, value in shared.items() if key not in metric.options()}
        given["members"] = "+".join(member_text(with_options(member_recipe(one), rest)) for one in members)
    for key, value in given.items():
        if key != "members" and "," in value:
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
    if issubclass(metric, CompositeMetric) and shared:
        _refuse_blank(shared)
        return parse_metric(with_options(text, texts_of_options(shared)))
    _, given = split_recipe(text)
    known = metric.options()
    _refuse_blank(shared | given)
    return metric.from_options(
        {key: value for key, value in shared.items() if key in known} | metric.known_options(given)
    )


def recipe_from_signature(signature: str | Signature, **replace: Any) -> Metric:
    """The recipe that a signature describes.

    A signature names an idf or baseline file, or a model in a local folder, by digest only; say where they
    are with `idf=`, `rescale=` and `model=`. That the digests agree is checked when it is scored with
    `nlgauge.score(..., metric=signature)`.

    >>> recipe_from_signature("bertscore|layer:4|idf:none|multiref:mean|rescale:no|model:minilm").multiref
    'mean'
    """
    parsed = todays_signature(Signature.parse(signature) if isinstance(signature, str) else signature)
    metric, recipe = check_signature_fields(parsed), parsed.recipe
    options = metric.options_from_signature(recipe)
    if issubclass(metric, CompositeMetric):
        members = [_member_from_signature(one, replace) for one in parsed.members]
        options["members"] = metric.options()["members"].check(members)
        replace = {key: value for key, value in replace.items() if key in metric.options()}
    if issubclass(metric, VectorMetric):
        options |= {"model": recipe["model"]} if "model" in recipe else {}
        options |= {"against": "source" if recipe["refs"] == "source" else "refs"} if "refs" in recipe else {}
        if options.get("against") == "source" and options.get("annotator") in CARDS:
            # Sources are annotated only where somebody says that they are of the annotator's language.
            options.setdefault("src_lang", CARDS[options["annotator"]].languages[0])
    _refuse_blank(replace)
    for key, value in options.items():
        if value == "file" and key not in replace and isinstance(metric.options()[key].kind, Resource):
            msg = f"the signature names its {key} file by digest only ({recipe[key]}); say {key}=PATH beside it"
            raise SignatureError(msg)
    return metric.from_options(options | replace)


def _member_from_signature(signature: Signature, replace: Mapping[str, Any]) -> Metric:
    known = metric_class(signature.metric).options()
    return recipe_from_signature(signature, **{key: value for key, value in replace.items() if key in known})


def _refuse_blank(given: Mapping[str, Any]) -> None:
    """An empty value is an unset variable of a shell, and must not stand for the default."""
    for name in ("model", "lang", "tokenize"):
        value = given.get(name)
        if isinstance(value, str) and not value:
            msg = f"{name} is empty; leave it out for the default, or check the variable that it comes from"
            raise RecipeError(msg)


def signature_fields(metric: type[Metric]) -> tuple[str, ...]:
    """All fields that the recipe part of a metric's signature may have."""
    own = [name for name, about in metric.options().items() if about.signed]
    return (*own, *metric.further_fields(), *RUNNER_FIELDS)


def check_signature_fields(signature: Signature) -> type[Metric]:
    """The metric of a signature, whose recipe part must have no other fields than that metric's."""
    metric = metric_class(signature.metric)
    known = signature_fields(metric)
    if issubclass(metric, CompositeMetric):
        for number, member in enumerate(signature.members, start=1):
            known += tuple(member_key(number, key) for key in signature_fields(metric_class(member.metric)))
    for key in signature.recipe:
        if key not in known:
            msg = f"a {metric.name} signature has no field {key!r}{did_you_mean(key, known)}"
            raise SignatureError(msg)
    return metric


def todays_signature(signature: Signature) -> Signature:
    """A signature under the metric's proper name; one of a later grammar is refused."""
    grammar = signature.recipe.get("sig")
    if grammar not in {None, GRAMMAR}:
        msg = f"the signature has grammar {grammar!r}, and this version reads {GRAMMAR!r}; update nlgauge"
        raise SignatureError(msg)
    metric = metric_class(signature.metric)
    if issubclass(metric, CompositeMetric) and "members" not in signature.recipe:
        msg = f"the signature of {metric.name} names no members: expected {metric.name}|members:A+B|..."
        raise SignatureError(msg)
    return Signature(metric.name, signature.recipe, signature.run)
