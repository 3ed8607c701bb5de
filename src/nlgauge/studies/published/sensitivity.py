"""Published sensitivity studies: each language pair of their data sets is run under the study's grids.

    cv      coefficient of variation over the settings of a grid, in per cent
    rd      relative difference of the second setting to the first, in per cent
    best    the setting with the highest agreement, by its name
    value   the agreement itself, under one setting

What is here runs; what is not (data, rankings, lists of stop words, large corpora, an encoder for other languages)
is listed with where it is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nlgauge.core.compare import Checkpoint
from nlgauge.core.registry import metric_class, metric_name
from nlgauge.errors import InputError, MissingExtraError, RecipeError
from nlgauge.io.store.catalog import find_card
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.agreement import PublishedRun, Value
from nlgauge.studies.published.reproduce import Request
from nlgauge.studies.published.runs import NO_MODEL, DataSlice, Reproduction, Run, slice_of
from nlgauge.studies.published.tables import Column, TableRow
from nlgauge.studies.sensitivity.measure import StudyOptions, run_study
from nlgauge.studies.sensitivity.results import Sensitivity
from nlgauge.studies.sensitivity.study import RELATIVE_LISTS, Study, Sweep, published_sweep
from nlgauge.text.words import load_stopwords

#: The list that MoverScore's release has, with 153 words.
_MOVER_LIST = "MoverScore's list of 153 English stop words (--stopwords FILE): github.com/AIPHES/emnlp19-moverscore"


#: Agreement under each setting of a grid, on one language pair.
_Settings = Mapping[str, float | None]


def compute_study(request: Request) -> Reproduction:
    """The study with our values under one model; texts in other languages than English where they are asked for."""
    run = StudyRun(request)
    columns = run.columns()
    english = run.table.english_pairs
    asked = [
        column for column in columns if request.langpairs is not None or column.over or column.langpair in english
    ]
    values = run.values(asked)
    run.note_missing_inputs(everything=request.langpairs is None)
    return run.reproduction(columns, values, empty_columns=False)


class StudyRun(PublishedRun):
    """One study under one model."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.inputs = request.study
        self.sweeps: dict[str, list[Sweep]] = {}
        self._samples: dict[str, list[str]] = {}
        self._settings: dict[tuple[str, str], _Settings] = {}
        self._computed = [row for row in self.table.rows if row.computed]

    def values(self, columns: Sequence[Column]) -> dict[tuple[str, str], Value]:
        """Ours by row and column; those that cannot be had are left out."""
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
            sweeps = [] if judged is None else self._sweeps(lang)
            if judged is None or not sweeps:
                continue
            if not self.model_is_here():
                break
            # One for all parts and coefficients: what is scored once is not scored again.
            if state is None:
                recipes = list(dict.fromkeys(self._recipe(row) for row in self._computed))
                state = Checkpoint(None if self.inputs.state is None else Path(self.inputs.state))
            texts = self._texts(lang) if "idf-random" in self.table.grids else None
            for question, asked in by_question.items():
                with self.or_missing(f"values of {', '.join(column.label for column in asked)}"):
                    ranked = judged.pairs is not None
                    measured = StudyOptions(
                        agreement="pearson" if ranked else question.agreement,  # type: ignore[arg-type]  # refused there
                        criterion=question.criterion,
                        levels=(question.level,),
                        ddof=self.inputs.ddof,
                    )
                    result = run_study(
                        Study(recipes, sweeps, self.table.id),
                        judged.table,
                        options=measured,
                        state=state,
                        pairs=judged.pairs,
                        idf_texts=texts,
                        rankings=False,
                        run=self.request.run,
                    )
                    for row in self._computed:
                        for column in asked:
                            value = self._value(row, column, question, result)
                            if value is not None:
                                values[row.name, column.label] = value
        return values | self._best_on_average(columns)

    def _best_on_average(self, columns: Sequence[Column]) -> dict[tuple[str, str], Value]:
        """The setting with the highest mean over language pairs (the first of equals), of those that all have."""
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
        """Whether the model is not known to lack the language of the texts."""
        card, lang = find_card(self.model), _language(langpair)
        if card is None or lang in card.languages:
            return True
        other = self.table.other_model
        published = "" if other is None else f"; published: {other.name} ({other.published})"
        self.missing[f"{langpair}: {card.name} reads {', '.join(card.languages)} only{published}"] = None
        return False

    def _sweeps(self, lang: str) -> list[Sweep]:
        """The grids of the rows, as far as their settings can be run in a language."""
        if lang not in self.sweeps:
            lists = self._lists(lang) if "stopwords" in self.table.grids else ()
            self.sweeps[lang] = [
                published_sweep(grid, idf_corpora=self.inputs.idf_corpus, lists=lists)
                for grid in self.table.grids
                if grid != "stopwords" or lists
            ]
        return self.sweeps[lang]

    def _lists(self, lang: str) -> tuple[str, ...]:
        wanted: tuple[str, ...] = RELATIVE_LISTS
        if lang == "en" and self.inputs.stopwords:
            wanted = (*self.inputs.stopwords, *(name for name in RELATIVE_LISTS if name != "iso"))
        sizes = {}
        for name in wanted:
            try:
                full = f"{name}-{lang}" if name in RELATIVE_LISTS else name
                sizes[name] = len(load_stopwords(full).words)
            except (MissingExtraError, RecipeError) as error:
                self.missing[f"stop words {name!r} ({lang}): {error}"] = None
        if sizes:
            self.notes[f"stop words ({lang}): {', '.join(f'{name} {size}' for name, size in sizes.items())}"] = None
        return tuple(sizes)

    def _texts(self, lang: str) -> list[str]:
        """All texts of a language in the data sets of the paper, also of what was not asked for, each once a part."""
        if lang not in self._samples:
            texts: list[str] = []
            drawn: dict[str, None] = {}
            every = {slice_of(column.question, column.langpair) for column in self.table.sampled if column.question}
            for part in sorted(part for part in every if _language(part.langpair) == lang):
                judged = Run(self.request).judged(part)  # listed as missing by the columns of its own
                if judged is not None:
                    drawn[part.data] = None
                    table = judged.table
                    texts += dict.fromkeys(table.hypothesis)
                    texts += dict.fromkeys(text for references in table.references for text in references)
            self._samples[lang] = texts
            self.notes[f"random corpora ({lang}) are drawn from {len(texts)} texts of {', '.join(drawn)}"] = None
        return self._samples[lang]

    def _recipe(self, row: TableRow) -> str:
        """With the model at hand, and BERTScore's layer in it."""
        text = self.recipe(row)
        added = f"model={self.model}"
        knows_layer = "layer" in metric_class(metric_name(text)).options()
        if self.request.layer is not None and knows_layer and "layer=" not in text:
            added += f",layer={self.request.layer}"
        return f"{text}{',' if ':' in text else ':'}{added}"

    def _value(self, row: TableRow, column: Column, question: Question, result: Sensitivity) -> Value | None:
        recipe = self._recipe(row)
        try:
            moved = result.effect(recipe, row.grid, question.level)
        except InputError:  # the data lacks the level, or too few settings could be run
            why = "; ".join(result.notes) or "no result"
            self.missing[f"value of {row.name}, {column.label}: {why}"] = None
            return None
        group = moved.groups[column.langpair]
        value: float | str | None
        if row.statistic == "value":
            value = group.values[moved.settings.index(row.setting)]
        else:
            value = {"cv": group.cv, "rd": group.rd[1], "best": group.best}[row.statistic]
        self._settings[row.name, column.label] = dict(zip(moved.settings, group.values, strict=True))
        if value is None:
            self.missing[f"value of {row.name}, {column.label}: it is not defined on these values"] = None
            return None
        base = row.setting or moved.settings[0]
        signatures = {(info.metric, info.sweep, info.setting): info.signatures for info in result.settings}
        signature = signatures.get((recipe, row.grid, base), {}).get(column.langpair, "")
        # None and three lists in print; of the other grids all settings can be run anywhere.
        printed, count = len(RELATIVE_LISTS) + 1, len(moved.settings)
        other = row.grid == "stopwords" and count != printed
        return Value(value, signature, settings=f"{count} settings (print: {printed})" if other else "")

    def note_missing_inputs(self, *, everything: bool) -> None:
        """Parts of the print that are not computed unless somebody gives what they need."""
        study = self.table
        if "stopwords" in study.grids and not self.inputs.stopwords:
            self.missing[_MOVER_LIST] = None
        if study.idf_corpora and not self.inputs.idf_corpus:
            self.missing[f"{study.idf_corpora}; give yours with --idf-corpus FILE ..."] = None
        others = [pair for pair in study.langpairs if pair not in study.english_pairs and "-" in pair]
        if everything and others and study.other_model is not None:
            self.missing[
                f"from-English text ({', '.join(others)}): needs an encoder of these languages; published: "
                f"{study.other_model.name} ({study.other_model.published}); with one that reads them, name the pairs "
                "with --langpairs"
            ] = None


def _language(langpair: str) -> str:
    """Of the texts that are scored."""
    return langpair.rpartition("-")[2]
