"""The report as one HTML file that makes no requests.

The template has slots for the sections, and a content policy that allows one script and one style sheet by their
digests. A script inside a text cannot run, and nothing is loaded. Tables and figures need no script; the segments and
the scatter plot that a reader chooses are drawn by the script from packed data.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nlgauge._version import __version__
from nlgauge.core.short_signature import shorten_text
from nlgauge.io.numbers import format_count, format_level, format_number
from nlgauge.io.storage import write_atomic
from nlgauge.io.table import Cell, Table
from nlgauge.report.agreement import agreement_figure
from nlgauge.report.elements import (
    Html,
    export,
    filled,
    heads,
    hidden,
    joined,
    joined_script,
    joined_style,
    name_of,
    page_file,
    paragraph,
    scrolling,
    tag,
)
from nlgauge.report.figures import differences, distributions, ranking, significance_matrix
from nlgauge.report.inputs import (
    PairExplanation,
    ReportOptions,
    ReportTexts,
    check_inputs,
    differing_segments,
    pack,
    page_data,
    page_explanations,
)
from nlgauge.studies.compare.sentences import (
    agreement_on_winner,
    human_sentence,
    metric_decimals,
    metric_verdict,
    test_name,
    title_of,
)

if TYPE_CHECKING:
    from nlgauge.studies.compare.comparison import MetricComparison, SystemComparison
    from nlgauge.studies.compare.system_scores import SystemScores

#: Package of the template, and the scripts of this page in addition to the components.
_PACKAGE = "nlgauge.report"
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
        path: Output file; an existing one is replaced.
        comparison: Result of `compare_systems`.
        scores: Scores behind the comparison, for segments, distributions and the scatter plot.
        texts: Outputs, references and sources; without them segments have only scores.
        explanations: Word alignments, for as many segments as the options keep.
        tables: Further tables, such as runs with their budgets.
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
    """The page of `write_report` as text."""
    options = options or ReportOptions()
    check_inputs(comparison, scores, texts, explanations)
    segments = set(differing_segments(scores, options.alignments, among={pair.segment for pair in explanations}))
    shown = [pair for pair in explanations if pair.segment in segments]
    data = page_data(comparison, scores, texts, shown)
    style, script = joined_style(_PACKAGE), joined_script(_PACKAGE, _SCRIPTS)
    by_metric = {table.metric: table for table in scores}
    metrics = {f"metric-{number}": metric for number, metric in enumerate(comparison.metrics, 1)}
    sections = [_section(name, metric, comparison, by_metric[metric.metric]) for name, metric in metrics.items()]
    date = None if options.date is None else tag("p", options.date, class_="date")
    slots = {
        "policy": _policy(style, script),
        "style": Html(style),
        "script": Html(script),
        "data": Html(pack(data)),
        "explanations": Html(pack(page_explanations(shown, data))),
        "version": joined([__version__]),
        "title": joined([options.title]),
        "facts": joined([_facts(comparison, texts), date, *(tag("p", note) for note in options.notes)]),
        "links": joined([tag("a", title_of(metric), href=f"#{name}") for name, metric in metrics.items()]),
        "verdicts": _verdicts(comparison),
        "overview": _overview(comparison),
        "metrics": joined(sections),
        "further": _further(tables),
        "disagreements": _disagreements(comparison),
        "settings": _settings(comparison),
        "signatures": _signatures(comparison),
    }
    return filled(page_file(_PACKAGE, "template.html"), slots)


def _section(name: str, metric: MetricComparison, comparison: SystemComparison, scores: SystemScores) -> Html:
    matrix = significance_matrix(metric, comparison.settings, name=name)
    pairs = differences(metric, scores, name=name)
    curve = agreement_figure(metric, comparison.settings, name=name)
    return tag(
        "section", tag("h2", title_of(metric), id=f"{name}-title"),
        tag("h3", "Ranking"), ranking(metric, comparison.settings, name=name),
        None if matrix is None else tag("h3", "Significance"), matrix,
        None if curve is None else tag("h3", "Human agreement"), curve,
        None if pairs is None else tag("h3", "Paired differences"), pairs,
        tag("h3", "Distribution"), distributions(metric, scores, name=name),
        id=name, aria_labelledby=f"{name}-title",
    )  # fmt: skip


def _policy(*texts: str) -> Html:
    """Content policy that allows only this style sheet and this script."""
    digests = (base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in texts)
    style, script = (f"'sha256-{digest}'" for digest in digests)
    return Html(f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'")


def _facts(comparison: SystemComparison, texts: ReportTexts | None) -> Html:
    """Numbers of systems, segments and metrics in one line."""
    first = comparison.metrics[0]
    facts = [format_count(len(first.systems), "system"), format_count(first.n, "segment")]
    if first.documents is not None:
        facts.append(format_count(first.documents, "document"))
    facts.append(format_count(len(comparison.metrics), "metric"))
    if texts is not None and texts.references is not None:
        most = max(map(len, texts.references), default=0)
        facts.append(f"up to {most} references each" if most > 1 else "one reference each")
    return tag("p", " · ".join(facts), class_="facts")


def _verdicts(comparison: SystemComparison) -> Html:
    """The verdict of each metric, followed by its notes."""
    parts: list[Html] = []
    for metric in comparison.metrics:
        parts.append(paragraph(metric_verdict(metric, comparison.settings)))
        meaning = human_sentence(metric)
        if meaning is not None:
            parts.append(paragraph(meaning))
        if metric.notes:
            parts.append(tag("ul", *(tag("li", note) for note in metric.notes), class_="notes"))
    agreed = agreement_on_winner(comparison)
    return tag("div", *parts, None if agreed is None else paragraph(agreed), class_="verdicts")


def _overview(comparison: SystemComparison) -> Html:
    """Scores and ranks of all systems by all metrics; empty with one metric."""
    metrics = comparison.metrics
    if len(metrics) < 2:
        return Html("")
    head = [tag("th", "system", scope="col", class_="name")]
    for metric in metrics:
        arrow, better = ("↑", "higher is better") if metric.higher_is_better else ("↓", "lower is better")
        sign = tag("span", arrow, aria_hidden="true")
        head.append(tag("th", title_of(metric), " ", sign, hidden(better), scope="col", class_="num"))
    by_system = [{row.system: row for row in metric.systems} for metric in metrics]
    body, plain = [], []
    for system in by_system[0]:
        cells = [tag("th", name_of(system), scope="row", class_="name")]
        line: list[Cell] = [system]
        for metric, rows in zip(metrics, by_system, strict=True):
            row = rows[system]
            line += [row.score, row.rank]
            rank = tag("span", f"{row.rank}", class_="place", title="rank")
            score = format_number(row.score, metric_decimals(metric))
            cells.append(tag("td", score, " ", rank, class_="num first" if row.rank == 1 else "num"))
        body.append(tag("tr", *cells))
        plain.append(line)
    columns = ["system", *(name for metric in metrics for name in (metric.metric, f"{metric.metric} rank"))]
    table = Table(columns, plain, caption="Systems by all metrics")
    note = tag("p", "Small numbers are ranks; the best score of each metric is bold.", class_="note")
    shown = scrolling("overview", tag("tr", *head), body, label="Scores of all metrics")
    forms = {"LaTeX": comparison.to_latex(), "Markdown": comparison.to_markdown()}
    return joined([shown, note, export(table, name="overview", forms=forms)])


def _disagreements(comparison: SystemComparison) -> Html:
    """How far rankings differ; empty without two rankings."""
    if not comparison.disagreements:
        return Html("")
    columns = ["ranking", "and ranking", "pairs in another order", "other winner", "other top 3"]
    rows, plain = [], []
    for pair in comparison.disagreements:
        flags = ["yes" if flag else "no" for flag in (pair.different_winner, pair.different_top3)]
        share = "" if pair.share_of_pairs is None else f"{100 * pair.share_of_pairs:.1f} %"
        cells = [tag("td", pair.first), tag("td", pair.second), tag("td", share, class_="num")]
        rows.append(tag("tr", *cells, *(tag("td", flag) for flag in flags)))
        plain.append([pair.first, pair.second, pair.share_of_pairs, *flags])
    table = Table(columns, plain, caption="Disagreement between rankings")
    head = heads(zip((None, None, "num", None, None), columns, strict=True))
    shown = scrolling("facing", head, rows, label="Disagreement between rankings")
    title = tag("h2", "Where rankings disagree", class_="small")
    return joined([title, shown, export(table, name="disagreement")])


def _further(tables: Sequence[Table]) -> Html:
    """Further tables, such as runs with their budgets."""
    parts: list[Html] = []
    for index, table in enumerate(tables, 1):
        caption = table.caption or f"Table {index}"
        columns, *rows = (line.split("\t") for line in table.to_tsv().splitlines())
        body = [tag("tr", *(tag("td", tag("bdi", text)) for text in row)) for row in rows]
        shown = scrolling("facing", heads((None, text) for text in columns), body, label=caption)
        notes = [tag("p", note, class_="note") for note in table.notes]
        parts += [tag("h3", caption), shown, *notes, export(table, name=f"further-{index}")]
    title = tag("h2", "Further tables", id="further-title")
    return tag("section", title, *parts, id="further", aria_labelledby="further-title") if parts else Html("")


def _signatures(comparison: SystemComparison) -> Html:
    """Short signatures for a paper, and full ones that reproduce the numbers."""
    signatures = {metric.metric: metric.signature for metric in comparison.metrics}
    signatures["comparison"] = comparison.signature
    plain = [[name, shorten_text(signature), signature] for name, signature in signatures.items()]
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row", class_="name"),
            tag("td", tag("code", short or "none"), *((tag("br"), tag("code", full)) if full else ())),
        )
        for name, short, full in plain
    ]
    table = Table(["what", "short signature", "signature"], plain, caption="Signatures")
    return joined([scrolling("signatures", None, rows, label="Signatures"), export(table, name="signatures")])


def _settings(comparison: SystemComparison) -> Html:
    """Settings of the comparison as a list."""
    used = comparison.settings
    ties = {"half": "half a win for both", "second": "a win for the second system", "drop": "left out"}
    items = [
        f"Test of two systems: {test_name(used)}, two-sided; correction for the number of pairs: {used.correction}.",
        f"Draws for tests: {used.permutations:,}; smallest difference that counts: {used.smallest_difference:g}.",
        f"Intervals: {format_level(used.level)}; those of Bradley–Terry strengths from {used.resamples:,} resamples; "
        f"seed {used.seed}.",
        f"Bradley–Terry: ties count as {ties.get(used.ties, used.ties)}; "
        f"scores closer than {used.tie_tolerance:g} (relative) are ties.",
    ]
    return tag("ul", *(tag("li", item) for item in items), class_="settings")
