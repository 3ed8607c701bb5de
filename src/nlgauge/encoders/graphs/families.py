"""The families that can be computed without torch, by the `model_type` of their `config.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from nlgauge.encoders.graphs.builder import Dimensions, Graph, GraphBuilder
from nlgauge.encoders.graphs.deberta import DebertaV2
from nlgauge.encoders.graphs.modernbert import ModernBert
from nlgauge.encoders.graphs.post_norm import RELATIVES
from nlgauge.errors import UnsupportedModelError

#: Raised when the graphs change, so that cached ones of an older library are not used.
GRAPH_VERSION = 2


class Family(Protocol):
    """How a family's graph is built from a `config.json`."""

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Under which the encoder may stand in a checkpoint that holds more."""

    @property
    def probe(self) -> str:
        """A weight that every checkpoint has, by which its prefix is found."""

    def unsupported(self, config: Mapping[str, Any]) -> list[str]:
        """Entries of a `config.json` that ask for what the graph does not do."""

    def check(self, config: Mapping[str, Any], *, model: str) -> None:
        """Refuse a `config.json` that no graph can be built from, saying which entry is wrong."""

    def dimensions(self, config: Mapping[str, Any]) -> Dimensions:
        """Sizes that a `config.json` states."""

    def build(self, build: GraphBuilder, config: Mapping[str, Any], top: int) -> Iterable[str]:
        """Names of the values (tokens, hidden) of layer 0, then of each layer up to `top`."""


FAMILIES: dict[str, Family] = {**RELATIVES, "deberta-v2": DebertaV2(), "modernbert": ModernBert()}


def family_of(config: Mapping[str, Any], *, model: str, engine: str = "onnx") -> Family:
    """The family of a `config.json`, checked, or an error that names the engine that takes any."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        reason = f"model_type {kind!r}"
    else:
        reason = ", ".join(f"{name}={config[name]!r}" for name in FAMILIES[kind].unsupported(config))
    if reason:
        msg = (
            f"engine {engine!r} does not know {reason} of model {model!r} (it knows: {', '.join(FAMILIES)}); "
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
    """A graph from token ids (batch, length) to exactly the layers asked for, each (batch, length, hidden).

    Layer 0 is the output of the embeddings. Nothing above the highest layer asked for is in the graph.
    """
    build = build or GraphBuilder()
    width = family.dimensions(config).hidden
    rows = list(family.build(build, config, max(layers)))
    shape = build.node("Shape", ["ids"], "texts.shape")
    whole = build.node("Concat", [shape, build.constant("width", [width])], "by_text", axis=0)
    outputs = [(build.node("Reshape", [rows[layer], whole], f"layer{layer}"), width) for layer in layers]
    return build.finish(outputs, as_inputs=as_inputs)
