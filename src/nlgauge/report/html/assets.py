"""Style sheets and scripts: components that every page of nlgauge has, and the folder `page` of the one at hand.

The report is one file, and the page of the service loads two, so parts are joined here and not by a browser. A script
is one function that is called at once: its names are nobody else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import resources

from nlgauge.report.html.elements import Html

__all__ = ["COMPONENT_SCRIPTS", "COMPONENT_STYLES", "filled", "joined_script", "joined_style", "page_file"]

#: Components, in the order in which they are joined.
COMPONENT_STYLES = ("colours", "text", "tables", "segments", "narrow")
COMPONENT_SCRIPTS = (
    *("elements", "theme", "figures", "scores"),
    *("alignment", "segment", "list", "copying", "browser"),
)


def page_file(package: str, name: str) -> str:
    """A file of the page that a package has."""
    return _text(package, "page", name)


def joined_style(package: str, names: Iterable[str] = ()) -> str:
    """The components' style sheet, with further parts of a page; narrow pages and paper come last."""
    *first, last = [_component(f"{name}.css") for name in COMPONENT_STYLES]
    return "\n".join([*first, *(page_file(package, f"{name}.css") for name in names), last])


def joined_script(package: str, names: Iterable[str]) -> str:
    """The components' script, then that of a page."""
    parts = [_component(f"{name}.js") for name in COMPONENT_SCRIPTS]
    parts += [page_file(package, f"{name}.js") for name in names]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def filled(template: str, slots: Mapping[str, Html]) -> str:
    """The template with its slots filled, once: what goes in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: slots[match[1]], template)


def _component(name: str) -> str:
    return _text("nlgauge.report.html", "components", name)


def _text(package: str, folder: str, name: str) -> str:
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")
