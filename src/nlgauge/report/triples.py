"""Adversarial triples, as text, JSON, TSV, LaTeX or Markdown."""

from __future__ import annotations

import json

from nlgauge._version import __version__
from nlgauge.report.table import LINE, Cell, Table
from nlgauge.stress.wins import TripleStudy

__all__ = ["render_triples"]


def render_triples(study: TripleStudy, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The result as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **study.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    rows: list[list[Cell]] = []
    for one in study.metrics:
        found = study.interval(one)
        ends: list[Cell] = [None, None] if found is None else [found.low, found.high]
        means: list[Cell] = [float(one.paraphrase.mean()), float(one.lookalike.mean())]
        rows.append([one.metric, one.share, *ends, one.ties, *means, one.effect])
    with_b, with_c = study.triples.overlaps.mean(axis=1)
    skipped = f"; {study.triples.skipped} texts left out, no triple could be made of them" * bool(
        study.triples.skipped
    )
    notes = [
        f"signature: {study.signature}",
        f"{len(study.triples)} triples; overlap of A with paraphrases B {with_b:.3f}, with lookalikes C {with_c:.3f}"
        + skipped,
        f"B wins: share of triples with m(A, B) above m(A, C); low, high: {study.level:.0%} interval",
        "effect: mean of m(A, B) - m(A, C) in deviations of the metric; below 0 it prefers lookalikes",
        *(f"{one.metric}: {one.signature}" for one in study.metrics if one.signature),
    ]
    columns = ["metric", "B wins", "low", "high", "ties", "m(A,B)", "m(A,C)", "effect"]
    table = Table(columns, rows, f"adversarial triples: {study.triples.name}", notes)
    return table.write(format, width=width, line=LINE)
