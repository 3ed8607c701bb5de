"""Variants of a sensitivity study: its measures, presets, idf tables and stop-word lists.

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
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from nlgauge.core.kinds import Choice, Flag, Float, InputFile, Int, Many, Pattern, Text
from nlgauge.core.metric import Metric
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.registry import parse_metric
from nlgauge.core.run_options import RunOptions
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import MissingExtraError, ModelError, RecipeError
from nlgauge.io.storage import file_digest
from nlgauge.io.tables import stream_lines
from nlgauge.studies.sensitivity.study import RELATIVE_LISTS, Setting, Study, Sweep, refused_value, with_setting
from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import TextTokenizer
from nlgauge.text.words import load_stopwords
from nlgauge.vectors.points import SUBWORDS

_LEVELS = ("segment", "topic", "system")


@dataclass(frozen=True, kw_only=True)
class StudyOptions(OptionSet):
    """What is measured of the settings."""

    called: ClassVar[str] = "options of a study"

    agreement: Literal["pearson", "spearman", "kendall"] = option(
        "pearson",
        Choice("pearson", "spearman", "kendall"),
        help="correlation with human judgements",
        needs="data",
        hidden=True,
    )
    criterion: str | None = option(
        None,
        Text("a criterion"),
        help="human rating to compare with",
        unset="set by the data set",
        needs="data",
        hidden=True,
    )
    levels: tuple[str, ...] = option(
        ("segment", "system"), Many(Choice(*_LEVELS), least=1), help="levels of scores", needs="data", hidden=True
    )
    ddof: int = option(1, Int(0, 1), help="1 for the standard deviation of a sample, 0 of a population", hidden=True)
    alpha: float = option(0.05, Float(above=0, below=1), help="significance level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(100), help="draws of the test of rankings", hidden=True, limit=10_000)
    seed: int = seed_option()
    documents: bool = option(
        False,
        Flag(),
        help="resample whole documents (column document of the table) instead of segments",
        needs="data",
    )
    lang: str = option(
        "",
        # A plain code: names of lists of stop words are made of it.
        Pattern(r"|[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}", "a language code such as en or pt-BR"),
        help="language of the texts, for lists of stop words",
        unset="the target of each language pair",
    )


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


def names_corpus(value: str) -> bool:
    """Whether a value of idf is one that only a study has: `random-1`, `corpus:FILE`."""
    return value.startswith("corpus:") or re.fullmatch(r"random-\d+", value) is not None


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


@dataclass(frozen=True, kw_only=True)
class SensitivityOptions(StudyOptions):
    """What varies, and what is measured of it."""

    preset: str = option("all", Choice(*PRESETS), help="what varies")
    idf_corpus: tuple[str, ...] = option(
        (), Many(InputFile()), help="text files to count idf on, for the presets idf and all", hidden=True
    )

    def measures(self) -> StudyOptions:
        """What is measured."""
        return StudyOptions(**{name: getattr(self, name) for name in StudyOptions.options()})


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
    sweeps, notes = [], []
    for one in names:
        if one != "layers":
            sweeps.append(published_sweep(one, idf_corpora=idf_corpora))
            continue
        layers = _layers(metrics, loading or {})
        if layers > 1:
            sweeps.append(Sweep({"layer": [str(layer) for layer in range(layers, 0, -1)]}, one))
            continue
        msg = f"sweep 'layers' needs a model of two layers or more; of {', '.join(metrics)} one has {layers}"
        if name == "layers":
            raise RecipeError(msg)
        notes.append(f"{msg}: left out")
    return Study(metrics, sweeps, name, tuple(notes))


def published_sweep(
    name: str,
    *,
    idf_corpora: Sequence[str] = (),
    lists: Sequence[str] = RELATIVE_LISTS,
) -> Sweep:
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


def _layers(metrics: Sequence[str], loading: Mapping[str, Any]) -> int:
    """Layers that the models of all metrics have."""
    models = {one.model for one in map(parse_metric, metrics) if isinstance(one, VectorMetric)}
    return min((load_encoder(model, **loading).layers for model in models), default=0)


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
        return {(metric, setting): self._recipe(metric, setting, lang) for metric, setting in self.varied}

    def _recipe(self, metric: str, setting: Setting, lang: str) -> Metric:
        base = self.study.recipes[metric]
        reading = _reading(base, setting)
        files = {value: path for (*how, value), path in self.idf_files.items() if tuple(how) == reading}
        return with_setting(base, setting, lang=lang, idf_files=files)


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
                if name == "idf" and names_corpus(value) and (model, space, value) not in plan.idf_files:
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
