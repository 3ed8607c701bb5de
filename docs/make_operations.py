"""Generate the reference page of operations, docs/operations.md.

python -m docs.make_operations            write the page
python -m docs.make_operations --check    exit with status 1 if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from docs.generated import TABLE_HEAD, option_row, write_or_check

from nlgauge.apps.operations import operations
from nlgauge.core.operations import Operation

PAGE = Path(__file__).parent / "operations.md"

HEAD = """\
# Operations

An operation is a function that takes texts and returns a result. Each is a function in Python, an endpoint and a
job of the [service](service.md), and a method of `nlgauge.Client` and `AsyncClient`. This page is made from their
table (`src/nlgauge/apps/operations.py`) by `python -m docs.make_operations`; [extending](extending.md) shows how to
add one.

Every result is a frozen dataclass with `render(format)` (text, json, tsv, csv, latex, markdown), `to_dict()`,
`from_dict()` and `schema()`. The JSON Schemas are files in `nlgauge/core/schemas`, named by the format. Options of
the metric and of the run ([quick start](quickstart.md)) are keywords as well where an operation takes a metric.
"""


def section(operation: Operation) -> str:
    """Describe one operation."""
    function = operation.call
    result = operation.result_class
    address = f"`POST /v1/{operation.name}`, " if operation.at_once else ""
    inputs = ", ".join(f"`{entry.name}`{'' if entry.required else ' (optional)'}" for entry in operation.inputs)
    rows = [
        ("Python", f"`{function.__module__}.{function.__name__}`"),
        ("service", f"{address}`POST /v1/jobs/{operation.name}`"),
        ("clients", f"`Client.{operation.method}`, `AsyncClient.{operation.method}`"),
        ("texts", inputs),
        ("metrics", operation.metric),
        ("result", f"`{result.__module__}.{result.__name__}`, JSON `{result.format}`"),
    ]
    if operation.command:
        rows.insert(1, ("command", f"`nlgauge {operation.spelling}`"))
    lines = [
        f"## {operation.name}",
        "",
        f"{operation.help[0].upper()}{operation.help[1:]}.",
        "",
        "| | |",
        "|---|---|",
    ]
    lines += [f"| {name} | {text} |" for name, text in rows]
    options = [option_row(entry) for group in operation.option_sets for entry in group.options().values()]
    if options:
        lines += ["", *TABLE_HEAD, *options]
    return "\n".join([*lines, ""])


def page() -> str:
    """Generate the page."""
    own = [operation for operation in operations().values() if _is_built_in(operation)]
    return "\n".join([HEAD, *map(section, own)])


def _is_built_in(operation: Operation) -> bool:
    return operation.call.__module__.startswith("nlgauge.")


def main(arguments: Sequence[str]) -> int:
    """Write or check the page."""
    return write_or_check(arguments, {PAGE: page()}, "python -m docs.make_operations")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
