"""Point links to repository files outside the site to the repository.

A link to a missing file stays unchanged, which Sphinx reports as a warning and fails the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

REPOSITORY = "https://github.com/nlgauge/nlgauge/blob/main/"

_UPWARDS = re.compile(r"\]\((\.\./[^)#\s]+)")


def link_to_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace links that leave the folder of pages by addresses in the repository."""
    pages = Path(app.srcdir).resolve()
    folder = Path(app.env.doc2path(page)).resolve().parent

    def address(link: re.Match[str]) -> str:
        target = (folder / link[1]).resolve()
        if not target.exists() or pages.parent not in target.parents or pages in target.parents:
            return link[0]
        return f"]({REPOSITORY}{target.relative_to(pages.parent).as_posix()}"

    source[0] = _UPWARDS.sub(address, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Process every page as it is read."""
    app.connect("source-read", link_to_repository)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
