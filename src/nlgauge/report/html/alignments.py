"""Explanations made small for the page: words, links between them, and what each word contributes.

The page colours by the value of a link: a similarity, where tokens were matched, or a cost, where mass was moved.
Values are whole thousandths, contributions ten-thousandths: no reader sees more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.core.composite import CompositeMetric
from nlgauge.errors import InputError
from nlgauge.report.html.inputs import PairExplanation
from nlgauge.studies.compare.system_scores import system_scores

if TYPE_CHECKING:
    from nlgauge.core.score import Score
    from nlgauge.studies.compare.system_scores import SystemScores

#: Of so many systems all are explained; of more, two on each segment, because explaining takes as long as scoring.
_ALL_SYSTEMS = 4

#: Links of less weight than this share of a text are left out: entropic transport moves a little of everything.
_LEAST_WEIGHT = 0.001


def explain_for_report(
    results: Sequence[Score], segments: Sequence[int], *, systems: Sequence[str] | None = None
) -> list[PairExplanation]:
    """Explanations of some segments (see `differing_segments`) of results of `nlgauge.score_systems`.

    Args:
        results: Of all metrics and systems; metrics that match no words (BLEU, chrF, ensembles) have nothing to show.
        segments: Places of segments, from 0.
        systems: Only of these. By default all of up to four systems; of more the best one, and on each segment the
            one that lies furthest from it.
    """
    from nlgauge.studies.explain.pairs import explain_segments

    tables = system_scores(results)
    by_recipe = {table.signature: table.metric for table in tables}
    wanted = _explained_systems(tables, segments, systems)
    found = []
    for score in results:
        if score.origin is not None and isinstance(score.origin.metric, CompositeMetric):
            continue  # its members are metrics of their own, where they are asked for
        metric, system = by_recipe[score.signature.recipe_part], score.system or "system"
        places = [segment for segment in segments if system in wanted[segment]]
        explained = explain_segments(score, places, shapley=False)
        found += [
            PairExplanation(metric, system, segment, one.to_dict())
            for segment, one in zip(places, explained, strict=True)
            if one.links
        ]
    return found


def _explained_systems(
    tables: Sequence[SystemScores], segments: Sequence[int], systems: Sequence[str] | None
) -> dict[int, Sequence[str]]:
    """By segment the systems that are explained there."""
    names = tables[0].systems
    if systems is not None or len(names) <= _ALL_SYSTEMS:
        return dict.fromkeys(segments, names if systems is None else systems)
    best = names[int(tables[0].oriented.mean(axis=0).argmax())]
    # How far the others are from the best one, in standard deviations of each metric, as differing_segments has it.
    apart = np.max(
        [
            np.abs(table.take(names).values - table.take([best]).values) / (float(table.values.std()) or 1.0)
            for table in tables
        ],
        axis=0,
    )
    apart[:, names.index(best)] = -1
    return {segment: (best, names[int(apart[segment].argmax())]) for segment in segments}


def packed_explanation(record: Mapping[str, Any]) -> list[Any]:
    """What the page needs of `Explanation.to_dict()`, as a list.

    Words of the hypothesis and of the reference; links (place, place, value); whether values are costs; what the
    hypothesis was compared with; the sentence; contributions by side, and what they are summands of.
    """
    try:
        words = [record[side]["words"] for side in ("hypothesis", "reference")]
        links, costs = _links(record["links"])
        parts = [[word["text"] for word in side] for side in words]
        removed = [{at: word["removed"] for at, word in enumerate(side) if word["removed"]} for side in words]
        linear = [one for one in record["attributions"] if one["kind"] == "linear"]
    except (KeyError, TypeError) as error:
        msg = f"an explanation must be what Explanation.to_dict() gives; {error} is missing or of another kind"
        raise InputError(msg) from error
    contributions = {one["side"]: [one["of"], *(round(10_000 * value) for value in one["values"])] for one in linear}
    sides = [contributions.get("hypothesis"), contributions.get("reference")]
    return [*parts, links, int(costs), record["against"], record["sentence"], sides, removed]


def alignment_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a page shows of one pair, of `Explanation.to_dict()`: the metric's own alignment, and the other kind.

    Links have places of words and whole thousandths, as in the report; `range` has the values of the lightest and of
    the darkest colour.
    """
    hypothesis, reference, _, _, against, sentence, contributions, removed = packed_explanation(record)
    alignments = []
    for given, shares in ((record["links"], contributions), (record["beside"], [None, None])):
        links, costs = _links(given)
        if links:
            kind = "flow" if given[0]["kind"] == "flow" else "greedy"
            ends = value_ranges([(0, [None, None, links, costs])])[0]
            alignments.append({"kind": kind, "links": links, "costs": costs, "range": ends, "contributions": shares})
    words = {"words": [hypothesis, reference], "removed": removed, "against": against}
    said = {"score": record["score"], "sentence": sentence, "notes": list(record["notes"])}
    return {**words, **said, "alignments": alignments}


def value_ranges(packed: Iterable[tuple[int, list[Any]]]) -> dict[int, list[int]]:
    """By metric the values of links that have the lightest and the darkest colour.

    The far end leaves out a twentieth: one link far off would make all others look alike.
    """
    values: dict[int, list[int]] = {}
    costs: dict[int, bool] = {}
    for metric, one in packed:
        values.setdefault(metric, []).extend(link[2] for link in one[2])
        costs[metric] = bool(one[3])
    ends = {}
    for metric, found in values.items():
        if found:
            far = round(float(np.percentile(found, 95 if costs[metric] else 5)))
            ends[metric] = [far, min(found) if costs[metric] else max(found)]
    return ends


def _links(links: Sequence[Mapping[str, Any]]) -> tuple[list[list[int]], bool]:
    """Links of words; a pair that chose each other is one link. Special tokens have no place on the page."""
    found: dict[tuple[int, int], float] = {}
    costs = False
    for link in links:
        i, j = link["hypothesis"], link["reference"]
        if i is None or j is None or link["weight"] < _LEAST_WEIGHT:
            continue
        costs = link["similarity"] is None
        value = link["cost"] if costs else link["similarity"]
        best = min if costs else max
        found[i, j] = best(found.get((i, j), value), value)
    return [[i, j, round(1000 * value)] for (i, j), value in sorted(found.items())], costs
