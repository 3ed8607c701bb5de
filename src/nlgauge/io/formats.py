"""Text formats: JSON as people and `diff` read it, TOML on every version of Python, and small HTML tables.

In JSON, an object or a list of plain values is on one line. HTML tables show results in notebooks.
"""

from __future__ import annotations

import html
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from nlgauge.errors import InputError

T = TypeVar("T")

HtmlCell: TypeAlias = str | int | float | None

#: What formulas begin and end with where a notebook looks for them: $...$, \(...\), \begin{...}.
_DELIMITER = re.compile(r"[$\\]")

#: Made once: `json.dumps` makes one for every call that has options.
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def json_text(value: Any) -> str:
    """The value as strict JSON with a newline at its end; what JSON has no word for (nan) is an `InputError`.

    >>> print(json_text({"mean": 0.5, "rows": [{"segment": 0}, {"segment": 1}]}), end="")
    {
      "mean": 0.5,
      "rows": [
        {"segment": 0},
        {"segment": 1}
      ]
    }
    """
    try:
        text = _laid_out(value, "")
    except ValueError as error:
        msg = f"the result holds a value that JSON has no word for: {error}"
        raise InputError(msg) from error
    # A system named by a file whose name is not UTF-8 holds half surrogates; only JSON's escape prints them.
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _laid_out(value: Any, pad: str) -> str:
    items = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else []
    if not any(isinstance(item, Mapping | list | tuple) for item in items):
        return _ENCODE(value)
    inner = pad + "  "
    parts = [_laid_out(item, inner) for item in items]
    if isinstance(value, Mapping):
        parts = [f"{_ENCODE(name)}: {part}" for name, part in zip(value, parts, strict=True)]
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    return opening + "\n" + ",\n".join(inner + part for part in parts) + f"\n{pad}{closing}"


def toml_content(text: str) -> dict[str, Any]:
    """What a text in TOML says; a ValueError where it is none.

    >>> toml_content("threads = 2")
    {'threads': 2}
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


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
    head = "".join(f"<th>{escape_html(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell, width)}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{escape_html(caption)}</caption>" if caption else ""
    table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + "".join(f"<p><small>{escape_html(note)}</small></p>" for note in notes)


def _cell(cell: HtmlCell, width: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return f"{cell:.{width}f}" if isinstance(cell, float) else escape_html(str(cell))


def escape_html(text: str) -> str:
    """Text that neither a browser nor MathJax takes for anything else; the classes are those MathJax leaves alone."""
    return _DELIMITER.sub(r'<span class="tex2jax_ignore mathjax_ignore">\g<0></span>', html.escape(text))
