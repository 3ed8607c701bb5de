"""Real browser for tests of pages: console messages, requests, and accessibility problems found by axe-core.

Needs Debian's chromium-headless-shell (or another Chromium, set by NLGAUGE_CHROMIUM) and the dependency group
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

#: Timeout in milliseconds for any action on a page, on a busy machine.
PATIENCE = 60_000

_MISSING = "the dependency group 'browser' is not installed; run: make browser-tools"


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """Start the browser, or skip the test if it is missing."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("NLGAUGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("Chromium is not installed; run: make browser-tools (apt-get install chromium-headless-shell)")
    api = pytest.importorskip("playwright.sync_api", reason=_MISSING)
    with api.sync_playwright() as playwright:
        # Without a sandbox, because tests may run as root and the page is trusted.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page with its console messages and requests."""

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
    """Problems found by axe-core: rule, impact and elements."""
    axe = pytest.importorskip("axe_playwright_python", reason=_MISSING)
    # Through the debugger, which the content security policy of a page does not block.
    page.evaluate(resources.files(axe).joinpath("axe.min.js").read_text(encoding="utf-8"))
    results = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (problem["id"], problem["impact"], [node["html"][:160] for node in problem["nodes"][:3]])
        for problem in results["violations"]
    ]
