"""The page in a browser: errors at their fields, and links that keep their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.apps.service.conftest import KEY, Running, started
from tests.apps.service.pages import (
    COMPUTING,
    HYPS,
    OTHERS,
    REFS,
    choose_metrics,
    fill,
    fill_long,
    page_of,
    run,
    settled_address,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

MANY = [f"The ferry number {number} was cancelled." for number in range(300)]


@pytest.fixture
def refused(browser: Browser, serving: Running) -> Iterator[Page]:
    """A page whose requests may be refused."""
    with page_of(browser, f"{serving.url}/", refusals=True) as result:
        yield result


def score(page: Page) -> None:
    """Press the button, whatever comes of it."""
    page.get_by_role("button", name="Score", exact=True).click()


def test_key_with_invalid_characters_is_not_sent(browser: Browser, tmp_path: Path) -> None:
    with started(tmp_path, "--preload", NLGAUGE_API_KEY=KEY) as service:
        page = browser.new_page()
        page.goto(f"{service.url}/")
        for key in ("ключ от сервиса", ""):
            page.get_by_label("API key").fill(key)
            page.get_by_role("button", name="Use this key").click()
            page.locator("#key-error").filter(has_text="not valid for this service").wait_for()
            assert page.get_by_label("API key").is_visible()
        page.get_by_label("API key").fill(KEY)
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-ready=yes]")
        page.close()


@pytest.mark.parametrize(
    ("options", "recipes", "place"),
    [
        ("layer=5", "bertscorr", "#recipes-error"),
        ("layer=5", "bertscore:layer=77", "#recipes-error"),
        ("layer=99", "moverscore", "#error-of-bertscore"),
        ("nonsense=1", "bertscore:layer=2", "#error-of-bertscore"),
        ("layer=5", "bertscore|layer:4|nonsense", "#recipes-error"),
    ],
)
def test_error_is_shown_at_the_wrong_recipe(refused: Page, options: str, recipes: str, place: str) -> None:
    page = refused
    fill(page, {"A": HYPS}, REFS)
    page.get_by_label("Options of BERTScore").fill(options)
    page.locator("#further summary").click()
    page.get_by_label("Recipes or signatures, one per line").fill(recipes)
    score(page)
    page.locator(place).filter(has_text=re.compile(r"\w")).wait_for()
    messages = [item.get_attribute("id") for item in page.locator("[role=alert]").all() if item.inner_text().strip()]
    assert messages == [place.removeprefix("#")]


def test_too_long_text_is_named_by_system_and_line(refused: Page) -> None:
    page = refused
    fill(page, {"A": HYPS, "B": [*OTHERS[:2], "word " * 2000]}, REFS)
    score(page)
    page.locator("#system-2-error").filter(
        has_text="System 'B', line 3: too many characters (10,000; limit 5,000)"
    ).wait_for()


def test_empty_pair_names_the_option_for_it(refused: Page) -> None:
    page = refused
    fill(page, {"A": ["a cat", "", "a dog"]}, ["a cat", "", "a dog"])
    score(page)
    page.locator("#system-1-error").filter(has_text="score it 0 (under “Advanced”, below the metrics)").wait_for()


def test_utf_16_without_byte_order_mark_is_refused(refused: Page) -> None:
    data = "A ferry.\nBread.\n".encode("utf-16-le")
    refused.set_input_files("#system-1-file", {"name": "a.txt", "mimeType": "text/plain", "buffer": data})
    refused.locator("#system-1-error").filter(has_text="a.txt is not plain text in UTF-8").wait_for()
    assert refused.locator("#system-1-count").inner_text() == ""


def test_warnings_do_not_mention_options_of_the_command_line(refused: Page) -> None:
    page = refused
    fill(page, {"A": ["مرحبا بالعالم"]}, ["مرحبا يا عالم"])
    run(page)
    messages = page.locator("#warnings").inner_text()
    assert "Arabic" in messages
    assert "--" not in messages


def test_words_that_run_from_right_to_left_keep_the_order_of_a_sentence(refused: Page) -> None:
    page = refused
    fill(page, {"A": ["مرحبا بالعالم"]}, ["مرحبا يا عالم"])
    run(page)
    page.locator("#segments-list .row").first.click()
    messages = page.locator("#segment .said")
    messages.filter(has_text="Weakest matches").wait_for(timeout=COMPUTING)
    assert "\u2068'بالعالم'\u2069 to \u2068'" in messages.inner_text()
    page.locator("#segment .word").first.focus()
    messages.filter(has_text=re.compile("^\u2068مرحبا\u2069: matched with \u2068مرحبا\u2069")).wait_for()


def test_link_with_unavailable_model_shows_an_error(browser: Browser, serving: Running, tmp_path: Path) -> None:
    with page_of(browser, f"{serving.url}/") as page:
        fill(page, {"A": HYPS}, REFS)
        page.get_by_label("Model", exact=True).select_option("mpnet")
        link = settled_address(page).split("#")[1]
    with (
        started(tmp_path, "--preload", "--models", "minilm") as service,
        page_of(browser, f"{service.url}/#{link}") as page,
    ):
        page.locator("#model-error").filter(has_text="not have the model of the link: mpnet").wait_for()


def test_link_leaves_out_job_after_form_changed(refused: Page) -> None:
    page = refused
    for label in ("Outputs of system 1", "References 1"):
        fill_long(page, label, MANY)
    choose_metrics(page, "bertscore")
    score(page)
    page.get_by_role("button", name="Cancel", exact=True).wait_for()
    page.locator("#metric-chrf").check()
    page.locator("#status").filter(has_text=re.compile("^Done")).wait_for(timeout=COMPUTING)
    page.wait_for_timeout(500)  # the address is written a moment later
    assert "job=" not in page.url
    page.locator("#metric-chrf").uncheck()
    run(page)
    page.wait_for_url(re.compile("job="))


def test_a_job_that_has_expired_leaves_the_address(browser: Browser, serving: Running) -> None:
    with page_of(browser, f"{serving.url}/#job={'0' * 32}", refusals=True) as page:
        page.locator("#form-error").filter(has_text="Unknown job").wait_for()
        page.wait_for_url(re.compile("/$"))


def test_narrow_list_shows_score_of_single_system(browser: Browser, serving: Running) -> None:
    with page_of(browser, f"{serving.url}/", viewport={"width": 380, "height": 800}) as page:
        fill(page, {"A": HYPS}, REFS, OTHERS)
        run(page)
        assert page.locator("#segments-head span").all_inner_texts() == ["segment", "score", "output"]
        row = page.locator("#segments-list .row").first
        assert re.fullmatch(r"\d\.\d{4}", row.locator(".num").nth(1).inner_text())
        assert "of A" not in page.get_by_label("Sort by").inner_text()
        row.click()
        note = page.locator("#segment .note").filter(has_text=re.compile("^reference [12] of 2 is shown"))
        note.wait_for(timeout=COMPUTING)
        heads = page.locator("#segment h4").all_inner_texts()
        assert heads[:2] == ["reference 1", "reference 2"]
