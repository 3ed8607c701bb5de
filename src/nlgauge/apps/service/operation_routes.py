"""Endpoints of operations: `POST /v1/NAME` and `POST /v1/jobs/NAME`, for each operation of the table.

Annotations are evaluated here (no `from __future__ import annotations`): FastAPI reads the model of each request.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from nlgauge.apps.operations import operations
from nlgauge.apps.service.answers import FORMAT_HELP, TSV, answer, answer_schema, formats, media_type
from nlgauge.apps.service.calls import Caller
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.job_routes import job_status
from nlgauge.apps.service.policy import Policy
from nlgauge.apps.service.request_models import OperationRequest, request_model
from nlgauge.apps.service.routes import Used, json_body
from nlgauge.apps.service.schemas import JobStatus
from nlgauge.apps.service.service import Service
from nlgauge.apps.service.settings import Limits
from nlgauge.core.operations import Operation
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score_table import ScoreTable
from nlgauge.errors import RecipeError


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
    return _check_request(request, service.caller, service.policy, service.settings.limits, job=job)


#: Characters times samples of one explanation: Shapley values take a scoring for each word of each sample.
_MOST_SAMPLED = 100_000


def _check_request(request: OperationRequest, caller: Caller, policy: Policy, limits: Limits, *, job: bool) -> int:
    """Refuse what is too large or not allowed; the number of characters of all texts."""
    characters = _check_size(request, limits, job=job)
    _check_pairs(request, limits, job=job)
    if request.operation.name in _SPECIAL:
        _SPECIAL[request.operation.name](request, limits)
    _check_options(request, policy)
    if request.metrics:
        caller.recipes(request)
    return characters


def _check_size(request: OperationRequest, limits: Limits, *, job: bool) -> int:
    if "systems" in request.inputs:
        both = [getattr(request, name) for name in ("hyps", "systems")]
        if both.count(None) != 1:
            raise ProblemError(422, "give either 'hyps' (one system) or 'systems' (by name)", kind="form")
    if len(request.metrics) > limits.recipes:
        msg = f"{len(request.metrics)} metrics in one request, and at most {limits.recipes} are taken"
        raise ProblemError(413, msg, kind="too-many-metrics")
    places = list(request.places())
    name = "job_texts" if job else "texts"
    most = getattr(limits, name)
    if len(places) > most:
        hint = "" if job else f"post it to /v1/jobs, where {limits.job_texts:,} are, or "
        more = f"use fewer systems or segments, or start the service with {Limits.flag_of(name)} N"
        msg = f"{len(places):,} texts in one request, and at most {most:,} are taken; {hint}{more}"
        raise ProblemError(413, msg, kind="too-many-texts")
    place, longest = max(((place, len(text)) for place, text in places), key=lambda pair: pair[1], default=("", 0))
    if longest > limits.text_characters:
        msg = f"{place}: a text has {longest} characters, and at most {limits.text_characters} are taken"
        raise ProblemError(413, msg, kind="text-too-long")
    return sum(len(text) for _, text in places)


def _check_pairs(request: OperationRequest, limits: Limits, *, job: bool) -> None:
    pairs, most = request.operation.count_pairs(request.inputs), limits.job_pairs if job else limits.pairs
    if pairs > most:
        hint = "" if job else f"; post it to /v1/jobs, where {limits.job_pairs} are"
        msg = f"{pairs} pairs of texts in one request, and at most {most} are compared{hint}"
        raise ProblemError(413, msg, kind="too-many-pairs")


def _check_options(request: OperationRequest, policy: Policy) -> None:
    """Refuse values that the library would refuse later, and what is set in the wrong place."""
    known = RunOptions.options()
    for name in request.metric_options:
        if name in known and known[name].local:
            msg = f"{name} is decided by the service, not by a request; leave it out"
            raise RecipeError(msg)
        if name in type(request).model_fields:
            own = f"{request.metrics[0]}:{name}=VALUE"
            msg = f"{name} is also a field of this request, next to 'options'; set the metric's own as {own}"
            raise RecipeError(msg)
    chosen = request.chosen
    for options in request.operation.option_sets:
        values = {name: value for name, value in chosen.items() if name in options.options()}
        policy.check_values(options.options(), options.of(values))


def _check_systems(request: OperationRequest, limits: Limits) -> None:
    """Every two systems are tested."""
    systems = len(request.inputs["systems"])
    if systems > limits.systems:
        msg = f"{systems} systems in one comparison, and at most {limits.systems} are taken"
        raise ProblemError(413, msg, kind="too-many-systems")


def _check_pair(request: OperationRequest, limits: Limits) -> None:
    characters = sum(len(text) for _, text in request.operation.places(request.inputs))
    most = limits.explained_characters
    if characters > most:
        msg = f"the texts have {characters} characters, and an explanation is made of at most {most}"
        raise ProblemError(413, msg, kind="text-too-long")
    samples = request.chosen.get("samples", request.operation.request_options["samples"].default)
    if request.chosen.get("shapley") is not False and characters * samples > _MOST_SAMPLED:
        msg = f"{characters} characters with {samples} samples; the product must be at most {_MOST_SAMPLED}"
        raise ProblemError(413, msg, kind="too-many-samples")


def _check_explained(request: OperationRequest, limits: Limits) -> None:
    characters, most = sum(len(text) for _, text in request.places()), limits.job_explained_characters
    if characters > most:
        msg = f"the texts have {characters} characters, and a job explains at most {most}"
        raise ProblemError(413, msg, kind="text-too-long")


#: Limits of single operations.
_SPECIAL: dict[str, Callable[[OperationRequest, Limits], None]] = {
    "compare": _check_systems,
    "explain": _check_pair,
    "explain-pairs": _check_explained,
    "explain-corpus": _check_explained,
}
