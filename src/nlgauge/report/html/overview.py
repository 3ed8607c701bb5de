"""The top and the bottom of the page: findings, disagreements between metrics, and settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nlgauge.io.table import Cell, Table, counted, level_text, number
from nlgauge.report.html.elements import Html, export, heads, hidden, joined, name_of, paragraph, scrolling, tag
from nlgauge.studies.compare.tables import metric_decimals, metric_verdict, on_the_winner, test_name

if TYPE_CHECKING:
    from nlgauge.report.html.inputs import ReportTexts
    from nlgauge.studies.compare.comparison import SystemComparison


def compared(comparison: SystemComparison, texts: ReportTexts | None) -> Html:
    """One line that says what the page is about."""
    first = comparison.metrics[0]
    facts = [counted(len(first.systems), "system"), counted(first.n, "segment")]
    if first.documents is not None:
        facts.append(counted(first.documents, "document"))
    facts.append(counted(len(comparison.metrics), "metric"))
    if texts is not None and texts.references is not None:
        most = max(map(len, texts.references), default=0)
        facts.append(f"up to {most} references each" if most > 1 else "one reference each")
    return tag("p", " · ".join(facts), class_="facts")


def verdicts(comparison: SystemComparison) -> Html:
    """A paragraph per metric; notes of a metric below its paragraph."""
    parts: list[Html] = []
    for found in comparison.metrics:
        parts.append(paragraph(metric_verdict(found, comparison.settings)))
        if found.notes:
            parts.append(tag("ul", *(tag("li", note) for note in found.notes), class_="notes"))
    agreed = on_the_winner(comparison)
    return tag("div", *parts, None if agreed is None else paragraph(agreed), class_="verdicts")


def scores_side_by_side(comparison: SystemComparison) -> Html | None:
    """Scores and ranks of all systems under all metrics; None where one metric says it all."""
    if len(comparison.metrics) < 2:
        return None
    order = [row.system for row in comparison.metrics[0].systems]
    found_rows = [{row.system: row for row in found.systems} for found in comparison.metrics]
    head = [tag("th", "system", scope="col", class_="name")]
    for found in comparison.metrics:
        arrow = tag("span", "↑" if found.higher_is_better else "↓", aria_hidden="true")
        word = "higher is better" if found.higher_is_better else "lower is better"
        head.append(tag("th", found.metric, " ", arrow, hidden(word), scope="col", class_="num"))
    body, plain = [], []
    for system in order:
        cells = [tag("th", name_of(system), scope="row", class_="name")]
        line: list[Cell] = [system]
        for found, rows in zip(comparison.metrics, found_rows, strict=True):
            row = rows[system]
            line += [row.score, row.rank]
            rank = tag("span", f"{row.rank}", class_="place", title="rank")
            shown = number(row.score, metric_decimals(found))
            cells.append(tag("td", shown, " ", rank, class_="num first" if row.rank == 1 else "num"))
        body.append(tag("tr", *cells))
        plain.append(line)
    columns = ["system", *(name for found in comparison.metrics for name in (found.metric, f"{found.metric} rank"))]
    behind = Table(columns, plain, caption="Systems under all metrics")
    note = tag("p", "Small numbers are ranks; the best score of each metric is bold.", class_="note")
    shown = scrolling("overview", [tag("tr", *head)], body, label="Scores of all metrics")
    return joined([shown, note, export(behind, name="overview")])


def disagreements(comparison: SystemComparison) -> Html | None:
    """How far rankings differ; None where there are none to compare."""
    if not comparison.disagreements:
        return None
    head = ["ranking", "and ranking", "pairs in another order", "other winner", "other top 3"]
    rows, plain = [], []
    for one in comparison.disagreements:
        yes = ["yes" if flag else "no" for flag in (one.different_winner, one.different_top3)]
        share = "" if one.share_of_pairs is None else f"{100 * one.share_of_pairs:.1f} %"
        cells = [tag("td", one.first), tag("td", one.second), tag("td", share, class_="num")]
        rows.append(tag("tr", *cells, *(tag("td", word) for word in yes)))
        plain.append([one.first, one.second, one.share_of_pairs, *yes])
    titles = heads(("num" if at == 2 else None, text) for at, text in enumerate(head))
    behind = Table(head, plain, caption="Disagreement between rankings")
    shown = scrolling("facing", [titles], rows, label="Disagreement between rankings")
    return joined([shown, export(behind, name="disagreement")])


def further(tables: Sequence[Table]) -> Html | None:
    """Tables of the caller's own, such as runs with their budgets; None where there are none."""
    parts: list[Html] = []
    for at, table in enumerate(tables, 1):
        caption = table.caption or f"Table {at}"
        grid = [line.split("\t") for line in table.to_tsv().splitlines()]
        titles = heads((None, text) for text in grid[0])
        body = [tag("tr", *(tag("td", tag("bdi", text)) for text in row)) for row in grid[1:]]
        shown = scrolling("facing", [titles], body, label=caption)
        notes = [tag("p", note, class_="note") for note in table.notes]
        parts += [tag("h3", caption), shown, *notes, export(table, name=f"further-{at}")]
    if not parts:
        return None
    title = tag("h2", "Further tables", id="further-title")
    return tag("section", title, *parts, id="further", aria_labelledby="further-title")


def signatures(comparison: SystemComparison) -> Html:
    """Signatures that make these numbers again."""
    plain = [[found.metric, found.signature] for found in comparison.metrics]
    plain.append(["comparison", comparison.signature])
    rows = [
        tag("tr", tag("th", name, scope="row", class_="name"), tag("td", tag("code", signature or "none")))
        for name, signature in plain
    ]
    behind = Table(["what", "signature"], plain, caption="Signatures")
    return joined([scrolling("signatures", (), rows, label="Signatures"), export(behind, name="signatures")])


def settings_list(comparison: SystemComparison) -> Html:
    """How the comparison was made, in words."""
    used = comparison.settings
    ties = {"half": "half a win for both", "second": "a win for the second system", "drop": "left out"}
    items = [
        f"Test of two systems: {test_name(used)}, two-sided; correction for the number of pairs: {used.correction}.",
        f"Draws for tests: {used.permutations:,}; a difference counts from {used.smallest_difference:g} upwards.",
        f"Intervals: {level_text(used.level)}; those of Bradley–Terry strengths from {used.resamples:,} resamples; "
        f"seed {used.seed}.",
        f"Bradley–Terry: ties count as {ties.get(used.ties, used.ties)}; "
        f"scores closer than {used.tie_tolerance:g} (relative) are ties.",
    ]
    return tag("ul", *(tag("li", item) for item in items), class_="settings")
