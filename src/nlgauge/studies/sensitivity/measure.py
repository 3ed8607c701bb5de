"""Sensitivity studies: scores under every setting, then effects of settings, rank changes and flips.

All settings share one encoding: a text is tokenised and encoded once, and vectors and distances that settings have in
common are computed once (`vectors/points.py`). With a checkpoint the corpus is compared range by range, and finished
ranges are saved; the ranges do not affect scores. Each kind of warning about texts is issued once, with language
pairs, segments and settings.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.compare import Checkpoint, Comparisons, compare, compare_with_checkpoint, ranges
from nlgauge.core.corpus import Corpus, References, make_corpus
from nlgauge.core.kinds import Choice, Flag, Float, InputFile, Int, Many, Pattern, Text
from nlgauge.core.metric import Metric
from nlgauge.core.notes import warn_about_languages
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.pipeline import finish
from nlgauge.core.prepare import prepare
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import NOTES, Score
from nlgauge.core.scoring import recipes_and_run
from nlgauge.data.judgements import UNKNOWN_SYSTEM, JudgementTable, RankedPairs
from nlgauge.errors import InputError, user_stacklevel
from nlgauge.studies.compare.rankings import SegmentScores, find_flips, rank_agreement, system_means
from nlgauge.studies.meta.questions import Question, answer
from nlgauge.studies.meta.row_scores import RowScores, ScoredRows
from nlgauge.studies.meta.score_judgements import pooled_corpora, table_corpora
from nlgauge.studies.sensitivity.results import Sensitivity, SettingEffect, SettingInfo, SettingRanking
from nlgauge.studies.sensitivity.study import (
    DEFAULT_METRICS,
    PRESETS,
    Setting,
    Study,
    StudyPlan,
    make_plan,
    preset,
    study_metrics,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import RunKeywords, SensitivityKeywords

_LEVELS = ("segment", "topic", "system")


@dataclass(frozen=True, kw_only=True)
class StudyOptions(OptionSet):
    """Options for measuring the effects of settings."""

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
    ddof: int = option(1, Int(0, 1), help="delta degrees of freedom: 1 for a sample, 0 for a population", hidden=True)
    alpha: float = option(0.05, Float(above=0, below=1), help="significance level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(100), help="permutations for the ranking test", hidden=True, limit=10_000)
    seed: int = seed_option()
    documents: bool = option(
        False,
        Flag(),
        help="resample whole documents (column document of the table) instead of segments",
        needs="data",
    )
    lang: str = option(
        "",
        # A plain code, because it is part of names of stop-word lists.
        Pattern(r"|[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}", "a language code such as en or pt-BR"),
        help="language of the texts, for stop-word lists",
        unset="target of each language pair",
    )


@dataclass(frozen=True, kw_only=True)
class SensitivityOptions(StudyOptions):
    """Preset to vary, and options for measuring its effects."""

    preset: str = option("all", Choice(*PRESETS), help="what to vary")
    idf_corpus: tuple[str, ...] = option(
        (), Many(InputFile()), help="text files for idf counts (presets idf and all)", hidden=True
    )

    def measures(self) -> StudyOptions:
        """The options without those of the preset."""
        return StudyOptions(**{name: getattr(self, name) for name in StudyOptions.options()})


#: Texts of systems in one range of a checkpoint; an interrupted run loses at most the work on one.
_RANGE = 2000

#: Name of a metric, and a setting.
Varied: TypeAlias = tuple[str, Setting]

#: Scores of the rows of a table under every setting.
ScoredSettings: TypeAlias = Mapping[Varied, RowScores]


def score_settings(
    plan: StudyPlan,
    table: JudgementTable,
    languages: Mapping[str, str],
    running: RunOptions,
    checkpoint: Checkpoint | None,
) -> ScoredSettings:
    """Score every row under every setting; `languages` are those of the texts, by language pair."""
    parts: dict[Varied, list[ScoredRows]] = {varied: [] for varied in plan.varied}
    warn_about_languages(plan.recipes(languages[table.langpairs[0]]).values())
    for langpair in table.langpairs:
        recipes = plan.recipes(languages[langpair])
        for corpus, rows, chosen in _corpora(table, langpair, recipes):
            scores = _score(list(dict.fromkeys(chosen.values())), corpus, running, checkpoint)
            for varied, recipe in chosen.items():
                systems = zip(corpus.systems, scores[recipe], strict=True)
                parts[varied] += [ScoredRows(langpair, rows[system], score) for system, score in systems]
    return {varied: RowScores(varied[0], len(table), tuple(own)) for varied, own in parts.items()}


def _corpora(
    table: JudgementTable, langpair: str, recipes: Mapping[Varied, Metric]
) -> Iterator[tuple[Corpus, Mapping[str, NDArray[np.intp]], Mapping[Varied, Metric]]]:
    """Corpora to score and their recipes; metrics that scale over a corpus scale over a language pair."""
    corpora = list(table_corpora(table, langpair))
    whole = {varied: recipe for varied, recipe in recipes.items() if recipe.whole_corpus}
    others = {varied: recipe for varied, recipe in recipes.items() if varied not in whole}
    if len(corpora) == 1:
        whole, others = {}, dict(recipes)
    if others:
        yield from ((corpus, rows, others) for corpus, rows in corpora)
    if whole:
        yield from ((corpus, rows, whole) for corpus, rows in pooled_corpora(table, langpair))


def _score(
    recipes: Sequence[Metric], corpus: Corpus, running: RunOptions, checkpoint: Checkpoint | None
) -> dict[Metric, list[Score]]:
    """Score all systems by each recipe."""
    prepared = prepare(recipes, corpus, running, warn=False)
    if checkpoint is None:
        comparisons = compare(prepared)
    else:
        comparisons = Comparisons.join(
            compare_with_checkpoint(prepared, part, checkpoint) for part in ranges(prepared, _RANGE)
        )
    scores = finish(prepared, comparisons, warn=False)
    count = len(corpus.systems)
    return {recipe: scores[i * count : (i + 1) * count] for i, recipe in enumerate(recipes)}


def summarise(
    plan: StudyPlan,
    table: JudgementTable,
    scores: ScoredSettings,
    options: StudyOptions,
    pairs: RankedPairs | None,
    *,
    rankings: bool,
) -> Sensitivity:
    """Summarise the effects of the settings of each sweep."""
    notes = list(dict.fromkeys(plan.notes + list(table.notes)))
    judged = bool(table.default_criterion or options.criterion or table.system_scores) or pairs is not None
    levels = list(options.levels) if judged else ["score"]
    infos, effects, ranked = [], [], []
    measured: dict[tuple[Varied, str], dict[str, float | None]] = {}
    for varied, own in scores.items():
        for level in list(levels):
            try:
                values = _agreement(own, table, level, options, pairs) if judged else _means(own, table)
            except InputError as error:  # the data set does not have this level
                levels.remove(level)
                notes.append(f"no {level} level: {error}")
                continue
            measured[varied, level] = values
    for metric, sweep, settings in plan.sweeps:
        labels = tuple(setting.label for setting in settings)
        for setting in settings:
            own = scores[metric, setting]
            zero_weight = sum(len(part.score.notes.get("zero_weight", ())) for part in own.parts)
            infos.append(SettingInfo(metric, sweep.name, setting.label, own.signatures, zero_weight))
        for level in levels:
            by_setting = [measured[(metric, setting), level] for setting in settings]
            groups = {group: tuple(row[group] for row in by_setting) for group in by_setting[0]}
            effects.append(SettingEffect.of(metric, sweep.name, level, labels, groups, options.ddof))
        for langpair in table.langpairs if rankings else ():
            ranks = [_by_system(scores[metric, setting], table, langpair) for setting in settings]
            if len(ranks[0]) > 1:
                means = [system_means(rank) for rank in ranks]
                documents = _documents(table, langpair) if options.documents else None
                drawn: dict[str, Any] = {"alpha": options.alpha, "resamples": options.resamples, "seed": options.seed}
                flips = tuple(
                    flip
                    for label, rank in zip(labels[1:], ranks[1:], strict=True)
                    for flip in find_flips(ranks[0], rank, setting=label, documents=documents, **drawn)
                )
                systems = {system: tuple(mean[system] for mean in means) for system in means[0]}
                taus = tuple(rank_agreement(ranks[0], rank) for rank in ranks)
                ranked.append(SettingRanking(metric, sweep.name, langpair, labels, systems, taus, flips))
    if options.documents and ranked:
        counts = (f"{len(set(_documents(table, pair).values()))} ({pair})" for pair in table.langpairs)
        notes.append(f"flips are tested by permuting whole documents, not segments: {', '.join(counts)}")
    if rankings and not ranked:
        notes.append("the data has fewer than two named systems, so there are no rankings")
    agreement = f"{options.agreement} with {options.criterion or table.default_criterion or 'official system scores'}"
    if pairs is not None:
        agreement = "WMT's tau on ranked pairs of segments" + (f"; {agreement}" if levels != ["segment"] else "")
    return Sensitivity(
        table.name,
        plan.study.name,
        agreement if judged else None,
        tuple(infos),
        tuple(effects),
        tuple(ranked),
        plan.stopwords,
        tuple(notes),
        asdict(options) | {"levels": levels},
    )


def _agreement(
    scores: RowScores,
    table: JudgementTable,
    level: str,
    options: StudyOptions,
    pairs: RankedPairs | None,
) -> dict[str, float | None]:
    question = Question(level=level, agreement=options.agreement, criterion=options.criterion)
    if pairs is not None and level == "segment":
        question = Question(level=level, agreement="darr", criterion=None)
    answers = answer(question, table, scores, pairs=pairs)
    return {pair: None if np.isnan(cell.value) else cell.value for pair, cell in answers.items()}


def _means(scores: RowScores, table: JudgementTable) -> dict[str, float | None]:
    by_system: dict[str, list[float]] = {}
    for system, value in zip(table.system, scores.values, strict=True):
        by_system.setdefault(system or "all", []).append(float(value))
    return {system: float(np.mean(values)) for system, values in by_system.items()}


def _by_system(scores: RowScores, table: JudgementTable, langpair: str) -> SegmentScores:
    """Oriented scores by system and segment; rows of unknown systems are left out."""
    systems: dict[str, dict[str, float]] = {}
    oriented = scores.oriented
    for row in table.rows_of(langpair):
        if table.system[row] != UNKNOWN_SYSTEM:
            systems.setdefault(table.system[row], {})[table.segment[row]] = float(oriented[row])
    return systems


def _documents(table: JudgementTable, langpair: str) -> dict[str, str]:
    """The document of each segment of a language pair."""
    documents: dict[str, str] = {}
    for pair, segment, document in zip(table.langpair, table.segment, table.document_of_rows(), strict=True):
        if pair == langpair and documents.setdefault(segment, document) != document:
            both = f"{documents[segment]!r} and {document!r}"
            msg = f"{table.name}: segment {segment!r} of {langpair} belongs to two documents: {both}"
            raise InputError(msg)
    return documents


#: Maximum number of segments, settings and groups listed in a warning; the rest is "...".
_MOST_SEGMENTS = 10
_MOST_SETTINGS = 4
_MOST_GROUPS = 8


def warn_about_segments(table: JudgementTable, scores: ScoredSettings) -> None:
    """Issue a warning for each kind of note that a segment has under some setting."""
    for note in NOTES.values():
        groups = _groups(table, scores, note.name)
        if groups and note.warning is not None:
            parts = [_part(scores, *group, labels) for group, labels in list(groups.items())[:_MOST_GROUPS]]
            message = f"{note.message.replace('{metric}', 'the score')}: {'; '.join(_first(parts, len(groups)))}"
            warnings.warn(message, note.warning, stacklevel=user_stacklevel())


def _groups(table: JudgementTable, scores: ScoredSettings, kind: str) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Labels of settings by language pair and names of the segments that have the note."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (metric, setting), own in scores.items():
        segments: dict[str, dict[str, None]] = {}
        for part in own.parts:
            rows = sorted(int(part.rows[index]) for index in part.score.notes.get(kind, ()))
            segments.setdefault(part.langpair, {}).update(dict.fromkeys(table.segment[row] for row in rows))
        label = f"{metric}, {' x '.join(setting.fields)} {setting.label}"
        for langpair, names in segments.items():
            if names:
                groups.setdefault((langpair, tuple(names)), []).append(label)
    return groups


def _part(scores: ScoredSettings, langpair: str, segments: Sequence[str], labels: Sequence[str]) -> str:
    many = "s" * (len(segments) > 1)
    named = ", ".join(_first(segments[:_MOST_SEGMENTS], len(segments)))
    settings = (
        "all settings" if len(labels) == len(scores) else "; ".join(_first(labels[:_MOST_SETTINGS], len(labels)))
    )
    return f"{langpair}, {len(segments)} segment{many} ({named}) under {settings}"


def _first(shown: Sequence[str], count: int) -> list[str]:
    return [*shown, "..."] if len(shown) < count else list(shown)


def systems_table(
    systems: Mapping[str, Iterable[str]],
    refs: References | None,
    *,
    sources: Iterable[str] | None = None,
    documents: Sequence[str] | None = None,
    lang: str = "en",
) -> JudgementTable:
    """Make a table without human scores from outputs of systems with their references, or sources.

    `documents` is the document of each segment.
    """
    corpus = make_corpus(systems, refs, sources=sources)
    count, names = len(corpus), list(corpus.systems)
    return JudgementTable(
        name="systems",
        segment=tuple(str(i) for i in range(count)) * len(names),
        system=tuple(name for name in names for _ in range(count)),
        langpair=(lang,) * (count * len(names)),
        hypothesis=tuple(text for name in names for text in corpus.systems[name]),
        references=tuple(corpus.references) * len(names),
        document=None if documents is None else tuple(documents) * len(names),
        source=None if corpus.sources is None else tuple(corpus.sources) * len(names),
        human={},
        default_criterion=None,
    )


def run_study(
    study: Study,
    table: JudgementTable,
    *,
    options: StudyOptions | None = None,
    state: str | Path | Checkpoint | None = None,
    pairs: RankedPairs | None = None,
    idf_texts: Sequence[str] | None = None,
    rankings: bool = True,
    components: Mapping[str, str] = {},
    run: RunOptions | None = None,
    **run_keywords: Unpack[RunKeywords],
) -> Sensitivity:
    """Score a table under every setting of a study, and measure the effects.

    Args:
        study: Fields to vary: `preset("stopwords")`, `load_study("mine.toml")`, or a `Study`.
        table: Data with human judgements (`nlgauge.data.load`), or systems without (`systems_table`).
        options: Options for measuring effects.
        state: File with finished work, from which the next call resumes an interrupted study; or a checkpoint that
            several calls share.
        pairs: Relative rankings of outputs (`nlgauge.data.load_wmt_rankings`): the segment level is then WMT's tau.
        idf_texts: Texts to draw random idf corpora from. Default: the texts of the table.
        rankings: Whether to rank systems and to test flips.
        components: Component whose agreement is measured, by metric. Default: the metric's score.
        run: Options of a run in one object.
        run_keywords: The same as keywords: `engine=`, `threads=`, `cache=`, ...
    """
    options = options or StudyOptions()
    for langpair in table.langpairs if options.documents else ():
        _documents(table, langpair)  # raises before hours of work
    texts = idf_texts
    if texts is None:
        outputs = zip(table.hypothesis, table.references, strict=True)
        texts = [text for hypothesis, references in outputs for text in (hypothesis, *references)]
    running = RunOptions.of(run_keywords) if run is None else run.with_options(**run_keywords)
    languages = {pair: options.lang or pair.rpartition("-")[2] for pair in table.langpairs}
    with tempfile.TemporaryDirectory(prefix="nlgauge-study-") as folder:
        plan = make_plan(study, texts, languages, options.seed, running, Path(folder))
        checkpoint = Checkpoint(state) if isinstance(state, str | Path) else state
        scores = score_settings(plan, table, languages, running, checkpoint)
    scores = {
        varied: rows.component(components[varied[0]]) if varied[0] in components else rows
        for varied, rows in scores.items()
    }
    warn_about_segments(table, scores)
    return summarise(plan, table, scores, options, pairs, rankings=rankings)


def sensitivity(
    systems: Mapping[str, Iterable[str]],
    refs: References | None = None,
    metric: str | Sequence[str] = DEFAULT_METRICS,
    *,
    sources: Iterable[str] | None = None,
    run: RunOptions | None = None,
    **options: Unpack[SensitivityKeywords],
) -> Sensitivity:
    """Measure how much preprocessing changes the scores and ranks of systems.

    Args:
        systems: Outputs by name of the system.
        refs: References per segment: a text, or several.
        metric: One metric or several, as `name:option=value`.
        sources: Source texts, for metrics that compare with them.
        run: Options of a run in one object.
        options: `preset` (stopwords, idf, subwords, ..., all), the others of `SensitivityOptions`, and those of
            metrics and of a run.
    """
    keywords: dict[str, Any] = dict(options)
    own = SensitivityOptions.take(keywords)
    metrics = [metric] if isinstance(metric, str) else list(metric)
    varied = study_metrics(metrics, keywords)
    _, run_keywords = recipes_and_run(metrics, keywords)
    running = RunOptions.of(run_keywords) if run is None else run.with_options(**run_keywords)
    study = preset(own.preset, varied, idf_corpora=own.idf_corpus, loading=running.loading)
    table = systems_table(systems, refs, sources=sources, lang=own.lang or "en")
    return run_study(study, table, options=own.measures(), run=running)
