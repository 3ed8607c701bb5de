"""What the page computes with: scores and texts as JSON, compressed, in letters that HTML leaves alone.

Numbers are whole: a score times a power of ten, which is shorter than a decimal fraction. Texts go segment by
segment, because the outputs of all systems for one segment resemble each other and compress together.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.report.html.alignments import packed_explanation, value_ranges
from nlgauge.report.html.inputs import PairExplanation, ReportTexts

if TYPE_CHECKING:
    from nlgauge.compare import SystemComparison, SystemScores

__all__ = ["pack", "page_data", "page_explanations"]

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
    for one in explained:
        systems_of.setdefault(one.segment, set()).add(one.system)
    by_metric = {one.metric: one for one in scores}
    systems = [row.system for row in comparison.metrics[0].systems]
    first = by_metric[comparison.metrics[0].metric]
    named = first.instances != tuple(map(str, range(first.n)))
    return {
        "systems": systems,
        "count": first.n,
        "names": list(first.instances) if named else None,
        "documents": None if first.documents is None else list(first.documents),
        "metrics": [_metric(by_metric[found.metric], systems) for found in comparison.metrics],
        "texts": None if texts is None else _texts(texts, systems, first.n),
        "explained": sorted(systems_of),
        "explained_systems": max(map(len, systems_of.values()), default=0),
    }


def page_explanations(explanations: Iterable[PairExplanation], data: Mapping[str, Any]) -> dict[str, Any]:
    """Explanations by the places of metric, system and segment on the page."""
    metrics = [metric["name"] for metric in data["metrics"]]
    pairs: dict[str, list[Any]] = {}
    packed = []
    for one in explanations:
        metric, system = metrics.index(one.metric), data["systems"].index(one.system)
        record = packed_explanation(one.explanation)
        pairs[f"{metric}/{system}/{one.segment}"] = record
        packed.append((metric, record))
    return {"ranges": value_ranges(packed), "pairs": pairs}


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


def _metric(one: SystemScores, systems: Sequence[str]) -> dict[str, Any]:
    decimals = _decimals(float(np.ptp(one.values)))
    whole = np.rint(one.values * 10.0**decimals).astype(np.int64)
    columns = [whole[:, one.systems.index(system)].tolist() for system in systems]
    return {"name": one.metric, "higher": one.higher_is_better, "decimals": decimals, "values": columns}


def _decimals(width: float) -> int:
    """Decimals that keep so many digits of a range; scores that are all alike keep four."""
    return 4 if width <= 0 else min(max(_DIGITS - 1 - math.floor(math.log10(width)), 2), 12)


def _texts(texts: ReportTexts, systems: Sequence[str], count: int) -> list[list[Any]]:
    """By segment: source, references, then the output of each system; None where there is none."""
    outputs = [texts.systems.get(system) for system in systems]
    return [
        [
            None if texts.sources is None else texts.sources[at],
            [] if texts.references is None else list(texts.references[at]),
            *(None if lines is None else lines[at] for lines in outputs),
        ]
        for at in range(count)
    ]
