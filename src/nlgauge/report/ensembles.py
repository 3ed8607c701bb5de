"""A search for ensembles, as text, JSON, TSV, LaTeX or Markdown."""

from __future__ import annotations

import json

from nlgauge._version import __version__
from nlgauge.ensembles.search import EnsembleSearch
from nlgauge.report.table import LINE, Cell, Table

__all__ = ["render_search"]


def render_search(found: EnsembleSearch, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The result as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **found.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    rows: list[list[Cell]] = [
        [" + ".join(one.members), one.correlation, 100 * one.gain, 100 * one.held_out_gain, one.chosen]
        for one in found.pairs
    ]
    rows += [[name, value, None, None, None] for name, value in zip(found.metrics, found.singles, strict=True)]
    low, high = found.held_out_range()
    notes = [
        f"{found.data}: {found.rows} rows, {', '.join(found.langpairs)}; Pearson with people, averaged over these",
        "gain %: over the better member, all rows; held out: on halves whose other half gave the norms",
        f"chosen: in how many of {len(found.choices)} splits (seed {found.seed}) it was the best of the first half",
        f"best pair over best single metric, both chosen on one half: {100 * found.search_gain:+.1f} % there, "
        f"{100 * found.held_out_gain:+.1f} % on the other (95 % of splits: {100 * low:+.1f} to {100 * high:+.1f})",
    ]
    table = Table(["metrics", "correlation", "gain %", "held out %", "chosen"], rows, "ensembles of two", notes)
    return table.write(format, width=width, line=LINE)
