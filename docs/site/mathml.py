"""Formulas as MathML, which browsers draw themselves: no script and no font from elsewhere.

A command that the converter does not know would stand in the page as it is typed: a warning, and so an error.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def converted(node: nodes.Element, display: str = "inline") -> str:
    """The formula; what is left of LaTeX in it is warned of."""
    found = convert(node.astext(), display=display)
    if "\\" in found:
        LOGGER.warning("latex2mathml does not know a command of the formula %r", node.astext(), location=node)
    return found


def inline(writer: Any, node: nodes.Element) -> None:
    """A formula within a line."""
    writer.body.append(converted(node))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.Element) -> None:
    """A formula on a line of its own."""
    writer.body.append(f'<div class="math">{converted(node, display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer it to Sphinx as `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
