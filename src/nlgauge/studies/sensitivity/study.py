"""Definition of a study, in Python or TOML; presets; and the plan of the settings that can run on this machine.

A study has base recipes and sweeps. A sweep lists fields of a recipe with their values: one field is varied while the
others stay the same (one factor at a time), several fields form the full grid of their values. The first setting of a
sweep is its base, with which relative differences and flips are computed.

    name = "mine"
    metrics = ["moverscore", "bertscore:idf=refs"]

    [[sweep]]
    stopwords = ["none", "spacy", "iso"]

    [[sweep]]
    name = "cells"
    subwords = ["first", "all", "average"]
    punctuation = ["drop-ascii", "keep"]

Values are those of the recipe's options. In addition:

    idf         original (as published, or as in that study), none, random-1, random-2, ... (seeded samples),
                corpus:FILE (a text file of any size), an idf file
    stopwords   spacy, iso, nltk without a language: the language of the texts
    layer       a single layer, for metrics that aggregate layers

Presets are the grids of the reproducibility study (Chen et al. 2022, section 5 and appendix A.5):

    stopwords                no list, and the installed lists of spaCy, stopwords-iso and NLTK
    idf                      as published or none; as published or counted on random corpora; and on large corpora
    subwords                 first sub-word, all sub-words, average of sub-words
    punctuation              removed or kept
    subwords-x-punctuation   all six combinations of the two
    layers                   each layer
    all                      each of the above, one factor at a time (without combinations)

Idf tables are counted on random samples of the data, or on large corpora line by line. Settings that cannot run on
this machine are left out, with the reason.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nlgauge.core.metric import Metric
from nlgauge.core.registry import METRICS, metric_class, metric_name, parse_metric, with_options
from nlgauge.core.run_options import RunOptions
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError, InputError, MissingExtraError, ModelError, RecipeError, did_you_mean
from nlgauge.io.storage import file_digest, toml_content
from nlgauge.io.tables import stream_lines
from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import TextTokenizer
from nlgauge.text.words import load_stopwords
from nlgauge.vectors.points import SUBWORDS

#: Sources of stop words whose language a study fills in.
RELATIVE_LISTS = ("spacy", "iso", "nltk")


def study_metrics(metrics: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Add options to metrics given as text; each metric gets the options that it has."""
    for metric in metrics:
        if "|" in metric:
            msg = f"a study needs metrics as NAME:option=value, got the signature {metric!r}"
            raise RecipeError(msg)
    shared = {name: str(value) for name, value in options.items()}
    return [with_options(metric, shared) for metric in metrics]


class Setting(NamedTuple):
    """A value for each field of a sweep."""

    fields: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def label(self) -> str:
        """Name in tables."""
        return " + ".join(self.values)


@dataclass(frozen=True)
class Sweep:
    """Fields and their values; all combinations are settings, the first is the base."""

    factors: Mapping[str, Sequence[str]]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.factors:
            msg = f"sweep {self.name!r} has no fields; expected a field of a recipe with its values"
            raise RecipeError(msg)
        fields = sorted({name for metric in METRICS.values() for name in metric.options()})
        checked = {}
        for name, values in self.factors.items():
            if name not in fields:
                msg = f"unknown field {name!r} in a sweep{did_you_mean(name, fields, see='nlgauge list')}"
                raise RecipeError(msg)
            if isinstance(values, str) or not all(isinstance(value, str | int) for value in values):
                msg = f"sweep {self.name or name!r}: the values of {name!r} must be a list of texts, got {values!r}"
                raise RecipeError(msg)
            checked[name] = tuple(str(value) for value in values)
            if len(checked[name]) < 2 or len(set(checked[name])) < len(checked[name]):
                msg = f"sweep {self.name or name!r}: {name!r} needs two or more different values, got {values!r}"
                raise RecipeError(msg)
        object.__setattr__(self, "factors", checked)
        object.__setattr__(self, "name", self.name or " x ".join(checked))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All combinations of values; the last field varies fastest.

        >>> sweep = Sweep({"n": ["1", "2"], "punctuation": ["drop-ascii", "keep"]})
        >>> [setting.label for setting in sweep.settings]
        ['1 + drop-ascii', '1 + keep', '2 + drop-ascii', '2 + keep']
        """
        names = tuple(self.factors)
        return tuple(Setting(names, values) for values in itertools.product(*self.factors.values()))


@dataclass(frozen=True)
class Study:
    """Base recipes and sweeps over their fields."""

    metric: str | Sequence[str]
    """One base recipe or several; stored as a tuple."""
    sweeps: Sequence[Sweep]
    name: str = "study"
    notes: tuple[str, ...] = ()
    """Sweeps that the preset left out, with the reason."""

    def __post_init__(self) -> None:
        metrics = [self.metric] if isinstance(self.metric, str) else self.metric
        if not metrics or not all(isinstance(metric, str) for metric in metrics):
            msg = f"metrics of a study must be a list of texts such as 'moverscore:n=2', got {metrics!r}"
            raise RecipeError(msg)
        if len(set(metrics)) < len(metrics):
            msg = f"metrics of a study must differ from each other, got {metrics!r}"
            raise RecipeError(msg)
        object.__setattr__(self, "metric", tuple(metrics))
        object.__setattr__(self, "sweeps", tuple(self.sweeps))
        for metric in self.metric:
            if not issubclass(metric_class(metric_name(metric)), VectorMetric):
                msg = f"metric {metric!r} has no token vectors, whose preprocessing is varied; remove this metric"
                raise RecipeError(msg)
        _ = self.recipes  # raises if a recipe cannot be parsed
        if not self.sweeps:
            msg = f"study {self.name!r} has no sweeps; add at least one"
            raise RecipeError(msg)
        names = [sweep.name for sweep in self.sweeps]
        if len(set(names)) < len(names):
            msg = f"the sweeps of a study must have different names, got {', '.join(names)}"
            raise RecipeError(msg)

    @cached_property
    def recipes(self) -> dict[str, Metric]:
        """Base recipes by the text that they are parsed from."""
        return {metric: parse_metric(metric) for metric in self.metric}

    def pairs(self) -> Iterator[tuple[str, Sweep]]:
        """Each metric with each sweep whose fields are options of the metric."""
        for metric in self.metric:
            for sweep in self.sweeps:
                if all(_own_field(self.recipes[metric], field) for field in sweep.factors):
                    yield metric, sweep

    def skipped(self) -> tuple[str, ...]:
        """Notes on the combinations that `pairs` leaves out."""
        done = {(metric, sweep.name) for metric, sweep in self.pairs()}
        return self.notes + tuple(
            f"{metric} has no option {', '.join(sweep.factors)}: sweep {sweep.name!r} left out"
            for metric in self.metric
            for sweep in self.sweeps
            if (metric, sweep.name) not in done
        )


def load_study(path: str | Path) -> Study:
    """Read a study from a TOML file."""
    try:
        content = toml_content(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        msg = f"no study file {str(path)!r}; give a TOML file, or a preset (preset=) instead: {', '.join(PRESETS)}"
        raise InputError(msg) from error
    except OSError as error:
        msg = f"cannot read study {str(path)!r}: {error}"
        raise FileFormatError(msg) from error
    except ValueError as error:  # of TOML or UTF-8
        msg = f"study {str(path)!r} is not valid TOML: {error}; give a TOML file with name, metric and [[sweep]]"
        raise FileFormatError(msg) from error
    extra = set(content) - {"name", "metric", "sweep"}
    sweeps = content.get("sweep")
    if extra or not isinstance(sweeps, list) or not all(isinstance(entry, dict) for entry in sweeps):
        problem = f"an unknown key {min(extra)!r}" if extra else "no list of tables [[sweep]]"
        msg = f"study {str(path)!r} has {problem}; expected name, metric and [[sweep]]"
        raise FileFormatError(msg)
    parsed = [
        Sweep({key: value for key, value in entry.items() if key != "name"}, entry.get("name", ""))
        for entry in sweeps
    ]
    return Study(content.get("metric", "moverscore"), parsed, str(content.get("name", Path(path).stem)))


def with_setting(base: Metric, setting: Setting, *, lang: str, idf_files: Mapping[str, str]) -> Metric:
    """Apply a setting to the base recipe; `idf_files` are the tables for `random-1`, `corpus:FILE`, ..."""
    changes: dict[str, Any] = {}
    for name, value in zip(setting.fields, setting.values, strict=True):
        own = _own_field(base, name)
        if own is None:
            hint = did_you_mean(name, base.options(), see="nlgauge list")
            msg = f"metric {base.name!r} has no option {name!r}{hint}"
            raise RecipeError(msg)
        if own != name:
            value = f"layer-{value}"
        elif name == "idf" and value == "original" and isinstance(base, VectorMetric):
            value = base.published_idf
        elif name == "idf":
            value = idf_files.get(value, value)
        elif name == "stopwords" and value in RELATIVE_LISTS:
            value = f"{value}-{lang}"
        changes[own] = value
    return base.with_options(**changes)


def refused_value(base: Metric, setting: Setting) -> str:
    """Why a metric does not accept a setting; empty if it does. Values of idf and stopwords are checked elsewhere."""
    for name, value in zip(setting.fields, setting.values, strict=True):
        if _own_field(base, name) == name and name not in ("idf", "stopwords"):
            option = base.options()[name]
            try:
                option.check(value)
            except RecipeError:
                return f"{base.name} does not accept {name}={value}, only {option.values}"
    return ""


def _own_field(metric: Metric, field: str) -> str | None:
    if field in metric.options():
        return field
    return "aggregation" if field == "layer" and "aggregation" in metric.options() else None


#: Segments of a random corpus in the published study.
SAMPLE = 2000


def random_sample(texts: Sequence[str], number: int, *, seed: int = 12345) -> list[str]:
    """Draw a numbered random corpus: segments without replacement, at most half of them.

    A sample of all segments would be the same corpus each time.

    >>> random_sample([str(i) for i in range(8)], 1) == random_sample([str(i) for i in range(8)], 1)
    True
    """
    if number < 1:
        msg = f"the number of a random corpus must be 1 or more, got {number!r}"
        raise RecipeError(msg)
    rng = np.random.default_rng([seed, number])
    chosen = rng.choice(len(texts), size=max(1, min(SAMPLE, len(texts) // 2)), replace=False)
    return [texts[i] for i in np.sort(chosen)]


def idf_table(value: str, tokenizer: TextTokenizer, texts: Sequence[str], *, seed: int = 12345) -> IdfTable:
    """Count the idf table of a corpus: `random-1`, `corpus:FILE`, ..."""
    if value.startswith("corpus:"):
        path = Path(value.removeprefix("corpus:"))
        digest = ""
        if path.is_file():
            with contextlib.suppress(ModelError):  # an unreadable file is reported by its reader
                digest = file_digest(path)
        return _count_file(str(path), digest, tokenizer)
    number = int(value.removeprefix("random-"))
    return IdfTable.count(random_sample(texts, number, seed=seed), tokenizer, source=value)


@lru_cache(maxsize=16)  # with many language pairs, a corpus of millions of lines is counted once
def _count_file(path: str, digest: str, tokenizer: TextTokenizer) -> IdfTable:
    return IdfTable.count(stream_lines(path), tokenizer, source=Path(path).name)


PRESETS = ("stopwords", "idf", "subwords", "punctuation", "subwords-x-punctuation", "layers", "all")


#: Base recipes of the published study; its BERTScore counts idf on the references.
DEFAULT_METRICS = ("moverscore", "bertscore:idf=refs")

#: Random corpora of the published study.
_RANDOM = 4

_PUNCTUATION = ("drop-ascii", "keep")


def preset(
    name: str,
    metric: str | Sequence[str] = DEFAULT_METRICS,
    *,
    idf_corpora: Sequence[str] = (),
    loading: Mapping[str, Any] | None = None,
) -> Study:
    """Make the study of a preset. `idf_corpora` are text files (one document per line) for idf counts.

    `loading` are options of a run (`engine=`, ...) for loading models, to find their number of layers.

    >>> [sweep.name for sweep in preset("idf", "moverscore").sweeps]
    ['idf', 'idf-random']
    """
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS) or f"; presets are {', '.join(PRESETS)}"
        msg = f"unknown preset {name!r}{hint}"
        raise RecipeError(msg)
    if idf_corpora and name not in {"idf", "all"}:
        msg = f"idf corpora are only used by the presets 'idf' and 'all', not by {name!r}; remove them"
        raise RecipeError(msg)
    names = [name]
    if name in {"idf", "all"}:
        names = ["idf", "idf-random", *(["idf-large"] if idf_corpora else [])]
    if name == "all":
        names = ["stopwords", *names, "subwords", "punctuation", "layers"]
    metrics = [metric] if isinstance(metric, str) else metric
    sweeps = [published_sweep(sweep, idf_corpora=idf_corpora) for sweep in names if sweep != "layers"]
    notes = []
    if "layers" in names:  # always last
        models = {recipe.model for recipe in map(parse_metric, metrics) if isinstance(recipe, VectorMetric)}
        layers = min((load_encoder(model, **loading or {}).layers for model in models), default=0)
        msg = f"sweep 'layers' needs models with two or more layers; one of {', '.join(metrics)} has {layers}"
        if layers > 1:
            sweeps.append(layer_sweep(layers))
        elif name == "layers":
            raise RecipeError(msg)
        else:
            notes.append(f"{msg} (left out)")
    return Study(metrics, sweeps, name, tuple(notes))


def layer_sweep(layers: int) -> Sweep:
    """Make the sweep of the layers of a model, from the last to the first."""
    return Sweep({"layer": [str(layer) for layer in range(layers, 0, -1)]}, "layers")


def published_sweep(name: str, *, idf_corpora: Sequence[str] = (), lists: Sequence[str] = RELATIVE_LISTS) -> Sweep:
    """Make the sweep of a published grid, whose first setting is as published; idf has four grids.

    >>> [setting.label for setting in published_sweep("idf").settings]
    ['original', 'none']
    """
    randoms = tuple(f"random-{number}" for number in range(1, _RANDOM + 1))
    factors: dict[str, dict[str, Sequence[str]]] = {
        "stopwords": {"stopwords": ("none", *lists)},
        "idf": {"idf": ("original", "none")},
        "idf-random": {"idf": ("original", *randoms)},
        "idf-none-random": {"idf": ("original", "none", *randoms)},
        "idf-large": {"idf": ("original", *(f"corpus:{path}" for path in idf_corpora))},
        "subwords": {"subwords": SUBWORDS},
        "punctuation": {"punctuation": _PUNCTUATION},
        "subwords-x-punctuation": {"subwords": SUBWORDS, "punctuation": _PUNCTUATION},
    }
    return Sweep(factors[name], name)


@dataclass(eq=False)
class StudyPlan:
    """Settings that can run on this machine, with their idf tables and stop-word lists."""

    study: Study
    sweeps: list[tuple[str, Sweep, tuple[Setting, ...]]] = field(default_factory=list)
    idf_files: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Path of the table of an idf corpus, by model, prefix space and value."""
    stopwords: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def varied(self) -> list[tuple[str, Setting]]:
        """Each metric under each setting, without duplicates."""
        return list(dict.fromkeys((metric, setting) for metric, _, settings in self.sweeps for setting in settings))

    def recipes(self, lang: str) -> dict[tuple[str, Setting], Metric]:
        """The recipe of each metric under each setting for texts of a language."""
        recipes = {}
        for metric, setting in self.varied:
            base = self.study.recipes[metric]
            reading = _reading(base, setting)
            files = {value: path for (*how, value), path in self.idf_files.items() if tuple(how) == reading}
            recipes[metric, setting] = with_setting(base, setting, lang=lang, idf_files=files)
        return recipes


def _reading(base: Metric, setting: Setting) -> tuple[str, str]:
    """Model and prefix space of a metric; a setting may vary both."""
    own = (base.model, base.prefix_space) if isinstance(base, VectorMetric) else ("", "auto")
    varied = dict(zip(setting.fields, setting.values, strict=True))
    return varied.get("model", own[0]), varied.get("prefix_space", own[1])


def make_plan(
    study: Study,
    texts: Sequence[str],
    languages: Mapping[str, str],
    seed: int,
    running: RunOptions,
    folder: Path,
) -> StudyPlan:
    """Plan the settings that can run, with notes on the others. Idf tables are written to the folder."""
    plan = StudyPlan(study, notes=list(study.skipped()))
    missing: dict[str, str] = {}
    refused = _refused(study)
    plan.notes += [f"{reason}; left out" for reason in dict.fromkeys(refused.values())]
    for metric, sweep in study.pairs():
        settings = []
        named = {part.partition("=")[0] for part in metric.partition(":")[2].split(",")}
        for field_ in sorted(named & set(sweep.factors)):
            plan.notes.append(
                f"{metric}: sweep {sweep.name!r} varies {field_}, so the value in the recipe is ignored"
            )
        for setting in sweep.settings:
            model, space = _reading(study.recipes[metric], setting)
            for name, value in zip(setting.fields, setting.values, strict=True):
                if name == "stopwords" and value not in missing:
                    _measure_list(value, set(languages.values()), plan, missing)
                corpus = name == "idf" and re.fullmatch(r"corpus:.*|random-\d+", value)
                if corpus and (model, space, value) not in plan.idf_files:
                    tokenizer = load_encoder(model, **running.loading).tokenizer
                    tokenizer = tokenizer.with_prefix_space(space, model=model)
                    path = folder / f"{len(plan.idf_files)}.idf"
                    idf_table(value, tokenizer, texts, seed=seed).save(path)
                    plan.idf_files[model, space, value] = str(path)
            if (metric, setting) not in refused and not any(value in missing for value in setting.values):
                settings.append(setting)
        if len(settings) > 1:
            plan.sweeps.append((metric, sweep, tuple(settings)))
        else:
            plan.notes.append(
                f"{metric}: sweep {sweep.name!r} has fewer than two settings that can run here (left out)"
            )
    plan.notes += missing.values()
    if not plan.sweeps:
        remedy = "; write a study with values that the metric accepts (--study FILE)" if refused else ""
        msg = f"study {study.name!r} has no sweep that can run here: {'; '.join(plan.notes)}{remedy}"
        raise RecipeError(msg)
    return plan


def _refused(study: Study) -> dict[tuple[str, Setting], str]:
    """Reasons why metrics do not accept settings.

    In a user's study a setting that no metric accepts is an error; a preset may have such settings.
    """
    refused: dict[tuple[str, Setting], str] = {}
    metrics_of: dict[Setting, list[str]] = {}
    for metric, sweep in study.pairs():
        for setting in sweep.settings:
            metrics_of.setdefault(setting, []).append(metric)
            reason = refused_value(study.recipes[metric], setting)
            if reason:
                refused[metric, setting] = reason
    for setting, metrics in metrics_of.items():
        reasons = [refused[metric, setting] for metric in metrics if (metric, setting) in refused]
        if len(reasons) == len(metrics) and study.name not in PRESETS:
            msg = f"study {study.name!r}: {'; '.join(reasons)}"
            raise RecipeError(msg)
    return refused


def _measure_list(value: str, languages: set[str], plan: StudyPlan, missing: dict[str, str]) -> None:
    """Add the size of a stop-word list by language to the plan; note lists of presets that are not installed."""
    if value in plan.stopwords:
        return
    names = {lang: f"{value}-{lang}" for lang in sorted(languages)} if value in RELATIVE_LISTS else {"": value}
    try:
        plan.stopwords[value] = {lang: len(load_stopwords(name).words) for lang, name in names.items()}
    except (MissingExtraError, RecipeError) as error:
        if value not in RELATIVE_LISTS:
            raise
        missing[value] = f"stop-word list {value!r} left out: {error}"
