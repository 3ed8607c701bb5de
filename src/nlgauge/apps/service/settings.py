"""Settings of a service, metrics for Prometheus, and its log. Neither metrics nor log contain texts or keys."""

from __future__ import annotations

import ipaddress
import json
import logging
import math
import os
import re
import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from nlgauge.encoders.base import PRECISIONS
from nlgauge.encoders.engines.available import engine_names
from nlgauge.encoders.load import is_added
from nlgauge.errors import RecipeError
from nlgauge.io.storage import cache_dir
from nlgauge.io.store.catalog import encoder_names, find_card

#: Seconds that a stop may wait at most: a day.
_LONGEST_STOP = 86_400.0

#: Names under which a browser or a program on the same machine reaches the service.
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much one request, one client and all of them together may ask for."""

    body_bytes: int = 1_000_000
    """Of a request that is answered at once."""
    job_bytes: int = 20_000_000
    """Of a request that becomes a job."""
    text_characters: int = 100_000
    texts: int = 1_000
    """Texts of a request that is answered at once: outputs of all systems, references and sources."""
    job_texts: int = 100_000
    pairs: int = 10_000
    """Pairs of texts that a request for all of them (matrix, rank) has compared at once."""
    job_pairs: int = 1_000_000
    systems: int = 50
    """Systems of one comparison, every two of which are tested."""
    explained_characters: int = 4_000
    """Characters of the texts of one explanation."""
    job_explained_characters: int = 400_000
    """Of all texts of a job that explains; an explanation is many times as large as its texts."""
    recipes: int = 16
    """Metrics of one request."""
    seconds: float = 60.0
    """Of one request that is answered at once; looked at between two pairs of texts."""
    header_seconds: float = 10.0
    """For the headers of a request to arrive."""
    connections: int = 4_000
    """Connections that may be open; above it the one that has waited longest for its client is closed."""
    waiting: int = 256
    """Requests that may wait to be computed."""
    queued_jobs: int = 100
    """Jobs that may wait."""
    streams: int = 100
    """Clients that may watch jobs at the same time."""
    rate: float = 1_000.0
    """Requests of one client per second, on average; twice as many may come at once."""
    keep_days: float = 7.0
    """How long the result of a job is kept."""
    keep_bytes: int = 1_000_000_000
    """What all kept results may take; the oldest go first."""

    def __post_init__(self) -> None:
        for about in fields(self):
            value, whole = getattr(self, about.name), isinstance(about.default, int)
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                fits = False
            else:
                fits = math.isfinite(value) and value > 0
            if not fits:
                kind = "a whole number" if whole else "a finite number"
                msg = f"limit {about.name} must be {kind} above 0, got {value!r} ({flag_of_limit(about.name)})"
                raise RecipeError(msg)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A service: where it listens, whom it serves, what it offers."""

    host: str = "127.0.0.1"
    port: int = 8765
    """0: one that is free."""
    folder: Path = field(default_factory=lambda: default_folder())
    """Holds the jobs; one process owns it."""
    instance: str = ""
    """Begins the names of this process's jobs, where several processes share an address."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    """API keys, any of which opens the service; none: it is open to whoever reaches it."""
    insecure: bool = False
    """Open beyond this machine, without a key."""
    host_names: tuple[str, ...] = ()
    """Names that the service is reached by, beside those of this machine; checked against the Host header."""
    allow_origins: tuple[str, ...] = ()
    """Other web sites whose pages may call the service; none by default."""
    trust_proxy: str = ""
    """Address of a proxy whose word is taken for the client's address."""
    root_path: str = ""
    """Where a proxy has the service, such as /scores; what it says of its own addresses begins so."""
    models: tuple[str, ...] = ()
    """Models on offer; none named: all known models that are on this machine."""
    preload: tuple[str, ...] = ("minilm",)
    """Models that are loaded before the service says that it is ready."""
    engine: str = "onnx"
    precision: str = "fp32"
    threads: int | None = None
    batch_wait: float = 0.005
    """Longest time, in seconds, that a request waits for others to share its batch."""
    batch_tokens: int = 4096
    stop_seconds: float = 20.0
    """How long a stop waits for what is under way."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not self.keys and not self.insecure and not is_loopback(self.host):
            msg = (
                f"host {self.host!r} is open to other machines: set a key (NLGAUGE_API_KEY or --key-file), "
                "or say that everybody may use it (--insecure)"
            )
            raise RecipeError(msg)
        for key in self.keys:
            if len(key) < 16 or not key.isascii() or not key.isprintable() or " " in key:
                msg = "an API key must be 16 or more printable ASCII characters without blanks"
                raise RecipeError(msg)  # the key itself is not for messages
        if not re.fullmatch(r"[a-z0-9]{0,16}", self.instance):
            msg = f"instance must be up to 16 letters a to z or digits, got {self.instance!r}"
            raise RecipeError(msg)
        if self.root_path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", self.root_path):
            msg = f"root_path must be like /scores or /tools/scores, without a / at its end, got {self.root_path!r}"
            raise RecipeError(msg)
        _refuse("port", self.port, "0 to 65535", fits=_is_whole(self.port) and 0 <= self.port <= 65535)
        _refuse("batch_wait", self.batch_wait, "0 to 1 second", fits=_is_between(self.batch_wait, 0, 1))
        _refuse(
            "stop_seconds",
            self.stop_seconds,
            f"0 to {_LONGEST_STOP:g} seconds",
            fits=_is_between(self.stop_seconds, 0, _LONGEST_STOP),
        )
        for name in ("threads", "batch_tokens"):
            value = getattr(self, name)
            fits = (_is_whole(value) and value >= 1) or (name == "threads" and value is None)
            _refuse(name, value, "a whole number, 1 or more", fits=fits)
        _refuse("engine", self.engine, " or ".join(engine_names()), fits=self.engine in engine_names())
        _refuse("precision", self.precision, " or ".join(PRECISIONS), fits=self.precision in PRECISIONS)
        for model in self.preload:
            known = find_card(model) is not None or is_added(model)
            _refuse("preload", model, f"known models by name: {', '.join(encoder_names())}", fits=known)
        self._check_names()

    def _check_names(self) -> None:
        """Refuse names of hosts, sites and proxies that no request can ever match."""
        for name in self.host_names:
            wanted = "a name such as scores.example.org or an address such as [::1], without scheme, port or path"
            _refuse("host_name", name, wanted, fits=_is_host(name))
        for origin in self.allow_origins:
            wanted = "one site such as https://example.org, in lower case and without a path ('*' is not accepted)"
            _refuse("allow_origin", origin, wanted, fits=_is_origin(origin))
        if self.trust_proxy:
            wanted = "an IP address or network such as 127.0.0.1 or 10.0.0.0/8, or several with commas between them"
            fits = all(_is_network(part.strip()) for part in self.trust_proxy.split(","))
            _refuse("trust_proxy", self.trust_proxy, wanted, fits=fits)

    @property
    def accepted_hosts(self) -> frozenset[str]:
        """Host headers, without a port, that are answered."""
        listening = f"[{self.host}]" if ":" in self.host else self.host
        own = () if self.host in {"0.0.0.0", "::"} else (listening,)
        return frozenset(name.lower() for name in (*_LOCAL_NAMES, *own, *self.host_names))


def default_folder() -> Path:
    """Where jobs are kept: `$NLGAUGE_SERVICE_DATA`, or `service` in the cache folder."""
    own = os.environ.get("NLGAUGE_SERVICE_DATA", "")
    return Path(own).expanduser().absolute() if own else cache_dir() / "service"


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def flag_of_limit(name: str) -> str:
    """The flag of `nlgauge serve` that sets a limit.

    >>> flag_of_limit("job_texts"), flag_of_limit("keep_days")
    ('--max-job-texts', '--keep-days')
    """
    return f"--{'' if name.startswith('keep') else 'max-'}{name.replace('_', '-')}"


def _refuse(name: str, value: object, wanted: str, *, fits: bool) -> None:
    """Refuse a setting; it is named as the command line has it, which Python spells with underscores."""
    if not fits:
        msg = f"--{name.replace('_', '-')} must be {wanted}, got {value!r}"
        raise RecipeError(msg)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_between(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _is_host(name: str) -> bool:
    """Whether a Host header can have this name before its port."""
    if name.startswith("[") and name.endswith("]"):
        try:
            return ipaddress.ip_address(name[1:-1]).version == 6
        except ValueError:
            return False
    return re.fullmatch(r"(?!-)[A-Za-z0-9_-]{1,63}(\.(?!-)[A-Za-z0-9_-]{1,63})*", name) is not None


def _is_origin(text: str) -> bool:
    """Whether a browser can send it as an origin: ports that go without saying are left out."""
    match = re.fullmatch(r"(https?)://([^:/@?#]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?", text)
    if match is None or text != text.lower():
        return False
    scheme, host, port = match.groups()
    return _is_host(host) and (scheme, port) not in {("http", "80"), ("https", "443")} and int(port or 1) <= 65535


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


log = logging.getLogger("nlgauge.apps.service")

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
