"""What pages of metrics (docs/metrics/*.md) have from code, runs and other pages, made again.

    python -m docs.make_metric_pages [NAME ...]       runs the example of each page (or of those named)

A block stands between a marker and `<!-- end -->`:

    <!-- about: NAME, ... -->       classes of metrics, their components, and which way is better
    <!-- output -->                 what the page's one Python example prints
    <!-- signature -->              the signatures of its `score`, or `scores`
    <!-- deviations: D5.1 to D5.3, D19 -->    links to rows of docs/deviations.md
    <!-- cite: NAME, ... -->        links to the entries of docs/citations.md
    <!-- index -->                  docs/metrics.md: all metrics with their pages

Options are in docs/options.md (`python -m docs.make_options`), BibTeX in docs/citations.md (`docs.make_citations`).
Pictures are made by `python -m docs.make_figures`.
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
    """What the example of a page printed, and the signatures of its scores."""

    printed: str
    signatures: Sequence[Signature]

    @classmethod
    def of(cls, page: str) -> Run:
        """Run it."""
        (code,) = CODE.findall(page)
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        return cls(printed.getvalue(), [score.signature for score in names.get("scores") or [names["score"]]])


def deviation_sections() -> dict[str, str]:
    """The section of each row of docs/deviations.md, by number."""
    sections, section = {}, ""
    for line in DEVIATIONS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        number = line.strip("| ").partition(" |")[0]
        if line.startswith("|") and NUMBER.fullmatch(number):
            sections[number] = section
    return sections


def deviations(marker: str) -> str:
    """Links to the rows that a marker names; a number without a row is an error."""
    sections = deviation_sections()
    by_section: dict[str, list[str]] = {}
    for part in marker.split(", "):
        for number in part.split(" to "):
            if number not in sections:
                msg = f"docs/deviations.md has no row {number!r}"
                raise SystemExit(msg)
        by_section.setdefault(sections[part.partition(" to ")[0]], []).append(part)
    links = [f"[{section}](../deviations.md#{anchor(section)})" for section in by_section]
    rows = [f"{', '.join(parts)} of {link}" for parts, link in zip(by_section.values(), links, strict=True)]
    return f"Rows {' and '.join(rows)}.\n"


def about(names: str) -> str:
    """A table of metrics."""
    lines = ["| metric | class | components (main first) | better |", "|---|---|---|---|"]
    for name in names.split(", "):
        metric = built_in_metrics()[name]
        told = describe_metric(metric)
        components = [told.main, *(one for one in told.components if one != told.main)]
        shown = [f"`{one}`" + " (a distance)" * (one in told.distances) for one in components]
        way = told.better
        lines.append(f"| `{name}` | `nlgauge.metrics.{metric.__name__}` | {', '.join(shown)} | {way} |")
    return "\n".join([*lines, ""])


def output(run: Run) -> str:
    """What was printed."""
    return f"```text\n{run.printed}```\n"


def signature(run: Run) -> str:
    """Show the signatures."""
    shown = "".join(f"{one}\n" for one in run.signatures)
    return f"```text\n{shown}```\n"


def cite(names: str) -> str:
    """Links to the entries of docs/citations.md, each once."""
    cited = [heading for heading in headings() if set(heading.split(", ")) & set(names.split(", "))]
    links = [f"[{heading}](../citations.md#{anchor(heading)})" for heading in cited]
    return f"BibTeX: {'; '.join(links)}.\n"


def index() -> str:
    """All metrics, in the order of the pages in the table of contents."""
    lines = ["| metric | better | what it computes |", "|---|---|---|"]
    for page in pages_in_order():
        for name in metrics_of(page.read_text(encoding="utf-8")):
            metric = describe_metric(built_in_metrics()[name])
            lines.append(f"| [`{name}`](metrics/{page.name}) | {metric.better} | {metric.what} |")
    return "\n".join([*lines, ""])


def pages_in_order() -> list[Path]:
    """As the table of contents of docs/metrics.md has them."""
    return [DOCS / f"{name}.md" for name in re.findall(r"^(metrics/[\w-]+)$", INDEX.read_text("utf-8"), re.M)]


def metrics_of(page: str) -> list[str]:
    """Metrics that a page is about."""
    return [name for marker in re.findall(r"<!-- about: ([^>]*) -->", page) for name in marker.split(", ")]


def made(page: str, run: Run | None) -> str:
    """The page with all its blocks up to date; without a run, what comes out of one stays as it is."""

    def block(found: re.Match[str]) -> str:
        start, kind, marker, old, end = found.groups()
        if kind in ("output", "signature"):
            new = old if run is None else {"output": output, "signature": signature}[kind](run)
        elif kind == "index":
            new = index()
        else:
            new = {"about": about, "deviations": deviations, "cite": cite}[kind](marker)
        return f"{start}{new}{end}"

    return BLOCK.sub(block, page)


def anchor(title: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def main(names: Iterable[str]) -> int:
    """Rewrite the pages in place."""
    wanted = set(names)
    unknown = wanted - {page.stem for page in pages_in_order()}
    if unknown:
        there = ", ".join(page.stem for page in pages_in_order())
        print(f"no page of a metric: {', '.join(sorted(unknown))}; there are {there}", file=sys.stderr)
        return 2
    for page in pages_in_order():
        if not wanted or page.stem in wanted:
            text = page.read_text(encoding="utf-8")
            page.write_text(made(text, Run.of(text)), encoding="utf-8")
            print(f"made {page.relative_to(DOCS.parent)}", file=sys.stderr)
    INDEX.write_text(made(INDEX.read_text(encoding="utf-8"), None), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
