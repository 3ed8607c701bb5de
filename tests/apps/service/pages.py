"""The page of a service in a browser: opened, filled, and judged when it is left."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.browsing import Opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

#: Milliseconds for whatever the service computes on a busy machine.
COMPUTING = 300_000

#: What a browser says of a request that the service refuses, or does not answer.
REFUSED = re.compile(r"Failed to load resource")

HYPS = ["A ferry was cancelled in the storm.", "Bread is good.", "Nobody wrote letters."]
REFS = ["The ferry was called off because of the storm.", "The bread is the best.", "She wrote letters."]
OTHERS = ["The ferry was called off in the storm.", "The bread is good.", "She has written letters."]


@contextlib.contextmanager
def page_of(browser: Browser, url: str, *, refusals: bool = False, **options: Any) -> Iterator[Page]:
    """The page at an address. When it is left it must have said nothing, and asked nobody but its service."""
    opened = Opened(browser, url, **options)
    try:
        yield opened.page
    finally:
        opened.page.close()
    own = re.match(r"https?://[^/]*", url)
    assert own is not None
    # A file that is saved from the page has an address of the page's own making.
    asked = {re.sub(r"^blob:", "", item) for item in opened.asked}
    assert [item for item in asked if not item.startswith(f"{own[0]}/")] == []
    messages = [line for line in opened.said if not (refusals and REFUSED.search(line))]
    assert messages == []


def fill(page: Page, systems: Mapping[str, Sequence[str]], *references: Sequence[str]) -> None:
    """Texts into the form, as they are pasted."""
    for number, (name, texts) in enumerate(systems.items(), 1):
        if number > 1:
            page.get_by_role("button", name="Add a system").click()
        page.get_by_label(f"Name of system {number}").fill(name)
        page.get_by_label(f"Outputs of system {number}", exact=True).fill("\n".join(texts))
    for number, texts in enumerate(references, 1):
        if number > 1:
            page.get_by_role("button", name="Add references").click()
        page.get_by_label(f"References {number}", exact=True).fill("\n".join(texts))


def fill_long(page: Page, label: str, texts: Sequence[str]) -> None:
    """Many lines at once; as if they were typed, Chromium takes seconds for a thousand."""
    page.get_by_label(label, exact=True).evaluate(
        "(box, text) => { box.value = text; box.dispatchEvent(new Event('input', {bubbles: true})); }",
        "\n".join(texts),
    )


def settled_address(page: Page) -> str:
    """The address of a filled form, once it stays as it is: it is written a while after the last change."""
    page.wait_for_url(re.compile("#form="))
    result = ""
    while result != page.url:
        result = page.url
        page.wait_for_timeout(2_000)
    return result


def choose_metrics(page: Page, *names: str) -> None:
    """These metrics and no others."""
    page.locator("#more-metrics").evaluate("more => { more.open = true; }")
    for box in page.locator("#metric-groups input[type=checkbox]:checked").all():
        box.uncheck()
    for name in names:
        page.locator(f"#metric-{name}").check()


def run(page: Page) -> Locator:
    """Score, and wait for the results."""
    page.get_by_role("button", name="Score", exact=True).click()
    return shown_results(page)


def shown_results(page: Page) -> Locator:
    """The results, once they are there."""
    page.locator("#status").filter(has_text=re.compile("^Done")).wait_for(timeout=COMPUTING)
    return page.locator("#results")


def table_score(page: Page, metric: str, system: int = 0) -> str:
    """A score as the table shows it."""
    cell = page.locator(f"#scores tbody tr >> nth={system}").locator(f"td[data-metric='{metric}']")
    return cell.inner_text().split()[0].replace("−", "-")
