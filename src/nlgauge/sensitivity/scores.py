"""Scores of a table's rows under every setting of a study.

All settings are prepared together and compared on one encoding: a text is tokenised and encoded once for all of them,
and vectors and distances that settings have in common are computed once (`nlgauge.clouds.token_cloud`). With a
checkpoint the corpus is compared range by range, and what is finished is kept; where it is cut moves no score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.corpus.texts import Corpus
from nlgauge.data import JudgementTable
from nlgauge.engine.checkpoint import Checkpoint, compare_with_checkpoint
from nlgauge.engine.compare import compare
from nlgauge.engine.comparisons import Comparisons
from nlgauge.engine.finish import finish
from nlgauge.engine.notes import warn_about_languages
from nlgauge.engine.prepare import prepare
from nlgauge.engine.windows import ranges
from nlgauge.meta.score_table import pooled_corpora, table_corpora
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.scores import Score
from nlgauge.sensitivity.plan import StudyPlan
from nlgauge.sensitivity.study import Setting

__all__ = ["ScoredRows", "StudyScores", "score_settings"]

#: Texts of systems in one range of a checkpoint; an interrupted run loses at most the work on one.
_RANGE = 2000

#: A metric, as the study names it, and a setting.
Varied: TypeAlias = tuple[str, Setting]

_Rows: TypeAlias = Mapping[str, NDArray[np.intp]]


class ScoredRows(NamedTuple):
    """A score, and the rows of the table that its segments are."""

    langpair: str
    rows: NDArray[np.intp]
    score: Score


@dataclass(frozen=True, eq=False)
class StudyScores:
    """Rows of a table under every setting."""

    table: JudgementTable
    found: Mapping[Varied, Sequence[ScoredRows]]

    def values(self, varied: Varied) -> NDArray[np.float64]:
        """Main component of each row."""
        values = np.full(len(self.table), np.nan)
        for one in self.found[varied]:
            values[one.rows] = one.score.segments[one.score.main]
        return values

    def higher_is_better(self, varied: Varied) -> bool:
        """Whether the main component is a similarity."""
        return self.found[varied][0].score.higher_is_better

    def signatures(self, varied: Varied) -> dict[str, str]:
        """Recipe part by language pair: that of its first corpus, where idf makes a difference between systems."""
        return {one.langpair: one.score.signature.recipe_part for one in reversed(self.found[varied])}

    def zero_weight(self, varied: Varied) -> int:
        """Segments in which nothing of a text was left."""
        return sum(len(one.score.notes.zero_weight) for one in self.found[varied])


def score_settings(
    plan: StudyPlan,
    table: JudgementTable,
    languages: Mapping[str, str],
    running: RunOptions,
    checkpoint: Checkpoint | None,
) -> StudyScores:
    """Score every row under every setting; `languages` are those of the texts, by language pair."""
    found: dict[Varied, list[ScoredRows]] = {}
    warn_about_languages(plan.recipes(languages[table.langpairs[0]]).values())
    for langpair in table.langpairs:
        recipes = plan.recipes(languages[langpair])
        for corpus, rows, chosen in _corpora(table, langpair, recipes):
            distinct = list(dict.fromkeys(chosen.values()))
            scores = _score(distinct, corpus, running, checkpoint)
            for varied, recipe in chosen.items():
                for system, score in zip(corpus.systems, scores[recipe], strict=True):
                    found.setdefault(varied, []).append(ScoredRows(langpair, rows[system], score))
    return StudyScores(table, {varied: found[varied] for varied in plan.varied})


def _corpora(
    table: JudgementTable, langpair: str, recipes: Mapping[Varied, Metric]
) -> Iterator[tuple[Corpus, _Rows, Mapping[Varied, Metric]]]:
    """What to score in one go, and the recipes; what scales over a corpus scales over a language pair."""
    corpora = list(table_corpora(table, langpair))
    whole = {varied: recipe for varied, recipe in recipes.items() if recipe.whole_corpus}
    if not whole or len(corpora) == 1:
        yield from ((corpus, rows, recipes) for corpus, rows in corpora)
        return
    others = {varied: recipe for varied, recipe in recipes.items() if varied not in whole}
    if others:
        yield from ((corpus, rows, others) for corpus, rows in corpora)
    yield from ((corpus, rows, whole) for corpus, rows in pooled_corpora(table, langpair))


def _score(
    recipes: Sequence[Metric], corpus: Corpus, running: RunOptions, checkpoint: Checkpoint | None
) -> dict[Metric, list[Score]]:
    """By recipe, a score per system."""
    prepared = prepare(recipes, corpus, running, warn=False)
    if checkpoint is None:
        comparisons = compare(prepared)
    else:
        comparisons = Comparisons.join(
            compare_with_checkpoint(prepared, part, checkpoint) for part in ranges(prepared, _RANGE)
        )
    scores = finish(prepared, comparisons, warn=False)
    count = len(corpus.systems)
    return {recipe: scores[at * count : (at + 1) * count] for at, recipe in enumerate(recipes)}
