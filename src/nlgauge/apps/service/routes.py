"""Endpoints: `POST /v1/NAME` and `POST /v1/jobs/NAME` for each operation, jobs, and information on the service.

Annotations are evaluated (no `from __future__ import annotations`) because FastAPI reads them.
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
from nlgauge.apps.service.jobs import ENDED, Job, JobProgress
from nlgauge.apps.service.policy import allowed_words
from nlgauge.apps.service.problems import ProblemError
from nlgauge.apps.service.service import Service
from nlgauge.apps.service.settings import Limits
from nlgauge.core.operations import Operation
from nlgauge.core.registry import METRICS, metric_name
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
    """Refuse bodies that are not JSON: browsers send other types across sites without a preflight request."""
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
    distances: list[str] = Field([], description="Components other than the main one for which lower is better.")
    options: list[dict[str, Any]]
    equation: str
    citation: str
    available: bool = Field(True, description="Whether this service offers it.")
    reason: str | None = Field(None, description="Why this service does not offer it.")


class ModelRecord(BaseModel):
    """A model of the library."""

    name: str
    origin: str
    kind: str
    layers: int
    hidden_size: int
    languages: list[str]
    licence: str
    weights: str = Field(description="Digest of the weights, as in signatures.")
    available: bool = Field(description="Whether this service offers it.")


class Description(BaseModel):
    """Version, backend and limits of a service."""

    nlgauge: str
    engine: str
    precision: str
    instance: str
    limits: dict[str, int | float]


@router.get("/v1", summary="Version and limits")
async def description(service: ServiceDep) -> Description:
    """Version, backend and limits of this service."""
    settings = service.settings
    own = {name: getattr(settings, name) for name in ("engine", "precision", "instance")}
    return Description(nlgauge=__version__, **own, limits=settings.limits.to_dict())


@router.get("/v1/metrics", summary="Metrics and their options")
def metrics(service: ServiceDep) -> list[MetricRecord]:
    """All metrics with the options of requests, and whether this service offers them."""
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
    """All models of the library, and whether this service offers them."""
    return [ModelRecord.model_validate(record) for record in service.policy.models()]


@router.get("/healthz", response_class=PlainTextResponse, summary="Liveness")
async def health() -> str:
    """The process answers."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse, summary="Readiness")
async def ready(service: ServiceDep) -> str:
    """Models are loaded, and the service is not stopping."""
    if not service.ready or not service.inference.alive:
        raise ProblemError(503, "the service is starting or stopping", kind="not-ready", retry_after=2)
    return "ok\n"


@router.get("/metrics", response_class=PlainTextResponse, summary="Prometheus metrics")
def figures(service: ServiceDep) -> Response:
    """Numbers of requests, batches and jobs, and memory."""
    service.monitor.waiting.set(service.inference.waiting)
    service.monitor.queued.set(service.store.queued())
    return Response(service.monitor.text(), media_type=service.monitor.content_type)


class JobStatus(BaseModel):
    """A job."""

    id: str
    kind: str = Field(description="Name of the operation.")
    state: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
    created: str
    started: str | None
    finished: str | None
    expires: str | None = Field(description="Expiry time of the result.")
    progress: JobProgress
    problem: dict[str, Any] | None = Field(description="Cause of a failure, as problem details.")


def operation_router() -> APIRouter:
    """The endpoints of all operations, including those of installed packages."""
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
        responses={200: {"content": content, "description": "Result"}},
        summary=_title(operation),
        description=_description(operation) + " Submit larger requests as jobs.",
        operation_id=operation.method,
    )


def _add_job(router: APIRouter, operation: Operation) -> None:
    model: Any = request_model(operation)

    def submit(body: model, service: ServiceDep, request: Request, response: Response) -> JobStatus:
        if service.stopping.is_set():
            raise ProblemError(503, "the service is stopping", kind="stopping", retry_after=5)
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
        description=f"{_description(operation)} The `Location` header has the address of the job.",
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


#: Characters times samples of one explanation: Shapley values need a score for each word of each sample.
_MOST_SAMPLED = 100_000
#: Characters times texts of one explanation by LIME, each of which is one score.
_MOST_NEIGHBOURS = 1_000_000


def _check(request: OperationRequest, service: Service, *, job: bool) -> int:
    """Refuse requests that are too large or not allowed; returns the number of characters of all texts."""
    limits = service.settings.limits
    if "systems" in request.inputs and [getattr(request, name) for name in ("hyps", "systems")].count(None) != 1:
        problem = (
            "needs either 'hyps' (one system) or 'systems' (several, by name)"
            if request.hyps is None  # type: ignore[attr-defined]  # an input, as `inputs` says
            else "has both 'hyps' and 'systems'; send one of them"
        )
        raise ProblemError(422, f"the request {problem}", kind="form")
    places = list(request.places())
    _check_size(request, places, limits, job=job)
    _check_operation(request, places, limits)
    _check_options(request, service)
    if request.metrics:
        service.caller.recipes(request)
    return sum(len(text) for _, text in places)


def _refuse_above(limits: Limits, name: str, count: int, what: str, kind: str, remedy: str) -> None:
    """Refuse more than a limit allows, with a remedy."""
    most = getattr(limits, name)
    if count > most:
        option = f"ask the operator to raise {Limits.flag_of(name)}"
        raise ProblemError(413, f"{what} ({count:,}; limit {most:,}); {remedy}, or {option}", kind=kind)


def _check_size(request: OperationRequest, places: Sequence[tuple[str, str]], limits: Limits, *, job: bool) -> None:
    _refuse_above(limits, "recipes", len(request.metrics), "too many metrics", "too-many-metrics", "use fewer")
    remedy = "use fewer systems or segments"
    if not job:
        remedy = f"submit a job ({Limits.flag_of('job_texts')} {limits.job_texts:,}), {remedy}"
    _refuse_above(limits, "job_texts" if job else "texts", len(places), "too many texts", "too-many-texts", remedy)
    place, count = max(((place, len(text)) for place, text in places), key=lambda pair: pair[1], default=("", 0))
    what = f"{place}: too many characters"
    _refuse_above(limits, "text_characters", count, what, "text-too-long", "shorten the text")
    count = request.operation.count_pairs(request.inputs)
    remedy = "use fewer texts" if job else f"submit a job (limit {limits.job_pairs:,}), use fewer texts"
    _refuse_above(limits, "job_pairs" if job else "pairs", count, "too many pairs of texts", "too-many-pairs", remedy)


def _check_operation(request: OperationRequest, places: Sequence[tuple[str, str]], limits: Limits) -> None:
    """Limits of single operations."""
    operation = request.operation
    if operation.name in {"compare", "compare-until-certain"}:  # every two systems are tested
        count = len(request.inputs["systems"])
        _refuse_above(limits, "systems", count, "too many systems", "too-many-systems", "use fewer")
    elif operation.name == "explain":
        count = sum(len(text) for _, text in operation.places(request.inputs))
        what = "too many characters to explain"
        _refuse_above(limits, "explained_characters", count, what, "text-too-long", "shorten the texts")
        samples = request.chosen.get("samples", operation.request_options["samples"].default)
        if request.chosen.get("shapley") is not False and count * samples > _MOST_SAMPLED:
            most = _MOST_SAMPLED // count
            msg = f"too many samples for {count:,} characters ({samples:,}; limit {most:,}); use fewer samples"
            raise ProblemError(413, msg, kind="too-many-samples")
        neighbours = request.chosen.get("neighbours", operation.request_options["neighbours"].default)
        if request.chosen.get("lime") and count * neighbours > _MOST_NEIGHBOURS:
            most = _MOST_NEIGHBOURS // count
            msg = f"too many neighbours for {count:,} characters ({neighbours:,}; limit {most:,}); use fewer"
            raise ProblemError(413, msg, kind="too-many-samples")
    elif operation.name in {"explain-pairs", "explain-corpus"}:
        count = sum(len(text) for _, text in places)
        what = "too many characters to explain"
        _refuse_above(limits, "job_explained_characters", count, what, "text-too-long", "use fewer segments")


def _check_options(request: OperationRequest, service: Service) -> None:
    """Refuse values that the library would refuse later, and options in the wrong place."""
    known = RunOptions.options()
    for name in request.metric_options:
        if name in known and known[name].local:
            msg = f"{name} is set by the service, not by requests; remove it"
            raise RecipeError(msg)
        if name in type(request).model_fields:
            msg = f"{name!r} belongs at the top level of the request, not in 'options'"
            names = [metric_name(recipe).casefold() for recipe in request.metrics]
            if owner := next(
                (metric for metric in names if metric in METRICS and name in METRICS[metric].options()), ""
            ):
                msg += f"; the option of the metric is set as {owner}:{name}=VALUE"
            raise RecipeError(msg)
    chosen = request.chosen
    for options in request.operation.option_sets:
        values = {name: value for name, value in chosen.items() if name in options.options()}
        service.policy.check_values(options.options(), options.of(values))


#: Seconds between two checks of a job that a client watches.
_WATCH_SECONDS = 0.2

JobName = Annotated[str, Path(pattern=r"^([a-z0-9]{1,16}-)?[0-9a-f]{32}$", description="Name of the job.")]

_TEXT = {"schema": {"type": "string"}}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "unknown or expired job"}}
_UNFINISHED: dict[int | str, dict[str, Any]] = {409: {"description": "not possible in the state of the job"}}


def _get_job(service: Service, name: str) -> Job:
    job = service.store.get(name)
    if job is None:
        raise ProblemError(404, "unknown job; its result may have expired", kind="no-job")
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
    """For polling. Use `events` to be notified."""
    return _status(service, _get_job(service, name))


async def _watched(service: ServiceDep, name: JobName) -> AsyncIterator[Service]:
    """Refuse unknown jobs and too many streams before the stream begins."""
    await asyncio.to_thread(_get_job, service, name)
    if service.streams >= service.settings.limits.streams:
        raise ProblemError(429, f"{service.streams} clients are watching jobs already", kind="streams", retry_after=5)
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
    """An event with the status of the job at each change. The last one is named `end`."""
    last = None
    while True:
        job = await asyncio.to_thread(service.store.get, name)
        if job is None:  # removed in the meantime
            return
        current = _status(service, job)
        ended = job.state in ENDED
        if current != last:
            yield ServerSentEvent(event="end" if ended else "progress", data=current.model_dump())
            last = current
        if ended or service.stopping.is_set():
            return
        await asyncio.sleep(_WATCH_SECONDS)


@router.post(
    "/v1/jobs/{name}/cancel", responses={**_UNKNOWN, **_UNFINISHED}, summary="Cancel a job that has not ended"
)
def cancel(name: JobName, service: ServiceDep) -> JobStatus:
    """A running job stops at its next batch; its state changes a moment later."""
    job = _get_job(service, name)
    if job.state in ENDED:
        raise ProblemError(409, f"the job has already ended ({job.state})", kind="ended", state=job.state)
    return _status(service, service.jobs.cancel(name))


@router.delete(
    "/v1/jobs/{name}", status_code=204, responses={**_UNKNOWN, **_UNFINISHED}, summary="Remove a job and its results"
)
def remove(name: JobName, service: ServiceDep) -> None:
    """Jobs also expire on their own."""
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
    summary="Result of a finished job",
)
def result(
    name: JobName,
    service: ServiceDep,
    form: Annotated[
        Literal["json", "tsv", "segments", "pairs", "html", "alignment"],
        Query(alias="format", description=FORMAT_HELP),
    ] = "json",
) -> Response:
    """JSON of the library, a table, or a report."""
    job = _get_job(service, name)
    content = service.store.result(name, form)
    if job.state != "done":
        raise ProblemError(409, f"the job has no result: it is {job.state}", kind="no-result", state=job.state)
    if content is None:
        raise ProblemError(404, f"results of {job.kind} are not available as {form}", kind="no-format")
    if media_type(form) == "application/json":
        return Response(content, media_type="application/json")
    suffix = "html" if form == "html" else "tsv"
    # As a download: the report has its own script and policy, and must not run as a page of the service.
    headers = {"Content-Disposition": f'attachment; filename="nlgauge-{job.kind}-{name}.{suffix}"'}
    return Response(content, media_type=media_type(form), headers=headers)
