"""Generate docs/citations.md, the BibTeX entries of all metrics.

python -m docs.make_citations            write the page
python -m docs.make_citations --check    exit with status 1 if it is not up to date

Metrics of one paper share an entry.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from docs.generated import write_or_check

from nlgauge.core.registry import built_in_metrics

PAGE = Path(__file__).parent / "citations.md"

HEAD = """\
# BibTeX of the metrics

`nlgauge show NAME` and `nlgauge score --citation` print these entries. How to report a score:
[citing](cite.md). This page is generated from the code by `python -m docs.make_citations`.
"""


def headings() -> dict[str, str]:
    """Group BibTeX entries by heading, the metrics of the paper."""
    by_entry: dict[str, list[str]] = {}
    for name, metric in sorted(built_in_metrics().items()):
        by_entry.setdefault(metric.citation.strip(), []).append(name)
    return {", ".join(names): entry for entry, names in by_entry.items()}


def page() -> str:
    """Write the page with all entries."""
    return "\n".join([HEAD, *(f"## {names}\n\n```bibtex\n{entry}\n```\n" for names, entry in headings().items())])


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it."""
    return write_or_check(arguments, {PAGE: page()}, "python -m docs.make_citations")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
