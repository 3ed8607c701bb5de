"""Endpoints that take work for later: each answers with a job."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from nlgauge.service.analysis_routes import check_systems
from nlgauge.service.calls import check_pairs, check_size
from nlgauge.service.explain_schemas import ExplainCorpusRequest, ExplainPairsRequest
from nlgauge.service.job_routes import job_status
from nlgauge.service.library_calls import check_annotator, check_options
from nlgauge.service.pair_schemas import MatrixRequest, RankRequest
from nlgauge.service.problems import ProblemError
from nlgauge.service.routes import Used, json_body
from nlgauge.service.schemas import CompareRequest, JobStatus, ScoreRequest
from nlgauge.service.service import Service
from nlgauge.service.study_schemas import DiscourseRequest, SensitivityRequest

__all__ = ["router"]


class Submission:
    """Where jobs are put; of one request."""

    def __init__(self, service: Used, request: Request, response: Response) -> None:
        self.service: Service = service
        self._root = request.scope.get("root_path", "")
        self._response = response

    def job(self, kind: str, asked: Any) -> JobStatus:
        """Queue a request whose recipes may be asked for, and say where the job is."""
        service = self.service
        if service.stopping.is_set():
            raise ProblemError(503, "the service is about to stop", kind="stopping", retry_after=5)
        check_size(asked, service.settings, job=True)
        if asked.metrics:
            service.caller.recipes(asked)  # what is wrong with a recipe is said now
        job = service.jobs.submit(kind, asked.model_dump_json(exclude_unset=True).encode())
        self._response.headers["Location"] = f"{self._root}/v1/jobs/{job.id}"
        return job_status(service, job)


Taken = Annotated[Submission, Depends()]

router = APIRouter(prefix="/v1/jobs", dependencies=[Depends(json_body)])


@router.post("/score", status_code=202, summary="Score many texts, in the background")
def submit_score(asked: ScoreRequest, taken: Taken) -> JobStatus:
    """The same request as `/v1/score`, for more texts. The answer says where the job is."""
    return taken.job("score", asked)


@router.post("/compare", status_code=202, summary="Compare systems on many texts, in the background")
def submit_compare(asked: CompareRequest, taken: Taken) -> JobStatus:
    """The same request as `/v1/compare`, for more texts; the result is also a report, as one HTML file."""
    check_systems(asked, taken.service.settings.limits)
    return taken.job("compare", asked)


@router.post("/sensitivity", status_code=202, summary="How far preprocessing moves scores, in the background")
def submit_sensitivity(asked: SensitivityRequest, taken: Taken) -> JobStatus:
    """Scores under many settings: what moves, and whether systems change places."""
    return taken.job("sensitivity", asked)


@router.post("/matrix", status_code=202, summary="Score every text against every other, in the background")
def submit_matrix(asked: MatrixRequest, taken: Taken) -> JobStatus:
    """The same request as `/v1/matrix`, for more pairs."""
    check_options(asked)
    check_pairs(asked.pairs, taken.service.settings, job=True)
    return taken.job("matrix", asked)


@router.post("/rank", status_code=202, summary="Rank many candidates, in the background")
def submit_rank(asked: RankRequest, taken: Taken) -> JobStatus:
    """The same request as `/v1/rank`, for more candidates."""
    check_options(asked)
    check_pairs(asked.pairs, taken.service.settings, job=True)
    return taken.job("rank", asked)


@router.post("/explain-pairs", status_code=202, summary="Why pairs of a corpus got their scores, in the background")
def submit_explain_pairs(asked: ExplainPairsRequest, taken: Taken) -> JobStatus:
    """What matched what in each pair, with the idf of all of them."""
    _check_explained(asked, taken.service)
    return taken.job("explain-pairs", asked)


@router.post("/explain-corpus", status_code=202, summary="Which words carry the score, in the background")
def submit_explain_corpus(asked: ExplainCorpusRequest, taken: Taken) -> JobStatus:
    """What words contribute, summed up by part of speech and by what they find in the other text."""
    _check_explained(asked, taken.service)
    check_annotator(asked.annotator, taken.service.policy)
    return taken.job("explain-corpus", asked)


@router.post("/discourse", status_code=202, summary="Discourse features of documents, in the background")
def submit_discourse(asked: DiscourseRequest, taken: Taken) -> JobStatus:
    """What documents of systems are like, beside their references where there are any."""
    check_annotator(asked.annotator, taken.service.policy)
    return taken.job("discourse", asked)


def _check_explained(asked: ExplainPairsRequest | ExplainCorpusRequest, service: Service) -> None:
    check_options(asked)
    characters, most = sum(map(len, asked.texts())), service.settings.limits.job_explained_characters
    if characters > most:
        msg = f"the texts have {characters} characters, and a job explains at most {most}"
        raise ProblemError(413, msg, kind="text-too-long")
