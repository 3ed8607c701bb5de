"""What of a study can be run here, and what it needs: lists of stop words, idf tables of its corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nlgauge.data import JudgementTable
from nlgauge.encoders import load_encoder
from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.vector_metric import VectorMetric
from nlgauge.sensitivity.idf_corpora import idf_table, names_corpus
from nlgauge.sensitivity.presets import PRESETS
from nlgauge.sensitivity.study import RELATIVE_LISTS, Setting, Study, Sweep, refused_value, with_setting
from nlgauge.text import load_stopwords

__all__ = ["IdfTexts", "StudyPlan", "make_plan"]


@dataclass(eq=False)
class IdfTexts:
    """What random corpora are drawn from."""

    table: JudgementTable
    given: Sequence[str] | None

    def all(self) -> Sequence[str]:
        """The texts given, or those of the table."""
        table = self.table
        if self.given is not None:
            return self.given
        return [text for at in range(len(table)) for text in (table.hypothesis[at], *table.references[at])]


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
        read = _model(base, setting), _prefix_space(base, setting)
        files = {value: path for (*how, value), path in self.idf_files.items() if tuple(how) == read}
        return with_setting(base, setting, lang=lang, idf_files=files)


def _model(base: Metric, setting: Setting) -> str:
    """The model that a metric runs on under a setting, which may be what the setting varies."""
    own = base.model if isinstance(base, VectorMetric) else ""
    return dict(zip(setting.fields, setting.values, strict=True)).get("model", own)


def _prefix_space(base: Metric, setting: Setting) -> str:
    """Whether texts are read with a space before them, which may be what the setting varies."""
    own = base.prefix_space if isinstance(base, VectorMetric) else "auto"
    return dict(zip(setting.fields, setting.values, strict=True)).get("prefix_space", own)


def make_plan(
    study: Study,
    texts: IdfTexts,
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
            model, space = _model(study.recipes[metric], setting), _prefix_space(study.recipes[metric], setting)
            for name, value in zip(setting.fields, setting.values, strict=True):
                if name == "stopwords" and value not in missing:
                    _measure_list(value, set(languages.values()), plan, missing)
                if name == "idf" and names_corpus(value) and (model, space, value) not in plan.idf_files:
                    tokenizer = load_encoder(model, **running.loading).tokenizer
                    tokenizer = tokenizer.with_prefix_space(space, model=model)
                    path = folder / f"{len(plan.idf_files)}.idf"
                    idf_table(value, tokenizer, texts.all(), seed=seed).save(path)
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
    found: dict[tuple[str, Setting], str] = {}
    metrics_of: dict[Setting, list[str]] = {}
    for metric, sweep in study.pairs():
        for setting in sweep.settings:
            metrics_of.setdefault(setting, []).append(metric)
            reason = refused_value(study.recipes[metric], setting)
            if reason:
                found[metric, setting] = reason
    for setting, metrics in metrics_of.items():
        reasons = [found[metric, setting] for metric in metrics if (metric, setting) in found]
        if len(reasons) == len(metrics) and study.name not in PRESETS:
            msg = f"study {study.name!r}: {'; '.join(reasons)}"
            raise RecipeError(msg)
    return found


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
