"""Metrics by name, and recipes from text: `bertscore:layer=4,idf=refs`, a signature, or `mine.json`.

A file that ends in .json is a learned metric: `mine.json` is short for `learned:fit=mine.json`.

Metrics are discovered, not listed: those of nlgauge in the modules of `metrics/`, those of other packages by their
entry points in the group `nlgauge.metrics`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from nlgauge.core.composite import CompositeMetric
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.resources import Resource
from nlgauge.core.signature import GRAMMAR, RUNNER_FIELDS, Signature, is_bert_score_hash, member_key
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import NlgaugeWarning, RecipeError, SignatureError, did_you_mean, user_stacklevel
from nlgauge.io.store.catalog import CARDS

#: Group of entry points under which a package offers metrics: `name = "module:Class"`.
GROUP = "nlgauge.metrics"

#: The metric of a recipe that is a file, the option for the file, and the end of its name.
_FILE_METRIC, _FILE_OPTION, _FILE_SUFFIX = "learned", "fit", ".json"


def built_in_metrics() -> dict[str, type[Metric]]:
    """The metrics of nlgauge, by name; a file of `metrics/` defines one or more."""
    metrics: dict[str, type[Metric]] = {}
    folder = importlib.import_module("nlgauge.metrics").__path__  # no import statement: core does not import metrics
    for module in pkgutil.iter_modules(folder):
        if not module.ispkg:
            metrics |= _metrics_in(f"nlgauge.metrics.{module.name}")
    return dict(sorted(metrics.items()))


def _metrics_in(module: str) -> dict[str, type[Metric]]:
    """The metrics that a module defines, by name."""
    members = sorted(vars(importlib.import_module(module)).items())
    own = [value for _, value in members if getattr(value, "__module__", "") == module and _is_metric(value)]
    # A class without its own name is a base class of metrics in the same file.
    return {metric.name: metric for metric in own if "name" in vars(metric)}


def _is_metric(value: Any) -> bool:
    # By its type: on Python 3.10 generic aliases such as NDArray are instances of type, but issubclass refuses them.
    if not issubclass(type(value), type):
        return False
    kinds = (VectorMetric, TextMetric, CompositeMetric)
    return (
        issubclass(value, kinds) and not inspect.isabstract(value) and isinstance(getattr(value, "name", None), str)
    )


class _Metrics(Mapping[str, type[Metric]]):
    """All metrics by name; entry points are read on first use.

    For speed, a metric whose file has its name is loaded alone. If other packages offer metrics, all metrics are
    loaded, so that an unusable one is always reported.
    """

    def __init__(self) -> None:
        self._alone: dict[str, type[Metric]] = {}

    @cached_property
    def offered(self) -> list[EntryPoint]:
        """Entry points of other packages."""
        return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)

    @cached_property
    def _all(self) -> dict[str, type[Metric]]:
        metrics = built_in_metrics()
        for entry in self.offered:
            if entry.name in metrics:
                owner = metrics[entry.name].__module__
                self._warn(f"metric {entry.name!r} of {entry.value} is skipped: {owner} already has that name")
                continue
            try:
                metric = entry.load()
            except Exception as error:  # a broken package must not disable the other metrics
                self._warn(f"metric {entry.name!r} of {entry.value} cannot be loaded: {error}")
                continue
            if not _is_metric(metric) or metric.name != entry.name:
                self._warn(f"metric {entry.name!r} of {entry.value} is skipped: it is not a metric of that name")
                continue
            metrics[entry.name] = metric
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


#: Well-known metrics that only other tools compute.
_OF_OTHER_TOOLS = frozenset(["bartscore", "bleurt", "comet", "geval", "g-eval", "mauve", "prism", "unieval"])


def metric_name(text: str) -> str:
    """The metric name at the start of `name`, `name:option=value` or a signature."""
    return _FILE_METRIC if is_metric_file(text) else text.partition("|")[0].partition(":")[0]


def is_metric_file(text: str) -> bool:
    """Whether a recipe is the file of a learned metric.

    >>> is_metric_file("models/mine.json"), is_metric_file("learned:fit=mine.json")
    (True, False)
    """
    return text.endswith(_FILE_SUFFIX) and text.partition("|")[0].partition(":")[0].lower() not in METRICS


def metric_title(name: str, signature: str = "") -> str:
    """The name of a metric as papers print it; an unknown metric keeps its name.

    >>> metric_title("bertscore (2)"), metric_title("chrf", "chrf|chars:6|words:2"), metric_title("comet")
    ('BERTScore (2)', 'chrF++', 'comet')
    """
    base, bracket, rest = name.partition(" (")
    metric = METRICS.get(base)
    if metric is None:
        return name
    try:
        recipe = Signature.parse(signature).recipe
    except SignatureError:  # scores of another tool
        recipe = {}
    return metric.title_of(recipe) + bracket + rest


def table_decimals(name: str) -> int | None:
    """Decimals of a metric in a table for a paper; None for an unknown metric."""
    metric = METRICS.get(name.partition(" (")[0])
    return None if metric is None else metric.table_decimals


def metric_class(name: str) -> type[Metric]:
    """The class of a metric, by its name in any case."""
    if name in METRICS:
        return METRICS[name]
    lower = {metric.lower(): metric for metric in METRICS}
    if name.lower() in lower:
        return METRICS[lower[name.lower()]]
    if any(character.isspace() for character in name) and "|" not in name:
        msg = f"metric must be the name of a metric, got the text {name[:40]!r}; pass texts as hyps, systems or refs"
        raise RecipeError(msg)
    msg = f"unknown metric {name!r}{did_you_mean(name, METRICS, see='nlgauge list')}"
    names, lower_name = name.split(","), name.lower()
    if len(names) > 1 and all(part in METRICS for part in names):
        msg = f"unknown metric {name!r}; separate metrics by spaces: -m {' '.join(names)}"
    elif len(names) > 1 and names[0] in METRICS and "=" in name:
        msg = f"unknown metric {name!r}; options follow a colon: {names[0]}:{','.join(names[1:])}"
    elif name.lower() in _OF_OTHER_TOOLS:
        msg = (
            f"{name} is not part of nlgauge ('nlgauge list' shows all metrics); "
            "import its scores with 'nlgauge compare --scores FILE'"
        )
    elif len(starting := [metric for metric in METRICS if re.fullmatch(rf"{re.escape(lower_name)}.", metric)]) > 1:
        known = " or ".join([", ".join(map(repr, starting[:-1])), repr(starting[-1])])
        msg = f"unknown metric {name!r}; did you mean {known}?"
    elif is_bert_score_hash(name):
        msg = f"{name!r} is a hash of the bert-score package; 'nlgauge signature show' prints its recipe"
    raise RecipeError(msg)


def split_recipe(text: str) -> tuple[str, dict[str, str]]:
    """Split `name:option=value,option=value` into name and options.

    >>> split_recipe("bertscore:layer=4,idf=refs")
    ('bertscore', {'layer': '4', 'idf': 'refs'})
    >>> split_recipe("learned:mt-en-mpnet")
    ('learned', {'fit': 'mt-en-mpnet'})
    """
    if is_metric_file(text):
        return _FILE_METRIC, {_FILE_OPTION: text}
    name, _, tail = text.partition(":")
    options: dict[str, str] = {}
    for part in tail.split(",") if tail else []:
        key, equals, value = part.partition("=")
        if not options and not equals and (leading := _leading_option(name)):
            key, equals, value = leading, "=", part
        if not equals or not key:
            last = next(reversed(options), None)
            hint = f"; pass a value with a comma outside the recipe: {last}=FILE" if last else ""
            msg = f"expected option=value in {text!r}, got {part!r}{hint}"
            raise RecipeError(msg)
        if key in options:
            msg = f"option {key!r} is given twice in {text!r}"
            raise RecipeError(msg)
        options[key] = value
    return name, options


def _leading_option(name: str) -> str:
    """The option of a metric whose name can be omitted, or an empty string."""
    metric = name if name in METRICS else {metric.lower(): metric for metric in METRICS}.get(name.lower())
    return "" if metric is None else METRICS[metric].leading_option


def join_recipe(metric: Metric) -> str:
    """The text of a recipe: its name, and the options that were set; the inverse of `parse_metric`.

    >>> join_recipe(parse_metric("bertscore:layer=4", idf="refs"))
    'bertscore:idf=refs,layer=4'
    """
    options = {name: metric.options()[name].kind.show(getattr(metric, name)) for name in metric.given}
    return _write_recipe(metric.name, options)


def _write_recipe(name: str, options: Mapping[str, str]) -> str:
    for key, value in options.items():
        if "," in value:
            msg = f"the value of {key} cannot contain a comma here, got {value!r}"
            raise RecipeError(msg)
    return f"{name}:{','.join(f'{key}={value}' for key, value in options.items())}" if options else name


def with_options(text: str, shared: Mapping[str, str]) -> str:
    """Add shared options to `name:option=value`: those that the metric has and the text does not set.

    >>> with_options("bertscore:idf=refs", {"layer": "5", "idf": "none", "chars": "3"})
    'bertscore:idf=refs,layer=5'
    """
    name, own = split_recipe(text)
    metric = metric_class(name)
    options = metric.known_options(own)
    options |= {key: value for key, value in shared.items() if key in metric.options() and key not in options}
    return _write_recipe(name, options)


def parse_metric(text: str, **shared: Any) -> Metric:
    """Parse a recipe such as `name` or `name:option=value,option=value`.

    `shared` are options for every metric of a call. They apply if the metric has them and the text does not set them.

    >>> parse_metric("bertscore:layer=4", layer=6, idf="refs")  # doctest: +ELLIPSIS
    BERTScore(model='minilm', ..., layer=4, idf='refs', multiref='best-f', rescale='no', stopwords='none', ...)
    """
    metric = metric_class(metric_name(text))
    _, options = split_recipe(text)
    _refuse_blank(shared | options)
    applicable = {key: value for key, value in shared.items() if key in metric.options()}
    return metric.from_options(applicable | metric.known_options(options))


def recipe_from_signature(signature: str | Signature, **replace: Any) -> Metric:
    """The recipe of a signature.

    A signature has only the digest of an idf or baseline file, and of a model in a local folder. Pass their paths
    with `idf=`, `rescale=` and `model=`. `nlgauge.score(..., metric=signature)` checks that the digests match.

    >>> recipe_from_signature("bertscore|layer:4|idf:none|multiref:mean|rescale:no|model:minilm").multiref
    'mean'
    """
    parsed = upgrade_signature(Signature.parse(signature) if isinstance(signature, str) else signature)
    metric, recipe = check_signature_fields(parsed), parsed.recipe
    options = metric.options_from_signature(recipe)
    if issubclass(metric, VectorMetric):
        options |= {"model": recipe["model"]} if "model" in recipe else {}
        options |= {"against": "source" if recipe["refs"] == "source" else "refs"} if "refs" in recipe else {}
        if options.get("against") == "source" and options.get("annotator") in CARDS:
            # The score exists, so src_lang was set to the annotator's language.
            options.setdefault("src_lang", CARDS[options["annotator"]].languages[0])
    _refuse_blank(replace)
    for key, value in options.items():
        if value == "file" and key not in replace and isinstance(metric.options()[key].kind, Resource):
            msg = f"the signature has only the digest of its {key} file ({recipe[key]}); set {key}=PATH as well"
            raise SignatureError(msg)
    return metric.from_options(options | replace)


def _refuse_blank(options: Mapping[str, Any]) -> None:
    """Refuse an empty value, such as from an unset shell variable, instead of using the default."""
    for name in ("model", "lang", "tokenize"):
        value = options.get(name)
        if isinstance(value, str) and not value:
            msg = f"{name} is empty; leave it out for the default, or check the variable that it comes from"
            raise RecipeError(msg)


def signature_fields(metric: type[Metric]) -> tuple[str, ...]:
    """All possible fields in the recipe part of a metric's signature."""
    own = [name for name, opt in metric.options().items() if opt.signed]
    return (*own, *metric.further_fields(), *RUNNER_FIELDS)


def check_signature_fields(signature: Signature) -> type[Metric]:
    """The metric of a signature; an error if the recipe part has a field that the metric does not have."""
    metric = metric_class(signature.metric)
    fields = signature_fields(metric)
    if issubclass(metric, CompositeMetric):
        for number, member in enumerate(signature.members, start=1):
            fields += tuple(member_key(number, key) for key in signature_fields(metric_class(member.metric)))
    for key in signature.recipe:
        if key not in fields:
            msg = f"a {metric.name} signature has no field {key!r}{did_you_mean(key, fields)}"
            raise SignatureError(msg)
    return metric


def upgrade_signature(signature: Signature) -> Signature:
    """The signature with the metric's canonical name; an error if its grammar is newer."""
    grammar = signature.recipe.get("sig")
    if grammar not in {None, GRAMMAR}:
        msg = f"the signature has grammar {grammar!r}, but this version reads {GRAMMAR!r}; update nlgauge"
        raise SignatureError(msg)
    metric = metric_class(signature.metric)
    if issubclass(metric, CompositeMetric) and "members" not in signature.recipe:
        msg = f"the signature of {metric.name} has no members: expected {metric.name}|members:A+B|..."
        raise SignatureError(msg)
    return Signature(metric.name, signature.recipe, signature.run)
