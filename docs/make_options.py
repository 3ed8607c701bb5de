"""Generate docs/options.md, the reference page of the options of metrics.

python -m docs.make_options            write the page
python -m docs.make_options --check    exit with status 1 if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from docs.generated import TABLE_HEAD, option_row, write_or_check

from nlgauge.core.registry import built_in_metrics
from nlgauge.core.vector_metric import VectorMetric

PAGE = Path(__file__).parent / "options.md"

VECTORS = "All metrics of vectors"

HEAD = f"""\
# Options of the metrics

Options follow the name of a metric (`-m bertscore:layer=4,idf=refs`), or are keywords in Python (`layer=4`).
`nlgauge show NAME` prints the same. What the metrics compute: [metrics](metrics.md). This page is generated from
the code by `python -m docs.make_options`.

## {VECTORS}

`prefix_space` is in the signature only if the model has a byte-level BPE ([D25](deviations.md#bertscore)).
"""


def option_rows(metric: type) -> dict[str, str]:
    """Format the options of a metric as rows of a table."""
    return {name: option_row(declared) for name, declared in metric.options().items()}


def groups() -> dict[str, dict[str, str]]:
    """Group metrics with the same options under a heading, without the options of all metrics of vectors."""
    common = option_rows(VectorMetric)
    headings: dict[tuple[str, ...], list[str]] = {}
    tables: dict[tuple[str, ...], dict[str, str]] = {}
    for name, metric in sorted(built_in_metrics().items()):
        rows = {option: row for option, row in option_rows(metric).items() if common.get(option) != row}
        key = (str(issubclass(metric, VectorMetric)), *rows.values())
        headings.setdefault(key, []).append(name)
        tables[key] = rows
    return {", ".join(names): tables[key] for key, names in headings.items()}


def page() -> str:
    """Write the page with all tables."""
    parts = [HEAD, "\n".join([*TABLE_HEAD, *option_rows(VectorMetric).values()]), ""]
    for heading, rows in groups().items():
        parts += [f"## {heading}", ""]
        parts += ["\n".join([*TABLE_HEAD, *rows.values()]), ""] if rows else ["No options of its own.", ""]
        if issubclass(built_in_metrics()[heading.partition(",")[0]], VectorMetric):
            parts += ["Also: [options of all metrics of vectors](#all-metrics-of-vectors).", ""]
    return "\n".join(parts).rstrip() + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it."""
    return write_or_check(arguments, {PAGE: page()}, "python -m docs.make_options")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
