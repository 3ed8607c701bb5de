"""Parts that several metrics share, and their citations (citations.bib)."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def cite(key: str) -> str:
    """The BibTeX entry with this key."""
    return _read_entries()[key]


@cache
def _read_entries() -> dict[str, str]:
    text = (files("nlgauge.metrics.parts") / "citations.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in re.finditer(r"@\w+\{([^,]+),.*?^\}", text, re.DOTALL | re.MULTILINE)}
