"""Endpoints of jobs: watch, cancel, download, remove."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from nlgauge.apps.service.answers import FORMAT_HELP, TSV, media_type
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.jobs import ENDED, Job
from nlgauge.apps.service.routes import Used, service_of
from nlgauge.apps.service.schemas import JobProgress, JobStatus
from nlgauge.apps.service.service import Service

router = APIRouter()

#: Seconds between two looks at a job that somebody watches.
_LOOK = 0.2

JobName = Annotated[str, Path(pattern=r"^([a-z0-9]{1,16}-)?[0-9a-f]{32}$", description="As it was submitted under.")]

_TEXT = {"schema": {"type": "string"}}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "no such job, or it has expired"}}
_UNFINISHED: dict[int | str, dict[str, Any]] = {409: {"description": "the job is not in a state for this"}}


def _found(service: Service, name: str) -> Job:
    job = service.store.get(name)
    if job is None:
        raise ProblemError(404, "there is no such job; its result may have expired", kind="no-job")
    return job


def job_status(service: Service, job: Job) -> JobStatus:
    progress = service.jobs.progress(job)
    keep = service.settings.limits.keep_days * 86_400
    return JobStatus.model_validate(
        {
            **{name: getattr(job, name) for name in ("id", "kind", "state")},
            **{name: _time(getattr(job, name)) for name in ("created", "started", "finished")},
            "expires": None if job.finished is None else _time(job.finished + keep),
            "progress": JobProgress(done=progress.done, total=progress.total, unit=progress.unit),
            "problem": None if job.problem is None else json.loads(job.problem),
        }
    )


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@router.get("/v1/jobs/{name}", responses=_UNKNOWN, summary="State and progress of a job")
def status(name: JobName, service: Used) -> JobStatus:
    """For polling; `events` tells without being asked again."""
    return job_status(service, _found(service, name))


async def _watched(request: Request, name: JobName) -> AsyncIterator[Service]:
    """Refuse before the stream begins: no job, or too many streams."""
    service = service_of(request)
    await asyncio.to_thread(_found, service, name)
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
        current = job_status(service, job)
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
def cancel(name: JobName, service: Used) -> JobStatus:
    """A job that runs stops at its next batch, and says so in its state a moment later."""
    job = _found(service, name)
    if job.state in ENDED:
        raise ProblemError(409, f"the job has ended already: {job.state}", kind="ended", state=job.state)
    return job_status(service, service.jobs.cancel(name))


@router.delete(
    "/v1/jobs/{name}", status_code=204, responses={**_UNKNOWN, **_UNFINISHED}, summary="Remove a job and its results"
)
def remove(name: JobName, service: Used) -> None:
    """Before it would expire by itself."""
    job = _found(service, name)
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
    service: Used,
    form: Annotated[
        Literal["json", "tsv", "segments", "pairs", "html", "alignment"],
        Query(alias="format", description=FORMAT_HELP),
    ] = "json",
) -> Response:
    """JSON as the library has it, or a table."""
    job = _found(service, name)
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
