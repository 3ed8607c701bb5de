"""Write the citations of all metrics into docs/cite.md.

    python docs/make_citations.py

The text between `<!-- citations -->` and `<!-- end -->` is generated. Metrics of one paper share an entry.
"""

from __future__ import annotations

import re
from pathlib import Path

from nlgauge.core.registry import built_in_metrics

PAGE = Path(__file__).parent / "cite.md"

_PART = re.compile(r"(<!-- citations -->\n).*?(<!-- end -->)", re.DOTALL)


def format_citations() -> str:
    """List the metrics of each paper with its BibTeX."""
    by_entry: dict[str, list[str]] = {}
    for name, metric in sorted(built_in_metrics().items()):
        by_entry.setdefault(metric.citation.strip(), []).append(name)
    named = {", ".join(f"`{name}`" for name in names): entry for entry, names in by_entry.items()}
    return "\n".join(f"{names}:\n\n```bibtex\n{entry}\n```\n" for names, entry in named.items())


def update_page(page: str) -> str:
    """Update the entries of the page."""
    return _PART.sub(lambda match: f"{match[1]}\n{format_citations()}\n{match[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(update_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
