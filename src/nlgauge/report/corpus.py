"""Which words carry a score, as text, JSON, TSV, LaTeX or Markdown."""

from __future__ import annotations

import json

from nlgauge._version import __version__
from nlgauge.explain.corpus import CorpusSummary
from nlgauge.report.table import LINE, Cell, Table

__all__ = ["render_corpus"]


def render_corpus(found: CorpusSummary, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The summary as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **found.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    return _table(found).write(format, width=width, line=LINE)


def _table(found: CorpusSummary) -> Table:
    rows: list[list[Cell]] = []
    for title, groups in (("part of speech", found.parts_of_speech), ("match", found.matches)):
        rows += [[title, *one] for one in groups]
    notes = [
        f"texts: {found.texts}"
        + (f"; left out: {found.skipped} without annotation or contributions" * bool(found.skipped)),
        f"share: of the sizes of all contributions; low, high: {100 * found.level:g} % intervals, bootstrap of texts",
        "mean: contribution of a word, with its sign",
        f"annotator: {found.annotator}",
        f"signature: {found.signature}",
    ]
    columns = ["by", "group", "words", "of words", "share", "low", "high", "mean"]
    caption = f"{found.metric}: what words of the {found.side} contribute to {found.of} ({found.method})"
    return Table(columns, rows, caption=caption, notes=notes)
