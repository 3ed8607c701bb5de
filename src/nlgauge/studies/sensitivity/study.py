"""What a study varies, in Python or in TOML; presets, and which of their settings can be run here.

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

Presets are the grids of the reproducibility study (Chen et al. 2022, section 5 and appendix A.5):

    stopwords                no list, and those of spaCy, stopwords-iso and NLTK that are installed
    idf                      as published or none; as published or counted on random corpora; and on large ones
    subwords                 first piece, all pieces, average of the pieces
    punctuation              removed or kept
    subwords-x-punctuation   all six cells of the two
    layers                   each layer on its own
    all                      each of the above, one factor at a time (without the cells of two)

Idf tables are counted on random samples of the data, or on large corpora line by line. What cannot be run on this
machine is left out, with the reason.
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
from nlgauge.errors import FileFormatError, InputError, MissingExtraError, ModelError, RecipeError
from nlgauge.io.storage import file_digest, toml_content
from nlgauge.io.tables import stream_lines
from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import TextTokenizer
from nlgauge.text.words import load_stopwords
from nlgauge.vectors.points import SUBWORDS

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
        for name, values in self.factors.items():
            if name not in known:
                msg = f"a sweep varies fields of recipes, got {name!r}; fields are: {', '.join(known)}"
                raise RecipeError(msg)
            if isinstance(values, str) or not all(isinstance(value, str | int) for value in values):
                msg = f"sweep {self.name or name!r}: the values of {name!r} are a list of texts, got {values!r}"
                raise RecipeError(msg)
            checked[name] = tuple(str(value) for value in values)
            if len(checked[name]) < 2 or len(set(checked[name])) < len(checked[name]):
                msg = f"sweep {self.name or name!r}: {name!r} needs two or more different values, got {values!r}"
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
        metrics = [self.metric] if isinstance(self.metric, str) else self.metric
        if not metrics or not all(isinstance(metric, str) for metric in metrics):
            msg = f"metrics of a study are a list of texts such as 'moverscore:n=2', got {metrics!r}"
            raise RecipeError(msg)
        if len(set(metrics)) < len(metrics):
            msg = f"metrics of a study must differ from each other, got {metrics!r}"
            raise RecipeError(msg)
        object.__setattr__(self, "metric", tuple(metrics))
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
    for name, value in zip(setting.fields, setting.values, strict=True):
        own = _own_field(base, name)
        if own is None:
            msg = f"metric {base.name!r} has no option {name!r}; it has: {', '.join(base.options())}"
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
    """Why the metric cannot be run under a setting, by name of the metric, option and value; empty where it can.

    Words for idf and stop words are those of studies, and looked at elsewhere.
    """
    for name, value in zip(setting.fields, setting.values, strict=True):
        if _own_field(base, name) == name and name not in ("idf", "stopwords"):
            option = base.options()[name]
            try:
                option.check(value)
            except RecipeError:
                return f"{base.name} takes no {name}={value}, only {option.values}"
    return ""


def _own_field(metric: Metric, field: str) -> str | None:
    if field in metric.options():
        return field
    return "aggregation" if field == "layer" and "aggregation" in metric.options() else None


#: Segments of a random corpus in the published study.
SAMPLE = 2000


def random_sample(texts: Sequence[str], number: int, *, seed: int = 12345) -> list[str]:
    """The random corpus of that number: segments without replacement, at most half of what there is.

    Half, because a sample of everything would be the same corpus each time.

    >>> random_sample([str(i) for i in range(8)], 1) == random_sample([str(i) for i in range(8)], 1)
    True
    """
    if number < 1:
        msg = f"random corpora are numbered from 1, got {number!r}"
        raise RecipeError(msg)
    rng = np.random.default_rng([seed, number])
    chosen = rng.choice(len(texts), size=max(1, min(SAMPLE, len(texts) // 2)), replace=False)
    return [texts[at] for at in np.sort(chosen)]


def idf_table(value: str, tokenizer: TextTokenizer, texts: Sequence[str], *, seed: int = 12345) -> IdfTable:
    """The table behind a value that names a corpus."""
    if value.startswith("corpus:"):
        path = Path(value.removeprefix("corpus:"))
        digest = ""
        if path.is_file():
            with contextlib.suppress(ModelError):  # an unreadable file is reported by its reader
                digest = file_digest(path)
        return _counted(str(path), digest, tokenizer)
    number = int(value.removeprefix("random-"))
    return IdfTable.count(random_sample(texts, number, seed=seed), tokenizer, source=value)


@lru_cache(maxsize=16)  # a study of many language pairs counts a corpus of millions of lines once
def _counted(path: str, digest: str, tokenizer: TextTokenizer) -> IdfTable:
    return IdfTable.count(stream_lines(path), tokenizer, source=Path(path).name)


PRESETS = ("stopwords", "idf", "subwords", "punctuation", "subwords-x-punctuation", "layers", "all")


#: The study's base recipes; its BERTScore counts idf on the references.
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
    """The study of that name. `idf_corpora` are text files (a document per line) to count idf on.

    `loading` are options of a run (`engine=`, ...) that models are loaded with where layers are counted.

    >>> [sweep.name for sweep in preset("idf", "moverscore").sweeps]
    ['idf', 'idf-random']
    """
    if name not in PRESETS:
        msg = f"unknown preset {name!r}; there are: {', '.join(PRESETS)}"
        raise RecipeError(msg)
    if idf_corpora and name not in {"idf", "all"}:
        msg = f"corpora for idf belong to the presets 'idf' and 'all', not to {name!r}"
        raise RecipeError(msg)
    names = [name]
    if name in {"idf", "all"}:
        names = ["idf", "idf-random", *(["idf-large"] if idf_corpora else [])]
    if name == "all":
        names = ["stopwords", *names, "subwords", "punctuation", "layers"]
    metrics = [metric] if isinstance(metric, str) else metric
    sweeps = [published_sweep(sweep, idf_corpora=idf_corpora) for sweep in names if sweep != "layers"]
    notes = []
    if "layers" in names:  # the last one
        models = {recipe.model for recipe in map(parse_metric, metrics) if isinstance(recipe, VectorMetric)}
        layers = min((load_encoder(model, **loading or {}).layers for model in models), default=0)
        msg = f"sweep 'layers' needs a model of two layers or more; of {', '.join(metrics)} one has {layers}"
        if layers > 1:
            sweeps.append(Sweep({"layer": [str(layer) for layer in range(layers, 0, -1)]}, "layers"))
        elif name == "layers":
            raise RecipeError(msg)
        else:
            notes.append(f"{msg}: left out")
    return Study(metrics, sweeps, name, tuple(notes))


def published_sweep(name: str, *, idf_corpora: Sequence[str] = (), lists: Sequence[str] = RELATIVE_LISTS) -> Sweep:
    """The settings of a published grid, the first being as published; of idf there are three grids.

    >>> [setting.label for setting in published_sweep("idf").settings]
    ['original', 'none']
    """
    factors: dict[str, dict[str, Sequence[str]]] = {
        "stopwords": {"stopwords": ("none", *lists)},
        "idf": {"idf": ("original", "none")},
        "idf-random": {"idf": ("original", *(f"random-{number}" for number in range(1, _RANDOM + 1)))},
        "idf-large": {"idf": ("original", *(f"corpus:{path}" for path in idf_corpora))},
        "subwords": {"subwords": SUBWORDS},
        "punctuation": {"punctuation": _PUNCTUATION},
        "subwords-x-punctuation": {"subwords": SUBWORDS, "punctuation": _PUNCTUATION},
    }
    return Sweep(factors[name], name)


@dataclass(eq=False)
class StudyPlan:
    """The settings that can be run here, and what they need."""

    study: Study
    sweeps: list[tuple[str, Sweep, tuple[Setting, ...]]] = field(default_factory=list)
    idf_files: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """By model, prefix space and value: where the table of a study's idf corpus is."""
    stopwords: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def varied(self) -> list[tuple[str, Setting]]:
        """Each metric under each setting, once, whatever sweeps name it."""
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
    """The model of a metric and whether it reads texts with a space before them; a setting may vary both."""
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
    """Keep the settings that can be run; the others are noted. Idf tables are written to the folder."""
    plan = StudyPlan(study, notes=list(study.skipped()))
    missing: dict[str, str] = {}
    refused = _refused(study)
    plan.notes += [f"{reason}; left out" for reason in dict.fromkeys(refused.values())]
    for metric, sweep in study.pairs():
        kept = []
        named = {part.partition("=")[0] for part in metric.partition(":")[2].split(",")}
        for field_ in sorted(named & set(sweep.factors)):
            plan.notes.append(
                f"{metric}: sweep {sweep.name!r} varies {field_}, so what the recipe says of it is not used"
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
                kept.append(setting)
        if len(kept) > 1:
            plan.sweeps.append((metric, sweep, tuple(kept)))
        else:
            plan.notes.append(f"{metric}: sweep {sweep.name!r} has fewer than two settings that can be run here")
    plan.notes += missing.values()
    if not plan.sweeps:
        own = "; a study of your own (--study FILE) names values that the metric takes" if refused else ""
        msg = f"nothing of study {study.name!r} can be run here: {'; '.join(plan.notes)}{own}"
        raise RecipeError(msg)
    return plan


def _refused(study: Study) -> dict[tuple[str, Setting], str]:
    """Why some metrics cannot be run under some settings.

    A setting that none can be run under is an error in a study of one's own; a preset was not made for the metrics.
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
    """Size of a list by language. One that a preset names, and that is not here, is left out and said so."""
    if value in plan.stopwords:
        return
    names = {lang: f"{value}-{lang}" for lang in sorted(languages)} if value in RELATIVE_LISTS else {"": value}
    try:
        plan.stopwords[value] = {lang: len(load_stopwords(name).words) for lang, name in names.items()}
    except (MissingExtraError, RecipeError) as error:
        if value not in RELATIVE_LISTS:
            raise
        missing[value] = f"stop words {value!r} left out: {error}"
