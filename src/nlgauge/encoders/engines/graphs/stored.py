"""Graphs in the cache folder, so that a start does not build them (nor import what builds them)."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from nlgauge.encoders.engines.graphs.builder import Graph
from nlgauge.files.atomic import write_atomic
from nlgauge.files.cache_dir import cache_dir

__all__ = ["stored_graph"]


def stored_graph(config: Mapping[str, Any], kind: str, *, key: str, make: Callable[[], Graph]) -> Graph:
    """The graph of that kind (its layers, its form) of a model, from the cache folder or made and put there."""
    from nlgauge.encoders.engines.graphs.families import GRAPH_VERSION

    described = json.dumps([key, config, kind, GRAPH_VERSION], sort_keys=True)
    name = hashlib.sha256(described.encode()).hexdigest()
    path = cache_dir() / "graphs" / f"{key[:12]}-{kind}-{name[:12]}.graph"
    try:
        stored = path.read_bytes()
    except OSError:
        stored = b""
    # The file is a sha256 and the graph: what a full disk or a crash left behind, and the graph of another model or
    # other layers, is built again.
    digest, data = stored[:32], stored[32:]
    if _sum(name, data) == digest:
        return Graph.from_bytes(data)
    graph = make()
    data = graph.to_bytes()
    with contextlib.suppress(OSError):  # a cache that cannot be written is only slower
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, _sum(name, data) + data)
    return graph


def _sum(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + data).digest()
