"""Render formulas as MathML, which browsers draw without scripts or external fonts.

A command that the converter does not support is a warning, which fails the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def to_mathml(node: nodes.Element, display: str = "inline") -> str:
    """Convert a formula, and warn about remaining LaTeX."""
    mathml = convert(node.astext(), display=display)
    if "\\" in mathml:
        LOGGER.warning("latex2mathml does not support a command of the formula %r", node.astext(), location=node)
    return mathml


def inline(writer: Any, node: nodes.Element) -> None:
    """Write an inline formula."""
    writer.body.append(to_mathml(node))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.Element) -> None:
    """Write a display formula."""
    writer.body.append(f'<div class="math">{to_mathml(node, display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer as `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
