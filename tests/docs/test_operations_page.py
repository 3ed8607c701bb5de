"""docs/operations.md: made from the table of operations."""

from __future__ import annotations

from docs.make_operations import PAGE, main

from nlgauge.apps.operations import operations


def test_the_page_is_that_of_the_table() -> None:
    assert main(["--check"]) == 0, "run: python -m docs.make_operations"


def test_every_operation_has_a_section() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in operations():
        assert f"\n## {name}\n" in text
