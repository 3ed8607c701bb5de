"""Inputs of a report besides the comparison and its scores: texts, options, and explanations of segments.

All are checked before anything is written. Explanations are made small for the page: words, links between them, and
what each word contributes. The page colours by the value of a link: a similarity, where tokens were matched, or a
cost, where mass was moved. Values are whole thousandths, contributions ten-thousandths: no reader sees more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlgauge.core.kinds import Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import InputError
from nlgauge.studies.compare.system_scores import SystemScores, system_scores

if TYPE_CHECKING:
    from nlgauge.core.score import Score
    from nlgauge.studies.compare.comparison import SystemComparison


@dataclass(frozen=True)
class ReportTexts:
    """The texts behind the scores, segment by segment in the order of the scores."""

    systems: Mapping[str, Sequence[str]]
    """Outputs by system."""
    references: Sequence[Sequence[str]] | None = None
    """References of each segment."""
    sources: Sequence[str] | None = None


@dataclass(frozen=True)
class PairExplanation:
    """Why one output got its score under one metric."""

    metric: str
    system: str
    segment: int
    """Place of the segment among the scores, from 0."""
    explanation: Mapping[str, Any]
    """`Explanation.to_dict()`."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(OptionSet):
    """How a report looks, and how much is in it."""

    called: ClassVar[str] = "options of a report"

    title: str = option("Comparison of systems", Text("a title"), help="title of the report")
    date: str | None = option(
        None,
        Text("a date"),
        help="date below the title; without one, the same input gives the same bytes on every day",
    )
    alignments: int = option(500, Int(0), help="most segments with explanations: those on which systems differ most")
    notes: tuple[str, ...] = option((), Many(Text("a sentence")), help="sentences below the title")


def differing_segments(scores: Sequence[SystemScores], count: int) -> list[int]:
    """Places of the segments on which systems differ most under any metric, in their own order.

    How much they differ is the range of the systems' scores in standard deviations of the metric, so that no metric
    outweighs another by its unit.
    """
    return most_differing(scores, range(scores[0].n), count)


def most_differing(scores: Sequence[SystemScores], among: Iterable[int], count: int) -> list[int]:
    """The same of some segments."""
    if count < 0:
        msg = f"the number of segments that keep their alignments must be 0 or more, got {count!r}"
        raise InputError(msg)
    widest = np.zeros(scores[0].n)
    for one in scores:
        if one.n != len(widest):
            msg = f"{one.metric!r} has {one.n} segments, {scores[0].metric!r} has {len(widest)}"
            raise InputError(msg)
        spread = float(one.values.std()) or 1.0
        widest = np.maximum(widest, np.ptp(one.values, axis=1) / spread)
    return sorted(sorted(among, key=lambda at: (-widest[at], at))[:count])


def check_inputs(
    comparison: SystemComparison,
    scores: Sequence[SystemScores],
    texts: ReportTexts | None,
    explanations: Sequence[PairExplanation],
) -> None:
    """That scores, texts and explanations belong to the comparison, and to each other."""
    if not comparison.metrics:
        msg = "a report needs a comparison of at least one metric, got none"
        raise InputError(msg)
    by_metric = {one.metric: one for one in scores}
    for found in comparison.metrics:
        if found.metric not in by_metric:
            there = sorted(by_metric)
            msg = f"the comparison is by {found.metric!r}, the scores are of {there}; pass those it was made from"
            raise InputError(msg)
        one = by_metric[found.metric]
        if set(one.systems) != {row.system for row in found.systems} or one.n != found.n:
            msg = (
                f"the comparison by {found.metric!r} is of {len(found.systems)} systems on {found.n} instances, the "
                f"scores are of {one.k} on {one.n}, or of others; pass those it was made from"
            )
            raise InputError(msg)
    for explained in explanations:
        _check_explanation(explained, comparison)
    if texts is not None:
        _check_texts(texts, comparison.metrics[0].n)


def _check_explanation(one: PairExplanation, comparison: SystemComparison) -> None:
    metrics = [found.metric for found in comparison.metrics]
    systems = [row.system for row in comparison.metrics[0].systems]
    if one.metric not in metrics:
        msg = f"there is an explanation of {one.metric!r}, but the comparison has the metrics {metrics}"
    elif one.system not in systems:
        msg = f"there is an explanation of system {one.system!r}, but the comparison has the systems {systems}"
    elif not 0 <= one.segment < comparison.metrics[0].n:
        last = comparison.metrics[0].n - 1
        msg = f"there is an explanation of segment {one.segment}, but segments go from 0 to {last}"
    else:
        return
    raise InputError(msg)


def _check_texts(texts: ReportTexts, segments: int) -> None:
    parts: dict[str, Sequence[Any] | None] = {f"system {name!r}": lines for name, lines in texts.systems.items()}
    parts |= {"references": texts.references, "sources": texts.sources}
    for name, lines in parts.items():
        if lines is not None and len(lines) != segments:
            msg = f"the texts of {name} have {len(lines)} segments, the scores have {segments}"
            raise InputError(msg)


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
        if score.origin is not None and len(score.origin.metric.base_metrics) > 1:
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
