"""Run a study: how far do correlation, scores and ranks move when preprocessing does?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlgauge.corpus.checks import make_corpus
from nlgauge.corpus.texts import References
from nlgauge.data import JudgementTable, RankedPairs
from nlgauge.engine.checkpoint import Checkpoint
from nlgauge.recipes.run_options import RunOptions
from nlgauge.sensitivity.options import StudyOptions
from nlgauge.sensitivity.plan import IdfTexts, make_plan
from nlgauge.sensitivity.results import Sensitivity
from nlgauge.sensitivity.scores import score_settings
from nlgauge.sensitivity.study import Study
from nlgauge.sensitivity.summary import check_documents, summarise
from nlgauge.sensitivity.warn import warn_about_segments

__all__ = ["StudyOptions", "run_study", "systems_table"]


def systems_table(
    systems: Mapping[str, Iterable[str]],
    refs: References | None,
    *,
    sources: Iterable[str] | None = None,
    documents: Sequence[str] | None = None,
    lang: str = "en",
) -> JudgementTable:
    """Outputs of systems with their references, or sources, as a table without human scores.

    `documents` names the document of each segment.
    """
    corpus = make_corpus(systems, refs, sources=sources)
    count, names = len(corpus), list(corpus.systems)
    return JudgementTable(
        name="systems",
        segment=tuple(str(at) for at in range(count)) * len(names),
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
    run: RunOptions | None = None,
    **more: Any,
) -> Sensitivity:
    """Score a table under every setting of a study, and say what moves.

    Args:
        study: What is varied; `presets.preset("stopwords")`, `study.load_study("mine.toml")`, or made by hand.
        table: Data with human judgements (`nlgauge.data.load`), or systems without (`systems_table`).
        options: What is measured.
        state: File that keeps what is finished, so that the next call goes on where this one was interrupted; or
            a checkpoint that several calls share.
        pairs: Relative rankings of outputs (`nlgauge.data.load_wmt_rankings`): the segment level is then WMT's tau.
        idf_texts: What random corpora for idf are drawn from; default: the texts of the table.
        rankings: Whether systems are ranked, and flips tested; else only effects on numbers are found.
        run: Options of a run in one object.
        more: The same as keywords: `engine=`, `threads=`, `cache=`, ...
    """
    options = options or StudyOptions()
    check_documents(options, table)
    running = RunOptions.of(more) if run is None else replace(run, **more)
    languages = {pair: options.lang or pair.rpartition("-")[2] for pair in table.langpairs}
    with tempfile.TemporaryDirectory(prefix="nlgauge-study-") as folder:
        plan = make_plan(study, IdfTexts(table, idf_texts), languages, options.seed, running, Path(folder))
        checkpoint = Checkpoint(state) if isinstance(state, str | Path) else state
        scores = score_settings(plan, table, languages, running, checkpoint)
    warn_about_segments(scores)
    return summarise(plan, scores, options, pairs, rankings=rankings)
