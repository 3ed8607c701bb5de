"""A small table as HTML, for results in notebooks."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

__all__ = ["HtmlCell", "HtmlList", "html_table"]

T = TypeVar("T")

HtmlCell: TypeAlias = str | int | float | None

#: What formulas begin and end with where a notebook looks for them: $...$, \(...\), \begin{...}.
_DELIMITER = re.compile(r"[$\\]")


def html_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[HtmlCell]],
    *,
    caption: str = "",
    notes: Iterable[str] = (),
    width: int = 4,
) -> str:
    """Columns, rows and notes as HTML; all text is escaped, floats have `width` decimals, None and nan are empty.

    Texts are shown as they are: a notebook makes no formula of what stands between two prices in dollars.

    >>> html_table(["<a>"], [[0.5]], width=1)
    '<table><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody><tr><td>0.5</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{_escaped(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell, width)}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{_escaped(caption)}</caption>" if caption else ""
    table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + "".join(f"<p><small>{_escaped(note)}</small></p>" for note in notes)


class HtmlList(list[T]):
    """A list of results that show themselves one below the other in a notebook."""

    def _repr_html_(self) -> str:
        shown: list[Any] = list(self)
        return "".join(one._repr_html_() for one in shown)


def _cell(cell: HtmlCell, width: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return f"{cell:.{width}f}" if isinstance(cell, float) else _escaped(str(cell))


def _escaped(text: str) -> str:
    """Text that neither a browser nor MathJax takes for anything else; the classes are those MathJax leaves alone."""
    return _DELIMITER.sub(r'<span class="tex2jax_ignore mathjax_ignore">\g<0></span>', html.escape(text))
