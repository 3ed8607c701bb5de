"""Requests that are handed to a function of the library as they are: many pairs, explanations, documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nlgauge.annotate.load import ANNOTATORS
from nlgauge.errors import RecipeError
from nlgauge.explain.corpus import CorpusSummary, explain_corpus
from nlgauge.explain.explanation import Explanation
from nlgauge.explain.pairs import iter_explanations
from nlgauge.features.run import Discourse, discourse
from nlgauge.pairs.matrix import ScoreMatrix, matrix
from nlgauge.pairs.rank import Ranking, rank
from nlgauge.service.calls import Caller
from nlgauge.service.explain_schemas import (
    EXPLAIN_OPTIONS,
    WORD_OPTIONS,
    ExplainCorpusRequest,
    ExplainPairsRequest,
)
from nlgauge.service.pair_schemas import MatrixRequest, RankRequest
from nlgauge.service.policy import Policy
from nlgauge.service.said import collected_warnings
from nlgauge.service.schemas import OneRecipe
from nlgauge.service.study_schemas import DiscourseRequest

__all__ = [
    "check_annotator",
    "check_options",
    "corpus_summary",
    "crossed",
    "discourse_features",
    "explanations",
    "ranked",
    "run_options",
]

#: Told how many explanations there are so far.
Advance = Callable[[int], None]


def check_options(asked: OneRecipe) -> None:
    """Refuse an option that the library would take for something that has a field of its own."""
    for name in asked.options:
        if name in type(asked).model_fields:
            msg = f"{name} is also a field of this request; set the metric's own as {asked.metric}:{name}=VALUE"
            raise RecipeError(msg)


def check_annotator(name: str, policy: Policy) -> None:
    """Refuse an annotator that is not known by name: it would be a file, or a folder."""
    if name not in ANNOTATORS:
        msg = f"annotator must be {' or '.join(ANNOTATORS)} in a request (files are not read), got {name[:100]!r}"
        raise RecipeError(msg)
    policy.check_model(name)


@contextmanager
def run_options(caller: Caller, asked: OneRecipe, warnings: list[str]) -> Iterator[dict[str, Any]]:
    """Options of the metric and of the run, as functions of the library take them; what they warn of is collected."""
    check_options(asked)
    _, run, _, said = caller.recipes(asked)
    warnings += said
    with collected_warnings(warnings):
        yield {**asked.options, "long": asked.long, "empty": asked.empty, **run.loading}


def crossed(caller: Caller, asked: MatrixRequest, warnings: list[str]) -> ScoreMatrix:
    """All texts against all."""
    with run_options(caller, asked, warnings) as options:
        return matrix(asked.a, asked.b, asked.metric, **options)


def ranked(caller: Caller, asked: RankRequest, warnings: list[str]) -> Ranking:
    """Candidates in their order."""
    with run_options(caller, asked, warnings) as options:
        return rank(asked.candidates, asked.refs, metric=asked.metric, sources=asked.sources, **options)


def explanations(
    caller: Caller, asked: ExplainPairsRequest, warnings: list[str], advance: Advance
) -> list[Explanation]:
    """Why each pair got its score."""
    found = []
    with run_options(caller, asked, warnings) as options:
        chosen = options | {name: getattr(asked, name) for name in EXPLAIN_OPTIONS}
        pairs = iter_explanations(asked.hyps, asked.refs, metric=asked.metric, sources=asked.sources, **chosen)
        for one in pairs:
            found.append(one)
            advance(len(found))
    return found


def corpus_summary(caller: Caller, asked: ExplainCorpusRequest, warnings: list[str]) -> CorpusSummary:
    """Which words carry the score."""
    with run_options(caller, asked, warnings) as options:
        named = ("metric", "sources", "annotator", "side", "method", "level", "resamples", "seed")
        chosen = options | {name: getattr(asked, name) for name in (*named, *WORD_OPTIONS)}
        return explain_corpus(asked.hyps, asked.refs, **chosen)


def discourse_features(asked: DiscourseRequest, warnings: list[str]) -> Discourse:
    """What documents are like."""
    with collected_warnings(warnings):
        named = ("annotator", "sentences", "threshold")
        return discourse(asked.systems, asked.refs, **{name: getattr(asked, name) for name in named})
