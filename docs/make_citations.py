"""Writes what to cite for each metric into docs/cite.md, from the metrics themselves.

    python docs/make_citations.py

Between `<!-- citations -->` and `<!-- end -->` everything is made here. Metrics of one paper share an entry.
"""

from __future__ import annotations

import re
from pathlib import Path

from nlgauge.core.registry import built_in_metrics

PAGE = Path(__file__).parent / "cite.md"

_PART = re.compile(r"(<!-- citations -->\n).*?(<!-- end -->)", re.DOTALL)


def citations() -> str:
    """The metrics of each paper, and its BibTeX."""
    by_entry: dict[str, list[str]] = {}
    for name, metric in sorted(built_in_metrics().items()):
        by_entry.setdefault(metric.citation.strip(), []).append(name)
    named = {", ".join(f"`{name}`" for name in names): entry for entry, names in by_entry.items()}
    return "\n".join(f"{names}:\n\n```bibtex\n{entry}\n```\n" for names, entry in named.items())


def with_citations(page: str) -> str:
    """The page with today's entries."""
    return _PART.sub(lambda found: f"{found[1]}\n{citations()}\n{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_citations(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
