"""Figures for Prometheus and lines for a log. Neither ever holds a text or a key."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

__all__ = ["JsonLines", "Monitor", "log"]

log = logging.getLogger("nlgauge.service")

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Monitor:
    """What a service counts, in a registry of its own, so that two services in one process stay apart."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self.requests = Counter(
            "nlgauge_requests", "Answered requests", ["method", "route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "nlgauge_request_seconds",
            "Time from the first byte of a request to the end of its answer",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.together = Histogram(
            "nlgauge_batch_requests",
            "Requests that were computed together",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self._registry,
        )
        self.waiting = Gauge("nlgauge_waiting_requests", "Requests that wait", registry=self._registry)
        self.queued = Gauge("nlgauge_queued_jobs", "Jobs that wait", registry=self._registry)
        self.jobs = Counter("nlgauge_jobs", "Jobs that have ended", ["kind", "state"], registry=self._registry)
        self.segments = Counter("nlgauge_segments", "Segments that were scored", registry=self._registry)

    def text(self) -> bytes:
        """All figures in Prometheus's format."""
        return generate_latest(self._registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer. A method that nobody has heard of must not make a series of its own."""
        known = method if method in {"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"} else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)


class JsonLines(logging.Formatter):
    """A log record as one line of JSON; what stands in `extra={"fields": {...}}` comes with it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)
