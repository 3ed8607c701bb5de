"""Generate the tables of options in docs/metrics.md and on the pages of metrics.

    python -m docs.make_options            rewrite the tables in place
    python -m docs.make_options --check    exit with status 1 if one is not up to date

A table is between `<!-- options: NAME -->` and `<!-- end -->`. NAME is a metric; several metrics with the same
options (`rouge1, rouge2`); a metric `beside` others, whose options are omitted; or `vectors`: the options of all
metrics of vectors, which the other tables omit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from docs.generated import TABLE_HEAD, option_row, write_or_check

from nlgauge.core.registry import built_in_metrics
from nlgauge.core.vector_metric import VectorMetric

DOCS = Path(__file__).parent
PAGES = [DOCS / "metrics.md", *sorted((DOCS / "metrics").glob("*.md"))]
BLOCK = re.compile(r"(<!-- options: ([^>]*) -->\n).*?(<!-- end -->)", re.DOTALL)


def rows_of(name: str) -> dict[str, str]:
    """Table rows by option, for a metric or for all metrics of vectors."""
    metric = VectorMetric if name == "vectors" else built_in_metrics()[name]
    return {name: option_row(option) for name, option in metric.options().items()}


def table(marker: str) -> str:
    """Generate the table of a marker."""
    names, _, bases = marker.partition(" beside ")
    first, *others = [rows_of(name) for name in names.split(", ")]
    if any(other != first for other in others):
        msg = f"{names} have different options"
        raise SystemExit(msg)
    listed = {} if marker == "vectors" else rows_of("vectors")
    for base in filter(None, bases.split(", ")):
        listed |= rows_of(base)
    lines = [line for option, line in first.items() if listed.get(option) != line]
    return "\n".join([*TABLE_HEAD, *lines, ""]) if lines else "No further options.\n"


def made(text: str) -> str:
    """Update all tables of a page."""
    return BLOCK.sub(lambda match: match[1] + table(match[2]) + match[3], text)


def main(arguments: Sequence[str]) -> int:
    """Rewrite or check the pages."""
    pages = {page: made(page.read_text(encoding="utf-8")) for page in PAGES}
    return write_or_check(arguments, pages, "python -m docs.make_options")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
