"""A real browser for tests of pages: what a page said and asked for, and what axe-core finds in it.

Needs Debian's chromium-headless-shell (or any Chromium that NLGAUGE_CHROMIUM names) and the dependency group
`browser`; `make browser-tools` installs both.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Milliseconds that anything on a page may take on a busy machine.
PATIENCE = 60_000

_MISSING = "the dependency group 'browser' is not installed; run: make browser-tools"


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """The browser of this machine; a test is skipped where there is none."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("NLGAUGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("there is no Chromium; run: make browser-tools (apt-get install chromium-headless-shell)")
    api = pytest.importorskip("playwright.sync_api", reason=_MISSING)
    with api.sync_playwright() as playwright:
        # Without a sandbox, because tests may run as root; the page is our own.
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


class Opened:
    """A page, with what it said to the console and what it asked the network for."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.page = browser.new_page(**{"viewport": {"width": 1200, "height": 900}} | options)
        self.page.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        started = time.monotonic()
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready=yes]")
        self.seconds = time.monotonic() - started


def accessibility_problems(page: Page) -> list[tuple[str, str, list[str]]]:
    """What axe-core finds: rule, impact, and the elements that break it."""
    axe = pytest.importorskip("axe_playwright_python", reason=_MISSING)
    # As the debugger, which the content policy of a page does not hold back.
    page.evaluate(resources.files(axe).joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (one["id"], one["impact"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found["violations"]
    ]
