"""Docstrings on the site: single backticks mark code, as in Markdown, and every public object needs a docstring.

Sphinx expects two backticks. A missing docstring is a warning, which fails the build. Fields of dataclasses may omit
it if name and type are clear.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

_CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?![`_])")

_DOCUMENTED = {"module", "class", "exception", "function", "method", "property"}


def double_backticks(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Replace `code` by ``code`` in place."""
    lines[:] = _CODE.sub(r"``\1``", "\n".join(lines)).split("\n")


def warn_undocumented(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Warn about objects without a docstring."""
    if what in _DOCUMENTED and not any(line.strip() for line in lines):
        logging.getLogger(__name__).warning("%s %s has no docstring", what, name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect both hooks before the extension that reads `Args:` and `Returns:`."""
    app.connect("autodoc-process-docstring", warn_undocumented, priority=0)
    app.connect("autodoc-process-docstring", double_backticks, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
