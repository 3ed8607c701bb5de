"""How well error scores find marked words, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from nlgauge._version import __version__
from nlgauge.explain.evaluate import ErrorAgreement
from nlgauge.report.table import Cell, Table

__all__ = ["render_error_agreement"]


def render_error_agreement(
    found: Sequence[tuple[str, str, ErrorAgreement]],
    *,
    format: Literal["text", "json", "tsv", "latex", "markdown"] = "text",  # noqa: A002 - as the flag is called
    width: int = 3,
) -> str:
    """Rows of language pair, what gave the scores, and what they agree with."""
    if format == "json":
        rows = [{"langpair": pair or None, "scores": name, **one.to_dict()} for pair, name, one in found]
        return json.dumps({"nlgauge": __version__, "results": rows}, indent=2, ensure_ascii=False) + "\n"
    paired = any(pair for pair, _, _ in found)
    columns = [*(["langpair"] if paired else []), "scores", "AUC", "AP", "recall@K", "texts", "skipped"]
    cells: list[list[Cell]] = [
        [*([pair] if paired else []), name, *one.means.values(), len(one.auc), one.skipped]
        for pair, name, one in found
    ]
    notes = ["means over texts with errors and other words; K is the number of a text's errors"]
    return Table(columns, cells, notes=notes).write(format, width=width)
