"""Docstrings on the site: single backticks mark code, as in Markdown, and nothing public is without one.

Sphinx wants two backticks. Of what has no docstring it would show the bare name, or nothing; here that is a warning,
and so an error. Fields of dataclasses need none where name and type say all.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

_CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?![`_])")

_SPEAKING = {"module", "class", "exception", "function", "method", "property"}


def double_backticks(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn `code` into ``code``, in place."""
    lines[:] = _CODE.sub(r"``\1``", "\n".join(lines)).split("\n")


def refuse_silence(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Name what has no docstring."""
    if what in _SPEAKING and not any(line.strip() for line in lines):
        logging.getLogger(__name__).warning("%s %s has no docstring", what, name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Before the extension that reads `Args:` and `Returns:`."""
    app.connect("autodoc-process-docstring", refuse_silence, priority=0)
    app.connect("autodoc-process-docstring", double_backticks, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
