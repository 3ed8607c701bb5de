"""Metrics next to metrics and human scores as one HTML file: figures, tables to copy, signatures.

The page has no script. Its content policy allows its style sheet by digest, and pictures that are part of the file.
"""

from __future__ import annotations

import base64
import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from nlgauge._version import __version__
from nlgauge.io.numbers import format_count, format_number
from nlgauge.io.storage import write_atomic
from nlgauge.io.table import Marked, Probability, Table
from nlgauge.report.elements import Html, export, heads, joined, joined_style, scrolling, tag

if TYPE_CHECKING:
    from nlgauge.studies.meta.between import MetricRelations

_PACKAGE = "nlgauge.report"
_PICTURES = """\
main { padding-top: 1rem; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; background: #fff; }"""
_DPI = 120

#: Figures, with the heading of their section and what a screen reader says.
_FIGURES = {
    "matrix": ("Correlations", "Correlation matrices; the tables have the same numbers."),
    "distribution": ("Good and bad outputs", "Histograms of the scores of good and of bad outputs, by metric."),
    "scatter": ("Scores against each other", "Scatter plots of pairs of scores."),
}


def write_relations(path: str | Path, result: MetricRelations, *, title: str = "Metrics and human scores") -> None:
    """Write the result as one HTML file that needs no network; an existing file is replaced."""
    write_atomic(Path(path), relations_page(result, title=title).encode("utf-8", "backslashreplace"))


def relations_page(result: MetricRelations, *, title: str = "Metrics and human scores") -> str:
    """The page of `write_relations` as text."""
    style = f"{joined_style(_PACKAGE)}\n{_PICTURES}\n"
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    *tables, last = result.tables()
    notes = list(last.notes)
    tables.append(Table(last.columns, last.rows, last.caption))
    matrices, rest = tables[: len(result.matrices)], tables[len(result.matrices) :]
    distribution = rest[:1] if result.separations else []
    groups = {"matrix": matrices, "distribution": distribution, "scatter": rest[len(distribution) :]}
    sections = [_section(result, show, tables) for show, tables in groups.items() if tables]
    points = sum(len(part.systems) for part in result.points)
    facts = [
        result.data,
        format_count(len(result.names) - 1, "metric"),
        format_count(len(result.points), "language pair"),
        format_count(points, result.unit),
    ]
    head = joined(
        [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="generator", content=f"nlgauge {__version__}"),
            tag("title", title),
            tag("style", Html(style)),
        ]
    )
    body = tag(
        "main",
        tag("h1", title),
        tag("p", " · ".join(facts), class_="facts"),
        *sections,
        tag("section", tag("h2", "Signatures and notes"), *(tag("p", note, class_="note") for note in notes)),
    )
    foot = tag("footer", tag("p", f"Created by nlgauge {__version__}. This file loads nothing from the network."))
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), tag('body', body, foot), lang='en')}\n"


def _section(result: MetricRelations, show: str, tables: list[Table]) -> Html:
    title, description = _FIGURES[show]
    shown = [_table(table, f"{show}-{number}") for number, table in enumerate(tables, 1)]
    return tag("section", tag("h2", title), _picture(result, show, description), *shown)


def _picture(result: MetricRelations, show: str, description: str) -> Html:
    buffer = io.BytesIO()
    result.figure(show).savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return tag("figure", tag("img", src=f"data:image/png;base64,{data}", alt=description))


def _table(table: Table, name: str) -> Html:
    rows = []
    for row in table.rows:
        cells = [cell.value if isinstance(cell, Marked | Probability) else cell for cell in row]
        shown = [
            tag("td", format_number(cell, 3), class_="num") if isinstance(cell, float)
            else tag("td", tag("bdi", "" if cell is None else str(cell)))
            for cell in cells
        ]  # fmt: skip
        rows.append(tag("tr", *shown))
    head = heads((None, column) for column in table.columns)
    grid = scrolling("facing", head, rows, label=table.caption or name)
    notes = [tag("p", note, class_="note") for note in table.notes]
    return joined([tag("h3", table.caption or ""), grid, *notes, export(table, name=name, decimals=3)])
