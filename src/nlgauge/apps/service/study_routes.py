"""Endpoints for matrices, rankings, explanations and comparisons."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from nlgauge.apps.service.answers import (
    alignment_json,
    comparison_json,
    comparison_tsv,
    explanation_json,
    matrix_json,
    matrix_tsv,
    ranking_json,
    ranking_tsv,
)
from nlgauge.apps.service.calls import (
    check_options,
    check_pairs,
    check_size,
    collected_warnings,
    compare_settings,
    crossed,
    ranked,
    run_options,
)
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.routes import TSV, Used, json_body
from nlgauge.apps.service.schemas import CompareAnswer, CompareRequest, TextsRequest
from nlgauge.apps.service.service import Service
from nlgauge.apps.service.settings import Limits
from nlgauge.apps.service.study_schemas import (
    EXPLAIN_OPTIONS,
    AlignmentAnswer,
    ExplainAnswer,
    ExplainRequest,
    MatrixAnswer,
    MatrixRequest,
    RankAnswer,
    RankRequest,
)
from nlgauge.core.matrix import ScoreMatrix
from nlgauge.core.rank import Ranking
from nlgauge.core.score import Score
from nlgauge.studies.compare.comparison import SystemComparison
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.explain.explanation import Explanation
from nlgauge.studies.explain.pairs import explain_in_corpus, explain_pair

router = APIRouter(dependencies=[Depends(json_body)])

_TABLE = {TSV: {"schema": {"type": "string"}}}


def _check(asked: MatrixRequest | RankRequest, service: Service) -> None:
    check_size(asked, service.settings, job=False)
    check_pairs(asked.pairs, service.settings, job=False)
    check_options(asked)
    service.caller.recipes(asked)  # what is wrong with a recipe is said before there is a wait


@router.post(
    "/v1/matrix",
    response_class=Response,
    responses={200: {"model": MatrixAnswer, "content": _TABLE}},
    summary="Score every text of one list against every text of another",
)
async def matrix(
    asked: MatrixRequest,
    service: Used,
    form: Annotated[
        Literal["json", "tsv"], Query(alias="format", description="tsv: a row per hypothesis, the main component")
    ] = "json",
) -> Response:
    """Each text is encoded once. For more pairs see jobs."""
    _check(asked, service)
    warnings: list[str] = []

    def work() -> ScoreMatrix:
        return crossed(service.caller, asked, warnings)

    found = await service.in_thread(work)
    if form == "tsv":
        return Response(matrix_tsv(found), media_type=f"{TSV}; charset=utf-8")
    return Response(matrix_json(found, warnings), media_type="application/json")


@router.post(
    "/v1/rank",
    response_class=Response,
    responses={200: {"model": RankAnswer, "content": _TABLE}},
    summary="Which of several candidates is best",
)
async def rank(
    asked: RankRequest,
    service: Used,
    form: Annotated[Literal["json", "tsv"], Query(alias="format", description="tsv: a row per candidate")] = "json",
) -> Response:
    """By references or sources, or else by the other candidates (minimum Bayes risk). For more see jobs."""
    _check(asked, service)
    warnings: list[str] = []

    def work() -> Ranking:
        return ranked(service.caller, asked, warnings)

    found = await service.in_thread(work)
    if form == "tsv":
        return Response(ranking_tsv(found), media_type=f"{TSV}; charset=utf-8")
    return Response(ranking_json(found, warnings), media_type="application/json")


#: Characters times samples of one explanation: Shapley values take a scoring for each word of each sample.
_MOST_SAMPLED = 100_000


def check_systems(asked: CompareRequest, limits: Limits) -> None:
    """Refuse more systems than every two of which may be tested."""
    if len(asked.outputs()) > limits.systems:
        msg = f"{len(asked.outputs())} systems in one comparison, and at most {limits.systems} are taken"
        raise ProblemError(413, msg, kind="too-many-systems")


@router.post(
    "/v1/explain",
    response_class=Response,
    responses={200: {"model": ExplainAnswer | AlignmentAnswer}},
    summary="Why one pair got its score",
)
async def explain(
    asked: ExplainRequest,
    service: Used,
    form: Annotated[
        Literal["json", "alignment"], Query(alias="format", description="alignment: only what a page shows of it")
    ] = "json",
) -> Response:
    """What matched what, and what each word contributes."""
    texts = asked.as_texts()
    check_size(texts, service.settings, job=False)
    characters = check_size(asked.model_copy(update={"others": None}).as_texts(), service.settings, job=False)
    most = service.settings.limits.explained_characters
    if characters > most:
        msg = f"the texts have {characters} characters, and an explanation is made of at most {most}"
        raise ProblemError(413, msg, kind="text-too-long")
    if asked.shapley is not False and characters * asked.samples > _MOST_SAMPLED:
        msg = f"{characters} characters with {asked.samples} samples; the product must be at most {_MOST_SAMPLED}"
        raise ProblemError(413, msg, kind="too-many-samples")
    check_options(asked)
    service.caller.recipes(asked)  # what is wrong with a recipe is said before there is a wait

    def work() -> bytes:
        warnings: list[str] = []
        with run_options(service.caller, asked, warnings) as options:
            chosen = options | {name: getattr(asked, name) for name in EXPLAIN_OPTIONS}
            found = _explained(asked, texts, chosen)
        if form == "alignment":
            return alignment_json(found, warnings)
        return explanation_json(found, warnings, matrix=asked.matrix)

    return Response(await service.in_thread(work), media_type="application/json")


def _explained(asked: ExplainRequest, texts: TextsRequest, options: dict[str, Any]) -> Explanation:
    """The explanation of the pair, alone or as one of its corpus."""
    if asked.others is None:
        return explain_pair(asked.hyp, asked.ref, metric=asked.metric, source=asked.source, **options)
    given = (texts.hyps or [], texts.refs)
    return explain_in_corpus(*given, segments=[0], metric=asked.metric, sources=texts.sources, **options)[0]


@router.post(
    "/v1/compare",
    response_class=Response,
    responses={200: {"model": CompareAnswer, "content": {TSV: {"schema": {"type": "string"}}}}},
    summary="Which system is better, and is it more than luck",
)
async def compare(
    asked: CompareRequest,
    service: Used,
    form: Annotated[
        Literal["json", "tsv", "pairs"], Query(alias="format", description="tsv: a row per system; pairs: per pair")
    ] = "json",
) -> Response:
    """Scores of systems on the same segments, intervals, and a test between every two. For more texts see jobs."""
    check_size(asked, service.settings, job=False)
    check_systems(asked, service.settings.limits)
    call = service.caller.score(asked)

    def work() -> tuple[SystemComparison, list[Score]]:
        scored = service.score_here(call)
        with collected_warnings(call.warnings):
            return compare_systems(scored.scores, settings=compare_settings(asked)), scored.scores

    comparison, scores = await service.in_thread(work)
    if form != "json":
        table = comparison_tsv(comparison, table=form)
        return Response(table, media_type=f"{TSV}; charset=utf-8")
    content = comparison_json(comparison, scores, call.warnings, segments=asked.segments)
    return Response(content, media_type="application/json")
