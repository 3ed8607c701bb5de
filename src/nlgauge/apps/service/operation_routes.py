"""Endpoints of operations: `POST /v1/NAME` and `POST /v1/jobs/NAME`, for each operation of the table.

Annotations are evaluated here (no `from __future__ import annotations`): FastAPI reads the model of each request.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from nlgauge.apps.operations import operations
from nlgauge.apps.service.answers import FORMAT_HELP, TSV, answer, answer_schema, formats, media_type
from nlgauge.apps.service.checks import check_request
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.job_routes import job_status
from nlgauge.apps.service.request_models import OperationRequest, request_model
from nlgauge.apps.service.routes import Used, json_body
from nlgauge.apps.service.schemas import JobStatus
from nlgauge.apps.service.service import Service
from nlgauge.core.operations import Operation
from nlgauge.core.score_table import ScoreTable


def operation_router() -> APIRouter:
    """The endpoints of all operations, those of installed packages included."""
    router = APIRouter(dependencies=[Depends(json_body)])
    for operation in operations().values():
        if operation.at_once:
            _add_answer(router, operation)
        _add_job(router, operation)
    return router


def _add_answer(router: APIRouter, operation: Operation) -> None:
    model: Any = request_model(operation)
    forms: Any = Literal[formats(operation)]

    async def answer_at_once(
        request: model,
        service: Used,
        form: Annotated[forms, Query(alias="format", description=FORMAT_HELP)] = "json",
    ) -> Response:
        content = await _answer(request, service, form)
        return Response(content, media_type=media_type(form))

    content = {"application/json": {"schema": answer_schema(operation)}, TSV: {"schema": {"type": "string"}}}
    if "html" in formats(operation):
        content["text/html"] = {"schema": {"type": "string"}}
    router.add_api_route(
        f"/v1/{operation.name}",
        answer_at_once,
        methods=["POST"],
        response_class=Response,
        responses={200: {"content": content, "description": "The result"}},
        summary=_title(operation),
        description=_description(operation) + " For larger requests see jobs.",
        operation_id=operation.method,
    )


def _add_job(router: APIRouter, operation: Operation) -> None:
    model: Any = request_model(operation)

    def submit(asked: model, service: Used, request: Request, response: Response) -> JobStatus:
        job = _submit(asked, service)
        response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/jobs/{job.id}"
        return job

    router.add_api_route(
        f"/v1/jobs/{operation.name}",
        submit,
        methods=["POST"],
        status_code=202,
        response_model=JobStatus,
        summary=f"{_title(operation)}, in the background",
        description=f"{_description(operation)} The answer says where the job is.",
        operation_id=f"submit_{operation.method}",
    )


def _title(operation: Operation) -> str:
    return operation.help[0].upper() + operation.help[1:]


def _description(operation: Operation) -> str:
    """The first paragraph of the function's documentation."""
    return " ".join((operation.call.__doc__ or operation.help).partition("\n\n")[0].split())


async def _answer(request: OperationRequest, service: Service, form: str) -> bytes:
    characters = _check(request, service, job=False)
    if request.operation.name == "score":  # small requests share batches
        call = service.caller.score(request)
        scored = await service.score(call, texts=len(list(request.places())), characters=characters)
        return answer(request, ScoreTable(tuple(scored.scores)), form, scored.warnings)

    def work() -> bytes:
        warnings: list[str] = []
        return answer(request, service.compute(request, warnings), form, warnings)

    return await service.in_thread(work)


def _submit(request: OperationRequest, service: Service) -> JobStatus:
    if service.stopping.is_set():
        raise ProblemError(503, "the service is about to stop", kind="stopping", retry_after=5)
    _check(request, service, job=True)
    content = request.model_dump_json(exclude_unset=True).encode()
    return job_status(service, service.jobs.submit(request.operation.name, content))


def _check(request: OperationRequest, service: Service, *, job: bool) -> int:
    return check_request(request, service.caller, service.policy, service.settings.limits, job=job)
