"""Inputs of a report: texts, options and explanations of segments, checked, and packed for its script.

The packed data are JSON, compressed, in letters that HTML leaves alone. Numbers are whole: a score times a power of
ten, which is shorter than a decimal fraction. Texts go segment by segment, because the outputs of all systems for one
segment resemble each other and compress together.

Explanations are made small for the page: words, links between them, and what each word contributes. The page colours
by the value of a link: a similarity, where tokens were matched, or a cost, where mass was moved. Values are whole
thousandths, contributions ten-thousandths: no reader sees more.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nlgauge.core.kinds import Int, Many, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import InputError
from nlgauge.studies.compare.sentences import title_of
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
    """The explanation of one output's score by one metric."""

    metric: str
    system: str
    segment: int
    """Index of the segment, from 0."""
    explanation: Mapping[str, Any]
    """`Explanation.to_dict()`."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(OptionSet):
    """Title, date and size of a report."""

    called: ClassVar[str] = "options of a report"

    title: str = option("Comparison of systems", Text("a title"), help="report title")
    date: str | None = option(
        None,
        Text("a date"),
        help="date below the title; without one, the same input gives the same bytes on every day",
    )
    alignments: int = option(500, Int(0), help="number of segments with explanations (those that differ most)")
    notes: tuple[str, ...] = option((), Many(Text("a sentence")), help="sentences below the title")


def differing_segments(
    scores: Sequence[SystemScores], count: int, *, among: Iterable[int] | None = None
) -> list[int]:
    """Indices of the segments (all, or some) on which systems differ most by any metric, in ascending order.

    The difference is the range of the systems' scores in standard deviations of the metric, which makes metrics
    comparable.
    """
    if count < 0:
        msg = f"the number of segments with alignments must be 0 or more, got {count!r}"
        raise InputError(msg)
    widest = np.zeros(scores[0].n)
    for table in scores:
        if table.n != len(widest):
            msg = f"{table.metric!r} has {table.n} segments, {scores[0].metric!r} has {len(widest)}"
            raise InputError(msg)
        spread = float(table.values.std()) or 1.0
        widest = np.maximum(widest, np.ptp(table.values, axis=1) / spread)
    segments = range(len(widest)) if among is None else among
    return sorted(sorted(segments, key=lambda segment: (-widest[segment], segment))[:count])


def check_inputs(
    comparison: SystemComparison,
    scores: Sequence[SystemScores],
    texts: ReportTexts | None,
    explanations: Sequence[PairExplanation],
) -> None:
    """Check that scores, texts and explanations belong to the comparison."""
    if not comparison.metrics:
        msg = "a report needs a comparison of at least one metric, got none"
        raise InputError(msg)
    by_metric = {table.metric: table for table in scores}
    for metric in comparison.metrics:
        if metric.metric not in by_metric:
            names = ", ".join(sorted(by_metric))
            msg = f"the comparison is by {metric.metric!r}, the scores are of {names}; pass the compared scores"
            raise InputError(msg)
        table = by_metric[metric.metric]
        if set(table.systems) != {row.system for row in metric.systems} or table.n != metric.n:
            msg = (
                f"the comparison by {metric.metric!r} is of {len(metric.systems)} systems on {metric.n} instances, "
                f"the scores are of {table.k} on {table.n}, or of others; pass the compared scores"
            )
            raise InputError(msg)
    segments, metrics = comparison.metrics[0].n, [metric.metric for metric in comparison.metrics]
    systems = [row.system for row in comparison.metrics[0].systems]
    for pair in explanations:
        if pair.metric not in metrics:
            problem = f"{pair.metric!r}, but the comparison has the metrics {metrics}"
        elif pair.system not in systems:
            problem = f"system {pair.system!r}, but the comparison has the systems {systems}"
        elif not 0 <= pair.segment < segments:
            problem = f"segment {pair.segment}, but segments go from 0 to {segments - 1}"
        else:
            continue
        msg = f"there is an explanation of {problem}"
        raise InputError(msg)
    parts: dict[str, Sequence[Any] | None] = {}
    if texts is not None:
        parts = {f"system {name!r}": lines for name, lines in texts.systems.items()}
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
        results: Of all metrics and systems; metrics that match no words (BLEU, learned metrics) have nothing to show.
        segments: Places of segments, from 0.
        systems: Only of these. By default all of up to four systems; of more the best one, and on each segment the
            one that lies furthest from it.
    """
    from nlgauge.studies.explain.pairs import explain_segments

    tables = system_scores(results)
    by_recipe = {table.signature: table.metric for table in tables}
    wanted = _explained_systems(tables, segments, systems)
    pairs = []
    for score in results:
        if score.origin is not None and len(score.origin.metric.base_metrics) > 1:
            continue  # its members are explained if they are metrics of the call
        metric, system = by_recipe[score.signature.recipe_part], score.system or "system"
        places = [segment for segment in segments if system in wanted[segment]]
        explained = explain_segments(score, places, shapley=False)
        pairs += [
            PairExplanation(metric, system, segment, explanation.to_dict())
            for segment, explanation in zip(places, explained, strict=True)
            if explanation.links
        ]
    return pairs


def _explained_systems(
    tables: Sequence[SystemScores], segments: Sequence[int], systems: Sequence[str] | None
) -> dict[int, Sequence[str]]:
    """Systems that are explained, by segment."""
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
    """The parts of `Explanation.to_dict()` that the page shows, as a list.

    Words of the hypothesis and of the reference; links (place, place, value); whether values are costs; what the
    hypothesis was compared with; the sentence; contributions by side, and what they are summands of.
    """
    try:
        words = [record[side]["words"] for side in ("hypothesis", "reference")]
        links, costs = _links(record["links"])
        parts = [[word["text"] for word in side] for side in words]
        removed = [{place: word["removed"] for place, word in enumerate(side) if word["removed"]} for side in words]
        linear = [part for part in record["attributions"] if part["kind"] == "linear"]
    except (KeyError, TypeError) as error:
        msg = f"an explanation must be what Explanation.to_dict() gives; {error} is missing or of another kind"
        raise InputError(msg) from error
    contributions = {
        part["side"]: [part["of"], *(round(10_000 * value) for value in part["values"])] for part in linear
    }
    sides = [contributions.get("hypothesis"), contributions.get("reference")]
    return [*parts, links, int(costs), record["against"], record["sentence"], sides, removed]


def alignment_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a page shows of one pair, of `Explanation.to_dict()`: the metric's own alignment, and the other kind.

    Links have places of words and whole thousandths, as in the report; `range` has the values of the lightest and of
    the darkest colour.
    """
    hypothesis, reference, _, _, against, sentence, contributions, removed = packed_explanation(record)
    alignments = []
    for entries, shares in ((record["links"], contributions), (record["beside"], [None, None])):
        links, costs = _links(entries)
        if links:
            kind = "flow" if entries[0]["kind"] == "flow" else "greedy"
            ends = _colour_range([value for _, _, value in links], costs=costs)
            alignments.append({"kind": kind, "links": links, "costs": costs, "range": ends, "contributions": shares})
    words = {"words": [hypothesis, reference], "removed": removed, "against": against}
    result = {"score": record["score"], "sentence": sentence, "notes": list(record["notes"])}
    return {**words, **result, "alignments": alignments}


def _colour_range(values: Sequence[int], *, costs: bool) -> list[int]:
    """Values of links that have the lightest and the darkest colour.

    The far end leaves out a twentieth: one link far off would make all others look alike.
    """
    far = round(float(np.percentile(values, 95 if costs else 5)))
    return [far, min(values) if costs else max(values)]


def _links(links: Sequence[Mapping[str, Any]]) -> tuple[list[list[int]], bool]:
    """Links of words; a pair that chose each other is one link. Special tokens have no place on the page."""
    values: dict[tuple[int, int], float] = {}
    costs = False
    for link in links:
        i, j = link["hypothesis"], link["reference"]
        if i is None or j is None or link["weight"] < _LEAST_WEIGHT:
            continue
        costs = link["similarity"] is None
        value = link["cost"] if costs else link["similarity"]
        values[i, j] = (min if costs else max)(values.get((i, j), value), value)
    return [[i, j, round(1000 * value)] for (i, j), value in sorted(values.items())], costs


#: Significant digits of the range of a metric's scores: enough for a scatter plot and for four decimals.
_DIGITS = 5


def page_data(
    comparison: SystemComparison,
    scores: Sequence[SystemScores],
    texts: ReportTexts | None,
    explained: Iterable[PairExplanation] = (),
) -> dict[str, Any]:
    """Scores, texts, and which segments have explanations (and of how many systems at most), as plain values."""
    systems_of: dict[int, set[str]] = {}
    for pair in explained:
        systems_of.setdefault(pair.segment, set()).add(pair.system)
    by_metric = {table.metric: table for table in scores}
    systems = [row.system for row in comparison.metrics[0].systems]
    first = by_metric[comparison.metrics[0].metric]
    named = first.instances != tuple(map(str, range(first.n)))
    return {
        "systems": systems,
        "count": first.n,
        "names": list(first.instances) if named else None,
        "documents": None if first.documents is None else list(first.documents),
        "metrics": [_metric(title_of(metric), by_metric[metric.metric], systems) for metric in comparison.metrics],
        "texts": None if texts is None else _texts(texts, systems, first.n),
        "explained": sorted(systems_of),
        "explained_systems": max(map(len, systems_of.values()), default=0),
    }


def page_explanations(explanations: Iterable[PairExplanation], data: Mapping[str, Any]) -> dict[str, Any]:
    """Explanations by the places of metric, system and segment on the page, and the range of colours by metric."""
    metrics = [metric["metric"] for metric in data["metrics"]]
    pairs: dict[str, list[Any]] = {}
    values: dict[int, list[int]] = {}
    costs: dict[int, bool] = {}
    for pair in explanations:
        metric, system = metrics.index(pair.metric), data["systems"].index(pair.system)
        packed = pairs[f"{metric}/{system}/{pair.segment}"] = packed_explanation(pair.explanation)
        values.setdefault(metric, []).extend(value for _, _, value in packed[2])
        costs[metric] = bool(packed[3])
    ranges = {metric: _colour_range(own, costs=costs[metric]) for metric, own in values.items() if own}
    return {"ranges": ranges, "pairs": pairs}


def pack(content: Mapping[str, Any]) -> str:
    """JSON, compressed, in base64; the same content gives the same letters.

    >>> pack({}) == pack({})
    True
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Half of a surrogate pair has no bytes in UTF-8.
    raw = text.encode("utf-8", errors="replace")
    file = io.BytesIO()
    # GzipFile writes a header without the name of the operating system, which gzip.compress may put in.
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(raw)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _metric(title: str, scores: SystemScores, systems: Sequence[str]) -> dict[str, Any]:
    width = float(np.ptp(scores.values))
    # Decimals that keep so many digits of the range; scores that are all alike keep four.
    decimals = 4 if width <= 0 else min(max(_DIGITS - 1 - math.floor(math.log10(width)), 2), 12)
    whole = np.rint(scores.values * 10.0**decimals).astype(np.int64)
    columns = [whole[:, scores.systems.index(system)].tolist() for system in systems]
    return {
        "metric": scores.metric,
        "name": title,
        "higher": scores.higher_is_better,
        "decimals": decimals,
        "values": columns,
    }


def _texts(texts: ReportTexts, systems: Sequence[str], count: int) -> list[list[Any]]:
    """By segment: source, references, then the output of each system; None where there is none."""
    outputs = [texts.systems.get(system) for system in systems]
    return [
        [
            None if texts.sources is None else texts.sources[segment],
            [] if texts.references is None else list(texts.references[segment]),
            *(None if lines is None else lines[segment] for lines in outputs),
        ]
        for segment in range(count)
    ]
