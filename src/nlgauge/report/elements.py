"""HTML elements, sentences and exports, and the style sheets and scripts of a page.

Text is escaped where it goes into an element, so no caller can forget it. The report is one file, and the page of the
service loads two, so style sheets and scripts are joined here and not by a browser. A script is one function that is
called at once, so its names clash with no others.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import TYPE_CHECKING

from nlgauge.studies.compare.sentences import Emphasis, MetricName, SystemName

if TYPE_CHECKING:
    from nlgauge.io.table import Table


_VOID = frozenset({"br", "circle", "img", "line", "meta", "path", "rect"})


class Html(str):
    """Markup; every other string is text."""

    __slots__ = ()


def tag(element: str, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """An element with its children; attributes are named as in Python (`class_`, `aria_label`), None leaves one out.

    >>> tag("td", "<b>", class_="num", aria_label='"')
    '<td class="num" aria-label="&quot;">&lt;b&gt;</td>'
    >>> tag("p", tag("bdi", "a & b"), " wins")
    '<p><bdi>a &amp; b</bdi> wins</p>'
    """
    written = ""
    for name, value in attributes.items():
        if value is not None and value is not False:
            text = value if isinstance(value, str) else f"{value:g}"
            key = name.rstrip("_").replace("_", "-")
            written += f" {key}" if value is True else f' {key}="{html.escape(text)}"'
    if element in _VOID and not children:
        return Html(f"<{element}{written}/>" if element != "br" else "<br>")
    return Html(f"<{element}{written}>{joined(children)}</{element}>")


def joined(children: Iterable[str | None]) -> Html:
    """Children one after another: markup as it is, text escaped.

    >>> joined([Html("<br>"), "<br>", None])
    '<br>&lt;br&gt;'
    """
    return Html(
        "".join(
            child if isinstance(child, Html) else html.escape(child, quote=False)
            for child in children
            if child is not None
        )
    )


def name_of(system: str) -> Html:
    """A name, isolated from the writing direction of the text around it.

    >>> name_of("<i>")
    '<bdi>&lt;i&gt;</bdi>'
    """
    # Half surrogates cannot be written as UTF-8, and HTML knows no NUL.
    return tag("bdi", re.sub(r"[\ud800-\udfff\x00]", "�", system))


def hidden(text: str) -> Html:
    """Text for screen readers only."""
    return tag("span", text, class_="unseen")


def paragraph(sentence: Iterable[str]) -> Html:
    """A sentence of a comparison, with names of systems and metrics set apart."""
    return tag("p", joined(map(_marked, sentence)))


def _marked(part: str) -> str:
    if isinstance(part, SystemName):
        return name_of(part)
    if isinstance(part, MetricName):
        return tag("b", str(part))
    return tag("strong", str(part)) if isinstance(part, Emphasis) else part


def export(table: Table, *, name: str, decimals: int = 4, forms: Mapping[str, str] | None = None) -> Html:
    """The table as TSV, LaTeX and Markdown, folded, each with a button that copies it.

    `name` makes the ids of the buttons unique. `forms` has other texts for some of the three.
    """
    parts = []
    for form in ("TSV", "LaTeX", "Markdown"):
        target = f"{name}-{form.lower()}"
        text = (forms or {}).get(form) or table.write(form.lower(), width=decimals)
        label = f"{table.caption or name}, {form}"
        button = tag("button", f"Copy {form}", type="button", class_="copy", data_copies=target, hidden=True)
        body = tag("pre", text, id=target, tabindex="0", role="region", aria_label=label)
        parts.append(tag("details", tag("summary", form), button, body, class_="form"))
    return tag("div", *parts, class_="export", data_export=name)


def scrolling(class_: str, head: Html | None, body: Iterable[Html], foot: Html | None = None, *, label: str) -> Html:
    """A table that scrolls on narrow pages and can be focused with the keyboard."""
    parts = {"thead": head, "tbody": joined(body), "tfoot": foot}
    table = tag("table", *(tag(part, rows) for part, rows in parts.items() if rows), class_=class_)
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def heads(titles: Iterable[tuple[str | None, str]]) -> Html:
    """The header row: titles of columns with their classes."""
    return tag("tr", *(tag("th", text, scope="col", class_=class_) for class_, text in titles))


#: Components, in the order in which they are joined.
COMPONENT_STYLES = ("colours", "text", "tables", "segments", "narrow")
COMPONENT_SCRIPTS = (
    *("elements", "theme", "figures", "scores"),
    *("alignment", "segment", "list", "copying", "browser"),
)


def page_file(package: str, name: str, folder: str = "page") -> str:
    """Read a file of a package's page."""
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")


def joined_style(package: str, names: Iterable[str] = ()) -> str:
    """Join the style sheets of components and page; rules for narrow pages and paper come last."""
    *first, last = [_component(f"{name}.css") for name in COMPONENT_STYLES]
    return "\n".join([*first, *(page_file(package, f"{name}.css") for name in names), last])


def joined_script(package: str, names: Iterable[str]) -> str:
    """Join the scripts of components and page."""
    parts = [_component(f"{name}.js") for name in COMPONENT_SCRIPTS]
    parts += [page_file(package, f"{name}.js") for name in names]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def filled(template: str, slots: Mapping[str, Html]) -> str:
    """Fill the slots of the template in one pass; slots in the content are left alone."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: slots[match[1]], template)


def _component(name: str) -> str:
    return page_file("nlgauge.report", name, "components")
