"""Update the generated blocks on pages of metrics (docs/metrics/*.md).

    python -m docs.make_metric_pages [NAME ...]       run the example of each page (or of the named ones)

A block is between a marker and `<!-- end -->`:

    <!-- about: NAME, ... -->       classes of metrics, their components, and which way is better
    <!-- output -->                 output of the page's Python example
    <!-- signature -->              the signatures of its `score`, or `scores`
    <!-- deviations: D5.1 to D5.3, D19 -->    links to rows of docs/deviations.md
    <!-- cite: NAME, ... -->        links to the entries of docs/citations.md
    <!-- index -->                  docs/metrics.md: all metrics with their pages

Options are in docs/options.md (`python -m docs.make_options`), BibTeX is in docs/citations.md
(`python -m docs.make_citations`). `python -m docs.make_figures` draws the figures.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.make_citations import headings

from nlgauge.core.registry import built_in_metrics
from nlgauge.core.signature import Signature
from nlgauge.report.metrics import describe_metric

DOCS = Path(__file__).resolve().parent
PAGES = DOCS / "metrics"
INDEX = DOCS / "metrics.md"
DEVIATIONS = DOCS / "deviations.md"

BLOCK = re.compile(
    r"(<!-- (about|output|signature|deviations|cite|index)(?:: ([^>]*))? -->\n)(.*?)(<!-- end -->)", re.DOTALL
)
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"D\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Run:
    """Output of a page's example, and the signatures of its scores."""

    printed: str
    signatures: Sequence[Signature]

    @classmethod
    def of(cls, page: str) -> Run:
        """Run the example of a page."""
        (code,) = CODE.findall(page)
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        return cls(printed.getvalue(), [score.signature for score in names.get("scores") or [names["score"]]])


def deviation_sections() -> dict[str, str]:
    """Find the section of each row of docs/deviations.md."""
    sections, section = {}, ""
    for line in DEVIATIONS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        number = line.strip("| ").partition(" |")[0]
        if line.startswith("|") and NUMBER.fullmatch(number):
            sections[number] = section
    return sections


def deviations(marker: str) -> str:
    """Link to the rows of a marker; a number without a row is an error."""
    sections = deviation_sections()
    by_section: dict[str, list[str]] = {}
    for part in marker.split(", "):
        for number in part.split(" to "):
            if number not in sections:
                msg = f"docs/deviations.md does not have row {number!r}"
                raise SystemExit(msg)
        by_section.setdefault(sections[part.partition(" to ")[0]], []).append(part)
    links = [f"[{section}](../deviations.md#{anchor(section)})" for section in by_section]
    rows = [f"{', '.join(parts)} of {link}" for parts, link in zip(by_section.values(), links, strict=True)]
    word = "Row" if NUMBER.fullmatch(marker) else "Rows"
    return f"{word} {' and '.join(rows)}.\n"


def about(names: str) -> str:
    """Generate a table of metrics."""
    lines = ["| metric | class | components (main first) | better |", "|---|---|---|---|"]
    for name in names.split(", "):
        metric = built_in_metrics()[name]
        description = describe_metric(metric)
        components = [
            description.main,
            *(component for component in description.components if component != description.main),
        ]
        shown = [
            f"`{component}`" + " (a distance)" * (component in description.distances) for component in components
        ]
        way = description.better
        lines.append(f"| `{name}` | `nlgauge.metrics.{metric.__name__}` | {', '.join(shown)} | {way} |")
    return "\n".join([*lines, ""])


def output(run: Run) -> str:
    """Format the printed output."""
    return f"```text\n{run.printed}```\n"


def signature(run: Run) -> str:
    """Show the signatures."""
    shown = "".join(f"{line}\n" for line in run.signatures)
    return f"```text\n{shown}```\n"


def cite(names: str) -> str:
    """Link to the entries of docs/citations.md, each once."""
    cited = [heading for heading in headings() if set(heading.split(", ")) & set(names.split(", "))]
    links = [f"[{heading}](../citations.md#{anchor(heading)})" for heading in cited]
    return f"BibTeX: {'; '.join(links)}.\n"


def index() -> str:
    """Table of all metrics in the order of the table of contents."""
    lines = ["| metric | better | what it computes |", "|---|---|---|"]
    for page in pages_in_order():
        for name in metrics_of(page.read_text(encoding="utf-8")):
            metric = describe_metric(built_in_metrics()[name])
            lines.append(f"| [`{name}`](metrics/{page.name}) | {metric.better} | {metric.what} |")
    return "\n".join([*lines, ""])


def pages_in_order() -> list[Path]:
    """Pages in the order of the table of contents in docs/metrics.md."""
    return [DOCS / f"{name}.md" for name in re.findall(r"^(metrics/[\w-]+)$", INDEX.read_text("utf-8"), re.M)]


def metrics_of(page: str) -> list[str]:
    """Metrics described on a page."""
    return [name for marker in re.findall(r"<!-- about: ([^>]*) -->", page) for name in marker.split(", ")]


def made(page: str, run: Run | None) -> str:
    """Update all blocks of a page; blocks with results of a run stay as they are without one."""

    def block(match: re.Match[str]) -> str:
        start, kind, marker, old, end = match.groups()
        if kind in ("output", "signature"):
            new = old if run is None else {"output": output, "signature": signature}[kind](run)
        elif kind == "index":
            new = index()
        else:
            new = {"about": about, "deviations": deviations, "cite": cite}[kind](marker)
        return f"{start}{new}{end}"

    return BLOCK.sub(block, page)


def anchor(title: str) -> str:
    """Build the anchor of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def main(names: Iterable[str]) -> int:
    """Rewrite the pages in place."""
    selected = set(names)
    unknown = selected - {page.stem for page in pages_in_order()}
    if unknown:
        known = ", ".join(page.stem for page in pages_in_order())
        print(f"unknown pages: {', '.join(sorted(unknown))}. Pages: {known}", file=sys.stderr)
        return 2
    for page in pages_in_order():
        if not selected or page.stem in selected:
            text = page.read_text(encoding="utf-8")
            page.write_text(made(text, Run.of(text)), encoding="utf-8")
            print(f"updated {page.relative_to(DOCS.parent)}", file=sys.stderr)
    INDEX.write_text(made(INDEX.read_text(encoding="utf-8"), None), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
