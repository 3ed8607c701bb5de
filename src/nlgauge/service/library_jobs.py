"""Jobs that hand their request to a function of the library."""

from __future__ import annotations

from collections.abc import Callable

from nlgauge.engine.progress import ticking
from nlgauge.service import library_calls
from nlgauge.service.explain_schemas import ExplainCorpusRequest, ExplainPairsRequest
from nlgauge.service.pair_schemas import MatrixRequest, RankRequest
from nlgauge.service.study_answers import (
    discourse_results,
    explanations_results,
    matrix_json,
    matrix_tsv,
    ranking_json,
    ranking_tsv,
    summary_results,
)
from nlgauge.service.study_schemas import DiscourseRequest
from nlgauge.service.work import KINDS, JobContext

__all__ = ["ALL_KINDS"]


def _matrix(request: bytes, context: JobContext) -> dict[str, bytes]:
    asked = MatrixRequest.model_validate_json(request)
    warnings: list[str] = []
    with ticking(_counter(context, asked.pairs, "pairs")):
        found = library_calls.crossed(context.caller, asked, warnings)
    return {"json": matrix_json(found, warnings), "tsv": matrix_tsv(found)}


def _rank(request: bytes, context: JobContext) -> dict[str, bytes]:
    asked = RankRequest.model_validate_json(request)
    warnings: list[str] = []
    with ticking(_counter(context, asked.pairs, "pairs")):
        found = library_calls.ranked(context.caller, asked, warnings)
    return {"json": ranking_json(found, warnings), "tsv": ranking_tsv(found)}


def _explain_pairs(request: bytes, context: JobContext) -> dict[str, bytes]:
    asked = ExplainPairsRequest.model_validate_json(request)
    warnings: list[str] = []
    advance = _counter(context, len(asked.hyps), "pairs")
    found = library_calls.explanations(context.caller, asked, warnings, lambda _: advance(1))
    return explanations_results(found, warnings, matrix=asked.matrix)


def _explain_corpus(request: bytes, context: JobContext) -> dict[str, bytes]:
    warnings: list[str] = []
    asked = ExplainCorpusRequest.model_validate_json(request)
    return summary_results(library_calls.corpus_summary(context.caller, asked, warnings), warnings)


def _discourse(request: bytes, context: JobContext) -> dict[str, bytes]:
    warnings: list[str] = []
    found = library_calls.discourse_features(DiscourseRequest.model_validate_json(request), warnings)
    return discourse_results(found, warnings)


def _counter(context: JobContext, total: int, unit: str) -> Callable[[int], None]:
    """Counts what is done; a metric of several others compares each pair several times, and is done once."""
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done = min(total, done + more)
        context.advance(done, total, unit)

    return advance


#: From a kind of job to what it does: a request in, results by format out.
ALL_KINDS: dict[str, Callable[[bytes, JobContext], dict[str, bytes]]] = KINDS | {
    "matrix": _matrix,
    "rank": _rank,
    "explain-pairs": _explain_pairs,
    "explain-corpus": _explain_corpus,
    "discourse": _discourse,
}
