"""Schemas of answers about the service, its metrics, models and jobs; those of operations follow from the table."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


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


class JobProgress(BaseModel):
    """How far a job is."""

    done: int
    total: int | None
    unit: str


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


class ProblemRecord(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
