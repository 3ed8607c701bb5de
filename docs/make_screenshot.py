"""Take the screenshot of the service's page in the README: `make screenshot`.

    python -m docs.make_screenshot                  write docs/images/page.png
    python -m docs.make_screenshot --look FOLDER    write the whole page, wide and narrow, light and dark, for review

A separate service runs the example of the page. The browser is that of the tests (`make browser-tools`).
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.service import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURE = Path(__file__).parent / "images" / "page.png"

#: Parts of the page in the picture: colours, first and last element.
PARTS: tuple[tuple[Literal["light", "dark"], str, str], ...] = (
    ("light", "#summary", "#scores"),
    ("light", "#comparison", "#comparison .matrix"),
    ("dark", "#segments", "#segments .browser"),
)

#: Hides computing times, so the picture is reproducible.
STOPPED_CLOCK = "performance.now = () => 0"

#: Bars that stay in the window would cover parts of a picture of the whole page.
UNSTICK = "document.querySelectorAll('.top, #run-area').forEach(bar => { bar.style.position = 'static'; })"


def main() -> int:
    """Write the picture, or several for review."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.make_screenshot", description="Take the screenshot of the service's page."
    )
    parser.add_argument(
        "--look", type=Path, metavar="FOLDER", help="write the whole page in four variants to this folder"
    )
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("NLGAUGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        print("Chromium is not installed; run: make browser-tools", file=sys.stderr)
        return 1
    with served() as port, sync_playwright() as playwright:
        url = f"http://127.0.0.1:{port}/"
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        if args.look:
            write_variants(browser, url, args.look)
        else:
            PICTURE.write_bytes(stack_parts(browser, url))
            print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB", file=sys.stderr)
        browser.close()
    return 0


def open_page(browser: Browser, url: str, width: int, height: int, colours: Literal["light", "dark"]) -> Page:
    """Open the page and wait until it is ready."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
    page.add_init_script(STOPPED_CLOCK)
    page.goto(url)
    page.wait_for_selector("html[data-ready=yes]")
    return page


def run_example(page: Page) -> None:
    """Run the example, and select a segment with short alignments and one of its words."""
    page.get_by_role("button", name="Run an example").click()
    page.locator("#segments-list .row[data-segment='6']").click(timeout=120_000)
    page.locator("#segment .alignment").nth(1).wait_for(timeout=120_000)
    second = page.locator("#segment .alignment").nth(1)
    second.get_by_role("button", name="drive").focus()
    second.evaluate(  # both alignments in view, in a part of the page that scrolls by itself
        """view => { const part = view.closest('#segment');
           part.scrollTop += view.getBoundingClientRect().bottom - part.getBoundingClientRect().bottom; }"""
    )


def stack_parts(browser: Browser, url: str) -> bytes:
    """Stack the parts. The window is as high as the page, because a growing window loses its scroll position."""
    pages: dict[str, Page] = {}
    images = []
    for colours, first, last in PARTS:
        if colours not in pages:
            pages[colours] = open_page(browser, url, 1280, 8000, colours)
            run_example(pages[colours])
        image = base64.b64encode(take_part(pages[colours], first, last)).decode()
        images.append(f'<img src="data:image/png;base64,{image}" style="display: block">')
    frame = browser.new_page(viewport={"width": 1280, "height": 100})
    frame.set_content(f'<body style="margin: 0">{"".join(images)}')
    return frame.screenshot(full_page=True)


def take_part(page: Page, first: str, last: str) -> bytes:
    """Take a screenshot from the top of one element to the bottom of another."""
    page.evaluate(UNSTICK)
    top, bottom = page.evaluate(
        """names => { const [first, last] = names.map(name => document.querySelector(name).getBoundingClientRect());
           return [scrollY + first.top, scrollY + last.bottom]; }""",
        [first, last],
    )
    return page.screenshot(
        clip={"x": 0, "y": top, "width": 1280, "height": bottom - top + 8},
        animations="disabled",
        caret="hide",
    )


def write_variants(browser: Browser, url: str, folder: Path) -> None:
    """Write the form and the results in all widths and colours."""
    folder.mkdir(parents=True, exist_ok=True)
    colours: Literal["light", "dark"]
    for width in (1280, 360):
        for colours in ("light", "dark"):
            page = open_page(browser, url, width, 900, colours)
            page.evaluate(UNSTICK)
            page.screenshot(path=folder / f"form-{width}-{colours}.png", full_page=True)
            run_example(page)
            page.screenshot(path=folder / f"results-{width}-{colours}.png", full_page=True)
            page.close()


if __name__ == "__main__":
    sys.exit(main())
