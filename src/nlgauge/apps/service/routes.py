"""Endpoints that tell about the service: metrics and models, health."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse, Response

from nlgauge._version import __version__
from nlgauge.apps.service.guard import ProblemError
from nlgauge.apps.service.policy import allowed_words
from nlgauge.apps.service.service import Service
from nlgauge.core.registry import METRICS
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
    return Description(
        nlgauge=__version__,
        engine=settings.engine,
        precision=settings.precision,
        instance=settings.instance,
        limits=settings.limits.to_dict(),
    )


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
