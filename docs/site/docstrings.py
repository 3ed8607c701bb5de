"""Docstrings of nlgauge mark code by single backticks, as Markdown does; Sphinx wants two."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?![`_])")


def double_backticks(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn `code` into ``code``, in place."""
    lines[:] = _CODE.sub(r"``\1``", "\n".join(lines)).split("\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Before the extension that reads `Args:` and `Returns:`."""
    app.connect("autodoc-process-docstring", double_backticks, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
