"""Tables of options in docs/metrics.md and on the pages of metrics, made from the options themselves.

    python -m docs.make_options            rewrites the tables in place
    python -m docs.make_options --check    ends with 1 where one is not up to date

A table stands between `<!-- options: NAME -->` and `<!-- end -->`. NAME is a metric; several that take the same
(`rouge1, rouge2`); a metric `beside` one or several others, whose options are left out; or `vectors`: the options of
all metrics of vectors, which the other tables leave out.
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
    """Lines by option: of a metric, or of all metrics of vectors."""
    metric = VectorMetric if name == "vectors" else built_in_metrics()[name]
    return {option: option_row(about) for option, about in metric.options().items()}


def table(marker: str) -> str:
    """The table that a marker asks for."""
    names, _, bases = marker.partition(" beside ")
    first, *others = [rows_of(name) for name in names.split(", ")]
    if any(other != first for other in others):
        msg = f"{names} do not take the same options"
        raise SystemExit(msg)
    listed = {} if marker == "vectors" else rows_of("vectors")
    for base in filter(None, bases.split(", ")):
        listed |= rows_of(base)
    lines = [line for option, line in first.items() if listed.get(option) != line]
    return "\n".join([*TABLE_HEAD, *lines, ""]) if lines else "No further options.\n"


def made(text: str) -> str:
    """The page with all tables up to date."""
    return BLOCK.sub(lambda found: found[1] + table(found[2]) + found[3], text)


def main(arguments: Sequence[str]) -> int:
    """Rewrite the pages, or check them."""
    pages = {page: made(page.read_text(encoding="utf-8")) for page in PAGES}
    return write_or_check(arguments, pages, "python -m docs.make_options")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
