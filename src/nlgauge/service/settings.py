"""What an operator decides about a service, once, before it starts."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from nlgauge.errors import RecipeError
from nlgauge.files.cache_dir import cache_dir

__all__ = ["Limits", "Settings", "default_folder", "is_loopback"]

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
    job_texts: int = 10_000
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
        for name, value in self.__dict__.items():
            if not value > 0:
                msg = f"limit {name} must be above 0, got {value!r}"
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
        if not 0 <= self.port <= 65535:
            msg = f"port must be 0 to 65535, got {self.port}"
            raise RecipeError(msg)
        if not 0 <= self.batch_wait <= 1:
            msg = f"batch_wait must be 0 to 1 second, got {self.batch_wait!r}"
            raise RecipeError(msg)

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
