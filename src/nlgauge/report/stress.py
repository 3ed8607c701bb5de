"""A stress test, as text, JSON, TSV, LaTeX or Markdown: a row for each metric and perturbation."""

from __future__ import annotations

import json
from collections.abc import Iterator

from nlgauge._version import __version__
from nlgauge.report.table import LINE, Cell, Table
from nlgauge.stress.results import Fall, StressTest

__all__ = ["render_stress"]


def render_stress(test: StressTest, *, format: str = "text", width: int = 3) -> str:  # noqa: A002 - as users know it
    """The result as one string that ends with a newline."""
    if format == "json":
        return json.dumps({"nlgauge": __version__, **test.to_dict()}, ensure_ascii=False, indent=2) + "\n"
    rows = []
    for one in test.metrics:
        own = [] if one.paraphrase is None else [one.paraphrase]
        rows += [_row(one.metric, fall) for fall in (*own, *one.falls)]
    columns = [
        "metric",
        "perturbation",
        "meaning",
        "changed",
        "fall",
        "low",
        "high",
        "way",
        "below paraphrase",
        "lo",
        "hi",
    ]
    if not test.paraphrases:
        columns, rows = columns[:8], [row[:8] for row in rows]
    table = Table(columns, rows, "how far metrics fall", list(_notes(test)))
    return table.write(format, width=width, line=LINE)


def _row(metric: str, fall: Fall) -> list[Cell]:
    ends: list[Cell] = [None, None] if fall.fall is None else [fall.fall.low, fall.fall.high]
    below = fall.below_paraphrase
    shares: list[Cell] = [None, None, None] if below is None else [below.mean, below.low, below.high]
    meaning = "kept" if fall.keeps_meaning else "changed"
    return [metric, fall.perturbation, meaning, fall.changed, fall.mean, *ends, fall.way, *shares]


def _notes(test: StressTest) -> Iterator[str]:
    yield f"signature: {test.signature}"
    yield (
        f"changed: of {test.size} texts, scored against {test.against}; {test.unchanged} could not be changed by any "
        "perturbation"
    )
    yield f"fall: mean score before minus after, over the texts changed; low, high: {test.level:.0%} interval"
    yield "way: the fall as a share of that to an unrelated text (the next one): 0 not moved, 1 like another text"
    if test.paraphrases:
        yield "below paraphrase: share of perturbed texts that score below the paraphrase, which they all should"
        yield "  where the meaning is changed, and none where it is kept"
    for one in test.metrics:
        unrelated = "" if one.unrelated is None else f", unrelated texts {one.unrelated:.3f}"
        yield f"{one.metric}: {one.signature}; as they were {one.original:.3f}{unrelated}"
