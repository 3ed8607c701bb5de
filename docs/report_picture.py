"""Picture of a report, half light and half dark: `python -m docs.make_figures --only report`.

Shows the first 200 segments of newstest2017 ru-en and nine systems. The browser is that of the tests
(`make browser-tools`).
"""

from __future__ import annotations

import base64
import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SEGMENTS = 200
#: Size of a half: a window wide enough for tables, scaled to three quarters.
WIDTH, HEIGHT, SCALE = 1060, 960, 0.75


def draw(path: Path, data: Path) -> None:
    """Write the picture."""
    from playwright.sync_api import sync_playwright

    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("NLGAUGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        msg = "Chromium is not installed; run: make browser-tools"
        raise SystemExit(msg)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = write_report(Path(folder), data)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        light = open_report(browser, report, "light")
        light.locator("nav a", has_text="bertscore").click()
        dark = open_report(browser, report, "dark")
        dark.locator("nav a", has_text="Segments").click()
        dark.locator("#segments-list .row").nth(0).click()  # its words fit in one row, so links are drawn
        dark.locator("#segment .alignment").first.wait_for(timeout=60_000)
        dark.locator("nav a", has_text="Segments").click()  # the click above scrolled to the row
        dark.wait_for_timeout(2000)  # wait for smooth scrolling to end
        halves = [base64.b64encode(page.screenshot(animations="disabled")).decode() for page in (light, dark)]
        frame = browser.new_page(viewport={"width": round(2 * WIDTH * SCALE), "height": round(HEIGHT * SCALE)})
        images = "".join(f'<img src="data:image/png;base64,{half}">' for half in halves)
        frame.set_content(f'<body style="margin: 0; display: flex">{images}')
        path.write_bytes(reduce_colours(frame.screenshot()))
        browser.close()


def reduce_colours(picture: bytes) -> bytes:
    """Reduce the picture to 256 colours, which halves its size."""
    from PIL import Image  # comes with matplotlib

    small = io.BytesIO()
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    # Do not weight colours by pixels: the few orange ones matter most.
    whole.quantize(256, Image.Quantize.MAXCOVERAGE).save(small, "png", optimize=True)
    return small.getvalue()


def open_report(browser: Browser, report: Path, colours: Literal["light", "dark"]) -> Page:
    """Open the report and wait until it is ready."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=colours, device_scale_factor=SCALE
    )
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    return page


def write_report(folder: Path, data: Path) -> Path:
    """Write the report."""
    from nlgauge.apps.cli import main as nlgauge

    def first(source: Path, name: str) -> str:
        lines = source.read_text(encoding="utf-8").splitlines(keepends=True)[:SEGMENTS]
        (folder / name).write_text("".join(lines), encoding="utf-8")
        return str(folder / name)

    outputs = sorted((data / "wmt17" / "system-outputs" / "ru-en").glob("newstest2017.*.ru-en"))
    systems = [first(output, output.name.split(".")[1]) for output in outputs]
    refs = first(data / "wmt17" / "references" / "newstest2017-ruen-ref.en", "reference")
    source = first(data / "wmt17" / "source" / "newstest2017-ruen-src.ru", "source")
    report = folder / "report.html"
    words = ["compare", *systems, "--refs", refs, "--source", source, "--metric", "bertscore", "moverscore", "chrf"]
    status = nlgauge([*words, "--report", str(report), "--output", str(folder / "out"), "--quiet"])
    if status:
        msg = f"nlgauge compare ended with {status}"
        raise SystemExit(msg)
    return report
