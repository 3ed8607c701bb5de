"""From scores under every setting to what a study says: effects of settings, ranks, flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.compare.order import SegmentScores, find_flips, rank_agreement, system_means
from nlgauge.data import JudgementTable, RankedPairs
from nlgauge.errors import InputError
from nlgauge.meta import MetricScores, Question, ScoreTable, answer
from nlgauge.sensitivity.options import StudyOptions
from nlgauge.sensitivity.plan import StudyPlan
from nlgauge.sensitivity.results import Ranking, Sensitivity, SettingEffect, SettingInfo
from nlgauge.sensitivity.scores import StudyScores
from nlgauge.sensitivity.study import Setting

__all__ = ["check_documents", "summarise"]


def check_documents(options: StudyOptions, table: JudgementTable) -> None:
    """Refuse documents that the table does not know, before hours of work."""
    if options.documents:
        for langpair in table.langpairs:
            _documents(table, langpair)


def summarise(
    plan: StudyPlan, scores: StudyScores, options: StudyOptions, pairs: RankedPairs | None, *, rankings: bool
) -> Sensitivity:
    """What moves over the settings of each sweep."""
    table = scores.table
    notes = list(dict.fromkeys(plan.notes + list(table.notes)))
    judged = bool(table.default_criterion or options.criterion or table.system_scores) or pairs is not None
    levels = list(options.levels) if judged else ["score"]
    infos, effects, ranked = [], [], []
    measured: dict[tuple[str, Setting, str], dict[str, float | None]] = {}
    oriented: dict[tuple[str, Setting], NDArray[np.float64]] = {}
    for varied in scores.found:
        values, higher = scores.values(varied), scores.higher_is_better(varied)
        oriented[varied] = values if higher else -values
        for level in list(levels):
            try:
                found = _agreement(values, higher, table, level, options, pairs) if judged else _means(values, table)
            except InputError as error:  # the data set does not have this level
                levels.remove(level)
                notes.append(f"no {level} level: {error}")
                continue
            measured[varied[0], varied[1], level] = found
    for metric, sweep, settings in plan.sweeps:
        labels = tuple(setting.label for setting in settings)
        for setting in settings:
            varied = metric, setting
            signatures, zero_weight = scores.signatures(varied), scores.zero_weight(varied)
            infos.append(SettingInfo(metric, sweep.name, setting.label, signatures, zero_weight))
        for level in levels:
            by_setting = [measured[metric, setting, level] for setting in settings]
            groups = {group: tuple(row[group] for row in by_setting) for group in by_setting[0]}
            effects.append(SettingEffect(metric, sweep.name, level, labels, groups, options.ddof))
        for langpair in table.langpairs if rankings else ():
            ranks = [_by_system(oriented[metric, setting], table, langpair) for setting in settings]
            if len(ranks[0]) > 1:
                documents = _documents(table, langpair) if options.documents else None
                ranked.append(_ranking(metric, sweep.name, langpair, labels, ranks, documents, options))
    if options.documents and ranked:
        known = (f"{len(set(_documents(table, pair).values()))} ({pair})" for pair in table.langpairs)
        notes.append(f"flips are tested by draws of whole documents, not of segments: {', '.join(known)}")
    if rankings and not ranked:
        notes.append("the data names fewer than two systems, so there is no ranking that could change")
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
    values: NDArray[np.float64],
    higher_is_better: bool,
    table: JudgementTable,
    level: str,
    options: StudyOptions,
    pairs: RankedPairs | None,
) -> dict[str, float | None]:
    ranked = pairs is not None and level == "segment"
    question = Question(
        level=level,
        agreement="darr" if ranked else options.agreement,
        criterion=None if ranked else options.criterion,
    )
    found = answer(question, table, MetricScores("m", values, higher_is_better), pairs=pairs)
    return {pair: None if np.isnan(cell.value) else cell.value for pair, cell in found.items()}


def _means(values: NDArray[np.float64], table: JudgementTable) -> dict[str, float | None]:
    by_system: dict[str, list[float]] = {}
    for system, value in zip(table.system, values, strict=True):
        by_system.setdefault(system or "all", []).append(float(value))
    return {system: float(np.mean(found)) for system, found in by_system.items()}


def _by_system(oriented: NDArray[np.float64], table: JudgementTable, langpair: str) -> SegmentScores:
    return ScoreTable(table, (MetricScores("m", oriented, True),)).by_system("m", langpair)


def _documents(table: JudgementTable, langpair: str) -> dict[str, str]:
    """The document of each segment of a language pair."""
    found: dict[str, str] = {}
    for pair, segment, document in zip(table.langpair, table.segment, table.document_of_rows(), strict=True):
        if pair == langpair and found.setdefault(segment, document) != document:
            msg = (
                f"{table.name}: segment {segment!r}, {langpair}, is of documents {found[segment]!r} and {document!r}"
            )
            raise InputError(msg)
    return found


def _ranking(
    metric: str,
    sweep: str,
    langpair: str,
    labels: tuple[str, ...],
    ranks: Sequence[SegmentScores],
    documents: Mapping[str, str] | None,
    options: StudyOptions,
) -> Ranking:
    means = [system_means(rank) for rank in ranks]
    drawn: dict[str, Any] = {"alpha": options.alpha, "resamples": options.resamples, "seed": options.seed}
    flips = [
        flip
        for label, rank in zip(labels[1:], ranks[1:], strict=True)
        for flip in find_flips(ranks[0], rank, setting=label, documents=documents, **drawn)
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
