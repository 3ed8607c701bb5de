"""The top and the bottom of the page: findings, disagreements between metrics, and settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nlgauge.io.table import Cell, Table, counted, level_text, number
from nlgauge.report.html.elements import (
    Html,
    agreement_on_the_winner,
    export,
    hidden,
    joined,
    name_of,
    scrolling,
    tag,
    verdict,
)
from nlgauge.studies.compare.sentences import metric_decimals, test_name

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
        parts.append(verdict(found, comparison.settings))
        if found.notes:
            parts.append(tag("ul", *(tag("li", note) for note in found.notes), class_="notes"))
    agreed = agreement_on_the_winner(comparison)
    return tag("div", *parts, agreed, class_="verdicts")


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
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="overview")
    columns = ["system", *(name for found in comparison.metrics for name in (found.metric, f"{found.metric} rank"))]
    behind = Table(columns, plain, caption="Systems under all metrics")
    note = tag("p", "Small numbers are ranks; the best score of each metric is bold.", class_="note")
    return joined([scrolling(table, label="Scores of all metrics"), note, export(behind, name="overview")])


def disagreements(comparison: SystemComparison) -> Html | None:
    """How far rankings differ; None where there are none to compare."""
    if not comparison.disagreements:
        return None
    head = ["ranking", "and ranking", "pairs in another order", "other winner", "other top 3"]
    rows, plain = [], []
    for one in comparison.disagreements:
        yes = ["yes" if flag else "no" for flag in (one.different_winner, one.different_top3)]
        cells = [
            tag("td", one.first),
            tag("td", one.second),
            tag("td", _share(one.share_of_pairs), class_="num"),
        ]
        rows.append(tag("tr", *cells, *(tag("td", word) for word in yes)))
        plain.append([one.first, one.second, one.share_of_pairs, *yes])
    heads = [tag("th", text, scope="col", class_="num" if at == 2 else None) for at, text in enumerate(head)]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="facing")
    behind = Table(head, plain, caption="Disagreement between rankings")
    return joined([scrolling(table, label="Disagreement between rankings"), export(behind, name="disagreement")])


def further(tables: Sequence[Table]) -> Html | None:
    """Tables of the caller's own, such as runs with their budgets; None where there are none."""
    parts: list[Html] = []
    for at, table in enumerate(tables, 1):
        caption = table.caption or f"Table {at}"
        grid = [line.split("\t") for line in table.to_tsv().splitlines()]
        head = tag("tr", *(tag("th", text, scope="col") for text in grid[0]))
        body = [tag("tr", *(tag("td", tag("bdi", text)) for text in row)) for row in grid[1:]]
        shown = tag("table", tag("thead", head), tag("tbody", *body), class_="facing")
        notes = [tag("p", note, class_="note") for note in table.notes]
        parts += [tag("h3", caption), scrolling(shown, label=caption), *notes, export(table, name=f"further-{at}")]
    if not parts:
        return None
    title = tag("h2", "Further tables", id="further-title")
    return tag("section", title, *parts, id="further", aria_labelledby="further-title")


def signatures(comparison: SystemComparison) -> Html:
    """Signatures that make these numbers again."""
    rows = [
        tag(
            "tr",
            tag("th", found.metric, scope="row", class_="name"),
            tag("td", tag("code", found.signature or "none")),
        )
        for found in comparison.metrics
    ]
    rows.append(
        tag("tr", tag("th", "comparison", scope="row", class_="name"), tag("td", tag("code", comparison.signature)))
    )
    table = tag("table", tag("tbody", *rows), class_="signatures")
    plain = [[found.metric, found.signature] for found in comparison.metrics]
    behind = Table(["what", "signature"], [*plain, ["comparison", comparison.signature]], caption="Signatures")
    return joined([scrolling(table, label="Signatures"), export(behind, name="signatures")])


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


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
