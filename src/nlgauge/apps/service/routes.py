"""Endpoints: `POST /v1/NAME` and `POST /v1/jobs/NAME` for each operation, jobs, and the service itself.

Annotations are evaluated here (no `from __future__ import annotations`): FastAPI reads the model of each request.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse, Response

from nlgauge._version import __version__
from nlgauge.apps.operations import operations
from nlgauge.apps.service.calls import (
    FORMAT_HELP,
    TSV,
    OperationRequest,
    answer,
    answer_schema,
    formats,
    media_type,
    request_model,
)
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.jobs import ENDED, Job, JobProgress
from nlgauge.apps.service.policy import allowed_words
from nlgauge.apps.service.service import Service
from nlgauge.apps.service.settings import Limits
from nlgauge.core.operations import Operation
from nlgauge.core.registry import METRICS
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score_table import ScoreTable
from nlgauge.errors import RecipeError
from nlgauge.report.metrics import describe_metric, describe_option, metric_equation

router = APIRouter()


def service_of(request: Request) -> Service:
    """The service behind the application."""
    service: Service = request.app.state.service
    return service


def json_body(request: Request) -> None:
    """A form that a browser sends across sites without asking is never JSON."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise ProblemError(415, "the body must be application/json", kind="content-type")


ServiceDep = Annotated[Service, Depends(service_of)]


class MetricRecord(BaseModel):
    """A metric and its options."""

    name: str
    what: str
    components: list[str]
    main: str
    better: Literal["higher", "lower"]
    distances: list[str] = Field(
        [], description="Components that are better when they are lower, beside the main one."
    )
    options: list[dict[str, Any]]
    equation: str
    citation: str
    available: bool = Field(True, description="Whether requests can have it here.")
    reason: str | None = Field(None, description="Why they cannot.")


class ModelRecord(BaseModel):
    """A model that the library knows."""

    name: str
    origin: str
    kind: str
    layers: int
    hidden_size: int
    languages: list[str]
    licence: str
    weights: str = Field(description="Digest of the weights, as signatures show it.")
    available: bool = Field(description="Whether requests may name it here.")


class Description(BaseModel):
    """What this service is, and what it takes."""

    nlgauge: str
    engine: str
    precision: str
    instance: str
    limits: dict[str, int | float]


@router.get("/v1", summary="What this service is, and its limits")
async def description(service: ServiceDep) -> Description:
    """Version, engine and limits."""
    settings = service.settings
    own = {name: getattr(settings, name) for name in ("engine", "precision", "instance")}
    return Description(nlgauge=__version__, **own, limits=settings.limits.to_dict())


@router.get("/v1/metrics", summary="Metrics and their options")
def metrics(service: ServiceDep) -> list[MetricRecord]:
    """All metrics, with what requests may set, and whether they can be had here."""
    reasons = [service.policy.why_not(metric) for metric in METRICS.values()]
    return [
        record.model_copy(update={"available": reason is None, "reason": reason})
        for record, reason in zip(_records(), reasons, strict=True)
    ]


@cache
def _records() -> tuple[MetricRecord, ...]:
    records = []
    for metric in METRICS.values():
        recipe = metric()
        options = [
            {**describe_option(recipe, name, about)._asdict(), "values": allowed_words(metric, name, about)}
            for name, about in metric.options().items()
        ]
        more = {"options": options, "equation": metric_equation(metric), "citation": metric.citation.strip()}
        records.append(MetricRecord.model_validate(describe_metric(metric)._asdict() | more))
    return tuple(records)


@router.get("/v1/models", summary="Models")
def models(service: ServiceDep) -> list[ModelRecord]:
    """All models that the library knows, and whether requests may name them here."""
    return [ModelRecord.model_validate(record) for record in service.policy.models()]


@router.get("/healthz", response_class=PlainTextResponse, summary="Whether the process answers")
async def health() -> str:
    """Always ok."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse, summary="Whether requests are computed")
async def ready(service: ServiceDep) -> str:
    """Ok once models are loaded, and until the service is told to stop."""
    if not service.ready or not service.inference.alive:
        raise ProblemError(503, "starting or stopping", kind="not-ready", retry_after=2)
    return "ok\n"


@router.get("/metrics", response_class=PlainTextResponse, summary="Figures for Prometheus")
def figures(service: ServiceDep) -> Response:
    """Requests, batches, jobs, memory."""
    service.monitor.waiting.set(service.inference.waiting)
    service.monitor.queued.set(service.store.queued())
    return Response(service.monitor.text(), media_type=service.monitor.content_type)


class JobStatus(BaseModel):
    """A job."""

    id: str
    kind: str = Field(description="The name of its operation.")
    state: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
    created: str
    started: str | None
    finished: str | None
    expires: str | None = Field(description="When its result goes at the latest.")
    progress: JobProgress
    problem: dict[str, Any] | None = Field(description="Why it failed, as problem details.")


def operation_router() -> APIRouter:
    """The endpoints of all operations, those of installed packages included."""
    added = APIRouter(dependencies=[Depends(json_body)])
    for operation in operations().values():
        if operation.at_once:
            _add_answer(added, operation)
        _add_job(added, operation)
    return added


def _add_answer(router: APIRouter, operation: Operation) -> None:
    model: Any = request_model(operation)
    forms: Any = Literal[formats(operation)]

    async def answer_at_once(
        request: model,
        service: ServiceDep,
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

    def submit(body: model, service: ServiceDep, request: Request, response: Response) -> JobStatus:
        if service.stopping.is_set():
            raise ProblemError(503, "the service is about to stop", kind="stopping", retry_after=5)
        _check(body, service, job=True)
        job = service.jobs.submit(operation.name, body.model_dump_json(exclude_unset=True).encode())
        response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/jobs/{job.id}"
        return _status(service, job)

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
    warnings: list[str] = []
    if request.operation.name == "score":  # small requests share batches
        call = service.caller.score(request, warnings)
        scores = await service.score(call, texts=len(list(request.places())), characters=characters)
        return answer(request, ScoreTable(tuple(scores)), form, warnings)

    def work() -> bytes:
        return answer(request, service.caller.run(request, warnings, service.score_here), form, warnings)

    return await service.in_thread(work)


#: Characters times samples of one explanation: Shapley values take a scoring for each word of each sample.
_MOST_SAMPLED = 100_000


def _check(request: OperationRequest, service: Service, *, job: bool) -> int:
    """Refuse what is too large or not allowed; the number of characters of all texts."""
    limits = service.settings.limits
    if "systems" in request.inputs and [getattr(request, name) for name in ("hyps", "systems")].count(None) != 1:
        raise ProblemError(422, "give either 'hyps' (one system) or 'systems' (by name)", kind="form")
    places = list(request.places())
    _check_size(request, places, limits, job=job)
    _check_operation(request, places, limits)
    _check_options(request, service)
    if request.metrics:
        service.caller.recipes(request)
    return sum(len(text) for _, text in places)


def _refuse_above(most: int, count: int, msg: str, kind: str) -> None:
    if count > most:
        raise ProblemError(413, msg, kind=kind)


def _check_size(request: OperationRequest, places: Sequence[tuple[str, str]], limits: Limits, *, job: bool) -> None:
    most, count = limits.recipes, len(request.metrics)
    _refuse_above(most, count, f"{count} metrics in one request, and at most {most} are taken", "too-many-metrics")
    name = "job_texts" if job else "texts"
    most, count = getattr(limits, name), len(places)
    hint = "" if job else f"post it to /v1/jobs, where {limits.job_texts:,} are, or "
    more = f"{hint}use fewer systems or segments, or start the service with {Limits.flag_of(name)} N"
    msg = f"{count:,} texts in one request, and at most {most:,} are taken; {more}"
    _refuse_above(most, count, msg, "too-many-texts")
    place, count = max(((place, len(text)) for place, text in places), key=lambda pair: pair[1], default=("", 0))
    most = limits.text_characters
    msg = f"{place}: a text has {count} characters, and at most {most} are taken"
    _refuse_above(most, count, msg, "text-too-long")
    most, count = limits.job_pairs if job else limits.pairs, request.operation.count_pairs(request.inputs)
    hint = "" if job else f"; post it to /v1/jobs, where {limits.job_pairs} are"
    msg = f"{count} pairs of texts in one request, and at most {most} are compared{hint}"
    _refuse_above(most, count, msg, "too-many-pairs")


def _check_operation(request: OperationRequest, places: Sequence[tuple[str, str]], limits: Limits) -> None:
    """Limits of single operations."""
    operation = request.operation
    if operation.name == "compare":  # every two systems are tested
        most, count = limits.systems, len(request.inputs["systems"])
        msg = f"{count} systems in one comparison, and at most {most} are taken"
        _refuse_above(most, count, msg, "too-many-systems")
    elif operation.name == "explain":
        most, count = limits.explained_characters, sum(len(text) for _, text in operation.places(request.inputs))
        msg = f"the texts have {count} characters, and an explanation is made of at most {most}"
        _refuse_above(most, count, msg, "text-too-long")
        samples = request.chosen.get("samples", operation.request_options["samples"].default)
        if request.chosen.get("shapley") is not False:
            msg = f"{count} characters with {samples} samples; the product must be at most {_MOST_SAMPLED}"
            _refuse_above(_MOST_SAMPLED, count * samples, msg, "too-many-samples")
    elif operation.name in {"explain-pairs", "explain-corpus"}:
        most, count = limits.job_explained_characters, sum(len(text) for _, text in places)
        msg = f"the texts have {count} characters, and a job explains at most {most}"
        _refuse_above(most, count, msg, "text-too-long")


def _check_options(request: OperationRequest, service: Service) -> None:
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
        service.policy.check_values(options.options(), options.of(values))


#: Seconds between two looks at a job that somebody watches.
_LOOK = 0.2

JobName = Annotated[str, Path(pattern=r"^([a-z0-9]{1,16}-)?[0-9a-f]{32}$", description="As it was submitted under.")]

_TEXT = {"schema": {"type": "string"}}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "no such job, or it has expired"}}
_UNFINISHED: dict[int | str, dict[str, Any]] = {409: {"description": "the job is not in a state for this"}}


def _get_job(service: Service, name: str) -> Job:
    job = service.store.get(name)
    if job is None:
        raise ProblemError(404, "there is no such job; its result may have expired", kind="no-job")
    return job


def _status(service: Service, job: Job) -> JobStatus:
    keep = service.settings.limits.keep_days * 86_400
    return JobStatus.model_validate(
        {
            **{name: getattr(job, name) for name in ("id", "kind", "state")},
            **{name: _time(getattr(job, name)) for name in ("created", "started", "finished")},
            "expires": None if job.finished is None else _time(job.finished + keep),
            "progress": service.jobs.progress(job),
            "problem": None if job.problem is None else json.loads(job.problem),
        }
    )


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@router.get("/v1/jobs/{name}", responses=_UNKNOWN, summary="State and progress of a job")
def status(name: JobName, service: ServiceDep) -> JobStatus:
    """For polling; `events` tells without being asked again."""
    return _status(service, _get_job(service, name))


async def _watched(service: ServiceDep, name: JobName) -> AsyncIterator[Service]:
    """Refuse before the stream begins: no job, or too many streams."""
    await asyncio.to_thread(_get_job, service, name)
    if service.streams >= service.settings.limits.streams:
        raise ProblemError(429, f"{service.streams} clients watch jobs already", kind="streams", retry_after=5)
    service.streams += 1
    try:
        yield service
    finally:
        service.streams -= 1


@router.get(
    "/v1/jobs/{name}/events",
    response_class=EventSourceResponse,
    responses=_UNKNOWN,
    summary="Progress of a job as server-sent events",
)
async def events(name: JobName, service: Annotated[Service, Depends(_watched)]) -> AsyncIterator[ServerSentEvent]:
    """An event with the job's status whenever it changes; the last one is named `end`."""
    last = None
    while True:
        job = await asyncio.to_thread(service.store.get, name)
        if job is None:  # removed meanwhile
            return
        current = _status(service, job)
        ended = job.state in ENDED
        if current != last:
            yield ServerSentEvent(event="end" if ended else "progress", data=current.model_dump())
            last = current
        if ended or service.stopping.is_set():
            return
        await asyncio.sleep(_LOOK)


@router.post(
    "/v1/jobs/{name}/cancel", responses={**_UNKNOWN, **_UNFINISHED}, summary="Cancel a job that has not ended"
)
def cancel(name: JobName, service: ServiceDep) -> JobStatus:
    """A job that runs stops at its next batch, and says so in its state a moment later."""
    job = _get_job(service, name)
    if job.state in ENDED:
        raise ProblemError(409, f"the job has ended already: {job.state}", kind="ended", state=job.state)
    return _status(service, service.jobs.cancel(name))


@router.delete(
    "/v1/jobs/{name}", status_code=204, responses={**_UNKNOWN, **_UNFINISHED}, summary="Remove a job and its results"
)
def remove(name: JobName, service: ServiceDep) -> None:
    """Before it would expire by itself."""
    job = _get_job(service, name)
    if not service.store.remove(name):
        raise ProblemError(409, f"the job is {job.state}; cancel it first", kind="not-ended", state=job.state)


@router.get(
    "/v1/jobs/{name}/result",
    response_class=Response,
    responses={
        **_UNKNOWN,
        **_UNFINISHED,
        200: {"content": {"application/json": {"schema": {"type": "object"}}, TSV: _TEXT, "text/html": _TEXT}},
    },
    summary="The result of a job that is done",
)
def result(
    name: JobName,
    service: ServiceDep,
    form: Annotated[
        Literal["json", "tsv", "segments", "pairs", "html", "alignment"],
        Query(alias="format", description=FORMAT_HELP),
    ] = "json",
) -> Response:
    """JSON as the library has it, or a table."""
    job = _get_job(service, name)
    content = service.store.result(name, form)
    if job.state != "done":
        raise ProblemError(
            409, f"the job is {job.state}, and only one that is done has a result", kind="no-result", state=job.state
        )
    if content is None:
        raise ProblemError(404, f"a job of kind {job.kind} has no result of format {form}", kind="no-format")
    if media_type(form) == "application/json":
        return Response(content, media_type="application/json")
    suffix = "html" if form == "html" else "tsv"
    # As a file: the report has a script and a policy of its own, and does not run as a page of the service.
    headers = {"Content-Disposition": f'attachment; filename="nlgauge-{job.kind}-{name}.{suffix}"'}
    return Response(content, media_type=media_type(form), headers=headers)
