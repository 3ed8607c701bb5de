"""Which products with weights a model has, and what enters them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nlgauge.encoders.engines.graphs.builder import Graph, GraphBuilder
from nlgauge.encoders.engines.graphs.families import Family, encoder_graph

__all__ = ["Product", "observed_graph", "products_of"]


class Product(NamedTuple):
    """A product x W^T of a graph."""

    x: str
    """The value that enters it."""
    at: str
    """Its weights, by their name in the checkpoint."""
    into: int
    out: int


class _ListingBuilder(GraphBuilder):
    """Remembers the products of a graph, and can show what enters them."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[Product] = []

    def linear(
        self, x: str, at: str, into: int, out: int, name: str, *, bias: bool = True, scale: float = 1.0
    ) -> str:
        """As the plain one."""
        self.products.append(Product(x, at, into, out))
        return super().linear(x, at, into, out, name, bias=bias, scale=scale)

    def finish(self, outputs: Sequence[tuple[str, int]], *, as_inputs: bool) -> Graph:
        """A graph whose outputs are what enters the products, each (1, rows, width): rows need not be tokens."""
        shown = []
        for x, width in {product.x: product.into for product in self.products}.items():
            shape = self.constant(f"{x}.one_text", [1, -1, width])
            shown.append((self.node("Reshape", [x, shape], f"{x}.observed"), width))
        return super().finish(shown, as_inputs=as_inputs)


def products_of(family: Family, config: Mapping[str, Any]) -> list[Product]:
    """All products with weights of a model, in the order of its graph."""
    return observed_graph(family, config)[1]


def observed_graph(family: Family, config: Mapping[str, Any]) -> tuple[Graph, list[Product]]:
    """A graph from token ids to what enters the products (each input once, in their order), and the products."""
    build = _ListingBuilder()
    graph = encoder_graph(family, config, (family.dimensions(config).layers,), build=build)
    return graph, build.products
