"""The page in a browser: long jobs with progress, cancelled, and a service that goes away in the middle of one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.apps.service.conftest import Running, restartable, started
from tests.apps.service.pages import COMPUTING, choose_metrics, fill, fill_long, page_of, shown_results

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser

TOPICS = ["the ferry", "a storm", "the harbour", "every island", "the last bus", "a museum", "the old bridge"]


def submit_long(page: Page, count: int = 2500) -> str:
    """A job of distinct sentences, which takes many seconds; its name, once it has begun."""
    texts = [
        f"{TOPICS[index % 7]} was seen near {TOPICS[index % 5]} on day {index} of the year." for index in range(count)
    ]
    fill_long(page, "Outputs of system 1", texts)
    fill_long(page, "References 1", texts[::-1])
    choose_metrics(page, "bertscore")
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#status").filter(has_text=re.compile(r"^Scored [\d,]+ of 2,500 segments")).wait_for(
        timeout=COMPUTING
    )
    page.wait_for_url(re.compile("job="))  # the address is written a moment later
    result = re.search("job=([0-9a-f]{32})", page.evaluate("location.hash"))
    assert result is not None
    return result[1]


def state(service: Running, job: str) -> str:
    return str(service.get(f"/v1/jobs/{job}").json()["state"])


def wait_for_state(page: Page, service: Running, job: str, wanted: str) -> None:
    for _ in range(600):
        if state(service, job) == wanted:
            return
        page.wait_for_timeout(100)
    raise AssertionError(state(service, job))


def test_a_long_job_shows_its_progress_and_is_cancelled(browser: Browser, tmp_path: Path) -> None:
    with started(tmp_path) as service, page_of(browser, f"{service.url}/") as page:
        job = submit_long(page)
        bar = page.get_by_role("progressbar", name="Progress", exact=True)
        # The first steps are there, all of them are not.
        page.locator("#status").filter(has_text=re.compile(r"^Scored (512|1,024|1,536|2,048) of")).wait_for(
            timeout=COMPUTING
        )
        assert 0 < bar.evaluate("bar => bar.value / bar.max") < 1
        assert page.get_by_role("button", name="Score", exact=True).is_disabled()
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.locator("#status").filter(has_text=re.compile(r"^Cancelled\.$")).wait_for(timeout=COMPUTING)
        assert state(service, job) == "cancelled"
        assert bar.is_hidden()
        assert page.get_by_role("button", name="Cancel", exact=True).is_hidden()
        assert page.locator("#results").is_hidden()
        # Nothing is in the way of the next one.
        page.get_by_role("button", name="Clear").click()
        fill(page, {"A": ["A cat sat."]}, ["The cat sat."])
        page.get_by_role("button", name="Score", exact=True).click()
        shown_results(page)


def test_job_cancelled_while_sent_is_cancelled_at_the_service(browser: Browser, tmp_path: Path) -> None:
    held: list[Route] = []
    with started(tmp_path) as service, page_of(browser, f"{service.url}/") as page:
        page.route("**/v1/jobs/compare", lambda route: held.append(route))
        for label in ("Outputs of system 1", "References 1"):
            fill_long(page, label, [f"{TOPICS[index % 7]} on day {index}" for index in range(400)])
        page.get_by_role("button", name="Score", exact=True).click()
        page.locator("#status").filter(has_text="Sending the texts").wait_for()
        page.get_by_role("button", name="Cancel", exact=True).click()
        with page.expect_response("**/v1/jobs/compare") as answer:
            held[0].continue_()
        page.locator("#status").filter(has_text=re.compile(r"^Cancelled\.$")).wait_for()
        wait_for_state(page, service, answer.value.json()["id"], "cancelled")


def test_page_survives_kill_and_restart_of_the_service(browser: Browser, tmp_path: Path) -> None:
    with restartable(tmp_path) as service:
        running = service.start()
        with page_of(browser, f"{running.url}/", refusals=True) as page:
            job = submit_long(page)
            running.process.kill()
            running.process.wait()
            page.locator("#status").filter(
                has_text="The connection to the service was lost. Trying again."
            ).wait_for()
            service.stop()
            running = service.start()
            page.locator("#status").filter(has_text="The service was stopped before the job was finished.").wait_for(
                timeout=COMPUTING
            )
            assert state(running, job) == "interrupted"
            # The texts are still in the form, so one click sends them again.
            page.get_by_role("button", name="Run again").click()
            page.locator("#status").filter(has_text=re.compile(r"^Scored [\d,]+ of 2,500")).wait_for(
                timeout=COMPUTING
            )
            page.get_by_role("button", name="Cancel", exact=True).click()
            page.locator("#status").filter(has_text=re.compile(r"^Cancelled\.$")).wait_for(timeout=COMPUTING)


def test_a_result_outlives_a_restart_and_is_found_by_its_address(browser: Browser, tmp_path: Path) -> None:
    texts = [f"{TOPICS[index % 7]} was seen on day {index}." for index in range(150)]
    with restartable(tmp_path) as service:
        running = service.start()
        with page_of(browser, f"{running.url}/", refusals=True) as page:
            fill_long(page, "Outputs of system 1", texts)
            fill_long(page, "References 1", texts[::-1])
            choose_metrics(page, "chrf", "bertscore")
            page.get_by_role("button", name="Score", exact=True).click()
            shown_results(page)
            page.wait_for_url(re.compile("job="))
            address = page.evaluate("location.href")
            scores = page.locator("#scores tbody").inner_text()
        service.stop()
        service.start()
        with page_of(browser, address) as again:
            shown_results(again)
            assert again.locator("#scores tbody").inner_text() == scores


def test_stopped_service_shows_an_error_and_run_again(browser: Browser, tmp_path: Path) -> None:
    with restartable(tmp_path) as service:
        running = service.start()
        with page_of(browser, f"{running.url}/", refusals=True) as page:
            fill(page, {"A": ["A cat sat."]}, ["The cat sat."])
            service.stop()
            page.get_by_role("button", name="Score", exact=True).click()
            page.locator("#form-error").filter(has_text="The service does not answer.").wait_for()
            service.start()
            page.get_by_role("button", name="Run again").click()
            shown_results(page)
