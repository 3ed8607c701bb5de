"""Ranked candidates as lines of text, JSON, TSV or Markdown.

text    the best candidate of each segment, a line each and nothing else, so that it can be piped
JSON    of each segment the best candidate, the order of all, and their utilities
TSV     a line per candidate, the best of a segment first
Markdown  the same with their texts, for people
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from nlgauge._version import __version__
from nlgauge.errors import InputError
from nlgauge.report.table import Cell, Marked, Table

if TYPE_CHECKING:
    from nlgauge.core.rank import Ranking


def check_lines(candidates: Sequence[Sequence[str]]) -> None:
    """Refuse candidates that would not be one line each."""
    for segment, group in enumerate(candidates):
        for at, text in enumerate(group):
            if "\n" in text:
                msg = (
                    f"segment {segment}, candidate {at}: there is a line end in it, and the text format has a line "
                    "per segment; use --format json"
                )
                raise InputError(msg)


def render_ranking(
    ranking: Ranking,
    *,
    format: Literal["text", "json", "tsv", "markdown"] = "text",  # noqa: A002 - as the flag is called
    systems: Sequence[str] | None = None,
    width: int = 4,
) -> str:
    """The ranking; `systems` names the candidates, where the same systems made those of every segment."""
    if format == "text":
        return "".join(f"{text}\n" for text in ranking.chosen)
    if format == "json":
        named = {} if systems is None else {"systems": list(systems)}
        record = {"nlgauge": __version__, **named, **ranking.to_dict()}
        return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    table = _readable_table(ranking, systems) if format == "markdown" else _table(ranking, systems)
    return table.write(format, width=width)


def _readable_table(ranking: Ranking, systems: Sequence[str] | None) -> Table:
    """The candidates with their texts; what all rows have in common is said once."""
    rows: list[list[Cell]] = []
    for segment, (order, utilities) in enumerate(zip(ranking.orders, ranking.utilities, strict=True)):
        for place, at in enumerate(order, start=1):
            value = float(utilities[at])
            utility = None if math.isnan(value) else Marked(value) if place == 1 else value
            named: list[Cell] = [] if systems is None else [systems[at]]
            rows.append([segment, place, at, *named, ranking.candidates[segment][at], utility])
    columns = ["segment", "rank", "candidate", *([] if systems is None else ["system"]), "text", "utility"]
    better = "higher" if ranking.higher_is_better else "lower"
    caption = f"{ranking.metric} against {ranking.against}: {better} is better, the best of a segment in bold"
    return Table(columns, rows, caption, [f"signature: {ranking.signature}"])


def _table(ranking: Ranking, systems: Sequence[str] | None) -> Table:
    better = "higher" if ranking.higher_is_better else "lower"
    names = ["metric", "better", "against", "segment", "rank", "candidate"]
    names += ([] if systems is None else ["system"]) + ["utility", "signature"]
    rows: list[list[Cell]] = []
    for segment, (order, utilities) in enumerate(zip(ranking.orders, ranking.utilities, strict=True)):
        for place, at in enumerate(order, start=1):
            value = float(utilities[at])
            rows.append(
                [
                    *(ranking.metric, better, ranking.against, segment, place, at),
                    *([] if systems is None else [systems[at]]),
                    *(None if math.isnan(value) else value, str(ranking.signature)),
                ]
            )
    return Table(names, rows)
