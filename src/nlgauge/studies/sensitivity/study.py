"""What a study varies, in Python or in TOML.

A study has base recipes and sweeps. A sweep names fields of a recipe with their values: one field is varied with all
else left alone (one factor at a time), several fields make the full grid of their values. The first setting of a
sweep is its base: relative differences and flips of ranks are counted from there.

    name = "mine"
    metrics = ["moverscore", "bertscore:idf=refs"]

    [[sweep]]
    stopwords = ["none", "spacy", "iso"]

    [[sweep]]
    name = "cells"
    subwords = ["first", "all", "average"]
    punctuation = ["drop-ascii", "keep"]

Values are those of the recipe's options; and for a study

    idf         original (as the metric's profile was published, or evaluated in that study), none,
                random-1, random-2, ... (seeded samples), corpus:FILE (any text file, however large), an idf file
    stopwords   spacy, iso, nltk without a language: that of the texts
    layer       of metrics that aggregate layers: that layer alone
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from nlgauge.core.metric import Metric
from nlgauge.core.registry import METRICS, metric_class, metric_name, parse_metric, with_options
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.formats import toml_content

#: Sources of stop words whose language a study fills in.
RELATIVE_LISTS = ("spacy", "iso", "nltk")


def study_metrics(metrics: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The metrics as a study keeps them, as text, with those of the options that each of them knows."""
    for metric in metrics:
        if "|" in metric:
            msg = f"a study varies the options of a recipe: give NAME:option=value, not the signature {metric!r}"
            raise RecipeError(msg)
    shared = {name: str(value) for name, value in options.items()}
    return [with_options(metric, shared) for metric in metrics]


class Setting(NamedTuple):
    """One choice of values for the fields of a sweep."""

    fields: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def label(self) -> str:
        """How tables call it."""
        return " + ".join(self.values)


@dataclass(frozen=True)
class Sweep:
    """Fields and their values; all combinations are settings, the first is the base."""

    factors: Mapping[str, Sequence[str]]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.factors:
            msg = f"sweep {self.name!r} names no field; expected a field of a recipe with its values"
            raise RecipeError(msg)
        known = sorted({name for metric in METRICS.values() for name in metric.options()})
        checked = {}
        for field, values in self.factors.items():
            if field not in known:
                msg = f"a sweep varies fields of recipes, got {field!r}; fields are: {', '.join(known)}"
                raise RecipeError(msg)
            if isinstance(values, str) or not all(isinstance(value, str | int) for value in values):
                msg = f"sweep {self.name or field!r}: the values of {field!r} are a list of texts, got {values!r}"
                raise RecipeError(msg)
            checked[field] = tuple(str(value) for value in values)
            if len(checked[field]) < 2 or len(set(checked[field])) < len(checked[field]):
                msg = f"sweep {self.name or field!r}: {field!r} needs two or more different values, got {values!r}"
                raise RecipeError(msg)
        object.__setattr__(self, "factors", checked)
        object.__setattr__(self, "name", self.name or " x ".join(checked))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All combinations, the last field running fastest.

        >>> sweep = Sweep({"n": ["1", "2"], "punctuation": ["drop-ascii", "keep"]})
        >>> [setting.label for setting in sweep.settings]
        ['1 + drop-ascii', '1 + keep', '2 + drop-ascii', '2 + keep']
        """
        names = tuple(self.factors)
        return tuple(Setting(names, values) for values in itertools.product(*self.factors.values()))


@dataclass(frozen=True)
class Study:
    """Base recipes and what is varied of them."""

    metric: str | Sequence[str]
    """One base recipe, or several; kept as a tuple."""
    sweeps: Sequence[Sweep]
    name: str = "study"
    notes: tuple[str, ...] = ()
    """What was left out when it was made."""

    def __post_init__(self) -> None:
        texts = [self.metric] if isinstance(self.metric, str) else self.metric
        object.__setattr__(self, "metric", _texts("metrics", texts))
        object.__setattr__(self, "sweeps", tuple(self.sweeps))
        for metric in self.metric:
            if not issubclass(metric_class(metric_name(metric)), VectorMetric):
                msg = f"a study varies how token vectors are compared, and {metric!r} has none; leave it out"
                raise RecipeError(msg)
        _ = self.recipes  # a recipe that cannot be parsed is refused here
        if not self.sweeps:
            msg = f"study {self.name!r} has no sweep, so nothing varies"
            raise RecipeError(msg)
        names = [sweep.name for sweep in self.sweeps]
        if len(set(names)) < len(names):
            msg = f"the sweeps of a study need names of their own, got {', '.join(names)}"
            raise RecipeError(msg)

    @cached_property
    def recipes(self) -> dict[str, Metric]:
        """The base recipes by the text that names them."""
        return {metric: parse_metric(metric) for metric in self.metric}

    def pairs(self) -> Iterator[tuple[str, Sweep]]:
        """Each metric with each sweep that varies only fields it knows."""
        for metric in self.metric:
            for sweep in self.sweeps:
                if all(_own_field(self.recipes[metric], field) for field in sweep.factors):
                    yield metric, sweep

    def skipped(self) -> tuple[str, ...]:
        """What `pairs` leaves out, in words."""
        done = {(metric, sweep.name) for metric, sweep in self.pairs()}
        return self.notes + tuple(
            f"{metric} has no option {', '.join(sweep.factors)}: sweep {sweep.name!r} left out"
            for metric in self.metric
            for sweep in self.sweeps
            if (metric, sweep.name) not in done
        )


def load_study(path: str | Path) -> Study:
    """A study from a TOML file."""
    try:
        content = toml_content(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        msg = f"no such file: {str(path)!r}; a study is a preset's name or a TOML file"
        raise InputError(msg) from error
    except (OSError, ValueError) as error:  # that of TOML is a ValueError
        msg = f"study {str(path)!r} cannot be read: {error}"
        raise FileFormatError(msg) from error
    extra = set(content) - {"name", "metric", "sweep"}
    sweeps = content.get("sweep")
    if extra or not isinstance(sweeps, list) or not all(isinstance(one, dict) for one in sweeps):
        what = f"an unknown key {min(extra)!r}" if extra else "no list of tables [[sweep]]"
        msg = f"study {str(path)!r} has {what}; expected name, metric and [[sweep]]"
        raise FileFormatError(msg)
    made = [Sweep({key: value for key, value in one.items() if key != "name"}, one.get("name", "")) for one in sweeps]
    return Study(content.get("metric", "moverscore"), made, str(content.get("name", Path(path).stem)))


def with_setting(base: Metric, setting: Setting, *, lang: str, idf_files: Mapping[str, str]) -> Metric:
    """The base recipe under a setting; `idf_files` are the tables behind `random-1`, `corpus:FILE`, ..."""
    changes: dict[str, Any] = {}
    for field, value in zip(setting.fields, setting.values, strict=True):
        own = _own_field(base, field)
        if own is None:
            msg = f"metric {base.name!r} has no option {field!r}; it has: {', '.join(base.options())}"
            raise RecipeError(msg)
        if own != field:
            value = f"layer-{value}"
        elif field == "idf" and value == "original" and isinstance(base, VectorMetric):
            value = base.published_idf
        elif field == "idf":
            value = idf_files.get(value, value)
        elif field == "stopwords" and value in RELATIVE_LISTS:
            value = f"{value}-{lang}"
        changes[own] = value
    return base.with_options(**changes)


def refused_value(base: Metric, setting: Setting) -> str:
    """Why the metric cannot be run under a setting, by name of the metric, option and value; empty where it can.

    Words for idf and stop words are those of studies, and looked at elsewhere.
    """
    for field, value in zip(setting.fields, setting.values, strict=True):
        if _own_field(base, field) == field and field not in ("idf", "stopwords"):
            option = base.options()[field]
            try:
                option.check(value)
            except RecipeError:
                return f"{base.name} takes no {field}={value}, only {option.values}"
    return ""


def _own_field(metric: Metric, field: str) -> str | None:
    if field in metric.options():
        return field
    return "aggregation" if field == "layer" and "aggregation" in metric.options() else None


def _texts(what: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not values or not all(isinstance(value, str) for value in values):
        msg = f"{what} of a study are a list of texts such as 'moverscore:n=2', got {values!r}"
        raise RecipeError(msg)
    if len(set(values)) < len(values):
        msg = f"{what} of a study must differ from each other, got {values!r}"
        raise RecipeError(msg)
    return tuple(values)
