"""Tables of results in notebooks."""

from __future__ import annotations

from nlgauge.io.table import html_table


def test_text_is_escaped_and_missing_values_are_empty() -> None:
    made = html_table(["<b>"], [["a&b"], [None], [float("nan")], [3], [0.25]], caption="<c>", notes=["<n>"], width=2)
    assert "<th>&lt;b&gt;</th>" in made
    assert "<td>a&amp;b</td>" in made
    assert made.count("<td></td>") == 2
    assert "<td>3</td>" in made
    assert "<td>0.25</td>" in made
    assert "<caption>&lt;c&gt;</caption>" in made
    assert "<small>&lt;n&gt;</small>" in made
