"""Multi-head attention in plain operators.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d) + bias) V

Between products with weights, tokens of all texts of a batch are rows of one matrix (tokens, hidden); attention needs
them by text and head.
"""

from __future__ import annotations

from nlgauge.encoders.engines.graphs.builder import GraphBuilder

__all__ = ["attend", "by_head", "declare_shapes", "distances"]


def declare_shapes(build: GraphBuilder, *, heads: int, width: int) -> None:
    """The shapes that rows of tokens are brought into: by head, by text, and back to rows."""
    shape = build.node("Shape", ["ids"], "ids.shape")
    size = build.constant("head.shape", [heads, width // heads])
    build.node("Concat", [shape, size], "by_head", axis=0)
    build.constant("rows", [-1, width])


def by_head(build: GraphBuilder, rows: str, name: str, *, transposed: bool = False) -> str:
    """Rows as (batch, heads, length, d), or (batch, heads, d, length) for keys."""
    split = build.node("Reshape", [rows, "by_head"], f"{name}.split")
    return build.node("Transpose", [split], f"{name}.heads", perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])


def attend(build: GraphBuilder, q: str, k: str, v: str, name: str, *, bias: str | None = None) -> str:
    """The attended values as rows; q (scaled already) and v by head, k by head and transposed."""
    scores = build.node("MatMul", [q, k], f"{name}.scores")
    if bias is not None:
        scores = build.node("Add", [scores, bias], f"{name}.biased")
    weights = build.node("Softmax", [scores], f"{name}.weights", axis=-1)
    values = build.node("MatMul", [weights, v], f"{name}.values")
    joined = build.node("Transpose", [values], f"{name}.joined", perm=[0, 2, 1, 3])
    return build.node("Reshape", [joined, "rows"], f"{name}.attended")


def distances(build: GraphBuilder) -> str:
    """A matrix (length, length) of key place - query place."""
    length = build.node("Squeeze", [build.node("Shape", ["ids"], "length", start=1, end=2)], "length.scalar")
    zero, one = build.constant("zero", 0), build.constant("one", 1)
    places = build.node("Range", [zero, length, one], "places")
    keys = build.node("Unsqueeze", [places, build.constant("first_axis", [0])], "places.keys")
    queries = build.node("Unsqueeze", [places, build.constant("second_axis", [1])], "places.queries")
    return build.node("Sub", [keys, queries], "distances")
