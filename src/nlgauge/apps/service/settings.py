"""Settings of a service, its Prometheus metrics, and its log, neither of which contains texts or keys."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from nlgauge.core.kinds import Choice, Flag, Float, Folder, Int, Many, Pattern, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import EngineName
from nlgauge.encoders.base import PRECISIONS
from nlgauge.encoders.load import engine_names, is_added
from nlgauge.errors import RecipeError
from nlgauge.io.storage import cache_dir
from nlgauge.io.store.catalog import encoder_names, find_card, unknown_model

#: Longest wait of a stop in seconds: a day.
_LONGEST_STOP = 86_400.0

#: Descriptions of the values that settings accept.
_HOST = "a name such as scores.example.org or an address such as [::1], without scheme, port or path"
_ORIGIN = "one site such as https://example.org, in lower case and without a path ('*' is not accepted)"
_PROXIES = "an IP address or network such as 127.0.0.1 or 10.0.0.0/8, or several with commas between them"

#: Names under which a browser or a program on the same machine reaches the service.
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


def _count(default: int, help_: str) -> Any:
    return option(default, Int(1), help=help_, hidden=True)


def _amount(default: float, help_: str) -> Any:
    return option(default, Float(above=0), help=help_, hidden=True, metavar="N")


@dataclass(frozen=True, kw_only=True)
class Limits(OptionSet):
    """Limits of a request, of a client, and of all clients together."""

    called: ClassVar[str] = "limits"

    body_bytes: int = _count(1_000_000, "bytes of a request that is answered at once")
    job_bytes: int = _count(20_000_000, "bytes of a request that becomes a job")
    text_characters: int = _count(100_000, "characters of a text")
    texts: int = _count(1_000, "texts of a request that is answered at once")
    """Outputs of all systems, references and sources."""
    job_texts: int = _count(100_000, "texts of a job")
    pairs: int = _count(10_000, "pairs of a matrix or ranking that is answered at once")
    job_pairs: int = _count(1_000_000, "pairs of a matrix or ranking as a job")
    systems: int = _count(50, "systems of a comparison")
    """Every pair of them is tested."""
    explained_characters: int = _count(4_000, "characters of a pair to explain")
    job_explained_characters: int = _count(400_000, "characters of all pairs of a job to explain")
    """An explanation is many times as large as its texts."""
    recipes: int = _count(16, "metrics of a request")
    seconds: float = _amount(60.0, "seconds of a request that is answered at once")
    """Checked between pairs of texts."""
    header_seconds: float = _amount(10.0, "seconds for the headers of a request to arrive")
    connections: int = _count(4_000, "open connections")
    """Above it, the connection that has waited longest for its client is closed."""
    waiting: int = _count(256, "requests that wait")
    queued_jobs: int = _count(100, "jobs that wait")
    streams: int = _count(100, "clients that watch jobs")
    rate: float = _amount(1_000.0, "requests of a client a second")
    """On average; twice as many may arrive at once."""
    keep_days: float = _amount(7.0, "days that a result is kept")
    keep_bytes: int = _count(1_000_000_000, "bytes that all results may take")
    """The oldest are removed first."""


Limits.flag_names = {name: f"max_{name}" for name in Limits.options() if not name.startswith("keep")}


@dataclass(frozen=True, kw_only=True)
class ServeOptions(OptionSet):
    """Address, clients, models and resources of a service."""

    called: ClassVar[str] = "settings of a service"
    flag_names: ClassVar[Mapping[str, str]] = {
        "folder": "data",
        "host_names": "host_name",
        "allow_origins": "allow_origin",
    }

    host: str = option("127.0.0.1", Text("an address"), help="address to listen on", metavar="HOST")
    port: int = option(8765, Int(0, 65535), help="port; 0: a free one")
    host_names: tuple[str, ...] = option(
        (), Many(Text("a name")), help="other host names under which clients reach the service"
    )
    """In addition to those of this machine; compared with the Host header."""
    insecure: bool = option(False, Flag(), help="allow access from other machines without a key")
    allow_origins: tuple[str, ...] = option(
        (), Many(Text("a site")), help="web sites whose pages may call the service", hidden=True, metavar="URL"
    )
    trust_proxy: str = option(
        "", Text("addresses", empty=True), help="address of the trusted proxy", hidden=True, metavar="ADDRESS"
    )
    root_path: str = option(
        "",
        Pattern(r"((/[A-Za-z0-9._~-]+)+)?", "like /scores or /tools/scores, without a / at its end"),
        help="path prefix behind a proxy, such as /scores",
        hidden=True,
        metavar="PATH",
    )
    folder: Path = option(
        None, Folder(), help="folder for jobs and results", unset="$NLGAUGE_SERVICE_DATA, or a folder in the cache"
    )
    """It belongs to one process."""
    models: tuple[str, ...] = option((), Many(Text("a model")), help="models to offer", unset="all downloaded ones")
    preload: tuple[str, ...] = option(
        ("minilm",), Many(Text("a model"), empty=True), help="models to load before the service starts"
    )
    instance: str = option(
        "",
        Pattern(r"[a-z0-9]{0,16}", "up to 16 letters a to z or digits"),
        help="prefix of job ids, where several processes share an address",
        hidden=True,
        metavar="NAME",
    )
    engine: str = option("onnx", EngineName(), help="backend", hidden=True)
    precision: str = option("fp32", Choice(*PRECISIONS), help="precision", hidden=True)
    threads: int | None = option(None, Int(1), help="number of threads", unset="all available cores", hidden=True)
    batch_wait: float = option(
        0.005,
        Float(0, 1, unit="seconds"),
        help="how long to wait for other requests to share a batch",
        hidden=True,
        metavar="S",
    )
    batch_tokens: int = option(4096, Int(1), help="tokens per batch", hidden=True)
    stop_seconds: float = option(
        20.0,
        Float(0, _LONGEST_STOP, unit="seconds"),
        help="how long to wait for running requests when stopping",
        hidden=True,
        metavar="S",
    )

    def check(self) -> None:
        """Refuse unknown backends and models, and names that no request can match."""
        for name in self.preload:
            if find_card(name) is None and not is_added(name):
                msg = f"--preload: {unknown_model(name, encoder_names())}"
                raise RecipeError(msg)
        proxies = [self.trust_proxy] if self.trust_proxy else []
        for name, values, is_accepted, wanted in (
            ("engine", [self.engine], engine_names().__contains__, " or ".join(engine_names())),
            ("host_names", self.host_names, _is_host, _HOST),
            ("allow_origins", self.allow_origins, _is_origin, _ORIGIN),
            ("trust_proxy", proxies, lambda text: all(_address(part.strip()) for part in text.split(",")), _PROXIES),
        ):
            for value in values:
                if not is_accepted(value):
                    msg = f"{ServeOptions.flag_of(name)} must be {wanted}, got {value!r}"
                    raise RecipeError(msg)


@dataclass(frozen=True, kw_only=True)
class Settings(ServeOptions):
    """A service with its keys and limits."""

    keys: tuple[str, ...] = field(default=(), repr=False)
    """Valid API keys; without any, the service is open to everyone who reaches it."""
    limits: Limits = field(default_factory=Limits)

    def check(self) -> None:
        """Refuse a service that is open by mistake, and set its folder."""
        super().check()
        if re.fullmatch(r"[0-9.]+", self.host) and _address(self.host) is None:
            msg = f"host {self.host!r} is not a valid address; use one such as 127.0.0.1, for this machine only"
            raise RecipeError(msg)
        if not self.keys and not self.insecure and not is_loopback(self.host):
            msg = (
                f"host {self.host!r} is reachable from other machines, but no API key is set; set one "
                "(NLGAUGE_API_KEY or --key-file), or allow access without a key (--insecure)"
            )
            raise RecipeError(msg)
        for key in self.keys:
            if len(key) < 16 or not key.isascii() or not key.isprintable() or " " in key:
                msg = "an API key must be 16 or more printable ASCII characters without spaces"
                raise RecipeError(msg)  # without the key itself
        folder = default_folder() if self.folder is None else Path(self.folder).expanduser().absolute()
        object.__setattr__(self, "folder", folder)

    @property
    def accepted_hosts(self) -> frozenset[str]:
        """Host headers, without a port, that the service accepts."""
        listening = f"[{self.host}]" if ":" in self.host else self.host
        own = () if self.host in {"0.0.0.0", "::"} else (listening,)
        return frozenset(name.lower() for name in (*_LOCAL_NAMES, *own, *self.host_names))


def default_folder() -> Path:
    """The folder of jobs: `$NLGAUGE_SERVICE_DATA`, or `service` in the cache folder."""
    own = os.environ.get("NLGAUGE_SERVICE_DATA", "")
    return Path(own).expanduser().absolute() if own else cache_dir() / "service"


def is_loopback(host: str) -> bool:
    """Whether an address is reachable only from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """An address or a network of addresses; None if the text is neither."""
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _is_host(name: str) -> bool:
    """Whether a Host header can have this name before its port."""
    if name.startswith("[") and name.endswith("]"):
        return isinstance(_address(name[1:-1]), ipaddress.IPv6Network) and "/" not in name
    return re.fullmatch(r"(?!-)[A-Za-z0-9_-]{1,63}(\.(?!-)[A-Za-z0-9_-]{1,63})*", name) is not None


def _is_origin(text: str) -> bool:
    """Whether a browser can send it as an origin, which has no default ports."""
    match = re.fullmatch(r"(https?)://([^:/@?#]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?", text)
    if match is None or text != text.lower():
        return False
    scheme, host, port = match.groups()
    return _is_host(host) and (scheme, port) not in {("http", "80"), ("https", "443")} and int(port or 1) <= 65535


log = logging.getLogger("nlgauge.apps.service")

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Monitor:
    """Prometheus metrics of a service, in a separate registry for each service of a process."""

    def __init__(self) -> None:
        # Here, because the command line imports this module for its help, and works without the extra.
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            PlatformCollector,
            ProcessCollector,
        )
        from prometheus_client.exposition import CONTENT_TYPE_LATEST

        self.content_type = CONTENT_TYPE_LATEST
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        ProcessCollector(**own)
        PlatformCollector(**own)
        self.requests = Counter("nlgauge_requests", "Answered requests", ["method", "route", "status"], **own)
        duration = "Time from the first byte of a request to the end of its answer"
        self.seconds = Histogram("nlgauge_request_seconds", duration, ["route"], buckets=_SECONDS, **own)
        shared = "Requests computed together"
        self.together = Histogram("nlgauge_batch_requests", shared, buckets=(1, 2, 4, 8, 16, 32, 64), **own)
        self.waiting = Gauge("nlgauge_waiting_requests", "Waiting requests", **own)
        self.queued = Gauge("nlgauge_queued_jobs", "Queued jobs", **own)
        self.jobs = Counter("nlgauge_jobs", "Finished jobs", ["kind", "state"], **own)
        self.segments = Counter("nlgauge_segments", "Scored segments", **own)

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        from prometheus_client.exposition import generate_latest

        return generate_latest(self._registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer. Unknown methods share one series."""
        known = method if method in {"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"} else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)


class JsonLines(logging.Formatter):
    """A log record as one line of JSON, with the members of `extra={"fields": {...}}`."""

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
