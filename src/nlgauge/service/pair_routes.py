"""Endpoints for scores of many pairs of few texts: all against all, and the best of several candidates."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from nlgauge.pairs.matrix import ScoreMatrix
from nlgauge.pairs.rank import Ranking
from nlgauge.service.calls import check_pairs, check_size
from nlgauge.service.library_calls import check_options, crossed, ranked
from nlgauge.service.pair_schemas import MatrixAnswer, MatrixRequest, RankAnswer, RankRequest
from nlgauge.service.routes import TSV, Used, json_body
from nlgauge.service.service import Service
from nlgauge.service.study_answers import matrix_json, matrix_tsv, ranking_json, ranking_tsv

__all__ = ["router"]

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
