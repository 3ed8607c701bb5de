"""Run a study: how far do correlation, scores and ranks move when preprocessing does?

All settings of a piece of the corpus are scored in one call, so a text is encoded once for all of them, and vectors
and distances that settings have in common are computed once (`nlgauge.clouds.token_cloud`). A piece is a range of
segments with all systems; idf is counted on the whole corpus all the same, so that scores do not depend on where it
is cut. Finished pieces go to the state file, if there is one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nlgauge.compare.order import SegmentScores, find_flips, rank_agreement, system_means
from nlgauge.corpus.checks import make_corpus
from nlgauge.corpus.texts import Corpus, References
from nlgauge.data import JudgementTable, RankedPairs
from nlgauge.engine.checkpoint import Piece, StudyState, corpus_key, recipe_key
from nlgauge.engine.run import run_metrics
from nlgauge.errors import InputError, RecipeError
from nlgauge.meta import MetricScores, Question, ScoreTable, answer
from nlgauge.meta.score_table import table_corpora
from nlgauge.recipes.metric import CloudMetric, Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.sensitivity.plan import IdfTexts, StudyPlan, make_plan
from nlgauge.sensitivity.results import Movement, Ranking, Sensitivity, SettingInfo
from nlgauge.sensitivity.study import Setting, Study
from nlgauge.stats.checks import check_resampling
from nlgauge.transforms.base import POSITION_BATCH, POSITION_NORM

__all__ = ["StudyOptions", "run_study", "systems_table"]

#: Texts of systems in one piece; an interrupted run loses at most the work on one.
_PIECE = 2000

_LEVELS = ("segment", "topic", "system")


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What is measured of the settings."""

    agreement: Literal["pearson", "spearman", "kendall"] = "pearson"
    criterion: str | None = None
    levels: tuple[str, ...] = ("segment", "system")
    ddof: int = 1
    alpha: float = 0.05
    resamples: int = 1000
    seed: int = 12345
    lang: str = ""
    """Language of the texts, for lists of stop words; default: the target of each language pair."""

    def __post_init__(self) -> None:
        for name, allowed in (("agreement", ("pearson", "spearman", "kendall")), ("ddof", (0, 1))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(map(str, allowed))}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        if not self.levels or not set(self.levels) <= set(_LEVELS):
            msg = f"levels are some of {', '.join(_LEVELS)}, got {self.levels!r}"
            raise RecipeError(msg)
        check_resampling(self.resamples, self.seed)
        if not 0 < self.alpha < 1:
            msg = f"alpha must lie between 0 and 1, got {self.alpha!r}"
            raise RecipeError(msg)


def systems_table(
    systems: Mapping[str, Iterable[str]],
    refs: References | None,
    *,
    sources: Iterable[str] | None = None,
    lang: str = "en",
) -> JudgementTable:
    """Outputs of systems with their references, or sources, as a table without human scores."""
    corpus = make_corpus(systems, refs, sources=sources)
    count, names = len(corpus), list(corpus.systems)
    return JudgementTable(
        name="systems",
        segment=tuple(str(at) for at in range(count)) * len(names),
        system=tuple(name for name in names for _ in range(count)),
        langpair=(lang,) * (count * len(names)),
        hypothesis=tuple(text for name in names for text in corpus.systems[name]),
        references=tuple(corpus.references) * len(names),
        source=None if corpus.sources is None else tuple(corpus.sources) * len(names),
        human={},
        default_criterion=None,
    )


def run_study(
    study: Study,
    table: JudgementTable,
    *,
    options: StudyOptions | None = None,
    state: str | Path | StudyState | None = None,
    pairs: RankedPairs | None = None,
    idf_texts: Sequence[str] | None = None,
    rankings: bool = True,
    **run: Any,
) -> Sensitivity:
    """Score a table under every setting of a study, and say what moves.

    Args:
        study: What is varied; `presets.preset("stopwords")`, `study.load_study("mine.toml")`, or made by hand.
        table: Data with human judgements (`nlgauge.data.load`), or systems without (`systems_table`).
        options: What is measured.
        state: File that keeps finished pieces, so that the next call goes on where this one was interrupted; or
            a state that several calls share.
        pairs: Relative rankings of outputs (`nlgauge.data.load_wmt_rankings`): the segment level is then WMT's tau.
        idf_texts: What random corpora for idf are drawn from; default: the texts of the table.
        rankings: Whether systems are ranked, and flips tested; else only movements are found.
        run: Options of `nlgauge.score`: `engine=`, `threads=`, `cache=`, ...
    """
    options = options or StudyOptions()
    running = RunOptions.of(run)
    languages = {pair: options.lang or pair.rpartition("-")[2] for pair in table.langpairs}
    with tempfile.TemporaryDirectory(prefix="nlgauge-study-") as folder:
        plan = make_plan(study, IdfTexts(table, idf_texts), languages, options.seed, running, Path(folder))
        kept = state if isinstance(state, StudyState) else StudyState(state)
        scored = _score(plan, table, languages, running, kept)
    return _summary(study, plan, scored, table, options, pairs, rankings=rankings)


@dataclass(eq=False)
class _Scored:
    """Scores of every row of the table under one setting."""

    values: NDArray[np.float64]
    higher_is_better: bool
    signatures: dict[str, str] = field(default_factory=dict)
    zero_weight: int = 0


def _score(
    plan: StudyPlan, table: JudgementTable, languages: Mapping[str, str], running: RunOptions, state: StudyState
) -> dict[tuple[str, Setting], _Scored]:
    wanted = list(dict.fromkeys((metric, setting) for metric, _, settings in plan.sweeps for setting in settings))
    found: dict[tuple[str, Setting], _Scored] = {}
    for langpair in table.langpairs:
        recipes = {one: plan.recipe(*one, languages[langpair]) for one in wanted}
        keys = {one: recipe_key(recipe, plan.computed_by(recipe)) for one, recipe in recipes.items()}
        distinct = {key: recipes[one] for one, key in keys.items()}
        steps = [recipe.steps for recipe in distinct.values() if isinstance(recipe, CloudMetric)]
        batch = POSITION_BATCH if any(POSITION_NORM in step for step in steps) else 1
        for corpus, rows in table_corpora(table, langpair):
            for part, places in _pieces(corpus, batch):
                scored = _score_piece(part, distinct, running, state)
                for one, key in keys.items():
                    recipe, piece = recipes[one], scored[key]
                    target = found.setdefault(one, _Scored(np.full(len(table), np.nan), recipe.higher_is_better))
                    for system, values in piece.values.items():
                        target.values[rows[system][places.start : places.stop]] = values
                    target.signatures.setdefault(langpair, piece.signature)
                    target.zero_weight += piece.zero_weight
    return found


def _pieces(corpus: Corpus, batch: int) -> Iterator[tuple[Corpus, range]]:
    """Ranges of segments in whole batches, each with the idf documents of the whole."""
    documents: dict[str | None, Sequence[str]] = dict(corpus.idf_documents)
    if not documents:
        documents = {system: list(texts) for system, texts in corpus.systems.items()}
        documents[None] = [text for group in corpus.references for text in group]
    step = max(1, _PIECE // len(corpus.systems) // batch) * batch
    for start in range(0, len(corpus), step):
        stop = min(start + step, len(corpus))
        systems = {system: texts[start:stop] for system, texts in corpus.systems.items()}
        sources = None if corpus.sources is None else corpus.sources[start:stop]
        yield Corpus(systems, corpus.references[start:stop], documents, sources), range(start, stop)


def _score_piece(
    corpus: Corpus, recipes: Mapping[str, Metric], running: RunOptions, state: StudyState
) -> dict[str, Piece]:
    texts = corpus_key(corpus, running)
    open_keys = [key for key in recipes if state.get(f"{texts} {key}") is None]
    if open_keys:
        scores = run_metrics([recipes[key] for key in open_keys], corpus, running)
        count = len(corpus.systems)
        made = []
        for number, key in enumerate(open_keys):
            group = scores[number * count : (number + 1) * count]
            values = {system: score.segments[score.main] for system, score in zip(corpus.systems, group, strict=True)}
            zero = sum(len(score.notes.zero_weight) for score in group)
            made.append((f"{texts} {key}", Piece(values, group[0].signature.recipe_part, zero)))
        state.add(made)
    return {key: piece for key in recipes if (piece := state.get(f"{texts} {key}")) is not None}


def _summary(
    study: Study,
    plan: StudyPlan,
    scored: Mapping[tuple[str, Setting], _Scored],
    table: JudgementTable,
    options: StudyOptions,
    pairs: RankedPairs | None,
    *,
    rankings: bool,
) -> Sensitivity:
    notes = list(dict.fromkeys(plan.notes + list(table.notes)))
    judged = bool(table.default_criterion or options.criterion or table.system_scores) or pairs is not None
    infos, movements, ranked = [], [], []
    found: dict[tuple[str, Setting, str], dict[str, float | None]] = {}
    levels = list(options.levels) if judged else ["score"]
    for (metric, setting), one in scored.items():
        for level in list(levels):
            try:
                values = _agreement(one, table, level, options, pairs) if judged else _means(one, table)
            except InputError as error:  # the data set does not have this level
                levels.remove(level)
                notes.append(f"no {level} level: {error}")
                continue
            found[metric, setting, level] = values
    for metric, sweep, settings in plan.sweeps:
        labels = tuple(setting.label for setting in settings)
        for setting in settings:
            one = scored[metric, setting]
            infos.append(SettingInfo(metric, sweep.name, setting.label, one.signatures, one.zero_weight))
        for level in levels:
            by_setting = [found[metric, setting, level] for setting in settings]
            groups = {group: tuple(row[group] for row in by_setting) for group in by_setting[0]}
            movements.append(Movement(metric, sweep.name, level, labels, groups, options.ddof))
        for langpair in table.langpairs if rankings else ():
            ranks = [_system_scores(scored[metric, setting], table, langpair) for setting in settings]
            if len(ranks[0]) > 1:
                ranked.append(_ranking(metric, sweep.name, langpair, labels, ranks, options))
    if rankings and not ranked:
        notes.append("the data names fewer than two systems, so there is no ranking that could change")
    agreement = f"{options.agreement} with {options.criterion or table.default_criterion or 'official system scores'}"
    if pairs is not None:
        agreement = "WMT's tau on ranked pairs of segments" + (f"; {agreement}" if levels != ["segment"] else "")
    return Sensitivity(
        table.name,
        study.name,
        agreement if judged else None,
        tuple(infos),
        tuple(movements),
        tuple(ranked),
        plan.stopwords,
        tuple(notes),
        asdict(options) | {"levels": levels},
    )


def _agreement(
    one: _Scored, table: JudgementTable, level: str, options: StudyOptions, pairs: RankedPairs | None
) -> dict[str, float | None]:
    ranked = pairs is not None and level == "segment"
    question = Question(
        level=level,
        agreement="darr" if ranked else options.agreement,
        criterion=None if ranked else options.criterion,
    )
    found = answer(question, table, MetricScores("m", one.values, one.higher_is_better), pairs=pairs)
    return {pair: None if np.isnan(cell.value) else cell.value for pair, cell in found.items()}


def _means(one: _Scored, table: JudgementTable) -> dict[str, float | None]:
    by_system: dict[str, list[float]] = {}
    for system, value in zip(table.system, one.values, strict=True):
        by_system.setdefault(system or "all", []).append(float(value))
    return {system: float(np.mean(values)) for system, values in by_system.items()}


def _system_scores(one: _Scored, table: JudgementTable, langpair: str) -> dict[str, dict[str, float]]:
    scores = MetricScores("m", one.values, one.higher_is_better)
    return ScoreTable(table, (scores,)).by_system("m", langpair)


def _ranking(
    metric: str,
    sweep: str,
    langpair: str,
    labels: tuple[str, ...],
    ranks: Sequence[SegmentScores],
    options: StudyOptions,
) -> Ranking:
    means = [system_means(rank) for rank in ranks]
    flips = [
        flip
        for label, rank in zip(labels[1:], ranks[1:], strict=True)
        for flip in find_flips(
            ranks[0], rank, setting=label, alpha=options.alpha, resamples=options.resamples, seed=options.seed
        )
    ]
    return Ranking(
        metric,
        sweep,
        langpair,
        labels,
        {system: tuple(mean[system] for mean in means) for system in means[0]},
        tuple(rank_agreement(ranks[0], rank) for rank in ranks),
        tuple(flips),
    )
