"""Accessibility of the page: keyboard, rules of axe-core, light and dark, narrow screens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.apps.service.conftest import Running
from tests.apps.service.pages import COMPUTING, HYPS, OTHERS, REFS, choose_metrics, fill, page_of, run, shown_results
from tests.browsing import accessibility_problems

from nlgauge.apps.operations import operations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def all_opened(page: Page) -> None:
    page.eval_on_selector_all("details", "parts => parts.forEach(part => { part.open = true; })")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_axe_finds_nothing(browser: Browser, serving: Running, scheme: str, width: int) -> None:
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    with page_of(browser, f"{serving.url}/", **look) as page:
        page.get_by_role("button", name="Score", exact=True).click()  # with complaints at the fields
        all_opened(page)
        assert accessibility_problems(page) == []
        fill(page, {"A": HYPS, "B": OTHERS}, REFS)
        choose_metrics(page, "bertscore", "baryscore")
        run(page)
        page.locator("#segment .alignment").first.wait_for()
        if width > 380:
            page.get_by_label("Setting to vary").select_option("punctuation")
            page.get_by_role("button", name="Run the study").click()
            page.locator("#strip .strip-row, #study-status:not(:empty)").first.wait_for(timeout=COMPUTING)
            page.get_by_role("button", name="Run the study").and_(page.locator(":enabled")).wait_for(
                timeout=COMPUTING
            )
        all_opened(page)
        assert accessibility_problems(page) == []


def test_page_can_be_used_by_keyboard(page: Page) -> None:
    def tab_to(wanted: str, most: int = 80) -> None:
        for _ in range(most):
            page.keyboard.press("Tab")
            if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
                return
        raise AssertionError(wanted)

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    tab_to("#system-1-text")
    page.keyboard.insert_text("\n".join(HYPS))
    tab_to("#add-system")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "system-2-name"
    page.keyboard.press("Control+a")
    page.keyboard.type("second")
    tab_to("#system-2-text")
    page.keyboard.insert_text("\n".join(OTHERS))
    tab_to("#references-1-text")
    page.keyboard.insert_text("\n".join(REFS))
    tab_to("#metric-chrf")
    page.keyboard.press("Space")
    tab_to("#run")
    page.keyboard.press("Enter")
    shown_results(page)
    # The focus is at the results, which is where reading goes on.
    assert page.evaluate("document.activeElement.id") == "results"
    tab_to("#segments-list")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#segments-list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{chosen}").get_attribute("aria-selected") == "true"
    page.locator("#segment .alignment").first.wait_for()
    tab_to("#segment .alignment button.word")
    page.keyboard.press("ArrowRight")
    page.locator("#segment .said").first.filter(has_text=re.compile("matched with")).wait_for()
    tab_to("#study")
    tab_to("#signatures button")


def test_focus_is_visible(page: Page) -> None:
    for wanted in ("#system-1-text", "#run", "#example", "#metric-chrf", "#model", "#theme"):
        page.keyboard.press("Tab")  # the browser shows the focus to those who use the keyboard
        page.locator(wanted).focus()
        shown = page.locator(wanted).evaluate(
            "one => [getComputedStyle(one).outlineStyle, parseFloat(getComputedStyle(one).outlineWidth)]"
        )
        assert shown[0] != "none", wanted
        assert shown[1] >= 1, wanted


def test_a_narrow_screen_scrolls_one_way_only(browser: Browser, serving: Running) -> None:
    look = {"viewport": {"width": 380, "height": 740}, "has_touch": True}
    with page_of(browser, f"{serving.url}/", **look) as page:
        width = "document.documentElement.scrollWidth"
        assert page.evaluate(width) == 380
        page.get_by_role("button", name="Score", exact=True).click()
        all_opened(page)
        assert page.evaluate(width) == 380
        page.get_by_role("button", name="Run an example").click()
        shown_results(page)
        page.locator("#segments-list .row").nth(2).click()
        page.locator("#segment .alignment").first.wait_for()
        all_opened(page)
        assert page.evaluate(width) == 380
        long = "Donaudampfschifffahrtsgesellschaft" * 9
        page.get_by_role("button", name="Clear").click()
        fill(page, {long[:200]: [long, "a cat"], "B": ["a b", long]}, ["a c", f"a {long}"])
        choose_metrics(page, "bertscore", "chrf")
        page.get_by_label("Options of BERTScore", exact=True).fill("unknown=score")
        run(page)
        page.locator("#segment .alignment").first.wait_for()
        assert page.evaluate(width) == 380
        # What a finger must hit is large enough (WCAG 2.2, 2.5.8: 24 pixels).
        small = page.eval_on_selector_all(
            "#form button, #form select, #results .controls button, #downloads button",
            """parts => parts.filter(part => part.checkVisibility())
                 .map(part => [part.outerHTML, part.getBoundingClientRect()])
                 .filter(([, box]) => box.height < 24 || box.width < 24).map(([text]) => text)""",
        )
        assert small == []


def test_colours_are_chosen_and_kept(browser: Browser, serving: Running) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{serving.url}/")
    page.wait_for_selector("html[data-ready=yes]")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Change to dark colours").click()
    dark = page.evaluate(colour)
    assert light != dark
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert page.evaluate(colour) == dark
    page.get_by_role("button", name="Change to light colours").click()
    assert page.evaluate(colour) == light
    context.close()


def test_page_runs_only_its_own_script(browser: Browser, serving: Running) -> None:
    page = browser.new_page()
    texts: list[str] = []
    page.on("console", lambda message: texts.append(message.text))
    page.goto(f"{serving.url}/")
    page.wait_for_selector("html[data-ready=yes]")
    # Markup that got into the page could not become a script, whichever way.
    page.evaluate(
        "() => { try { document.body.innerHTML += '<img src=x onerror=hacked=1>'; } catch { /* refused */ } }"
    )
    page.evaluate(
        """() => { try { const script = document.createElement('script'); script.textContent = 'window.hacked = 1';
           document.body.append(script); } catch { /* refused */ } }"""
    )
    page.evaluate("() => { try { setTimeout('window.hacked = 1'); } catch { /* refused */ } }")
    page.wait_for_timeout(200)
    for _ in range(300):  # what a page says arrives in its own time
        if len(texts) >= 3:
            break
        page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    assert len(texts) >= 3
    assert all("Content Security Policy" in line or "Trusted" in line for line in texts)
    answer = page.request.get(f"{serving.url}/")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    page.close()


def test_without_scripts_the_page_says_what_it_needs(browser: Browser, serving: Running) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{serving.url}/")
    assert page.locator("noscript").is_visible()
    assert "This page needs JavaScript" in page.locator("noscript").inner_text()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_api_page_is_accessible_and_obeys_the_content_policy(
    browser: Browser, serving: Running, scheme: str, width: int
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(f"{serving.url}/docs")
    all_opened(page)
    assert accessibility_problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("link", name="POST /v1/compare", exact=True).click()
    assert page.get_by_role("heading", name="POST /v1/compare", exact=True).is_visible()
    page.close()
    assert messages == []


def test_list_of_operations_links_to_the_api_page(page: Page) -> None:
    entry = page.locator("#operations dd").nth(list(operations()).index("rank"))
    entry.get_by_role("link", name="at once").click()
    page.wait_for_url("**/docs#rank")
    assert page.get_by_role("heading", name="POST /v1/rank").is_visible()
