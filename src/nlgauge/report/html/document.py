"""The report as one HTML file, with the data that its script computes with.

Sections are put into the template, with a content policy that names script and style sheet by their digests. So a
script that came in with a text cannot run, and nothing is loaded from anywhere. Tables and figures can be read
without a script; what a reader chooses (segments, scatter plot) the script makes from the packed data.

The packed data are JSON, compressed, in letters that HTML leaves alone. Numbers are whole: a score times a power of
ten, which is shorter than a decimal fraction. Texts go segment by segment, because the outputs of all systems for one
segment resemble each other and compress together.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge._version import __version__
from nlgauge.io.storage import write_atomic
from nlgauge.report.html import overview
from nlgauge.report.html.elements import Html, filled, joined, joined_script, joined_style, page_file, tag
from nlgauge.report.html.figures import distributions, ranking, significance_matrix
from nlgauge.report.html.inputs import (
    PairExplanation,
    ReportOptions,
    ReportTexts,
    check_inputs,
    most_differing,
    packed_explanation,
    value_ranges,
)

if TYPE_CHECKING:
    from nlgauge.io.table import Table
    from nlgauge.studies.compare.comparison import MetricComparison, SystemComparison
    from nlgauge.studies.compare.system_scores import SystemScores


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
    width = float(np.ptp(one.values))
    # Decimals that keep so many digits of the range; scores that are all alike keep four.
    decimals = 4 if width <= 0 else min(max(_DIGITS - 1 - math.floor(math.log10(width)), 2), 12)
    whole = np.rint(one.values * 10.0**decimals).astype(np.int64)
    columns = [whole[:, one.systems.index(system)].tolist() for system in systems]
    return {"name": one.metric, "higher": one.higher_is_better, "decimals": decimals, "values": columns}


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


#: Where the template is, and the scripts of this page beside the components.
_PACKAGE = "nlgauge.report.html"
_SCRIPTS = ("data", "scatter", "start")


def write_report(
    path: str | Path,
    comparison: SystemComparison,
    *,
    scores: Sequence[SystemScores],
    texts: ReportTexts | None = None,
    explanations: Sequence[PairExplanation] = (),
    tables: Sequence[Table] = (),
    options: ReportOptions | None = None,
) -> None:
    """Write the comparison as one HTML file that needs no network: to attach to a paper or a pull request.

    Args:
        path: Where the file goes; an existing one is replaced whole.
        comparison: What `compare_systems` found.
        scores: The scores it was made from, for the segments, the distributions and the scatter plot.
        texts: Outputs, references and sources; without them the segments have only their scores.
        explanations: Which words matched which, for as many segments as the options keep.
        tables: Of your own, such as runs with their budgets; they follow the metrics.
        options: Title, date, how many segments keep their explanations.
    """
    page = html_report(
        comparison, scores=scores, texts=texts, explanations=explanations, tables=tables, options=options
    )
    write_atomic(Path(path), page.encode("utf-8", "backslashreplace"))


def html_report(
    comparison: SystemComparison,
    *,
    scores: Sequence[SystemScores],
    texts: ReportTexts | None = None,
    explanations: Sequence[PairExplanation] = (),
    tables: Sequence[Table] = (),
    options: ReportOptions | None = None,
) -> str:
    """The page that `write_report` writes, as text."""
    options = options or ReportOptions()
    check_inputs(comparison, scores, texts, explanations)
    segments = set(most_differing(scores, {one.segment for one in explanations}, options.alignments))
    kept = [one for one in explanations if one.segment in segments]
    data = page_data(comparison, scores, texts, kept)
    style, script = joined_style(_PACKAGE), joined_script(_PACKAGE, _SCRIPTS)
    slots = {
        "policy": _policy(style, script),
        "style": Html(style),
        "script": Html(script),
        "data": Html(pack(data)),
        "explanations": Html(pack(page_explanations(kept, data))),
        "version": joined([__version__]),
        "further": joined([overview.further(tables)]),
        **_parts(comparison, scores, texts, options),
    }
    return filled(page_file(_PACKAGE, "template.html"), slots)


def _parts(
    comparison: SystemComparison, scores: Sequence[SystemScores], texts: ReportTexts | None, options: ReportOptions
) -> dict[str, Html]:
    """What of the page can be read without a script."""
    by_metric = {one.metric: one for one in scores}
    named = [(f"metric-{at}", found) for at, found in enumerate(comparison.metrics, 1)]
    differ = overview.disagreements(comparison)
    notes = [tag("p", note) for note in options.notes]
    date = None if options.date is None else tag("p", options.date, class_="date")
    return {
        "title": joined([options.title]),
        "facts": joined([overview.compared(comparison, texts), date, *notes]),
        "links": joined([tag("a", found.metric, href=f"#{name}") for name, found in named]),
        "verdicts": overview.verdicts(comparison),
        "overview": joined([overview.scores_side_by_side(comparison)]),
        "metrics": joined([_section(name, found, comparison, by_metric[found.metric]) for name, found in named]),
        "disagreements": Html("")
        if differ is None
        else joined([tag("h2", "Where rankings disagree", class_="small"), differ]),
        "settings": overview.settings_list(comparison),
        "signatures": overview.signatures(comparison),
    }


def _section(name: str, found: MetricComparison, comparison: SystemComparison, scores: SystemScores) -> Html:
    matrix = significance_matrix(found, comparison.settings, name=name)
    return tag(
        "section", tag("h2", found.metric, id=f"{name}-title"),
        tag("h3", "Ranking"), ranking(found, comparison.settings, name=name),
        None if matrix is None else tag("h3", "Significance"), matrix,
        tag("h3", "Distribution"), distributions(found, scores, name=name),
        id=name, aria_labelledby=f"{name}-title",
    )  # fmt: skip


def _policy(*texts: str) -> Html:
    """The policy that lets only this style sheet and this script run."""
    digests = (base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in texts)
    style, script = (f"'sha256-{digest}'" for digest in digests)
    return Html(f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'")
