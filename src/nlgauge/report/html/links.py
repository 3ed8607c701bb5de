"""Explanations made small for the page: words, and links between them with how close the words are.

A greedy match links each word of the hypothesis to a word of the reference, and each of the reference to one of the
hypothesis; a flow links words between which mass moved. Either way a link is (place in the hypothesis, place in the
reference, closeness), and closeness is what the page colours by: a similarity, or how far a cost is below the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.report.html.inputs import PairExplanation

if TYPE_CHECKING:
    from nlgauge.scores import Score

__all__ = ["explanations_of_scores", "packed_explanation"]

#: Masses below this share of the whole are left out of the page: entropic transport moves a little of everything.
_LEAST_MASS = 0.005


def explanations_of_scores(scores: Sequence[Score], segments: Sequence[int]) -> Iterator[PairExplanation]:
    """Explanations from the alignments that scores carry (`score(..., alignments=True)`), of some segments."""
    for score in scores:
        if score.alignments is None:
            continue
        for segment in segments:
            alignment = score.alignments[segment]
            if alignment is not None:
                found = _from_flow(alignment) if isinstance(alignment, Flow) else _from_alignment(alignment)
                yield PairExplanation(score.metric, score.system or "", segment, found)


def packed_explanation(explanation: Mapping[str, Any]) -> list[Any]:
    """[hypothesis words, reference words, links, place of the reference, kind]; closeness in thousandths."""
    links = [
        [int(link["i"]), int(link["j"]), round(1000 * float(link["closeness"]))] for link in explanation["links"]
    ]
    return [
        list(explanation["hypothesis"]),
        list(explanation["reference"]),
        links,
        int(explanation.get("reference_index", 0)),
        str(explanation.get("kind", "match")),
    ]


def _from_alignment(found: Alignment) -> dict[str, Any]:
    """Matches of both directions; a pair that chose each other is one link."""
    close: dict[tuple[int, int], float] = {}
    for i, j in enumerate(found.hypothesis_match.tolist()):
        if found.hypothesis_weight[i] > 0:
            close[i, j] = float(found.hypothesis_similarity[i])
    for j, i in enumerate(found.reference_match.tolist()):
        if found.reference_weight[j] > 0:
            close[i, j] = float(found.reference_similarity[j])
    return _explanation(found, close, kind="match")


def _from_flow(found: Flow) -> dict[str, Any]:
    """Where mass moved; the largest cost of the pair counts as not close at all."""
    largest = float(found.cost.max()) or 1.0
    places = np.argwhere(found.flow > _LEAST_MASS * found.flow.sum() / max(found.flow.shape))
    close = {(int(i), int(j)): 1 - float(found.cost[i, j]) / largest for i, j in places}
    return _explanation(found, close, kind="flow")


def _explanation(found: Alignment | Flow, close: Mapping[tuple[int, int], float], *, kind: str) -> dict[str, Any]:
    return {
        "hypothesis": list(found.hypothesis_tokens),
        "reference": list(found.reference_tokens),
        "links": [{"i": i, "j": j, "closeness": value} for (i, j), value in sorted(close.items())],
        "reference_index": found.reference_index,
        "kind": kind,
    }
