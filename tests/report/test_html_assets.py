"""Report and page are made of the same components."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from nlgauge.report.elements import (
    COMPONENT_SCRIPTS,
    COMPONENT_STYLES,
    Html,
    filled,
    joined_script,
    joined_style,
    page_file,
)

COMPONENTS = Path(str(resources.files("nlgauge.report"))) / "components"


def test_every_component_is_used() -> None:
    used = {*(f"{name}.css" for name in COMPONENT_STYLES), *(f"{name}.js" for name in COMPONENT_SCRIPTS)}
    assert {path.name for path in COMPONENTS.iterdir()} == used


@pytest.mark.parametrize("package", ["nlgauge.report", "nlgauge.apps.service"])
def test_every_page_has_all_components(package: str) -> None:
    style, script = joined_style(package), joined_script(package, ["start"])
    for path in COMPONENTS.iterdir():
        assert path.read_text(encoding="utf-8") in (style if path.suffix == ".css" else script), path.name
    assert page_file(package, "start.js") in script


def test_narrow_pages_and_paper_have_the_last_word() -> None:
    style = joined_style("nlgauge.apps.service", ["form"])
    assert style.endswith((COMPONENTS / "narrow.css").read_text(encoding="utf-8"))
    assert page_file("nlgauge.apps.service", "form.css") in style


def test_no_name_of_a_component_is_written_again_by_a_page() -> None:
    """Scripts of a page share one function, in which a name that is declared twice is an error, or a surprise."""
    declared = re.compile(r"^(?:async )?(?:function\*? |class |const |let )(\w+)", re.M)
    for package in ("nlgauge.report", "nlgauge.apps.service"):
        pages = [Path(str(resources.files(package))) / "page"]
        names = [
            name
            for folder in (COMPONENTS, *pages)
            for path in folder.glob("*.js")
            for name in declared.findall(path.read_text(encoding="utf-8"))
        ]
        assert len(names) > 20
        assert sorted(set(names)) == sorted(names)


def test_slots_are_filled_once() -> None:
    """What goes into a slot may look like one."""
    assert filled("<p>{{a}} {{b}}</p>", {"a": Html("{{b}}"), "b": Html("x")}) == "<p>{{b}} x</p>"
