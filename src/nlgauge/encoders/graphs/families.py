"""Model families that run without torch, by the `model_type` of `config.json`, and their cached graphs."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from nlgauge.encoders.graphs.builder import Family, Graph, GraphBuilder
from nlgauge.encoders.graphs.modernbert import ModernBert
from nlgauge.encoders.graphs.post_norm import RELATIVES, DebertaV2
from nlgauge.errors import UnsupportedModelError
from nlgauge.io.storage import cache_dir, write_atomic

#: Increased when the graphs change, so cached graphs of an older version are not used.
GRAPH_VERSION = 2


FAMILIES: dict[str, Family] = {**RELATIVES, "deberta-v2": DebertaV2(), "modernbert": ModernBert()}


def family_of(config: Mapping[str, Any], *, model: str, engine: str = "onnx") -> Family:
    """The family of a `config.json`, after checking its entries."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        reason = f"model_type {kind!r}"
    else:
        reason = ", ".join(f"{name}={config[name]!r}" for name in FAMILIES[kind].unsupported(config))
    if reason:
        msg = (
            f"engine {engine!r} does not support {reason} of model {model!r} (supported: {', '.join(FAMILIES)}); "
            "install the torch engine with pip install 'nlgauge[torch]' and use engine 'torch'"
        )
        raise UnsupportedModelError(msg)
    family = FAMILIES[str(kind)]
    family.check(config, model=model)
    return family


def encoder_graph(
    family: Family,
    config: Mapping[str, Any],
    layers: tuple[int, ...],
    *,
    as_inputs: bool = False,
    build: GraphBuilder | None = None,
) -> Graph:
    """A graph from token ids (batch, length) to the requested layers, each (batch, length, hidden).

    Layer 0 is the output of the embeddings. The graph ends at the highest requested layer.
    """
    build = build or GraphBuilder()
    width = family.dimensions(config).hidden
    rows = list(family.build(build, config, max(layers)))
    shape = build.node("Shape", ["ids"], "texts.shape")
    whole = build.node("Concat", [shape, build.constant("width", [width])], "by_text", axis=0)
    outputs = [(build.node("Reshape", [rows[layer], whole], f"layer{layer}"), width) for layer in layers]
    return build.finish(outputs, as_inputs=as_inputs)


def stored_graph(config: Mapping[str, Any], kind: str, *, key: str, make: Callable[[], Graph]) -> Graph:
    """A graph of a model, by its kind (layers and form), from the cache folder or built and stored there."""
    from nlgauge.encoders.graphs.families import GRAPH_VERSION

    described = json.dumps([key, config, kind, GRAPH_VERSION], sort_keys=True)
    name = hashlib.sha256(described.encode()).hexdigest()
    path = cache_dir() / "graphs" / f"{key[:12]}-{kind}-{name[:12]}.graph"
    try:
        stored = path.read_bytes()
    except OSError:
        stored = b""
    # The file is a sha256 and the graph; a damaged file, or the graph of another model or other layers, is rebuilt.
    digest, data = stored[:32], stored[32:]
    if _sum(name, data) == digest:
        return Graph.from_bytes(data)
    graph = make()
    data = graph.to_bytes()
    with contextlib.suppress(OSError):  # without a writable cache, graphs are built again
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, _sum(name, data) + data)
    return graph


def _sum(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + data).digest()
