"""Update the generated blocks on pages of metrics (docs/metrics/*.md).

    python -m docs.make_metric_pages [NAME ...]       run the example of each page (or of the named ones)

A block is between a marker and `<!-- end -->`:

    <!-- about: NAME, ... -->       classes of metrics, their components, and which way is better
    <!-- output -->                 output of the page's Python example
    <!-- signature -->              the signatures of its `score`, or `scores`
    <!-- deviations: D5.1 to D5.3, D19; rest of MoverScore -->    rows of docs/deviations.md
    <!-- cite: NAME, ... -->        how to cite
    <!-- index -->                  docs/metrics.md: all metrics with their pages

`python -m docs.make_options` generates tables of options, `python -m docs.make_figures` figures.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Row:
    """A row of docs/deviations.md."""

    number: str
    section: str
    cells: Sequence[str] = field(repr=False)
    """The paper, the released code, nlgauge."""

    @property
    def link(self) -> str:
        """Its number as a link to its section."""
        return f"[{self.number}](../deviations.md#{_anchor(self.section)})"


def deviation_rows() -> dict[str, Row]:
    """All rows by number."""
    rows, section = {}, ""
    for line in DEVIATIONS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and NUMBER.fullmatch(cells[0]):
            rows[cells[0]] = Row(cells[0], section, [_from_below(cell) for cell in cells[1:4]])
    return rows


def chosen_numbers(text: str, rows: Mapping[str, Row]) -> list[str]:
    """Expand a list of numbers and ranges, in its order; a number without a row is an error."""
    order, chosen = list(rows), []
    for part in text.split(", "):
        first, _, last = part.partition(" to ")
        for end in filter(None, (first, last)):
            if end not in rows:
                msg = f"docs/deviations.md does not have row {end!r}"
                raise SystemExit(msg)
        chosen += order[order.index(first) : order.index(last or first) + 1]
    return chosen


def deviations(marker: str) -> str:
    """Table of a marker's rows, with the numbers of the other rows of a section."""
    rows = deviation_rows()
    listed, _, section = marker.partition("; rest of ")
    numbers = chosen_numbers(listed, rows)
    lines = ["| number | the paper | the released code | nlgauge |", "|---|---|---|---|"]
    lines += [f"| {' | '.join([rows[number].link, *rows[number].cells])} |" for number in numbers]
    rest = [row.number for row in rows.values() if row.section == section and row.number not in numbers]
    if section and not rest:
        msg = f"docs/deviations.md has no section {section!r} with further rows"
        raise SystemExit(msg)
    if rest:
        where = f"[{section}](../deviations.md#{_anchor(section)})"
        lines += ["", f"Further rows of {where}: {', '.join(rest)}."]
    return "\n".join([*lines, ""])


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
    """List distinct citations, as printed by `nlgauge show NAME`."""
    entries = dict.fromkeys(built_in_metrics()[name].citation.strip() for name in names.split(", "))
    return "```bibtex\n" + "\n\n".join(entries) + "\n```\n"


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


def _from_below(cell: str) -> str:
    """Adapt links of a page in docs/ to a page in a folder of docs/."""
    cell = re.sub(r"\]\(#", "](../deviations.md#", cell)
    return re.sub(r"\]\((?!http|\.\./deviations)", "](../", cell)


def _anchor(title: str) -> str:
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
