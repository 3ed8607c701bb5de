"""What stands behind a table of the page: the same as TSV, LaTeX and Markdown, to copy."""

from __future__ import annotations

from nlgauge.report.html.elements import Html, joined, tag
from nlgauge.report.table import Table

__all__ = ["export"]


def export(table: Table, *, name: str, decimals: int = 4) -> Html:
    """A part that opens, with the table in three forms and a button each that copies it.

    `name` tells the buttons of several tables apart, and stands in their ids.
    """
    forms = {
        "TSV": table.to_tsv(width=decimals),
        "LaTeX": table.to_latex(width=decimals),
        "Markdown": table.to_markdown(width=decimals),
    }
    parts = []
    for form, text in forms.items():
        target = f"{name}-{form.lower()}"
        label = f"Copy {form}"
        button = tag("button", label, type="button", class_="copy", data_copies=target, hidden=True)
        body = tag("pre", text, id=target, tabindex="0", role="region", aria_label=f"{table.caption or name}, {form}")
        parts.append(tag("details", tag("summary", form), button, body, class_="form"))
    return tag("div", *parts, class_="export", data_export=name)


def scrolling(table: Html, *, label: str) -> Html:
    """A table that scrolls by itself where the page is narrow; the keyboard can reach it."""
    return tag("div", joined([table]), class_="scroll", tabindex="0", role="region", aria_label=label)
