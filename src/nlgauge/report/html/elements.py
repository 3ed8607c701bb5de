"""HTML built from elements: text is escaped where it goes in, so no caller can forget it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

__all__ = ["Html", "hidden", "joined", "name_of", "tag"]

_VOID = frozenset({"br", "circle", "line", "path", "rect"})


class Html(str):
    """Markup that is ready; every other string is text."""

    __slots__ = ()


def tag(element: str, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """An element with its children; attributes are named as in Python (`class_`, `aria_label`), None leaves one out.

    >>> tag("td", "<b>", class_="num", aria_label='"')
    '<td class="num" aria-label="&quot;">&lt;b&gt;</td>'
    >>> tag("p", tag("bdi", "a & b"), " wins")
    '<p><bdi>a &amp; b</bdi> wins</p>'
    """
    written = "".join(
        f" {_attribute(name)}" + ("" if value is True else f'="{html.escape(_text(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if element in _VOID and not children:
        return Html(f"<{element}{written}/>" if element != "br" else "<br>")
    return Html(f"<{element}{written}>{joined(children)}</{element}>")


def joined(children: Iterable[str | None]) -> Html:
    """Children one after another: markup as it is, text escaped.

    >>> joined([Html("<br>"), "<br>", None])
    '<br>&lt;br&gt;'
    """
    return Html("".join(_escaped(child) for child in children if child is not None))


def name_of(system: str) -> Html:
    """A name as people gave it, apart from the direction in which the text around it is read.

    >>> name_of("<i>")
    '<bdi>&lt;i&gt;</bdi>'
    """
    return tag("bdi", _readable(system))


def hidden(text: str) -> Html:
    """Words for those who hear the page; the eye has a figure or a sign in their place."""
    return tag("span", text, class_="unseen")


def _escaped(text: str) -> str:
    return text if isinstance(text, Html) else html.escape(text, quote=False)


def _readable(text: str) -> str:
    # Half surrogates cannot be written as UTF-8, and HTML knows no NUL.
    return re.sub(r"[\ud800-\udfff\x00]", "�", text)


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
