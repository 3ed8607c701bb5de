"""Parts that several metrics share, and what to cite for them: the entries of citations.bib."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def cite(key: str) -> str:
    """The BibTeX entry of this key."""
    return _entries()[key]


@cache
def _entries() -> dict[str, str]:
    text = (files("nlgauge.metrics.parts") / "citations.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in re.finditer(r"@\w+\{([^,]+),.*?^\}", text, re.DOTALL | re.MULTILINE)}
