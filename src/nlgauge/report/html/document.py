"""The report as one file: parts put into the template, with a policy that lets only the page's own script run.

The policy names script and style sheet by their digests, so a script that came in with a text cannot run, and nothing
is loaded from anywhere. Tables and figures are in the file as HTML and can be read without a script; what a reader
chooses (segments, scatter plot) the script makes from the packed data.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nlgauge._version import __version__
from nlgauge.files.atomic import write_atomic
from nlgauge.report.html import overview
from nlgauge.report.html.assets import filled, joined_script, joined_style, page_file
from nlgauge.report.html.distribution import distributions
from nlgauge.report.html.elements import Html, joined, tag
from nlgauge.report.html.inputs import PairExplanation, ReportOptions, ReportTexts, check_inputs, most_differing
from nlgauge.report.html.matrix import significance_matrix
from nlgauge.report.html.payload import pack, page_data, page_explanations
from nlgauge.report.html.ranking import ranking
from nlgauge.report.table import Table

if TYPE_CHECKING:
    from nlgauge.compare import MetricComparison, SystemComparison, SystemScores

__all__ = ["html_report", "write_report"]

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


def _policy(style: str, script: str) -> Html:
    return Html(
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
