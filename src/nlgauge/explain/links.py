"""What matched what, in words; the other kind of alignment beside it; and what each word contributes.

Hard and soft alignments are one thing under different constraints (MoverScore, Proposition 1): greedy matching sends
each token's whole weight to its nearest token, transport must also fill the other text. With the similarities of one
and the costs of the other at hand, either can be shown beside the metric's own.

    P = sum_i u_i s_i        R = sum_j v_j s_j        cost = sum_ij F_ij C_ij        u, v: weights that sum to 1

Each is a sum over tokens, so a word's contribution is its summand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.explain.explanation import Attribution, Link
from nlgauge.explain.word_view import WordView
from nlgauge.transport import exact_transport, normalised_weights

__all__ = ["PointLink", "is_whole_text", "linear_attributions", "other_links", "own_links", "word_links"]

#: Mass below this is what a solver leaves of 0.
_NOTHING = 1e-12


class PointLink(NamedTuple):
    """A token, or another point, beside one of the other text."""

    kind: Literal["forward", "backward", "flow"]
    hypothesis: int
    reference: int
    weight: float
    similarity: float | None
    cost: float | None


def own_links(alignment: Alignment | Flow) -> list[PointLink]:
    """Links of points as the metric made them."""
    if isinstance(alignment, Flow):
        return _flow_links(alignment.flow, alignment.cost)
    u, v = shares_of(alignment.hypothesis_weight), shares_of(alignment.reference_weight)
    forward = zip(alignment.hypothesis_match.tolist(), u, alignment.hypothesis_similarity.tolist(), strict=True)
    backward = zip(alignment.reference_match.tolist(), v, alignment.reference_similarity.tolist(), strict=True)
    found = [PointLink("forward", i, j, weight, s, None) for i, (j, weight, s) in enumerate(forward) if weight > 0]
    return found + [
        PointLink("backward", i, j, weight, s, None) for j, (i, weight, s) in enumerate(backward) if weight > 0
    ]


def other_links(alignment: Alignment | Flow) -> list[PointLink] | None:
    """The other kind of alignment on the same vectors; None where similarities are not at hand (read from a file).

    Beside greedy matches it is the exact transport at cost 1 - cosine, under the same weights; beside a transport it
    is each point's nearest one.
    """
    if isinstance(alignment, Flow):
        cost, u, v = alignment.cost, shares_of(alignment.hypothesis_weight), shares_of(alignment.reference_weight)
        rows, columns = cost.argmin(axis=1).tolist(), cost.argmin(axis=0).tolist()
        found = [PointLink("forward", i, j, u[i], None, float(cost[i, j])) for i, j in enumerate(rows) if u[i] > 0]
        return found + [
            PointLink("backward", i, j, v[j], None, float(cost[i, j])) for j, i in enumerate(columns) if v[j] > 0
        ]
    if alignment.similarity is None:
        return None
    rows_kept, columns_kept = (
        np.flatnonzero(w > 0) for w in (alignment.hypothesis_weight, alignment.reference_weight)
    )
    similarity = alignment.similarity[np.ix_(rows_kept, columns_kept)].astype(np.float64)
    cost = np.maximum(1 - similarity, 0.0)  # rounding lifts the cosine of equal vectors above 1
    plan = exact_transport(alignment.hypothesis_weight[rows_kept], alignment.reference_weight[columns_kept], cost)
    links = _flow_links(plan.flow, cost)
    return [
        link._replace(
            hypothesis=int(rows_kept[link.hypothesis]),
            reference=int(columns_kept[link.reference]),
        )
        for link in links
    ]


def shares_of(weights: NDArray[np.float64]) -> list[float]:
    """Weights that sum to 1; a text without weight has none."""
    return normalised_weights(weights).tolist() if weights.sum() > 0 else [0.0] * len(weights)


def _flow_links(flow: NDArray[np.float64], cost: NDArray[np.float64]) -> list[PointLink]:
    rows, columns = np.nonzero(flow > _NOTHING)
    return [
        PointLink("flow", i, j, float(flow[i, j]), None, float(cost[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def word_links(links: Iterable[PointLink], views: tuple[WordView, WordView]) -> tuple[Link, ...]:
    """Links of words: weights add up, values are averaged by weight, so that sums over links stay what they are."""
    found: dict[tuple[str, int | None, int | None], tuple[float, float]] = {}
    greedy = False
    for link in links:
        greedy = greedy or link.similarity is not None
        value = link.similarity if link.cost is None else link.cost
        left: Mapping[Any, float] = views[0].shares[link.hypothesis] or {None: 1.0}
        right: Mapping[Any, float] = views[1].shares[link.reference] or {None: 1.0}
        for (i, first), (j, second) in product(left.items(), right.items()):
            weight = link.weight * first * second
            known = found.get((link.kind, i, j), (0.0, 0.0))
            found[link.kind, i, j] = known[0] + weight, known[1] + weight * (value or 0.0)
    return tuple(
        Link(
            kind,  # type: ignore[arg-type]  # a kind is a kind
            i,
            j,
            weight,
            None if kind == "flow" or not greedy else total / weight,
            total / weight if kind == "flow" or not greedy else None,
        )
        for (kind, i, j), (weight, total) in found.items()
    )


def is_whole_text(alignment: Alignment | Flow, views: tuple[WordView, WordView]) -> bool:
    """Whether each text is one point of several words, so that words have no summand of their own."""
    points = [[shares for shares in view.shares if shares] for view in views]
    return (
        isinstance(alignment, Flow)
        and all(len(view) == 1 for view in points)
        and max(len(shares) for view in points for shares in view) > 1
    )


def linear_attributions(alignment: Alignment | Flow, views: tuple[WordView, WordView]) -> tuple[Attribution, ...]:
    """Summands of precision and recall, or of the transport's cost, by word."""
    if isinstance(alignment, Flow):
        spent = alignment.flow * alignment.cost
        parts = [("cost", spent.sum(axis=1)), ("cost", spent.sum(axis=0))]
    else:
        u, v = shares_of(alignment.hypothesis_weight), shares_of(alignment.reference_weight)
        parts = [
            ("precision", np.array(u) * alignment.hypothesis_similarity),
            ("recall", np.array(v) * alignment.reference_similarity),
        ]
    made = []
    for (name, values), view, side in zip(parts, views, ("hypothesis", "reference"), strict=True):
        words, rest = view.spread(values)
        made.append(Attribution("linear", name, side, tuple(words.tolist()), rest, float(values.sum())))  # type: ignore[arg-type]  # a side is a side
    return tuple(made)
